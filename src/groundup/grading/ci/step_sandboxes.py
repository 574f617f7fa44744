"""The sandboxes of a job's steps: the repository, interpreters and toolchains, registries through gateways."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from groundup.domain.errors import InfrastructureError, MachineError
from groundup.domain.languages import RegistryKind
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.toolchains import Toolchain
from groundup.grading.ci.actions import write_programs
from groundup.grading.ci.dotnet_versions import END_COMPILER, DotNetVersions, dotnet_versions
from groundup.grading.ci.nuget_configuration import free_of_feeds
from groundup.grading.ci.plan import Tools, asked_pythons, substitute
from groundup.grading.ci.records import (
    ARTIFACTS,
    SUPPLIES,
    TEMPORARY,
    TOOLS,
    JobRequest,
    Obstacle,
    UnsupportedJobError,
    checkout,
)
from groundup.grading.ci.relay import StepPlace
from groundup.grading.ci.step_pythons import StepPython, installed_python, step_python
from groundup.grading.context import GradingContext
from groundup.languages import TOOLCHAINS
from groundup.registries.ledger import Trouble
from groundup.registries.lending import LendingRules, RegistrySet
from groundup.registries.uv import uv_program
from groundup.sandbox.protocol import Command, Mount, Sandbox, SandboxSpec
from groundup.workflows.tree import RepositoryTree

_HOME = "/home/user"
_GIT = (
    "git init -q -b main . && git config gc.auto 0 && git add -A && "
    "git -c user.name=groundup -c user.email=groundup@localhost commit -q --no-verify --allow-empty -m checkout"
)
"""Makes a checkout of a tree without history; versions that are taken from it need one."""


@dataclass(frozen=True)
class StepTools:
    """What every step's sandbox of one job gets."""

    builder: EnvironmentBuilder
    pythons: tuple[StepPython, ...]
    toolchains: tuple[Toolchain, ...]
    wanted: LendingRules | None
    programs: Path
    artifacts: Path
    """What jobs keep for each other: the same folder in all sandboxes of a run."""
    substitutes: tuple[str, ...]
    dotnet: DotNetVersions | None
    lent: list[RegistrySet]
    changed: list[str]
    """Files of the repository that are not the same in a job's copy, and how."""

    def troubles(self) -> tuple[Trouble, ...]:
        """Return what registries would not give out."""
        return tuple(one for lent in self.lent for group in lent.troubles.values() for one in group)

    def undated(self) -> Iterator[str]:
        """Yield which registries cannot say what there was at the cut-off."""
        for lent in self.lent:
            for kind, gateway in lent.gateways.items():
                if gateway.is_undated:
                    yield f"{kind} packages perhaps newer than the cut-off: the registry does not know their days"

    def hidden(self) -> dict[str, str]:
        """Return the packages of which the cut-off hides releases, with the day of the first of these."""
        gateways = (gateway for lent in self.lent for gateway in lent.gateways.values())
        return {name: f"{first:%Y-%m-%d}" for gateway in gateways for name, first in gateway.hidden.items()}


@asynccontextmanager
async def prepare(
    tools: Tools, tree: RepositoryTree, request: JobRequest, context: GradingContext
) -> AsyncIterator[StepTools]:
    """Yield what the steps need. Raises `UnsupportedJobError` for what is not on this machine."""
    builder = context.builder
    pythons = await _pythons(tools, tree, context)
    toolchains = await _toolchains(tools, builder)
    programs = context.scratch / "programs"
    artifacts = context.scratch / "artifacts"
    for folder in (programs, artifacts):
        folder.mkdir()
    write_programs(programs)
    reported = [python.substitute for python in pythons]
    for chain in toolchains:
        have = chain.versions[TOOLCHAINS[chain.name].program]
        reported.append(substitute(chain.name, tools.asked.get(chain.name, ()), have))
    kinds: list[RegistryKind] = [TOOLCHAINS[chain.name].registry for chain in toolchains]
    if tools.has_python:
        kinds.insert(0, "pypi")
    wanted = LendingRules(kinds=tuple(kinds), exclude_newer=request.exclude_newer) if kinds else None
    dotnet = None
    for chain in toolchains:
        if chain.name == "dotnet":
            asked, inside = tools.asked.get("dotnet", ()), f"{SUPPLIES}/bin"
            dotnet = await asyncio.to_thread(dotnet_versions, chain.beside, asked, request.tree, programs, inside)
            reported.extend(dotnet.substitutes)
    yield StepTools(
        builder=builder,
        pythons=pythons,
        toolchains=toolchains,
        wanted=wanted,
        programs=programs,
        artifacts=artifacts,
        substitutes=tuple(dict.fromkeys(one for one in reported if one)),
        dotnet=dotnet,
        lent=[],
        changed=[],
    )


