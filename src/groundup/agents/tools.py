"""How a model calls tools, natively or by fenced blocks in its text, and the tools `bash`, `read` and `edit`."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from pydantic import JsonValue

from groundup.agents.observations import in_words
from groundup.agents.workspace import PREFIX, AgentSandbox
from groundup.domain.conversations import ChatReply, Message, Picture, Tool
from groundup.inside import source_of
from groundup.sandbox.protocol import Command, Ending

_OPENING = re.compile(r"^(`{3,})[ \t]*([A-Za-z]*)[ \t]*$")


class Call(NamedTuple):
    """A call as it was understood, or why it was not."""

    name: str
    arguments: Mapping[str, JsonValue]
    problem: str = ""
    id: str = ""


class Calling(Protocol):
    """One way of calling tools."""

    rules: str
    """What a model sees of it."""

    def offered(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """Return the tools that a request names."""
        ...

    def calls(self, reply: ChatReply) -> list[Call]:
        """Return what *reply* calls, in order."""
        ...

    def results(self, answered: Sequence[tuple[Call, str]]) -> list[Message]:
        """Return the messages that say what the calls did."""
        ...


class ByTools:
    """The endpoint's own tool calling."""

    rules = "Call the tools; a reply without a call ends your work."

    def offered(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        return tuple(tools)

    def calls(self, reply: ChatReply) -> list[Call]:
        return [_read(call.name, call.arguments, call.id) for call in reply.message.tool_calls]

    def results(self, answered: Sequence[tuple[Call, str]]) -> list[Message]:
        return [Message(role="tool", content=text, tool_call_id=call.id) for call, text in answered]


class ByText:
    """Blocks in the text: ```bash ... ``` is a command, ```submit``` hands in."""

    rules = (
        "You act by writing fenced blocks. A block that begins with a line ```bash holds commands that are run; "
        "a block that begins with ```submit and is empty hands in. When what you write holds three backticks, "
        "fence the block with four or more. What the blocks did is told to you in the next message. Other text is "
        "not looked at; a reply without such a block ends your work."
    )

    def offered(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        return ()

    def calls(self, reply: ChatReply) -> list[Call]:
        """Return the blocks whose first line names a tool."""
        found = []
        for name, body, closed in fenced_blocks(reply.message.content):
            if name == "bash":
                problem = "" if closed else "the block has no end, so it was not run; write it again, shorter"
                found.append(Call("bash", {"command": body}, problem))
            elif name == "submit":
                found.append(Call("submit", {}))
        return found

    def results(self, answered: Sequence[tuple[Call, str]]) -> list[Message]:
        """One message for all."""
        return [
            Message(role="user", content="\n\n".join(f"Result of {call.name}:\n{text}" for call, text in answered))
        ]


def fenced_blocks(text: str) -> list[tuple[str, str, bool]]:
    """Return (word after the fence, content, whether it is closed) of each block, as Markdown reads fences."""
    found: list[tuple[str, str, bool]] = []
    fence, name, lines = "", "", list[str]()
    for line in text.splitlines():
        if not fence:
            if opening := _OPENING.match(line):
                fence, name, lines = opening[1], opening[2].lower(), []
        elif line.strip().startswith(fence) and not line.strip().strip("`"):
            found.append((name, "\n".join(lines), True))
            fence = ""
        else:
            lines.append(line)
    if fence:
        found.append((name, "\n".join(lines), False))
    return found


def _read(name: str, arguments: str, identifier: str) -> Call:
    try:
        document = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        return Call(name, {}, f"the arguments are not JSON ({error}); nothing was done, call again", identifier)
    if not isinstance(document, dict):
        return Call(name, {}, "the arguments are no JSON object; nothing was done, call again", identifier)
    return Call(name, document, "", identifier)


_ARGUMENT_BYTES = 100_000
"""The kernel takes no longer argument than 128 KiB."""
_LONG = "/tmp/.command"  # noqa: S108 - the guest's own
_SPENT = "[not run: commands have ended the sandbox too often; hand in what there is]"


class ToolResult(NamedTuple):
    """What a tool did."""

    content: str
    exit_code: int | None
    seconds: float


async def run_bash(place: AgentSandbox, command: str, timeout_s: float, output_bytes: int) -> ToolResult:
    """Run *command*; stdout and stderr come back as one stream, its middle left out when it is long."""
    if "\0" in command:
        return ToolResult("[not run: a command cannot contain a null character]", None, 0.0)
    if place.is_spent:
        return ToolResult(_SPENT, None, 0.0)
    script = f"exec 2>&1\n{command}".encode(errors="replace")
    argv, stdin = ("/bin/bash", "-c", script.decode()), b""
    if len(script) > _ARGUMENT_BYTES:
        # What the guest did to that place, or to its sandbox, ends this command alone.
        argv, stdin = ("/bin/sh", "-c", f"cat > {_LONG} && exec /bin/bash {_LONG} < /dev/null"), script
    result = await place.run(Command(argv=argv, stdin=stdin, timeout_s=timeout_s, output_bytes=output_bytes))
    return ToolResult(in_words(result, timeout_s, place.spec.limits), result.exit_code, result.duration_s)


BASH = Tool(
    name="bash",
    description="Run commands in a new shell that starts in /workspace. Returns output and exit code.",
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "what bash shall run; may have many lines"},
            "timeout_s": {"type": "number", "description": "seconds until it is ended"},
        },
        "required": ["command"],
    },
)
"""What an agent, and a client of a server, runs commands with."""
FurtherTool = Literal["read", "edit", "todo"]
FURTHER_TOOLS: Mapping[FurtherTool, Tool] = {
    "read": Tool(
        name="read",
        description="Read a text file; its lines come numbered. Of a folder, read the names in it. An image (png, "
        "jpeg, gif, webp) is shown to you.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "absolute, or from /workspace"},
                "start": {"type": "integer", "description": "the first line, counted from 1"},
                "lines": {"type": "integer", "description": "how many lines (2000)"},
            },
            "required": ["path"],
        },
    ),
    "edit": Tool(
        name="edit",
        description="Replace text in a file. `old` must be exactly what stands there, and stand there once unless "
        "`all` is true. With an empty `old`, write a new file.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "absolute, or from /workspace"},
                "old": {"type": "string"},
                "new": {"type": "string"},
                "all": {"type": "boolean"},
            },
            "required": ["path", "old", "new"],
        },
    ),
    "todo": Tool(
        name="todo",
        description="Write your notes: what is asked, what is done, what is left. They replace those before, and "
        "stay in sight word for word when old turns of a long conversation are left out.",
        parameters={
            "type": "object",
            "properties": {"notes": {"type": "string"}},
            "required": ["notes"],
        },
    ),
}
"""Tools that the loop has when its option `tools` names them."""
FURTHER_RULES: Mapping[FurtherTool, str] = {
    "read": "`read` shows a file's lines, numbered.",
    "edit": "`edit` replaces text in a file, or writes a new one.",
    "todo": "`todo` keeps your notes; they stay in sight when old turns are left out. Keep a plan there.",
}
"""What the system prompt says of each. The agent keeps notes itself; the others run in `guest_files.py`."""
_FILE_SECONDS = 60.0


