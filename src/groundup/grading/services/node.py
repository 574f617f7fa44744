"""Installing a service in JavaScript before it starts, by npm, and finding the command that starts it.

Scripts of its packages are its code, so all of this happens in a sandbox with no way out but the npm gateway. A
failed install is a fact and no end.
"""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from groundup.domain.errors import SubmissionError, reading_submission
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
from groundup.grading.services.deployment import NPM
from groundup.grading.services.install import StartCommand, speaks_of, start_script
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.registries.ledger import Trouble
from groundup.registries.lending import RegistrySet
from groundup.sandbox.protocol import Command, CommandResult, Sandbox, SandboxSpec
from groundup.trees.walking import is_file_inside, read_regular
from groundup.trees.writer import copy_tree

MANIFEST = "package.json"
_LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
_LARGEST = 1024 * 1024
_INSTALLERS = re.compile(rb"(?<![\w.-])(npm|npx|yarn|pnpm|corepack)(?![\w.-])")
_BUILD = ("npm", "run", "build", "--if-present")
_TELLS_NOTHING = (">", "code ", "errno ", "A complete log", "npm notice")


class NodeInstalled(Record):
    """How the install ended."""

    outcome: InstallOutcome
    message: str = ""
    seconds: float = 0.0
    tree: Path
    """The submission after the install, with node_modules and what it built."""
    toolchain: Toolchain
    log: bytes = b""


async def install_node(submission: Path, lifecycle: Lifecycle, context: GradingContext) -> NodeInstalled:
    """Install and build a copy of *submission*, in a slot of the machine. Raises `InfrastructureError`."""
    began = time.monotonic()
    at_step("installing what it declares")
    toolchain = await context.builder.toolchain("node")
    tree = context.scratch / "installed"
    await asyncio.to_thread(copy_tree, submission, tree)
    found = NodeInstalled(
        outcome=InstallOutcome.UNDECLARED, tree=tree, toolchain=toolchain, message=f"no {MANIFEST}"
    )
    if await asyncio.to_thread(is_file_inside, tree / MANIFEST, tree):
        async with context.slots.taken():
            try:
                found = await _installed(found, lifecycle, context)
            except OutOfTimeError:
                message = f"not installed within {lifecycle.install_s:.0f} s"
                found = found.but(outcome=InstallOutcome.TIMEOUT, message=message)
    return found.but(seconds=time.monotonic() - began)


async def _installed(found: NodeInstalled, lifecycle: Lifecycle, context: GradingContext) -> NodeInstalled:
    has_lock = any((found.tree / name).is_file() for name in _LOCKS)
    install: tuple[str, ...] = ("npm", "ci" if has_lock else "install")
    limits = lifecycle.service.for_command(lifecycle.install_s + 10, output_bytes=lifecycle.log_bytes)
    spec = SandboxSpec(
        workspace=found.tree,
        mounts=found.toolchain.mounts,
        path=found.toolchain.path,
        environment={**found.toolchain.environment, "npm_config_cache": "/tmp/npm"},  # noqa: S108 - inside
        limits=limits,
        system="host",
        label="install",
    )
    async with context.builder.registries(NPM) as lent, await context.provider.open(spec) as sandbox:
        build = _Build(sandbox, lent, await lent.attach(sandbox), WorkTime(lifecycle.install_s, "installing"))
        for argv in (install, _BUILD):
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
    """A sandbox that runs npm."""

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
        """Say why a command failed, in the first lines of npm, or of what it ran: below them it names its log."""
        waiting_s, free = self.lent.longest_wait_s(), shutil.disk_usage(place).free
        failure = classify(result, self._troubles(), waiting_s=waiting_s, host_free_bytes=free)
        if failure.kind not in (BuildFailureKind.BUILD, BuildFailureKind.UNKNOWN):
            return failure
        lines = [line.strip() for line in (result.stdout + result.stderr).decode(errors="replace").splitlines()]
        said = [line.removeprefix("npm error ").removeprefix("npm ERR! ") for line in lines if line]
        told = [line for line in said if not line.startswith(_TELLS_NOTHING)]
        return failure.but(message="; ".join(told[:4])[:300] or failure.message)

    def _troubles(self) -> tuple[Trouble, ...]:
        return tuple(trouble for troubles in self.lent.troubles.values() for trouble in troubles)


@reading_submission("what starts the service")
def find_node_start(tree: Path) -> StartCommand | None:
    """Return the command that starts the service in *tree*; None when there is nothing to start.

    A start script where Python's is looked for, else the `start` of package.json, else its `main`. Raises
    `SubmissionError` for what cannot be read.
    """
    script = start_script(tree)
    if script is not None:
        return StartCommand(
            found=script, argv=("bash", f"./{script}"), installs=speaks_of(_INSTALLERS, tree, "*.sh")
        )
    if not is_file_inside(tree / MANIFEST, tree):
        return None
    try:
        manifest = json.loads(read_regular(tree / MANIFEST, _LARGEST))
    except (ValueError, RecursionError) as error:
        raise SubmissionError(f"{MANIFEST} is not valid JSON: {error}") from error
    read = manifest if isinstance(manifest, dict) else {}
    scripts, main = read.get("scripts"), read.get("main")
    if isinstance(scripts, dict) and isinstance(scripts.get("start"), str):
        return StartCommand(found=MANIFEST, argv=("npm", "start"))
    named = [name for name in (main, "server.js", "index.js", "app.js") if isinstance(name, str)]
    for name in named:
        if is_file_inside(tree / name, tree):
            return StartCommand(found=name, argv=("node", f"./{name}"))
    return None
