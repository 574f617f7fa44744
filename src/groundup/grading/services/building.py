"""Installing a service that the machine's Node.js or Go runs, before it starts, and finding what starts it.

Scripts of its packages are its code, so all of this happens in a sandbox with no way out but the gateway of their
registry. A failed install is a fact and no end.
"""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import SubmissionError, reading_submission
from groundup.domain.languages import ServiceToolchain
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.environments.failures import (
    INFRASTRUCTURE,
    BuildFailure,
    BuildFailureKind,
    OutOfTimeError,
    WorkTime,
    as_error,
    classify,
    failure_repeated,
    out_of_time,
)
from groundup.environments.toolchains import Toolchain
from groundup.grading.context import GradingContext
from groundup.grading.services.install import NO_SCRIPT, StartCommand, speaks_of, start_script
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.registries.ledger import Trouble
from groundup.registries.lending import LendingRules, RegistrySet
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Sandbox, SandboxSpec
from groundup.trees.walking import is_file_inside, read_regular
from groundup.trees.writer import copy_tree, in_thread

_PACKAGE, _GO_MODULE = "package.json", "go.mod"
_LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
_LARGEST = 1024 * 1024
_NODE_MAINS = ("server.js", "index.js", "app.js")
_BUILT = "bin"
_GO_CACHES = f"{WORKSPACE}/.go"


class _Way(NamedTuple):
    """How the services of one toolchain are built."""

    manifest: str
    """The file without which there is nothing to install."""
    commands: Callable[[Path], tuple[tuple[str, ...], ...]]
    """Returns what is run in a submission, in this order."""
    variables: Mapping[str, str]
    installers: re.Pattern[bytes]
    """Words of start scripts that may fetch packages."""
    found_without_script: Callable[[Path], StartCommand | None]
    nothing_found: str
    """What else is lacking where neither a script nor a program was found."""
    marks: tuple[str, ...] = ()
    """What stands before lines that tell something."""
    tells_nothing: tuple[str, ...] = ()
    """Beginnings of lines, after such a mark, that do not."""


class BuiltService(Record):
    """How the install ended."""

    outcome: InstallOutcome
    message: str = ""
    seconds: float = 0.0
    tree: Path
    """The submission after the install, with what it installed and built."""
    toolchain: Toolchain
    log: bytes = b""


async def install_built(
    name: ServiceToolchain, submission: Path, lifecycle: Lifecycle, context: GradingContext
) -> BuiltService:
    """Install and build a copy of *submission*, in a slot of the machine. Raises `InfrastructureError`."""
    began = time.monotonic()
    at_step("installing what it declares")
    way = _WAYS[name]
    toolchain = await context.builder.toolchain(name)
    toolchain = toolchain.but(environment={**toolchain.environment, **way.variables})
    tree = context.scratch / "installed"
    await in_thread(copy_tree, submission, tree)
    found = BuiltService(
        outcome=InstallOutcome.UNDECLARED, tree=tree, toolchain=toolchain, message=f"no {way.manifest}"
    )
    if await asyncio.to_thread(is_file_inside, tree / way.manifest, tree):
        async with context.slots.taken():
            try:
                found = await _installed(found, way, lifecycle, context)
            except OutOfTimeError:
                message = f"not installed within {lifecycle.install_s:.0f} s"
                found = found.but(outcome=InstallOutcome.TIMEOUT, message=message)
    return found.but(seconds=time.monotonic() - began)


@reading_submission("what starts the service")
def find_built_start(name: ServiceToolchain, tree: Path) -> StartCommand | None:
    """Return the command that starts the service in *tree*, once built; None when there is nothing to start.

    A start script where Python's is looked for; else the `start` of package.json, its `main` or a file of a usual
    name, in Go the one program that was built. Raises `SubmissionError` for what cannot be read.
    """
    script = start_script(tree)
    if script is None:
        return _WAYS[name].found_without_script(tree)
    installs = speaks_of(_WAYS[name].installers, tree, "*.sh")
    return StartCommand(found=script, argv=("bash", f"./{script}"), installs=installs)


def no_built_start(name: ServiceToolchain) -> str:
    """Say that `find_built_start` found nothing, and what it looked for."""
    return f"{NO_SCRIPT}, and {_WAYS[name].nothing_found}"


async def _installed(
    found: BuiltService, way: _Way, lifecycle: Lifecycle, context: GradingContext
) -> BuiltService:
    limits = lifecycle.service.for_command(lifecycle.install_s + 10, output_bytes=lifecycle.log_bytes)
    spec = SandboxSpec(
        workspace=found.tree,
        mounts=found.toolchain.mounts,
        path=found.toolchain.path,
        environment=found.toolchain.environment,
        limits=limits,
        system="host",
        label="install",
    )
    rules = LendingRules(kinds=(found.toolchain.registry,))
    async with context.builder.registries(rules) as lent, await context.provider.open(spec) as sandbox:
        work = WorkTime(lifecycle.install_s, "installing")
        build = _Build(way, sandbox, lent, await lent.attach(sandbox), work)
        for argv in way.commands(found.tree):
            failure = await failure_repeated(partial(build.run, argv, context.scratch), build.work)
            if failure is not None:
                break
    if failure is not None and failure.kind in INFRASTRUCTURE:
        raise as_error(failure, "submission", "installing the submission", context.scratch)
    return found.but(
        outcome=InstallOutcome.SUCCEEDED if failure is None else InstallOutcome.FAILED,
        message="" if failure is None else printable(f"`{' '.join(argv)}`: {failure.message}")[:300],
        log=build.log,
    )


