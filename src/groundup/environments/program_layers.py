"""Programs from PyPI and npm as layers, apart from the task's own environment."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.limits import Limits
from groundup.environments.build_sandbox import UV, Ask, BuildSandbox, uv_variables
from groundup.environments.failures import repeated
from groundup.environments.interpreters import Interpreter, interpreter_mounts
from groundup.environments.layers import Built, LayerStore
from groundup.environments.requests import PROGRAM_TARGET, PYTHON_TARGET, InstalledProgram, Layer, ProgramRequest
from groundup.environments.toolchains import Toolchain
from groundup.registries.cache import SingleFlight
from groundup.registries.lending import LendingRules, RegistrySet
from groundup.registries.uv import uv_program, uv_version
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxProvider, SandboxSpec
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread

LIMITS = Limits(cpus=2.0, memory_mb=6144, disk_mb=24 * 1024, wall_clock_s=3600.0, command_s=3000.0)
"""Of installing one program."""
ENVIRONMENT = f"{PROGRAM_TARGET}/env"
"""Where a program's packages are seen."""
PYTHON_KIND = "program-python"
_PYTHON_FORMAT = 1
"""Counts up when the same program is installed differently."""


@dataclass(frozen=True)
class ProgramTools:
    """What installing takes."""

    provider: SandboxProvider
    store: LayerStore
    registries: Callable[[LendingRules], AbstractAsyncContextManager[RegistrySet]]


class Programs:
    """Installs each program once, however many ask for it, and remembers what cannot be installed."""

    def __init__(self) -> None:
        self._installed: SingleFlight[InstalledProgram] = SingleFlight()
        self._unusable: dict[str, str] = {}
        """Why a program cannot be installed, by request."""

    async def get(
        self, request: ProgramRequest, install: Callable[[], Awaitable[InstalledProgram]]
    ) -> InstalledProgram:
        """Return the program of *request*; *install* is tried again where that may help. Raises `UsageError`."""
        key = digest_of(request)
        if key in self._unusable:
            raise UsageError(self._unusable[key])
        try:
            return await self._installed.get(key, lambda: repeated(install))
        except UsageError as error:
            self._unusable[key] = str(error)
            raise


async def python_program(
    request: ProgramRequest, interpreter: Interpreter, tools: ProgramTools
) -> InstalledProgram:
    """Return the program of *request*, building its layer when it is not there. Raises `UsageError`, too."""
    machine = {"python": interpreter.version, "abi": interpreter.abi, "uv": uv_version()}
    key = digest_of({"format": _PYTHON_FORMAT, "request": request, **machine})
    layer = tools.store.find(PYTHON_KIND, key) or await _build_python(request, key, interpreter, tools)
    return InstalledProgram(
        mounts=(
            *_interpreter_mounts(interpreter, tools.store),
            Mount(source=layer.path, target=ENVIRONMENT),
        ),
        bin=f"{ENVIRONMENT}/bin",
        identity={"layer": layer.digest, "packages": layer.built.get("packages", "")},
    )


async def _build_python(request: ProgramRequest, key: str, interpreter: Interpreter, tools: ProgramTools) -> Layer:
    what = f"installing {request.package} {request.version}"
    ask = Ask(what=what, kind=PYTHON_KIND, digest=key, asker="agent", exclude_newer=request.exclude_newer)

    async def fill(room: Path) -> Built:
        async with _sandbox(room, ask, interpreter, tools) as build:
            packages = await _install_python(build, request, interpreter)
        for leftover in (".uv-cache", ".lock"):
            await in_thread(remove_tree, room / "tree" / leftover)
        return Built(built={"packages": packages, "uv": uv_version(), **build.figures()})

    return await tools.store.get(PYTHON_KIND, key, fill)


async def _install_python(build: BuildSandbox, request: ProgramRequest, interpreter: Interpreter) -> str:
    """Fill the environment; return what is in it, as `name==version` with blanks between."""
    python = _moved(interpreter.inside)
    await build.uv("venv", ENVIRONMENT, "--python", python, "--allow-existing", "--no-project")
    wanted = await build.write("wanted.txt", [f"{request.package}=={request.version}", *request.also])
    never = await build.write("never.txt", [f"{name} ; python_version < '0'" for name in request.without])
    into = ("--python", f"{ENVIRONMENT}/bin/python")
    await build.uv("pip", "install", *into, "--compile-bytecode", "-r", wanted, "--override", never)
    frozen = await build.uv("pip", "freeze", *into)
    build.keep_log()
    return " ".join(frozen.stdout.decode(errors="replace").split())


