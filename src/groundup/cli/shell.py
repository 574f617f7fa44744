"""`groundup shell`: the sandbox of an attempt, as its grader saw it."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import Output
from groundup.cli.options import Examples, Run

if TYPE_CHECKING:
    from groundup.runs.shells import AttemptSandbox

EXAMPLES: dict[str, Examples] = {
    "shell": (
        ("Why does it fail?", "groundup shell my-run sqlparse"),
        ("The third attempt", "groundup shell my-run sqlparse/2"),
        ("One command", "groundup shell my-run sqlparse -c 'python -c \"import sqlparse\"'"),
    ),
}


def shell(
    run: Run,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task of the run, or TASK/ATTEMPT.")],
    command: Annotated[
        str | None,
        typer.Option("--command", "-c", help="Run this command instead of a shell, and return its exit code."),
    ] = None,
    output: Output = None,
) -> int:
    """Open a shell in a copy of a submission of RUN, in the environment that graded it.

    What you do there does not change the run. Without a terminal, the shell runs standard input.
    """
    import asyncio

    from groundup.api.folders import run_folder
    from groundup.cli.attempts import attempt_key
    from groundup.runs.shells import attempt_sandbox
    from groundup.settings import load

    settings = load({"output": output})
    folder = run_folder(run, settings)
    attempt = attempt_key(task)

    async def visit() -> int:
        async with attempt_sandbox(folder, attempt, settings) as place:
            if command is None and sys.stdin.isatty():
                return await _interactive(place)
            given = _standard_input()
            if command is None:
                return await _script(place, given.decode(errors="surrogateescape"), b"")
            return await _script(place, command, given)

    return asyncio.run(visit())


def _standard_input() -> bytes:
    """Return all that is piped to us; nothing where people type. Raises `UsageError`."""
    from groundup.domain.errors import UsageError
    from groundup.trees.walking import LARGE

    if sys.stdin is None or sys.stdin.isatty():
        return b""
    content = sys.stdin.buffer.read(LARGE + 1)
    if len(content) > LARGE:
        raise UsageError(f"standard input is larger than {LARGE // 1024**2} MiB; put it into a submission instead")
    return content


async def _script(place: "AttemptSandbox", text: str, given: bytes) -> int:
    """Run *text* by a shell that reads *given*; pass on what it writes and return its exit code."""
    from groundup.sandbox.protocol import Command

    async with await place.provider.open(place.spec) as sandbox:
        result = await sandbox.run(Command(argv=("/bin/sh", "-c", text), stdin=given))
    sys.stdout.flush()
    sys.stdout.buffer.write(result.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(result.stderr)
    sys.stderr.buffer.flush()
    if result.exit_code is None:
        from groundup.cli.console import say

        say(f"groundup: the command was ended: {result.ending.value.replace('_', ' ')}")
        return 124
    return result.exit_code if result.exit_code >= 0 else 128 - result.exit_code


async def _interactive(place: "AttemptSandbox") -> int:
    """Connect this terminal to a shell inside, over the sandbox's own loopback."""
    import shutil

    from groundup.cli.terminal import connected
    from groundup.sandbox.protocol import Command

    columns, lines = shutil.get_terminal_size()
    async with await place.provider.open(place.spec) as sandbox:
        with await sandbox.listen(0) as listener:
            port = listener.getsockname()[1]
            # `script` gives the shell a terminal of its own; without it there is no job control, and it works.
            inside = f"stty rows {lines} columns {columns}; exec bash -i"
            start = (
                f"exec 3<>/dev/tcp/127.0.0.1/{port}; "
                f'if command -v script >/dev/null; then exec script -qfc "{inside}" /dev/null <&3 >&3 2>&3; '
                "else exec bash -i <&3 >&3 2>&3; fi"
            )
            service = await sandbox.start(
                Command(argv=("/bin/bash", "-c", start), environment={"TERM": "xterm-256color"})
            )
            await connected(listener)
            return await service.wait(5) or 0
