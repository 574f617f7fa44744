"""The sandbox that an agent works in: the workspace, what its language needs, and the package registries.

It has an interpreter without what is installed on the host, pip, pytest, setuptools and wheel from a lock of ours,
the toolchain of the task's language, and registries that refuse the names under which the task's original is
published. It shows nothing of the host but its programs, and nothing of graders or of the original.

Which language needs what is decided here, and the sentence for the agent's prompt. A toolchain that this machine
does not have is no failure: the prompt says that there is none. Its registry is left out, too, for nothing could
ask it.
"""

import asyncio
import importlib.resources
import itertools
import math
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from packaging.markers import Marker
from packaging.utils import canonicalize_name
from pydantic import Field

from groundup.agents.absence import brings_copies, hiding, uv_as_pip
from groundup.agents.base import AgentContext
from groundup.agents.folder_repair import make_room, open_closed
from groundup.agents.observations import processes_ran_out
from groundup.domain.errors import InfrastructureError, SandboxError, UsageError
from groundup.domain.languages import RegistryKind, ToolchainName
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment, PythonRequest
from groundup.languages import LANGUAGES
from groundup.registries.lending import LendingRules
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.registries.pypi.poetry import lend_poetry_plugin
from groundup.sandbox.protocol import (
    WORKSPACE,
    Command,
    CommandResult,
    Ending,
    Mount,
    Sandbox,
    SandboxSpec,
    writable_copy,
)
from groundup.sandbox.rooted import UnpackedImage
from groundup.trees.fingerprints import Fingerprint
from groundup.trees.writer import in_thread

T = TypeVar("T")
PYTHON = "python"
DEFAULT_JAVA = 17
_OTHERS = {name: record for name, record in LANGUAGES.items() if name != PYTHON}


class LanguageTools(Record):
    """What there is of a language, ready to be mounted. Empty for Python, which every agent has."""

    language: str = PYTHON
    registry: RegistryKind | None = None
    installer: str | None = None
    """Which program inside installs packages, besides pip."""
    versions: dict[str, str] = {}
    """Name -> version of what there is."""
    absent: str | None = None
    """What this machine does not have, and why."""
    mounts: tuple[Mount, ...] = ()
    path: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    has_requirements: bool = False
    """Whether the packages of the task's image are installed."""
    told_of_grading: str = ""
    """How the task is graded, in sentences, as far as its text does not say it."""

    @property
    def sentence(self) -> str:
        """Sentences for the agent, with a space before them; nothing where there is nothing but Python."""
        return f"{self._there_is} {self.told_of_grading}".rstrip()

    @property
    def _there_is(self) -> str:
        if self.has_requirements:
            return " The packages that the task's image has are installed."
        if self.versions:
            return (
                f" There is {' and '.join(f'{name} {version}' for name, version in self.versions.items())}, too."
            )
        need = _OTHERS.get(self.language)
        return f" There are no tools for {need.name}." if need else ""

    @property
    def installers(self) -> str:
        """The programs that install packages, for a sentence."""
        return f"pip or {self.installer}" if self.installer else "pip"

    def wanted(self, withheld: Collection[str], original: Fingerprint | None = None) -> LendingRules | None:
        """Return what to borrow besides the Python package index.

        It refuses *withheld* where that is possible, and what brings a copy of *original*.
        """
        if self.registry is None:
            return None
        refused: dict[RegistryKind, tuple[str, ...]] = {}
        if self.registry != "maven":  # whose repositories are lent without refusals
            refused[self.registry] = tuple(withheld)
        return LendingRules(kinds=(self.registry,), refused=refused, original=original)


def python_names(task: Task, withheld: Collection[str]) -> tuple[str, ...]:
    """Return those of *withheld* that are names of Python distributions: none for a task in another language."""
    return () if _OTHERS.get(_language(task)) else tuple(withheld)


async def language_tools(task: Task, builder: EnvironmentBuilder) -> LanguageTools:
    """Return what there is for *task*'s language, when *builder* lends it."""
    language = _language(task)
    need = _OTHERS.get(language)
    if need is None:
        return LanguageTools()
    try:
        found = await (_tools(need.toolchain, builder) if need.toolchain else _java(task, builder))
    except InfrastructureError as error:
        return LanguageTools(language=language, absent=str(error))
    return found.but(language=language, registry=need.registry, installer=need.installer)