@asynccontextmanager
async def _sandbox(
    room: Path, ask: Ask, interpreter: Interpreter, tools: ProgramTools
) -> AsyncIterator[BuildSandbox]:
    tree, workspace = room / "tree", room / "workspace"
    for folder in (tree, workspace, workspace / "temporary"):
        folder.mkdir()
    spec = SandboxSpec(
        workspace=workspace,
        mounts=(
            *_interpreter_mounts(interpreter, tools.store),
            Mount(source=uv_program(), target=UV),
            Mount(source=tree, target=ENVIRONMENT, writable=True),
        ),
        environment=uv_variables(f"{ENVIRONMENT}/.uv-cache"),
        limits=LIMITS,
        system="host",
        label=ask.what,
    )
    async with (
        tools.registries(LendingRules(kinds=("pypi",), exclude_newer=ask.exclude_newer)) as lent,
        await tools.provider.open(spec) as opened,
    ):
        variables = await lent.attach(opened)
        yield BuildSandbox(opened, lent.gateways["pypi"], variables["UV_DEFAULT_INDEX"], ask, tools.store)


def _interpreter_mounts(interpreter: Interpreter, store: LayerStore) -> tuple[Mount, ...]:
    """Return what shows *interpreter* where programs see theirs."""
    mounts = interpreter_mounts(interpreter, store.empty_folder())
    return tuple(mount.but(target=_moved(mount.target)) for mount in mounts)


def _moved(path: str) -> str:
    return (
        f"{PROGRAM_TARGET}/python{path.removeprefix(PYTHON_TARGET)}"
        if path.startswith(f"{PYTHON_TARGET}/")
        else path
    )


NPM_KIND = "program-npm"
_NPM_FORMAT = 1
"""Counts up when the same program is installed differently."""


async def npm_program(request: ProgramRequest, node: Toolchain, tools: ProgramTools) -> InstalledProgram:
    """Return the program of *request*, building its layer when it is not there. Raises `UsageError`, too."""
    key = digest_of({"format": _NPM_FORMAT, "request": request, "node": node.versions})
    layer = tools.store.find(NPM_KIND, key) or await _build_npm(request, key, node, tools)
    return InstalledProgram(
        mounts=(*node.mounts, Mount(source=layer.path, target=ENVIRONMENT)),
        bin=f"{ENVIRONMENT}/bin",
        path=node.path,
        environment=node.environment,
        identity={"layer": layer.digest, "packages": layer.built.get("packages", ""), **node.versions},
    )


async def _build_npm(request: ProgramRequest, key: str, node: Toolchain, tools: ProgramTools) -> Layer:
    what = f"installing {request.package} {request.version}"
    ask = Ask(what=what, kind=NPM_KIND, digest=key, asker="agent", exclude_newer=request.exclude_newer)

    async def fill(room: Path) -> Built:
        tree, workspace = room / "tree", room / "workspace"
        for folder in (tree, workspace):
            folder.mkdir()
        spec = SandboxSpec(
            workspace=workspace,
            mounts=(*node.mounts, Mount(source=tree, target=ENVIRONMENT, writable=True)),
            path=node.path,
            environment={**node.environment, "npm_config_cache": f"{WORKSPACE}/cache"},
            limits=LIMITS,
            system="host",
            label=what,
        )
        async with (
            tools.registries(LendingRules(kinds=("npm",), exclude_newer=ask.exclude_newer)) as lent,
            await tools.provider.open(spec) as opened,
        ):
            variables = await lent.attach(opened)
            build = BuildSandbox(opened, lent.gateways["npm"], variables["npm_config_registry"], ask, tools.store)
            packages = await _install_npm(build, request, variables)
            build.keep_log()
            return Built(built={"packages": packages, **build.figures()})

    return await tools.store.get(NPM_KIND, key, fill)


async def _install_npm(build: BuildSandbox, request: ProgramRequest, variables: dict[str, str]) -> str:
    """Install into the layer; return what is in it, as `name@version` with blanks between."""
    wanted = [f"{request.package}@{request.version}", *request.also]
    place = ("--global", "--prefix", ENVIRONMENT)
    await build.run("npm", "install", *place, "--no-audit", "--no-fund", *wanted, environment=variables)
    listed = await build.attempt("npm", "ls", *place, "--all", "--json", environment=variables)
    return " ".join(sorted(_names(listed.stdout)))


def _names(listing: bytes) -> set[str]:
    """Return every `name@version` of what `npm ls --json` says."""
    found: set[str] = set()
    try:
        waiting = [json.loads(listing)]
    except ValueError:
        return found
    while waiting:
        inside = waiting.pop().get("dependencies", {})
        found |= {f"{name}@{entry['version']}" for name, entry in inside.items() if entry.get("version")}
        waiting += inside.values()
    return found
