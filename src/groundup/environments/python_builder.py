"""Virtual environments as layers, found or built by uv in a sandbox at the place where they are seen later."""

import asyncio
import json
import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import GroundupError, MachineError, SubmissionError, TaskError, UsageError
from groundup.domain.limits import Limits
from groundup.environments.build_sandbox import ENVIRONMENT_PYTHON, LIMITS, Ask, BuildSandbox, build_sandbox
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.failures import BUILDS_AT_ONCE, Builds, OutOfTimeError, WorkTime, out_of_time, repeated
from groundup.environments.interpreters import BUNDLED, Interpreter, interpreter_mounts, known_interpreter
from groundup.environments.layers import Built, LayerStore
from groundup.environments.locking import Resolutions, locked_lines, named_requirements, resolution_key
from groundup.environments.requests import (
    ENVIRONMENT_TARGET,
    PYTHON_TARGET,
    Layer,
    PythonEnvironment,
    PythonRequest,
    Resolution,
    ResolvedRequest,
)
from groundup.inside import source_of
from groundup.registries.cache import PrioritySemaphore, SingleFlight
from groundup.registries.uv import uv_version
from groundup.sandbox.protocol import Mount, SandboxProvider
from groundup.settings import Settings
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread, lay_tree

if TYPE_CHECKING:
    from groundup.registries.lending import RegistryLending

KIND = "python"
_FORMAT = 1
"""Counts up when the same request is built differently."""
Names = tuple[str, ...] | None
"""What code that will run in an environment speaks of; None: that is not known, and any of it may be imported."""
_SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def has_layer(request: PythonRequest, interpreter: Interpreter, store: LayerStore) -> bool:
    return store.find(KIND, layer_key(request, interpreter)) is not None


def layer_key(request: PythonRequest, interpreter: Interpreter) -> str:
    """Return the digest of everything that decides the layer; not who asks, nor the order of lines."""
    question = request.model_dump(exclude={"on_behalf_of"})
    for name in ("requirements", "build_requirements", "refused"):
        question[name] = sorted(question[name])
    machine = {"python": interpreter.version, "abi": interpreter.abi, "uv": uv_version()}
    if _lacks_pip(request) and len(bundled := interpreter.bundled_for_pip) > 1:
        machine["bundled"] = " ".join(bundled)
    return digest_of({"format": _FORMAT, "request": question, **machine})


async def fill_environment(
    build: BuildSandbox,
    request: PythonRequest,
    interpreter: Interpreter,
    begun: PythonRequest | None = None,
    names: Names = None,
) -> Built:
    """Make the virtual environment of *request* in an open build sandbox; *begun*: what is there already.

    With *names*, only modules that they lead to get their bytecode.
    """
    if begun is None:
        await build.uv(
            "venv", ENVIRONMENT_TARGET, "--python", interpreter.inside, "--allow-existing", "--no-project"
        )
    if _lacks_pip(request) and not (begun and begun.with_pip):
        await _add_pip(build, interpreter)
    if set(request.requirements).difference(begun.requirements if begun else ()):
        await _install(build, request, compiled=names is None)
    if names is not None:
        await _compile(build, interpreter, names)
    await build.drop_cache()
    built = {"python": interpreter.version, "uv": uv_version(), **build.figures()}
    if build.variables:
        built["environment"] = json.dumps(build.variables)
    build.keep_log()
    return Built(built=built)


async def resolve(build: BuildSandbox, request: ResolvedRequest, interpreter: Interpreter) -> tuple[str, ...]:
    """Return the locked lines for *request*. Code that builds metadata runs in the sandbox."""
    source = await build.write("requirements.in", request.requirements)
    result = await build.uv(
        "pip", "compile", source, "--python", interpreter.inside, "--generate-hashes", "--no-header",
        "--no-annotate", "--no-emit-index-url", "--no-sources", "--quiet",
    )  # fmt: skip
    return locked_lines(result.stdout.decode(errors="replace"))


_NOT_ALIKE = {"requirements", "on_behalf_of"}
"""In what a request may differ from one whose environment it begins with."""


def _bare(request: PythonRequest | ResolvedRequest) -> PythonRequest:
    """Return a request for nothing but pip."""
    return PythonRequest(python=request.python, with_pip=True, on_behalf_of=request.on_behalf_of)