def is_python(task: Task) -> bool:
    return _language(task) == PYTHON


def _language(task: Task) -> str:
    named = task.metadata.get("language")
    return named if isinstance(named, str) else PYTHON


async def _java(task: Task, builder: EnvironmentBuilder) -> LanguageTools:
    if builder.java is None:
        raise InfrastructureError("the environment builder has no Java")
    named = task.metadata.get("java")
    found = builder.java.toolchain(named if isinstance(named, int) else DEFAULT_JAVA)
    return LanguageTools(
        versions={"Java": found.java, "Maven": found.maven},
        mounts=found.mounts,
        path=found.path,
        environment=found.environment_within(task.limits.memory_mb),
    )


async def _tools(name: ToolchainName, builder: EnvironmentBuilder) -> LanguageTools:
    found = await builder.toolchain(name)
    return LanguageTools(
        versions=found.versions, mounts=found.mounts, path=found.path, environment=found.environment
    )


HOME = "/home/user"
"""The agent's home, empty at first and removed at the end."""
PREFIX = "/opt/venv"
"""The agent's own environment: writable, on top of the layer with pip and pytest."""
DEFAULT_PYTHON = "3.12"
_VENDORING = ("setuptools", "wheel")
"""Tools that bring copies of other libraries."""
_ENDS = 20
"""How often a sandbox of one attempt may die, and how often the guest's own limits may end it."""
_DAY_S = 24 * 3600.0
_FORK = Command(argv=("/bin/sh", "-c", "(:)"), timeout_s=10.0, output_bytes=1024, is_look=True)
_LOOKS, _LOOK_S = 3, 0.3

Attach = Callable[[Sandbox], Awaitable[Mapping[str, str]]]
"""Is called with every sandbox that is opened for the attempt; returns variables for its commands."""


class SandboxExtras(Record):
    """What an agent wants besides what every agent's sandbox has."""

    python: str | None = Field(default=None, pattern=r"^3\.\d+$", description="None: the task's, else 3.12")
    mounts: tuple[Mount, ...] = ()
    path: tuple[str, ...] = Field(default=(), description="folders before all others in PATH")
    environment: dict[str, str] = {}
    limits: Limits | None = Field(default=None, description="None: the task's")