async def versions(tools: Tools, tree: RepositoryTree, builder: EnvironmentBuilder) -> dict[str, str]:
    """Return the version of each interpreter and program that `prepare` would lend."""
    found: dict[str, str] = {}
    for name, minors in asked_pythons(tools, tree):
        python = await installed_python(minors, builder)
        found[f"python {name}".strip()] = f"{python.python_version} {python.layer.digest}"
    for chain in await _toolchains(tools, builder):
        found |= chain.versions | {name: " ".join(each) for name, each in chain.beside.items()}
    return found


async def _pythons(tools: Tools, tree: RepositoryTree, context: GradingContext) -> tuple[StepPython, ...]:
    asked = asked_pythons(tools, tree)
    return tuple([await step_python(name, minors, context.builder, context.scratch) for name, minors in asked])


async def _toolchains(tools: Tools, builder: EnvironmentBuilder) -> tuple[Toolchain, ...]:
    found = []
    for kind in (*tools.kinds, *tools.perhaps):
        if kind == "python":
            continue
        try:
            found.append(await builder.toolchain(kind))
        except InfrastructureError as error:
            if kind not in tools.kinds:
                continue
            if not isinstance(error, MachineError):  # it is there and does not work: the machine's failure
                raise
            raise UnsupportedJobError((Obstacle(kind="toolchain", what=str(error)),)) from error
    return tuple(found)


