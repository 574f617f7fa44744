"""An answer on its way."""

import json

import pytest
from pydantic import JsonValue

from groundup.models.arriving import Arriving
from groundup.models.asking import chat
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


def arrived(content: bytes, status: int = 200, kind: str = "application/json") -> Arriving:
    """Return an answer that came."""
    answer = Arriving(chat.FORM)
    answer.began(status, {"content-type": kind})
    answer.take(content)
    return answer


STREAM = "text/event-stream"
WORD = b'{"choices": [{"delta": {"content": "Hi"}}]}'


@pytest.mark.parametrize(
    ("content", "events"),
    [
        (b"", []),
        (b": a comment\n\ndata: {}\n\n", [{}]),
        (b"\xef\xbb\xbfdata: {}\n\n", [{}]),
        (b'data: {"a": 1}\r\n\r\ndata: [DONE]\r\n\r\n', [{"a": 1}, {}]),
        (b'data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
        (b'id: 7\ndata: {"a": 1}\nretry: 3', [{"a": 1}]),
        (b'\x1e{"a": 1}\n\x1e{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        (b'{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        (b'error: {"message": "no"}\n\n', [{"error": {"message": "no"}}]),
        (b'event: error\ndata: {"message": "no"}\n\n', [{"error": {"message": "no"}}]),
        (b'event: error\ndata: {"error": 7}\n\n', [{"error": 7}]),
        (b'event: errors\ndata: {"message": "no"}\n\n', [{"message": "no"}]),
        (b"event: ping\n\n", []),
    ],
)
def test_a_stream_is_read_event_by_event(content: bytes, events: list[dict[str, JsonValue]]) -> None:
    """Lines of one event are one object, comments and marks are none, and a failure stands under `error`."""
    assert list(arrived(content, kind=STREAM).events()) == events


@pytest.mark.parametrize("content", [b"data: [1]\n\n", b"data: no\n\n", b'{"a": 1}\n{no}\n', b"error: no\n\n"])
def test_an_event_that_is_no_object_is_no_reply(content: bytes) -> None:
    """What came before it was said all the same."""
    answer = arrived(b"data: " + WORD + b"\n\n" + content, kind=STREAM)
    with pytest.raises(BrokenReplyError):
        list(answer.events())
    assert answer.said() == "Hi"


@pytest.mark.parametrize(
    ("content", "kind", "said", "speaks"),
    [
        (b"data: " + WORD + b"\n\n", STREAM, "Hi", True),
        (b"data: {}\n\n", STREAM, "", False),
        (b'{"choices": [{"message": {"content": "Hi"}}]}', "application/json", None, True),
        (b'{"choices": [{"message": {"content": ""}}]}', "application/json", None, False),
        (
            b'{"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}]}',
            "application/json",
            None,
            True,
        ),
        (b'{"error": "no"}', "application/json", None, False),
        (b"[]", "application/json", None, False),
        (b"\xff", "text/plain", "\N{REPLACEMENT CHARACTER}", False),
    ],
)
def test_what_an_answer_says_so_far(content: bytes, kind: str, said: str | None, speaks: bool) -> None:
    """Of a stream its words; of anything else the text as it is. An error says nothing that would be billed."""
    answer = arrived(content, kind=kind)
    assert (answer.said(), answer.speaks()) == (content.decode() if said is None else said, speaks)


def test_words_are_told_as_they_come_whole_events_and_the_newest_characters_alone() -> None:
    """Half of an event waits for its other half; an answer that failed is not shown."""
    told: list[str] = []
    answer = Arriving(chat.FORM, told.append)
    answer.began(200, {"content-type": STREAM})
    answer.take(b"data: " + WORD)
    assert told == []
    answer.take(b"\n\ndata: ")
    assert told == ["Hi"]
    answer.take(WORD + b"\n\ndata: " + WORD.replace(b"Hi", b"x" * 1999) + b"\n\ndata")
    assert told == ["Hi", "i" + "x" * 1999]
    refused = Arriving(chat.FORM, told.append)
    refused.began(500, {"content-type": STREAM})
    refused.take(b"data: " + WORD + b"\n\n")
    assert len(told) == 2


def test_an_error_that_holds_what_the_model_wrote_is_the_answer() -> None:
    """As Groq sends calls that it cannot read; any other error stays one."""
    failed = {"error": {"code": "tool_use_failed", "message": "no", "failed_generation": "I call f"}}
    answer = arrived(json.dumps(failed).encode(), 400)
    assert answer.holds_reply()
    assert (answer.accepted, answer.streams, answer.speaks()) == (True, False, True)
    for content in (b'{"error": "no"}', b"[]", b"no"):
        other = arrived(content, 400)
        assert not other.holds_reply()
        assert (bytes(other.content), other.accepted) == (content, False)