class AgentSandbox:
    """An open sandbox around the workspace. One that dies is opened again: what it had on disk is kept."""

    def __init__(
        self, context: AgentContext, spec: SandboxSpec, attach: Collection[Attach], tools: LanguageTools
    ) -> None:
        self.spec = spec
        self.tools = tools
        """What there is for the task's language."""
        self._was_open = False
        self._died = 0
        self._limited = 0
        self._provider = context.provider
        self._attach = attach
        self._sandbox: Sandbox | None = None
        self._variables: dict[str, str] = {}

    async def sandbox(self) -> Sandbox:
        """Return the sandbox, opened anew when the last one died. Raises `SandboxError`."""
        if self._sandbox is None:
            if self._died >= _ENDS:
                raise SandboxError(f"the sandbox died {self._died} times; look at the attempt's trajectory")
            try:
                await self._open()
            except (OSError, ValueError, UsageError):
                if not self._was_open:
                    raise
                # What the guest left in its home takes the place of files that installers need.
                await self.close()
                self._renew_home()
                await self._open()
            self._was_open = True
        assert self._sandbox is not None
        return self._sandbox

    async def _open(self) -> None:
        self._sandbox = await self._provider.open(self.spec)
        for attach in self._attach:
            self._variables.update(await attach(self._sandbox))

    def _renew_home(self) -> None:
        for mount in self.spec.mounts:
            if mount.target == HOME:  # it is removed with what lies beside it
                mount.source.rename(mount.source.with_name(f"{mount.source.name}.{secrets.token_hex(4)}"))
                mount.source.mkdir()

    @property
    def is_spent(self) -> bool:
        """Whether commands have ended too many sandboxes by their limits: no fault of the machine, so no error."""
        return self._sandbox is None and self._limited >= _ENDS

    async def run(self, command: Command) -> CommandResult:
        """Run *command* to its end or its limits. One that ended the sandbox says so by its ending."""
        sandbox = await self.sandbox()
        told = []
        if closed := open_closed(self._own):
            told.append(f"opened again what an earlier command closed to everybody: {', '.join(closed)}")
        result = await sandbox.run(self._furnished(command))
        # Its limits ended the sandbox; the next command gets a fresh one, as after a restart of the machine.
        if result.exit_code is None and result.ending is not Ending.TIMEOUT:
            has_died = result.ending is Ending.SANDBOX_DIED
            self._died, self._limited = self._died + has_died, self._limited + (not has_died)
            await self.close()
            if result.ending is Ending.DISK:
                told += await self._made_room()
        elif processes_ran_out(result) and not await _has_room(sandbox):
            await self.close()
            told.append("ended all processes, for those in the background left no room for another one")
        if told:
            words = "".join(f"sandbox: {one}\n" for one in told)
            result = result.but(stderr=words.encode() + result.stderr)
        return result

    async def write_file(self, path: str, content: bytes) -> None:
        """Write a file as the guest. Raises `SandboxError`."""
        await self._twice(lambda sandbox: sandbox.write_file(path, content))

    async def read_file(self, path: str) -> bytes:
        """Read a file as the guest. Raises `FileNotFoundError`, `ValueError` and `SandboxError`."""
        return await self._twice(lambda sandbox: sandbox.read_file(path))

    async def _twice(self, work: Callable[[Sandbox], Awaitable[T]]) -> T:
        """Do *work*; where the sandbox is gone, once more in the next one.

        What ran in the background may have ended it: a command finds out why, and says so.
        """
        try:
            return await work(await self.sandbox())
        except SandboxError:
            await self.run(Command(argv=("/bin/true",)))
            return await work(await self.sandbox())

    @property
    def _own(self) -> list[tuple[str, Path]]:
        """Where the guest writes, and where that is on the host."""
        writable = [(mount.target, mount.source) for mount in self.spec.mounts if mount.writable]
        return [(WORKSPACE, self.spec.workspace), *writable]

    async def _made_room(self) -> list[str]:
        """Remove what would end the next sandbox, too; return what to say of it."""
        gone = await in_thread(make_room, self._own, self.spec.limits.disk_mb * 2**20)
        return [f"removed what left no room on the disk: {', '.join(gone)}"] if gone else []

    async def close(self) -> None:
        """Close the sandbox; the next command opens another."""
        if self._sandbox is not None:
            sandbox, self._sandbox = self._sandbox, None
            await sandbox.close()

    def _furnished(self, command: Command) -> Command:
        return command.but(environment={**self._variables, **command.environment})


async def _has_room(sandbox: Sandbox) -> bool:
    """Whether a shell can start a process, now or when what is ending has ended."""
    for _ in range(_LOOKS):
        if (await sandbox.run(_FORK)).ok:
            return True
        await asyncio.sleep(_LOOK_S)
    return False


@asynccontextmanager
async def open_workspace(
    context: AgentContext, furnishing: SandboxExtras | None = None, *attach: Attach
) -> AsyncIterator[AgentSandbox]:
    """Yield the place where *context* is worked on; its sandbox opens with the first command.

    *attach* are further gateways. Raises `InfrastructureError` and `TaskError` as the environment builder does.
    """
    tools = await _language_tools(context)
    spec, tools = await _spec(context, furnishing or SandboxExtras(), tools)
    async with AsyncExitStack() as stack:
        gateways = [*attach]
        lent = context.builder.gateway(refused=context.withheld, original=context.original)
        index = await stack.enter_async_context(lent)
        if index is not None:
            gateways.append(_attaching(index))
        further = tools.wanted(context.withheld, context.original)
        if further is not None:
            gateways.append((await stack.enter_async_context(context.builder.registries(further))).attach)
        sandbox = AgentSandbox(context, spec, gateways, tools)
        stack.push_async_callback(sandbox.close)
        yield sandbox


