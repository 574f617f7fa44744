"""An answer on its way: what came of it, what it says so far, and whether it was asked for and begun."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pydantic import JsonValue

from groundup.domain.steps import at_step
from groundup.models.asking.forms import BrokenReplyError, ReplyForm, parse_json

_MOST_BYTES = 64 * 1024 * 1024
"""Of an answer. The longest replies that models can give are a hundred times shorter."""
_TAIL = 2000
"""How many of the newest characters are shown while an answer comes."""
END_OF_EVENT = re.compile(rb"\r?\n\r?\n")
_FAILURE = re.compile(rb"error:(.*)", re.DOTALL)
"""How llama.cpp's server told failures within streams until autumn 2025."""
_IS_FAILURE = re.compile(rb"event:\s*error\b")
_LINES = ("ndjson", "jsonl", "json-lines", "json-seq")
"""In the type of streams that have a JSON object in each line."""
_SENT = "send_request_body.complete"
_MARK = b"\xef\xbb\xbf"
"""Before a text, it says that it is UTF-8."""
_BEGINNINGS = (b"data:", b"event:", b":")
"""How streams begin. Some servers call theirs JSON, or text."""


class Arriving:
    """One answer. Without a *form* it is just bytes."""

    def __init__(self, form: ReplyForm | None = None, saying: Callable[[str], None] | None = None) -> None:
        self.asked = False
        """Whether the whole request was sent."""
        self.accepted = False
        """Whether the answer began, with status 200."""
        self.streams = False
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.content = bytearray()
        self._form = form
        self._saying = saying
        self._told = 0
        """Bytes that were shown."""
        self._tail = ""

    async def traced(self, name: str, about: Mapping[str, object]) -> None:
        """Hear of a step of the connection."""
        self.asked = self.asked or name.endswith(_SENT)

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """Note the answer's head."""
        self.status, self.headers = status, {name.lower(): value for name, value in headers.items()}
        self.accepted = status == 200
        kind = self.headers.get("content-type", "")
        self.streams = kind.startswith("text/event-stream") or any(name in kind for name in _LINES)

    def take(self, piece: bytes) -> None:
        """Add what came. Raises `BrokenReplyError` for an answer without end."""
        if not self.content and self.accepted and piece.removeprefix(_MARK).lstrip().startswith(_BEGINNINGS):
            self.streams = True
        self.content += piece
        if len(self.content) > _MOST_BYTES:
            raise BrokenReplyError(f"it is longer than {_MOST_BYTES} bytes")
        if self._saying is not None and self._form is not None and self.streams and self.accepted:
            self._tell(self._form, self._saying)

    def events(self) -> Iterator[dict[str, JsonValue]]:
        """Yield the JSON objects of a stream; comments and its end mark are skipped. Raises `BrokenReplyError`."""
        return _events(bytes(self.content))

    def said(self) -> str:
        """Return what the answer says as far as it came, for a guess of its tokens."""
        if not self.streams:
            return self.content.decode(errors="replace")
        return "".join(self._pieces(bytes(self.content)))

    def speaks(self) -> bool:
        """Whether the answer says anything at all, besides what failed."""
        if self.streams:
            return bool(self.said())
        try:
            parsed = self._form.parsed(parsed_object(self.content)) if self._form else None
        except BrokenReplyError:
            return False
        return parsed is not None and bool(parsed.reply.message.content or parsed.reply.message.tool_calls)

    def holds_reply(self) -> bool:
        """Whether this error holds what the model wrote, which then is the answer."""
        try:
            reply = self._form.refused(parsed_object(self.content)) if self._form else None
        except BrokenReplyError:
            return False
        if reply is None:
            return False
        self.content = bytearray(json.dumps(reply).encode())
        self.accepted, self.streams = True, False
        return True

    def _tell(self, form: ReplyForm, saying: Callable[[str], None]) -> None:
        ends = [found.end() for found in END_OF_EVENT.finditer(self.content, self._told)]
        if ends:
            new = bytes(self.content[self._told : ends[-1]])
            self._told = ends[-1]
            self._tail = (self._tail + "".join(self._pieces(new)))[-_TAIL:]
            saying(self._tail)

    def _pieces(self, content: bytes) -> Iterator[str]:
        """Yield what the events in *content* add, up to the first that is none."""
        assert self._form is not None
        try:
            for event in _events(content):
                yield self._form.piece(event)
        except BrokenReplyError:
            return


@contextmanager
def silence_told(after_s: float = 4.0) -> Iterator[Callable[[], None]]:
    """Say that one waits for the model's answer while nothing comes; yield what is called when something does."""
    loop = asyncio.get_running_loop()
    heard_at = loop.time()
    is_told = False
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer, is_told
        left_s = heard_at + after_s - loop.time()
        if left_s <= 0 and not is_told:
            is_told = True
            at_step("waiting for the model's answer")
        timer = loop.call_later(max(left_s, after_s / 4), look)

    def heard() -> None:
        nonlocal heard_at, is_told
        heard_at = loop.time()
        if is_told:
            is_told = False
            at_step("at work")

    timer = loop.call_later(after_s, look)
    try:
        yield heard
    finally:
        timer.cancel()


def parsed_object(content: bytes | bytearray) -> dict[str, JsonValue]:
    """Return the JSON object that an answer is. Raises `BrokenReplyError`."""
    try:
        document = parse_json(bytes(content))
    except ValueError as error:
        raise BrokenReplyError(str(error)) from error
    if not isinstance(document, dict):
        raise BrokenReplyError("it is no JSON object")
    return document


def _events(content: bytes) -> Iterator[dict[str, JsonValue]]:
    for event in END_OF_EVENT.split(content.removeprefix(_MARK)):
        data = data_of(event)
        if (bare := event.strip(b"\x1e\r\n \t")).startswith(b"{"):
            yield from (parsed_object(line) for line in bare.replace(b"\x1e", b"").splitlines() if line.strip())
        elif data == b"[DONE]":
            yield {}  # its form knows whether that is the end
        elif failed := _FAILURE.match(event):
            yield {"error": parsed_object(failed[1])}
        elif data:
            document = parsed_object(data)
            yield {"error": document} if _IS_FAILURE.match(event) and "error" not in document else document


def data_of(event: bytes) -> bytes:
    lines = [line.removeprefix(b"data:") for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines).strip()
