"""What all forms of request and reply share: mended conversations out, and replies read tolerantly.

A conversation is mended only as far as strict endpoints demand: arguments are a JSON object, names and ids have
letters that are allowed, no id is used twice, nothing is empty. A right conversation is sent as it is.

A reply with status 200 was billed, so an oddity must not cost us the reply: texts that are null are empty, and a
count that is not a number is unknown.
"""

import json
import math
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, ValidationError

from groundup.domain.conversations import ChatReply, Message, ToolCall
from groundup.domain.records import Record, plainly
from groundup.domain.usage import TokenUsage

_MOST_TOKENS = 1_000_000_000
"""No single call has more; a larger count is a mistake of the endpoint."""


class BrokenReplyError(Exception):
    """A reply with status 200 that lacks what a reply must have; another try may have it."""


class CountedTokens(Record):
    """What an endpoint says of a call's tokens; None where the count is missing or impossible."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    """Of the input, written to the endpoint's own cache: some charge more for it."""
    doubtful: bool = False
    """Whether the counts contradict each other; those that cost more stand here."""

    def usage(self, input_tokens: int, output_tokens: int) -> TokenUsage:
        """Return what is known, completed by the estimates given."""
        read = input_tokens if self.input_tokens is None else self.input_tokens
        written = output_tokens if self.output_tokens is None else self.output_tokens
        return TokenUsage(
            input_tokens=read,
            output_tokens=written,
            cached_input_tokens=min(self.cached_input_tokens or 0, read),
            reasoning_tokens=min(self.reasoning_tokens or 0, written),
        )


class Parsed(Record):
    """A reply without its usage, and what the endpoint says of that."""

    reply: ChatReply
    counted: CountedTokens = CountedTokens()


@dataclass(frozen=True)
class ReplyForm:
    """How an endpoint's replies are read."""

    parsed: Callable[[Mapping[str, JsonValue]], Parsed]
    """Reads a reply. Raises `BrokenReplyError`."""
    joined: Callable[[Iterable[dict[str, JsonValue]]], dict[str, JsonValue]]
    """Joins a stream's events to one reply. Raises `BrokenReplyError`."""
    piece: Callable[[Mapping[str, JsonValue]], str]
    """Returns the text that an event of a stream adds: of the reply, its thoughts or its arguments."""
    streaming: Mapping[str, JsonValue]
    """What a request for a stream holds besides."""
    stream_path: Callable[[str], str] = str
    """Where a stream is asked for, where that is elsewhere."""
    refused: Callable[[Mapping[str, JsonValue]], dict[str, JsonValue] | None] = lambda _: None
    """Returns the reply that stands in an error; None where there is none."""


class LooseReply(BaseModel):
    """A part of an endpoint's reply: what we do not know is not looked at."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def texts_at(found: JsonValue, *names: str) -> str:
    values = [found.get(name) for name in names] if isinstance(found, dict) else []
    return "".join(value for value in values if isinstance(value, str))


def first_of(found: JsonValue) -> JsonValue:
    """Return the first of a list; None where there is none."""
    return found[0] if isinstance(found, list) and found else None


def _text(value: object) -> object:
    return "" if value is None else str(value) if isinstance(value, int | float) else value


def _count(value: object) -> int | None:
    if isinstance(value, str):
        value = float(value) if value.strip().isdecimal() else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= _MOST_TOKENS else None


def _mapping(value: object) -> object:
    return value if isinstance(value, dict) else {}


Text = Annotated[str, BeforeValidator(_text)]
"""A text that may be null."""
Count = Annotated[int | None, BeforeValidator(_count)]
"""A number of tokens; None for anything else."""
M = TypeVar("M", bound=BaseModel)
OrNothing = BeforeValidator(_mapping)
"""An object; everything else counts as one without keys."""


def parse_json(content: bytes) -> object:
    """Return the value of a JSON text, lone halves of characters replaced. Raises `ValueError`.

    What a model or a program wrote may hold halves of characters, which no other text can.
    """
    try:
        value: object = json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if b"\\ud" not in content.lower():
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def validated(form: type[M], document: Mapping[str, JsonValue]) -> M:
    """Return *document* as a *form* of reply. Raises `BrokenReplyError` naming the first thing that is wrong."""
    try:
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenReplyError(f"{'.'.join(map(str, first['loc']))}: {plainly(first)}") from error


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOTHING = "(nothing)"
"""Stands where an empty text would be refused."""
UNREADABLE = "unreadable_arguments"
"""The argument that holds what a model wrote instead of JSON."""


def sendable(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the conversation with everything mended that a strict endpoint would refuse."""
    return tuple(_mended(messages))


def _mended(messages: Iterable[Message]) -> Iterator[Message]:
    used: set[str] = set()
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    """New ids of the calls without a result so far, by the id as it was."""
    for number, message in enumerate(messages):
        if message.role == "assistant":
            calls = tuple(_call(call, used, f"call_{number}_{n}") for n, call in enumerate(message.tool_calls))
            waiting.clear()
            for was, now in zip(message.tool_calls, calls, strict=True):
                waiting[was.id].append(now.id)
            text = message.content if calls or message.content.strip() else _NOTHING
            changed = calls != message.tool_calls or text != message.content
            yield message.rewritten(text, calls) if changed else message
            continue
        changes: dict[str, object] = {} if message.content.strip() else {"content": _NOTHING}
        if message.role == "tool" and message.tool_call_id is not None and waiting.get(message.tool_call_id):
            changes["tool_call_id"] = waiting[message.tool_call_id].popleft()
        yield message.but(**changes) if changes else message


def _call(call: ToolCall, used: set[str], otherwise: str) -> ToolCall:
    identifier = call.id
    if not _NAME.fullmatch(identifier) or identifier in used:
        identifier = otherwise
        while identifier in used:
            identifier += "_"
    used.add(identifier)
    name = call.name if _NAME.fullmatch(call.name) else re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unnamed"
    arguments = call.arguments if _is_object(call.arguments) else _framed(call.arguments)
    return call.but(id=identifier, name=name, arguments=arguments)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refused), dict)
    except (ValueError, RecursionError):
        return False


def _refused(name: str) -> None:
    raise ValueError(f"{name} is Python's, not JSON's")


def _framed(text: str) -> str:
    return json.dumps({UNREADABLE: text}, ensure_ascii=False) if text.strip() else "{}"
