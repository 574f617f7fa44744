"""Running a task's commands as the published evaluator does: one by one, split without a shell, never stopping.

Owns what a command is said to have printed: standard output alone when it ends with 0, and otherwise the text of
an exception that quotes both streams.
"""

import shlex
from collections.abc import Mapping, Sequence

from groundup.domain.errors import SandboxError
from groundup.domain.records import Record
from groundup.sandbox.protocol import Command, CommandResult, Ending, Sandbox
from groundup.suites.nl2repobench.official_rules import CommandOutput, split_command

OUTPUT_BYTES = 64 * 1024 * 1024
"""Per stream; the published evaluator knows no bound."""
_FATAL = frozenset({Ending.WALL_CLOCK, Ending.MEMORY, Ending.DISK, Ending.PROCESSES})
"""After these a sandbox may be gone, so nothing more is run in it."""


class Ran(Record):
    """One command, what the evaluator gets to read of it, and how it really ended."""

    said: CommandOutput
    ending: Ending = Ending.EXITED
    duration_s: float = 0.0
    truncated: bool = False


async def run_commands(
    sandbox: Sandbox, commands: Sequence[str], variables: Mapping[str, str], timeout_s: float
) -> tuple[Ran, ...]:
    """Run each command by itself; a failure changes nothing for the next. Raises `SandboxError`."""
    done: list[Ran] = []
    for command in commands:
        ran = await _run(sandbox, command, variables, timeout_s)
        done.append(ran)
        if ran.ending is Ending.SANDBOX_DIED:
            raise SandboxError("the sandbox died while the published commands ran; repeat the attempt")
        if ran.ending in _FATAL:
            break
    return tuple(done)


async def _run(sandbox: Sandbox, command: str, variables: Mapping[str, str], timeout_s: float) -> Ran:
    try:
        argv = split_command(command)
    except ValueError as error:
        return Ran(said=CommandOutput(command=command, output=str(error), exit_code=1))
    if not argv or "\0" in command:
        return Ran(said=CommandOutput(command=command, output="no command to execute", exit_code=1))
    result = await sandbox.run(
        Command(argv=tuple(argv), environment=dict(variables), timeout_s=timeout_s, output_bytes=OUTPUT_BYTES)
    )
    return Ran(
        said=said_of(command, argv, result),
        ending=result.ending,
        duration_s=result.duration_s,
        truncated=result.truncated,
    )


def said_of(command: str, argv: Sequence[str], result: CommandResult) -> CommandOutput:
    """Return what the evaluator reads of a command that ended so.

    A command that succeeds loses its standard error. Of one that fails both streams are quoted, unless either is
    not UTF-8: then the text of that error is all there is.
    """
    if result.ok:
        text = result.stdout.decode(errors="replace").removesuffix("\n")
        return CommandOutput(command=command, output=text)
    code = _container_code(result.exit_code)
    try:
        stdout, stderr = result.stdout.decode(), result.stderr.decode()
    except UnicodeDecodeError as error:
        return CommandOutput(command=command, output=str(error), exit_code=1)
    quoted = (
        f"The command executed was `docker container exec {shlex.join(argv)}`.\nIt returned with code {code}\n"
        f"The content of stdout is '{stdout}'\nThe content of stderr is '{stderr}'\n"
    )
    return CommandOutput(command=command, output=quoted, exit_code=code)


def _container_code(code: int | None) -> int:
    """Return an exit code as a container engine tells it; what was ended from outside is said to be killed."""
    if code is None:
        return 137
    return 128 - code if code < 0 else code