async def run_file_tool(
    place: AgentSandbox,
    name: str,
    arguments: Mapping[str, JsonValue],
    output_bytes: int,
) -> ToolResult:
    """Do what a call of the tool *name* asks for, as `guest_files.py` does; what is long is cut in its middle."""
    if place.is_spent:
        return ToolResult(_SPENT, None, 0.0)
    program = source_of("guest_files.py").decode()
    result = await place.run(
        Command(
            argv=(f"{PREFIX}/bin/python", "-I", "-c", program, name),
            stdin=json.dumps(arguments).encode(),
            timeout_s=_FILE_SECONDS,
            output_bytes=output_bytes,
        )
    )
    if result.ending is Ending.EXITED and not result.stderr:
        return ToolResult(result.stdout.decode(errors="replace"), result.exit_code, result.duration_s)
    return ToolResult(in_words(result, _FILE_SECONDS, place.spec.limits), result.exit_code, result.duration_s)


IS_IMAGE = 3
"""The exit code of `read` for an image."""
NO_IMAGES = "[this model takes no images; look at it by commands]"
_MAGIC: tuple[tuple[bytes, Literal["image/png", "image/jpeg", "image/gif", "image/webp"]], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_IMAGE_OUTPUT = 5 * 1024 * 1024


async def read_image(place: AgentSandbox, arguments: Mapping[str, JsonValue]) -> Picture | str:
    """Return the image at a call's `path`, or why there is none to show."""
    done = await run_file_tool(place, "image", arguments, _IMAGE_OUTPUT)
    if done.exit_code != 0:
        return done.content.strip()
    try:
        head = base64.b64decode(done.content, validate=True)[:12]
    except ValueError:
        return "the image could not be read"
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    return "it is no image any more" if kind is None else Picture(media_type=kind, data=done.content)