@dataclass
class _Build:
    """A sandbox that installs and builds."""

    way: _Way
    sandbox: Sandbox
    lent: RegistrySet
    variables: Mapping[str, str]
    work: WorkTime
    log: bytes = b""

    async def run(self, argv: tuple[str, ...], place: Path) -> BuildFailure | None:
        """Return why *argv* failed. *place*: a folder on the disk of the machine."""
        try:
            async with self.work.running(self.sandbox):
                result = await self.sandbox.run(Command(argv=argv, environment=self.variables))
        except OutOfTimeError as error:
            raise out_of_time(error, self._troubles(), self.lent.longest_wait_s()) from error
        self.log += f"$ {' '.join(argv)}\n".encode() + result.stdout + result.stderr
        return None if result.ok else self._failure(result, place)

    def _failure(self, result: CommandResult, place: Path) -> BuildFailure:
        """Say why a command failed, in its first lines: npm names its log below them, or what it ran goes on."""
        waiting_s, free = self.lent.longest_wait_s(), shutil.disk_usage(place).free
        failure = classify(result, self._troubles(), waiting_s=waiting_s, host_free_bytes=free)
        if failure.kind not in (BuildFailureKind.BUILD, BuildFailureKind.UNKNOWN):
            return failure
        lines = [line.strip() for line in (result.stdout + result.stderr).decode(errors="replace").splitlines()]
        said = [_without(line, self.way.marks) for line in lines if line]
        told = [line for line in said if not line.startswith(self.way.tells_nothing)]
        return failure.but(message="; ".join(told[:4])[:300] or failure.message)

    def _troubles(self) -> tuple[Trouble, ...]:
        return tuple(trouble for troubles in self.lent.troubles.values() for trouble in troubles)


def _without(line: str, marks: tuple[str, ...]) -> str:
    for mark in marks:
        line = line.removeprefix(mark)
    return line


def _npm(tree: Path) -> tuple[tuple[str, ...], ...]:
    has_lock = any((tree / name).is_file() for name in _LOCKS)
    return ("npm", "ci" if has_lock else "install"), ("npm", "run", "build", "--if-present")


def _node_program(tree: Path) -> StartCommand | None:
    if not is_file_inside(tree / _PACKAGE, tree):
        return None
    try:
        manifest = json.loads(read_regular(tree / _PACKAGE, _LARGEST))
    except (ValueError, RecursionError) as error:
        raise SubmissionError(f"{_PACKAGE} is not valid JSON: {error}") from error
    read = manifest if isinstance(manifest, dict) else {}
    scripts, main = read.get("scripts"), read.get("main")
    if isinstance(scripts, dict) and isinstance(scripts.get("start"), str):
        return StartCommand(found=_PACKAGE, argv=("npm", "start"))
    named = [name for name in (main, *_NODE_MAINS) if isinstance(name, str)]
    for name in named:
        if is_file_inside(tree / name, tree):
            return StartCommand(found=name, argv=("node", f"./{name}"))
    return None


def _go(tree: Path) -> tuple[tuple[str, ...], ...]:
    # What go.sum lacks is added, as npm adds what its lock file lacks; a vendored module needs nothing.
    modules = "vendor" if (tree / "vendor").is_dir() else "mod"
    return (("go", "build", f"-mod={modules}", "-o", f"{_BUILT}/", "./..."),)


def _go_program(tree: Path) -> StartCommand | None:
    programs = sorted(path for path in (tree / _BUILT).glob("*") if is_file_inside(path, tree))
    if len(programs) != 1:
        return None
    return StartCommand(found=f"{_BUILT}/{programs[0].name}", argv=(f"./{_BUILT}/{programs[0].name}",))


_WAYS: Mapping[ServiceToolchain, _Way] = {
    "node": _Way(
        manifest=_PACKAGE,
        commands=_npm,
        variables={"npm_config_cache": "/tmp/npm"},  # noqa: S108 - inside
        installers=re.compile(rb"(?<![\w.-])(npm|npx|yarn|pnpm|corepack)(?![\w.-])"),
        found_without_script=_node_program,
        nothing_found=f"package.json names no start or main, and there is none of {', '.join(_NODE_MAINS)}",
        marks=("npm error ", "npm ERR! "),
        tells_nothing=(">", "code ", "errno ", "A complete log", "npm notice"),
    ),
    # Scripts may compile again: with what was fetched and built before, for that takes a while.
    "go": _Way(
        manifest=_GO_MODULE,
        commands=_go,
        variables={
            "GOMODCACHE": f"{_GO_CACHES}/mod",
            "GOCACHE": f"{_GO_CACHES}/build",
            "GOFLAGS": "-modcacherw -buildvcs=false",
        },
        installers=re.compile(rb"(?<![\w.-])go(?![\w.-])"),
        found_without_script=_go_program,
        nothing_found=f"the build left not exactly one program in {_BUILT}",
        tells_nothing=("go: downloading ", "go: finding ", "go: found ", "go: added ", "#"),
    ),
}
