"""The tool `bash`: one command in the attempt's sandbox, and what a model is told of it."""

from typing import NamedTuple

from groundup.agents.workplace import Workplace
from groundup.sandbox.protocol import Command, CommandResult, Ending

_ARGUMENT_BYTES = 100_000
"""The kernel takes no longer argument than 128 KiB."""
_LONG = "/tmp/.command"  # noqa: S108 - the guest's own
_ENDINGS = {
    Ending.TIMEOUT: "[ended: it ran longer than {seconds:g} s; start what takes long in the background]",
    Ending.MEMORY: "[ended: out of memory]",
    Ending.PROCESSES: "[ended: too many processes]",
    Ending.DISK: "[the sandbox was ended: too much was written; files in /workspace are kept, processes are gone]",
    Ending.SANDBOX_DIED: "[the sandbox died and is started anew; /workspace is kept, processes are gone]",
    Ending.WALL_CLOCK: "[the sandbox was ended: its time is over]",
}


class Told(NamedTuple):
    """What a tool did."""

    content: str
    exit_code: int | None
    seconds: float


async def run_bash(place: Workplace, command: str, timeout_s: float, output_bytes: int) -> Told:
    """Run *command*; stdout and stderr come back as one stream, its middle left out when it is long."""
    if "\0" in command:
        return Told("[not run: a command cannot contain a null character]", None, 0.0)
    script = f"exec 2>&1\n{command}".encode(errors="replace")
    argv: tuple[str, ...] = ("/bin/bash", "-c", script.decode())
    if len(script) > _ARGUMENT_BYTES:
        await (await place.sandbox()).write_file(_LONG, script)
        argv = ("/bin/bash", _LONG)
    result = await place.run(Command(argv=argv, timeout_s=timeout_s, output_bytes=output_bytes))
    return Told(told(result, timeout_s), result.exit_code, result.duration_s)


def told(result: CommandResult, timeout_s: float) -> str:
    """Return a result in words: the output, then how it ended. Durations are left out, for they never repeat."""
    output = (result.stdout + result.stderr).decode(errors="replace")
    if output and not output.endswith("\n"):
        output += "\n"
    if result.ending is Ending.EXITED:
        return f"{output}[exit code {result.exit_code}]"
    return output + _ENDINGS[result.ending].format(seconds=timeout_s)