class StepSandboxes:
    """Opens a sandbox for each of act's jobs, each with a copy of the repository of its own."""

    def __init__(
        self,
        request: JobRequest,
        prepared: StepTools,
        context: GradingContext,
        timeout_s: float,
        place: str = "",
    ) -> None:
        """Take the job's request and tools; *place* is where its workspace has the repository."""
        self.peak_memory_mb: float | None = None
        self._request = request
        self._prepared = prepared
        self._context = context
        self._timeout_s = timeout_s
        self._place = place
        self._opened: list[Sandbox] = []
        self._count = 0
        self._taken = False
        self._stack = AsyncExitStack()
        self._first = asyncio.ensure_future(self._open())
        """Opened while act is on its way."""

    async def open(self, job: str) -> StepPlace:
        """Open the sandbox of the job that act calls *job*, asked for once."""
        if not self._taken:
            self._taken = True
            return await self._first
        return await self._open()

    async def _open(self) -> StepPlace:
        first = self._count == 0
        self._count += 1
        folder = self._context.scratch / f"steps-{self._count}"
        await asyncio.to_thread(self._fill, folder)
        prepared = self._prepared
        spec = self._spec(folder, prepared if first else await self._another(prepared, folder))
        sandbox = await self._stack.enter_async_context(await self._context.provider.open(spec))
        self._opened.append(sandbox)
        variables = await self._attach(sandbox)
        where = str(PurePosixPath(checkout(self._request.repository), self._place))
        if not (folder / "workspace" / self._request.repository / self._place / ".git").exists():
            await sandbox.run(Command(argv=("bash", "-c", _GIT), cwd=where, timeout_s=300.0))
        head = await sandbox.run(Command(argv=("git", "rev-parse", "HEAD"), cwd=where, timeout_s=60.0))
        if head.ok:
            variables["GITHUB_SHA"] = head.stdout.decode().strip()
        return StepPlace(
            sandbox=sandbox,
            environment=self._variables() | variables,
            path=self._path(),
            afterwards=END_COMPILER if self._prepared.dotnet is not None else (),
        )

    async def _attach(self, sandbox: Sandbox) -> dict[str, str]:
        prepared = self._prepared
        if prepared.wanted is None:
            return {}
        lent = await self._stack.enter_async_context(prepared.builder.registries(prepared.wanted))
        prepared.lent.append(lent)
        return await lent.attach(sandbox)

    async def _another(self, prepared: StepTools, folder: Path) -> StepTools:
        """Interpreters that one job changed must not be another's."""
        scratch = folder / "pythons"
        scratch.mkdir()
        minors = [".".join(python.version.split(".")[:2]) for python in prepared.pythons]
        pythons = [
            await step_python(python.asked, (minor,), prepared.builder, scratch)
            for python, minor in zip(prepared.pythons, minors, strict=True)
        ]
        return StepTools(**{**prepared.__dict__, "pythons": tuple(pythons)})

    def _fill(self, folder: Path) -> None:
        workspace = folder / "workspace"
        tree = workspace / self._request.repository / self._place
        shutil.copytree(self._request.tree, tree, symlinks=True)
        if self._prepared.dotnet is not None:
            self._prepared.changed.extend((*free_of_feeds(tree), *self._prepared.dotnet.fit(tree)))
        for part in (TEMPORARY, TOOLS):
            (workspace / Path(part).relative_to("/workspace")).mkdir(parents=True)
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        (folder / "tmp").chmod(0o1777)
        (folder / "home" / ".nvm").mkdir()
        (folder / "home" / ".nvm" / "nvm.sh").write_text("# nvm is a program here\n", encoding="utf-8")

    def _spec(self, folder: Path, prepared: StepTools) -> SandboxSpec:
        mounts = {mount.target: mount for python in prepared.pythons for mount in python.mounts}
        mounts |= {mount.target: mount for chain in prepared.toolchains for mount in chain.mounts}
        return SandboxSpec(
            workspace=folder / "workspace",
            mounts=(
                Mount(source=folder / "home", target=_HOME, writable=True),
                Mount(source=folder / "tmp", target="/tmp", writable=True),  # noqa: S108  # the guest's
                Mount(source=prepared.programs, target=f"{SUPPLIES}/bin"),
                Mount(source=prepared.artifacts, target=ARTIFACTS, writable=True),
                Mount(source=uv_program(), target=f"{SUPPLIES}/uv/uv"),
                *mounts.values(),
            ),
            path=self._path(),
            limits=self._request.limits.but(wall_clock_s=self._timeout_s + 120.0),
            system="host",
            label="ci steps",
        )

    def _path(self) -> tuple[str, ...]:
        first = self._prepared.pythons[:1]
        return (
            f"{SUPPLIES}/bin",  # first: some stand before what a step installs
            f"{_HOME}/.local/bin",
            f"{_HOME}/.cargo/bin",  # where `cargo install` puts programs
            f"{_HOME}/.dotnet/tools",  # where `dotnet tool install --global` does
            f"{SUPPLIES}/uv",
            *(folder for chain in self._prepared.toolchains for folder in chain.path),
            *(f"{python.folder}/bin" for python in first),
        )

    def _variables(self) -> dict[str, str]:
        prepared = self._prepared
        found: dict[str, str] = {
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_LINK_MODE": "copy",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "npm_config_update_notifier": "false",
            "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
            "COREPACK_INTEGRITY_KEYS": "0",
            "npm_config_prefix": f"{_HOME}/.local",
            "NVM_DIR": f"{_HOME}/.nvm",
        }
        for chain in prepared.toolchains:
            found |= chain.environment
            if chain.name == "rust":
                found["GROUNDUP_CARGO"] = f"{chain.path[0]}/cargo" if chain.path else "/usr/bin/cargo"
        found |= prepared.dotnet.variables if prepared.dotnet is not None else {}
        for python in prepared.pythons:
            found |= python.environment
        lines = [f"{python.asked}|{python.folder}|{python.version}" for python in prepared.pythons]
        return found | {"GROUNDUP_PYTHONS": "\n".join(lines)}

    async def close(self) -> None:
        """End all sandboxes."""
        self._first.cancel()
        await asyncio.gather(self._first, return_exceptions=True)
        peaks = [peak for sandbox in self._opened if (peak := sandbox.usage().peak_memory_mb) is not None]
        self.peak_memory_mb = max(peaks, default=None)
        with contextlib.suppress(asyncio.CancelledError):
            await self._stack.aclose()