def _lacks_pip(request: PythonRequest) -> bool:
    """Whether the interpreter's own pip is wanted, and no requirement brings another."""
    return request.with_pip and "pip" not in _names(request.requirements)


async def _add_pip(build: BuildSandbox, interpreter: Interpreter) -> None:
    """Add the interpreter's own pip; where it comes without, as on some systems, the index's newest."""
    install = ("pip", "install", "--python", ENVIRONMENT_PYTHON, "--compile-bytecode")
    if interpreter.has_pip:
        bundled = f"{interpreter.library_inside}/{BUNDLED}"
        await build.uv(*install, *interpreter.bundled_for_pip, "--no-index", "--find-links", bundled)
    else:
        await build.uv(*install, "pip")


async def _compile(build: BuildSandbox, interpreter: Interpreter, names: Iterable[str]) -> None:
    """Compile what *names* lead to. Should that fail, programs start more slowly."""
    program = await build.write("reached.py", source_of("reached.py").decode().splitlines())
    file = await build.write("names.txt", names)
    await build.attempt(interpreter.inside, "-I", "-S", "-W", "ignore", program, ENVIRONMENT_TARGET, file)


async def _install(build: BuildSandbox, request: PythonRequest, *, compiled: bool) -> None:
    source = await build.write("requirements.txt", request.requirements)
    arguments = ["pip", "install", "--python", ENVIRONMENT_PYTHON, "--require-hashes", "--no-deps"]
    arguments += [*(["--compile-bytecode"] if compiled else []), "-r", source]
    config = None
    if not request.build_requirements:
        if await build.uv_with_wheels(_pinned(request.requirements), *arguments):
            return
    else:
        arguments += ["--build-constraints", await build.write("build.txt", request.build_requirements)]
        pins = [line.partition(" ")[0] for line in request.build_requirements]
        # A source without a declaration of what builds it gets all of them; the constraints hold the hashes.
        table = [f"{json.dumps(name)} = {json.dumps(pins)}" for name in sorted(_names(request.requirements))]
        config = await build.write("uv.toml", ["[extra-build-dependencies]", *table])
    await build.uv(*arguments, config=config)


