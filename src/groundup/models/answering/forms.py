"""What every form of request becomes, and what all forms share: strictness about what cannot be passed on."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from groundup.domain.conversations import ChatRequest
from groundup.domain.records import Record, plainly
from groundup.models.asking.forms import parse_json

Document = dict[str, JsonValue]

_PIECE = 2000
"""Characters of text in one event of a stream."""


class LooseRequest(BaseModel):
    """A part of a client's request: what we do not know is not looked at."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Asked(Record):
    """A request, and how its answer is to be sent."""

    request: ChatRequest
    model: str
    stream: bool = False
    stream_usage: bool = False
    free_text: frozenset[str] = frozenset()
    """Tools that take text instead of arguments (Responses)."""
    namespaces: Mapping[str, str] = {}
    """Of tools that the client has in namespaces (Responses), by the name that the model knows them by."""


class BadRequestError(Exception):
    """A client's request cannot be understood or passed on; the text is for the client's author."""


def parsed_json(body: bytes) -> Document:
    """Return a request's JSON object. Raises `BadRequestError`."""
    try:
        document = parse_json(body)
    except ValueError as error:
        raise BadRequestError(f"the body is not valid JSON: {str(error)[:200]}") from error
    if not isinstance(document, dict):
        raise BadRequestError("the body is no JSON object")
    return document


def invalid(error: ValidationError) -> BadRequestError:
    """Return what is wrong with a request: its first fault."""
    first = error.errors()[0]
    return BadRequestError(f"{'.'.join(map(str, first['loc']))}: {plainly(first)}")


def refuse_parts(kinds: Sequence[str], known: Sequence[str]) -> None:
    """Refuse content other than text. Raises `BadRequestError`."""
    for kind in kinds:
        if kind not in known:
            raise BadRequestError(f"content of type {kind!r} cannot be passed on to the model; send text only")


def data(document: Document) -> bytes:
    """Return an unnamed event of a stream."""
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode(errors="replace")


def event(name: str, document: Document) -> bytes:
    return f"event: {name}\n".encode() + data(document)


def fresh_id(prefix: str) -> str:
    return f"{prefix}{secrets.token_hex(12)}"


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