async def _spec(
    context: AgentContext, wanted: SandboxExtras, tools: LanguageTools
) -> tuple[SandboxSpec, LanguageTools]:
    """Return the sandbox, with a virtual environment and a home that the agent may change, and what is in it."""
    limits = wanted.limits or context.task.limits
    names = python_names(context.task, context.withheld)
    tools = tools.but(told_of_grading=context.told_of_grading)
    image, base = context.image, context.base
    root = image or (base if isinstance(base, UnpackedImage) else None)
    # The image has been searched by content already, and nothing of the fixed list is a library.
    system = None if image or base == "listed" else Path("/") if root is None else root.root
    python = await (_of_layers(context, wanted, names) if image is None else _of_image(context, image))

    def laid_out() -> tuple[Mount, ...]:
        home_of(context).mkdir()
        shown = (*python.shown, *tools.mounts, *wanted.mounts)
        home = Mount(source=home_of(context), target=HOME, writable=True)
        memory = _memory(limits, context) if context.provider.name == "bubblewrap" else ()
        hidden = hiding(names, shown, context.scratch, system)
        return (*shown, *python.own, home, *memory, *hidden)

    mounts = await in_thread(laid_out)
    processors = str(max(1, math.ceil(limits.cpus)))
    spec = SandboxSpec(
        workspace=context.workspace,
        mounts=mounts,
        path=(*wanted.path, *python.path, *tools.path),
        environment={
            "PIP_NO_CACHE_DIR": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            # nproc, Python from 3.13 on and numeric libraries take these; all else sees the machine's processors.
            "OMP_NUM_THREADS": processors,
            "PYTHON_CPU_COUNT": processors,
            "PAGER": "cat",
            "GIT_PAGER": "cat",
            **python.environment,
            **tools.environment,
            **wanted.environment,
        },
        limits=limits.but(wall_clock_s=context.limits.wall_clock_s or _DAY_S),
        system="listed" if base == "listed" else "host",
        root=None if image is None else image.root,
        label=context.label,
    )
    if image is None and root is not None:
        spec = root.within(spec)
    return spec, tools.but(has_requirements=python.has_requirements)


class _Python(NamedTuple):
    """An interpreter with what is installed for it, where the agent can install more."""

    shown: tuple[Mount, ...]
    own: tuple[Mount, ...]
    path: tuple[str, ...]
    environment: Mapping[str, str]
    has_requirements: bool


async def _of_layers(context: AgentContext, wanted: SandboxExtras, names: Collection[str]) -> _Python:
    """Return a virtual environment on top of as much of the task's packages as brings no copy."""
    environment, request = await _environment(context, wanted, names)
    prefix, known = context.scratch / "venv", context.environment
    await in_thread(make_prefix, environment, prefix)
    uv = () if request.with_pip else await in_thread(uv_as_pip, environment, prefix, PREFIX)
    return _Python(
        shown=(*environment.mounts, *uv),
        own=(Mount(source=prefix, target=PREFIX, writable=True),),
        path=(f"{PREFIX}/bin",),
        environment={"VIRTUAL_ENV": PREFIX, **environment.environment},
        has_requirements=known is not None and set(known.requirements) <= set(request.requirements),
    )


async def _of_image(context: AgentContext, image: UnpackedImage) -> _Python:
    """Return the image's own interpreter."""

    def laid() -> tuple[Mount, ...]:
        return tuple(writable_copy(mount, context.scratch, context.provider) for mount in image.installed())

    own = await in_thread(laid)
    inside = image.within(SandboxSpec(workspace=context.workspace))
    return _Python((), own, inside.path, inside.environment, has_requirements=True)


def _memory(limits: Limits, context: AgentContext) -> tuple[Mount, ...]:
    """Return what shows the limit as the machine's memory, to `free` and to whoever reads /proc/meminfo."""
    place, size = context.scratch / "meminfo", f"{limits.memory_mb * 1024} kB"
    told = {"MemTotal": size, "MemFree": size, "MemAvailable": size}
    nothing = dict.fromkeys(("Buffers", "Cached", "SReclaimable", "Shmem", "SwapTotal", "SwapFree"), "0 kB")
    place.write_text("".join(f"{name + ':':<16}{value:>12}\n" for name, value in {**told, **nothing}.items()))
    return (Mount(source=place, target="/proc/meminfo"),)


def task_python(task: Task) -> str:
    named = task.metadata.get("python")
    return named if isinstance(named, str) and re.fullmatch(r"3\.\d+", named) else DEFAULT_PYTHON


