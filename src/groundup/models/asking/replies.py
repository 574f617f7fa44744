"""What every form of reply becomes before it is priced."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from groundup.domain.conversations import ChatReply
from groundup.domain.records import Record


class BrokenReplyError(Exception):
    """A reply with status 200 that does not say what a reply must say; another try may."""


class Parsed(Record):
    """A reply, and what of its input was written to the endpoint's own cache (some charge more for it)."""

    reply: ChatReply
    cache_write_tokens: int = 0


M = TypeVar("M", bound=BaseModel)


def validated(form: type[M], document: Mapping[str, JsonValue]) -> M:
    """Return *document* as a *form* of reply. Raises `BrokenReplyError` naming the first thing that is wrong."""
    try:
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenReplyError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
