"""What a server of sessions takes for a request."""

import pytest
from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from groundup.domain.errors import UsageError
from groundup.serving.http import BODY_BYTES, body_of


async def read(*parts: bytes) -> dict[str, JsonValue]:
    """Return what a request says whose body comes in these parts."""
    left = [*parts]

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return await body_of(Request({"type": "http", "headers": []}, receive))


async def test_a_body_is_an_object_or_nothing() -> None:
    """In however many parts it comes."""
    assert await read(b"") == {}
    assert await read(b'{"task": ', b'"a"}') == {"task": "a"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (b"[1]", "the body is no JSON object"),
        (b"null", "the body is no JSON object"),
    ],
)
async def test_any_other_body_is_the_clients_fault(body: bytes, says: str) -> None:
    """It is told in a sentence."""
    with pytest.raises(UsageError, match=says):
        await read(body)


async def test_a_body_without_end_is_refused() -> None:
    """Of just the most bytes it is read; one more is 413, before the rest has come."""
    text = b'{"a": "' + b"x" * (BODY_BYTES - 9) + b'"}'
    assert len(text) == BODY_BYTES
    assert len(str((await read(text))["a"])) == BODY_BYTES - 9
    with pytest.raises(HTTPException, match="at most") as raised:
        await read(text + b" ", b"never read")
    assert raised.value.status_code == 413
