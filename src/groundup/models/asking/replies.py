"""What every form of reply becomes before it is priced, and what replies of all forms are read with.

A reply with status 200 was billed, so nothing that is only odd about it may cost us the reply: texts that are null
are empty, and a count that is none is unknown.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, ValidationError

from groundup.domain.conversations import ChatReply, TokenUsage
from groundup.domain.plainly import plainly
from groundup.domain.records import Record

_MOST_TOKENS = 1_000_000_000
"""No single call has more; a larger count is a fault of whoever counted."""


class BrokenReplyError(Exception):
    """A reply with status 200 that does not say what a reply must say; another try may."""


class CountedTokens(Record):
    """What an endpoint says of a call's tokens; None where it says nothing that can be true."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    """Of the input, written to the endpoint's own cache: some charge more for it."""

    def usage(self, input_tokens: int, output_tokens: int) -> TokenUsage:
        """Return what is told, completed by the estimates given."""
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
    """Makes of a stream's events the reply that they tell in pieces. Raises `BrokenReplyError`."""
    streaming: Mapping[str, JsonValue]
    """What a request says more that wants a stream."""


class LooseReply(BaseModel):
    """A part of an endpoint's reply: what we do not know is not looked at."""

    model_config = ConfigDict(extra="ignore", frozen=True)


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
"""A number of tokens; None for whatever is none."""
M = TypeVar("M", bound=BaseModel)
OrNothing = BeforeValidator(_mapping)
"""An object; everything else counts as one without keys."""


def validated(form: type[M], document: Mapping[str, JsonValue]) -> M:
    """Return *document* as a *form* of reply. Raises `BrokenReplyError` naming the first thing that is wrong."""
    try:
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenReplyError(f"{'.'.join(map(str, first['loc']))}: {plainly(first)}") from error