def tools_lock(python: str, withheld: Collection[str]) -> tuple[str, ...]:
    """Return the hashed lines of pytest, setuptools and wheel; nothing when one of them is to be written."""
    lines = _tools_of(python)
    names = {canonicalize_name(line.partition("==")[0]) for line in lines}
    return () if names & {canonicalize_name(name) for name in withheld} else lines


def home_of(context: AgentContext) -> Path:
    """Return the folder that is the home inside: on disk, where caches of build tools do not count as memory."""
    return context.scratch / "home"


def make_prefix(environment: PythonEnvironment, prefix: Path) -> None:
    """Fill *prefix* with a virtual environment on top of the layer of *environment*: a few small files."""
    layer = environment.layer.path
    minor = ".".join(environment.python_version.split(".")[:2])
    installed = f"lib/python{minor}/site-packages"
    for folder in ("", "bin", "lib", f"lib/python{minor}", installed):
        (prefix / folder).mkdir()
    # The layer first: what is found there is found before the plugin.
    (prefix / installed / "_layer.pth").write_text(
        f"{ENVIRONMENT_TARGET}/{installed}\n{lend_poetry_plugin(prefix, PREFIX)}"
    )
    if (layer / "pyvenv.cfg").is_file():
        (prefix / "pyvenv.cfg").write_bytes((layer / "pyvenv.cfg").read_bytes())
    for program in sorted((layer / "bin").iterdir()) if (layer / "bin").is_dir() else ():
        place = prefix / "bin" / program.name
        if program.is_symlink():
            place.symlink_to(program.readlink())
        # Scripts name the layer's interpreter; through the prefix's own they see what the agent installs there.
        elif (script := program.read_bytes()).startswith(b"#!" + environment.executable.encode()):
            place.write_bytes(script.replace(f"{ENVIRONMENT_TARGET}/bin".encode(), f"{PREFIX}/bin".encode(), 1))
            place.chmod(0o755)


async def _language_tools(context: AgentContext) -> LanguageTools:
    """Return what there is for the task's language, and record it: another machine may have something else."""
    tools = await language_tools(context.task, context.builder)
    if tools.versions or tools.absent:
        context.trajectory.append(
            "tools", language=tools.language, versions={**tools.versions}, absent=tools.absent
        )
    return tools


async def _environment(
    context: AgentContext, wanted: SandboxExtras, withheld: Collection[str]
) -> tuple[PythonEnvironment, PythonRequest]:
    """Return as much of the image and the tools as brings no copy of what is withheld along, and what that is."""
    python = wanted.python or task_python(context.task)
    lock = tools_lock(python, withheld)
    few = tuple(line for line in lock if line.partition("==")[0] not in _VENDORING)
    # pip and setuptools carry copies of libraries: first all tools, then without pip, then without those two.
    variants = ((lock, True), (lock, False), (few, False))
    bare = PythonRequest(python=python)
    image = context.environment
    bases = (bare,) if image is None or image.python != python else (image, bare)
    for base, (lines, pip) in itertools.product(bases, variants):
        present = {_name(line) for line in base.requirements}
        more = (line for line in lines if _name(line) not in present)
        # Our tools are newer than the date at which a recipe's packages were looked up; all are pinned by hash.
        update = {"requirements": (*base.requirements, *more), "with_pip": pip, "exclude_newer": None}
        request = base.but(**update)
        environment = await context.builder.python(request)
        if not await brings_copies(environment.layer.path, withheld, context.original):
            return environment, request
    return await context.builder.python(bare), bare


def _name(line: str) -> str:
    return canonicalize_name(line.partition("==")[0])


def _attaching(index: PyPIGateway) -> Attach:
    async def attach(sandbox: Sandbox) -> Mapping[str, str]:
        return index.supplies(await index.attach(sandbox)).environment

    return attach


@cache
def _tools_of(python: str) -> tuple[str, ...]:
    """Return the lines of the tools' lock that a minor version on Linux needs, without their markers."""
    text = (importlib.resources.files(__package__) / "data" / "tools.txt").read_text(encoding="utf-8")
    here = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    found = []
    for entry in re.sub(r"\\\n\s*", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines():
        pin, *hashes = entry.split(" --hash=")
        requirement, _, marker = pin.partition(";")
        if not marker.strip() or Marker(marker.strip()).evaluate(here):
            found.append(" --hash=".join([requirement.strip(), *(one.strip() for one in hashes)]))
    return tuple(found)
