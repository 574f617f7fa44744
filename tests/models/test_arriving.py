"""An answer on its way."""

import pytest

from groundup.models.arriving import Arriving
from groundup.models.asking.forms import BrokenReplyError


def test_an_answer_without_end_is_given_up() -> None:
    """A server may send 64 MiB, and not a byte more: a reply that never ends would fill the memory."""
    answer = Arriving()
    for _ in range(8):
        answer.take(bytes(8 * 1024 * 1024))
    with pytest.raises(BrokenReplyError, match="longer than 67108864 bytes"):
        answer.take(b"x")


@pytest.mark.parametrize(
    ("kind", "first", "status", "streams"),
    [
        ("application/json", b'{"a": 1}', 200, False),
        ("text/event-stream; charset=utf-8", b"", 200, True),
        ("application/x-ndjson", b"", 200, True),
        ("application/json", b"\xef\xbb\xbf\n data: {}", 200, True),
        ("application/json", b"data: {}", 500, False),
    ],
)
def test_a_stream_is_known_by_its_type_or_its_beginning(
    kind: str, first: bytes, status: int, streams: bool
) -> None:
    """Some servers call their streams JSON; the text of an error is none."""
    answer = Arriving()
    answer.began(status, {"Content-Type": kind})
    answer.take(first)
    assert (answer.streams, answer.accepted) == (streams, status == 200)


async def test_a_request_is_asked_once_its_body_was_sent() -> None:
    """Before, it can be sent again for nothing; afterwards, it may be billed."""
    answer = Arriving()
    await answer.traced("http11.send_request_headers.complete", {})
    assert not answer.asked
    await answer.traced("http11.send_request_body.complete", {})
    await answer.traced("http11.receive_response_headers.started", {})
    assert answer.asked