def _pinned(lines: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the hashes of locked *lines* by project, of which markers may choose one of several lines."""
    pinned: dict[str, frozenset[str]] = {}
    for line in lines:
        pinned[_name(line)] = pinned.get(_name(line), frozenset()) | frozenset(_SHA256.findall(line))
    return pinned


def _name(line: str) -> str:
    from groundup.registries.pypi.pages import normalised

    return normalised(line.partition("==")[0])


def _names(lines: Iterable[str]) -> set[str]:
    return set(map(_name, lines))


def _modules(lines: Iterable[str]) -> tuple[str, ...]:
    """Return what the modules of these requirements are called as a rule."""
    from packaging.requirements import Requirement

    return tuple(Requirement(line).name.replace("-", "_") for line in lines)


class PythonBuilder(EnvironmentBuilder):
    """The Python part of the builder. Belongs to one event loop; holds no connection while nothing is built."""

    def __init__(
        self,
        settings: Settings,
        provider: SandboxProvider,
        store: LayerStore,
        limits: Limits | None = None,
    ) -> None:
        self._places = PrioritySemaphore(BUILDS_AT_ONCE)
        self._resolving_places = PrioritySemaphore(2 * BUILDS_AT_ONCE)  # these mostly wait for the index
        self._beginnings: dict[PythonRequest, Layer] = {}
        """What was built or found: an environment that needs all of one, and more, begins with it."""
        self._interpreters: dict[str, Interpreter] = {}
        self._started: dict[Path, dict[str, str]] = {}
        self._provider = provider
        self._store = store
        self._limits = limits or LIMITS
        self._cache_dir = settings.cache_dir
        self._missing: dict[str, MachineError] = {}
        """Interpreters that could not be found or fetched: trying again would cost every attempt the same time."""
        self._finding: SingleFlight[Interpreter] = SingleFlight()
        self._builds = Builds()
        kept_s = settings.resolutions_s if settings.registry_cache else 0.0
        self._resolutions = Resolutions(settings.cache_dir / "resolutions", kept_s)
        self._resolving: SingleFlight[Resolution] = SingleFlight()

    @property
    @abstractmethod
    def _lending(self) -> "RegistryLending":
        """The user's registries."""

    @override
    async def python(
        self, request: PythonRequest, work: WorkTime | None = None, names: Names = None
    ) -> PythonEnvironment:
        """Return the environment of *request*, building its layer when it is not there."""
        work = work or WorkTime()
        interpreter = await self.interpreter(request.python)
        key = layer_key(request, interpreter)
        layer = self._store.find(KIND, key)
        if layer is None:
            layer = await self._builds.get(
                f"{key} for a {request.on_behalf_of}",
                lambda: self._build_python(request, interpreter, key, work, names),
            )
        self._beginnings[request] = layer
        mounts = interpreter_mounts(interpreter, self._store.empty_folder())
        return PythonEnvironment(
            layer=layer,
            mounts=(*mounts, Mount(source=layer.path, target=ENVIRONMENT_TARGET)),
            path=(f"{ENVIRONMENT_TARGET}/bin", f"{PYTHON_TARGET}/bin"),  # uv makes environments of the second
            python_version=interpreter.version,
            own_packages=interpreter.packages_inside,
            environment=json.loads(layer.built.get("environment", "{}")),
        )

    @override
    async def submission_environment(self, request: ResolvedRequest) -> PythonEnvironment:
        """Return an environment for requirements without a lock; it names what they were resolved to.

        Raises `OutOfTimeError` when the work takes longer than `work_s`; waiting for a turn is no work.
        """
        work = WorkTime(request.work_s, f"installing {', '.join(request.requirements)[:120]}")
        if not request.requirements:
            return await self._resolved_environment(request, work)
        # Open from one to the other, for else what it has in memory would be gone, and asked for twice.
        async with self._lending.client("pypi"):
            return await self._resolved_environment(request, work)

    async def _resolved_environment(self, request: ResolvedRequest, work: WorkTime) -> PythonEnvironment:
        resolution = await self.resolve(request, work)
        environment = await self.python(
            PythonRequest(
                python=request.python,
                requirements=resolution.lines,
                with_pip=request.with_pip,
                exclude_newer=request.exclude_newer,
                refused=request.refused,
                on_behalf_of=request.on_behalf_of,
            ),
            work,
            None if request.names is None else (*request.names, *_modules(request.begins_with)),
        )
        return environment.but(resolution=resolution)

    async def resolve(self, request: ResolvedRequest, work: WorkTime | None = None) -> Resolution:
        """Return what *request* comes to, or came to lately. Sources may run their code, in a sandbox."""
        try:
            lines = named_requirements(request.requirements)
        except UsageError as error:
            kind = SubmissionError if request.on_behalf_of == "submission" else TaskError
            raise kind(str(error)) from error
        if not lines:
            return self._resolutions.made(())
        interpreter = await self.interpreter(request.python)
        request = request.but(requirements=lines)
        key = resolution_key(request, interpreter, await self._lending.settings("pypi"))
        found = self._resolutions.find(key)
        if found is not None:
            return found
        asked = f"{key} for a {request.on_behalf_of}"
        return await self._resolving.get(
            asked, lambda: self._resolve(request, interpreter, key, work or WorkTime())
        )

    async def _resolve(
        self, request: ResolvedRequest, interpreter: Interpreter, key: str, work: WorkTime
    ) -> Resolution:
        beginning = asyncio.create_task(self._make_ready(request))
        try:
            resolution = await repeated(lambda: self._resolve_once(request, interpreter, key, work), work)
            await beginning
        finally:
            beginning.cancel()  # of no effect when it is done
            await asyncio.wait([beginning])
        return resolution

    async def _make_ready(self, request: ResolvedRequest) -> None:
        """Make what the environment of *request* begins with. What is wrong with it, that one will meet too."""
        with suppress(GroundupError):
            if request.begins_with:
                lines = request.begins_with
                names = None if request.names is None else _modules(lines)
                other = {"requirements": lines, "begins_with": (), "work_s": None, "names": names}
                await self.submission_environment(request.but(**other))
            elif request.with_pip:
                await self.python(_bare(request))

    async def _resolve_once(
        self, request: ResolvedRequest, interpreter: Interpreter, key: str, work: WorkTime
    ) -> Resolution:
        ask = Ask(
            what=f"resolving {', '.join(request.requirements)[:120]} for Python {request.python}",
            kind="resolved",
            digest=key,
            asker=request.on_behalf_of,
            refused=request.refused,
            exclude_newer=request.exclude_newer,
            size=len(request.requirements),
        )
        async with (
            self._store.scratch("resolved", key) as room,
            self._building(room, ask, interpreter, work) as build,
        ):
            resolution = self._resolutions.made(await resolve(build, request, interpreter))
            build.remember_pages(_pinned(resolution.lines))
            outdated = any(record.stale for record in build.gateway.fetched)
        if not outdated:
            self._resolutions.keep(key, resolution)
        return resolution

    async def interpreter(self, minor: str) -> Interpreter:
        """Return the host's interpreter of this minor version, found or fetched."""
        if minor in self._missing:
            raise MachineError(str(self._missing[minor]))
        if minor not in self._interpreters:
            try:
                found = await self._finding.get(minor, partial(known_interpreter, minor, self._cache_dir))
            except MachineError as error:
                self._missing[minor] = error
                raise
            self._interpreters[minor] = found
        return self._interpreters[minor]

    async def _build_python(
        self, request: PythonRequest, interpreter: Interpreter, key: str, work: WorkTime, names: Names
    ) -> Layer:
        ask = Ask(
            what=f"the Python {request.python} environment",
            kind=KIND,
            digest=key,
            asker=request.on_behalf_of,
            refused=request.refused,
            exclude_newer=request.exclude_newer,
            size=len(request.requirements),
        )

        begun, layer = await self._begun(request, interpreter, work)

        async def fill(room: Path) -> Built:
            if layer is not None:
                shared = self._provider.guests_are_others
                await in_thread(lay_tree, layer.path, room / "tree", shared=shared)
            async with self._building(room, ask, interpreter, work) as build:
                built = await fill_environment(build, request, interpreter, begun, names)
            for leftover in (".uv-cache", ".lock"):
                await in_thread(remove_tree, room / "tree" / leftover)
            return built

        return await repeated(lambda: self._store.get(KIND, key, fill), work)

    async def _begun(
        self, request: PythonRequest, interpreter: Interpreter, work: WorkTime
    ) -> tuple[PythonRequest, Layer] | tuple[None, None]:
        """Return what *request* with pip begins with: all of it but pip where that is built, otherwise the most.

        The layers share their files then, and what is in both is compiled once. Nothing is in the smaller one but
        what *request* names, so whatever sources do when they are built, they may do in both.
        """
        if not request.requirements or not request.with_pip:
            return None, None
        packages = request.but(with_pip=False)
        found = self._store.find(KIND, layer_key(packages, interpreter))
        if found is not None:
            return packages, found
        if not _lacks_pip(request) or not interpreter.has_pip:
            return None, None
        wanted, alike = set(request.requirements), request.model_dump(exclude=_NOT_ALIKE)
        smaller = {
            one: layer
            for one, layer in self._beginnings.items()
            if wanted.issuperset(one.requirements) and one.model_dump(exclude=_NOT_ALIKE) == alike
        }
        if not smaller:
            bare = _bare(request)
            return bare, (await self.python(bare, work)).layer
        return max(smaller.items(), key=lambda item: len(item[0].requirements))

    @asynccontextmanager
    async def _building(
        self, room: Path, ask: Ask, interpreter: Interpreter, work: WorkTime
    ) -> AsyncIterator[BuildSandbox]:
        async with (
            (self._places if ask.kind == KIND else self._resolving_places).place(ask.size),
            self._lending.client("pypi") as registry,
            build_sandbox(
                room,
                ask,
                interpreter,
                provider=self._provider,
                registry=registry,
                store=self._store,
                started=self._started,
                limits=self._limits,
            ) as build,
        ):
            try:
                async with work.running(build.sandbox):
                    yield build
            except OutOfTimeError as error:
                raise out_of_time(error, build.gateway.troubles, build.gateway.longest_wait_s()) from error
