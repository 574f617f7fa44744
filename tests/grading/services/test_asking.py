"""Questions to services that may answer anything."""

from pathlib import Path

import pytest

from groundup.grading.services.probing import MAX_BODY_BYTES, _is_whole, parse_answer
from tests.grading.services.answering import http, serving


async def test_an_ordinary_answer_is_read(tmp_path: Path) -> None:
    """Status, headers and body come back."""
    async with serving(lambda method, path: http(201, path, Allow="GET, POST"), tmp_path) as caller:
        answer = await caller.get("/notes")

    assert answer is not None
    assert answer.status == 201
    assert answer.body == b"/notes"
    assert answer.allowed == {"GET", "POST"}


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.0\r\n\r\n",
        b"HTTP/1.1 99 Odd\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5",
        b"\x00" * 1000,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 40_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_no_answer(data: bytes, tmp_path: Path) -> None:
    """Other protocols, halves of a head and endless heads count as silence."""
    async with serving(lambda method, path: data, tmp_path) as caller:
        assert await caller.get("/") is None


async def test_silence_ends(tmp_path: Path) -> None:
    """A service that accepts and says nothing holds no one up."""
    async with serving(lambda method, path: b"", tmp_path, timeout_s=0.3) as caller:
        assert await caller.get("/") is None


async def test_no_one_listening_is_no_answer(tmp_path: Path) -> None:
    """A refused connection is not an error of groundup."""
    async with serving(lambda method, path: http(200), tmp_path) as caller:
        caller.port = 9
        assert await caller.get("/") is None


async def test_a_large_body_is_cut(tmp_path: Path) -> None:
    """What a service sends has a bound."""
    async with serving(lambda method, path: http(200, "x" * 10**6), tmp_path) as caller:
        answer = await caller.get("/")

    assert answer is not None
    assert len(answer.body) <= MAX_BODY_BYTES


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("data", "method", "whole"),
    [
        (OK + b"Content-Length: 3\r\n\r\nab", "GET", False),
        (OK + b"Content-Length: 3\r\n\r\nabc", "GET", True),
        (OK + b"Content-Length: 3\r\n\r\n", "HEAD", True),
        (OK + b"Content-Length: 3\r\n", "HEAD", False),
        (OK + b"Content-Length: 999999999999\r\n\r\nabc", "GET", False),
        (OK + b"Content-Length: %d\r\n\r\n" % (2 * MAX_BODY_BYTES) + b"x" * MAX_BODY_BYTES, "GET", True),
        (OK + b"Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n", "GET", False),
        (OK + b"Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "GET", True),
        (OK + b"\r\n0\r\n\r\n", "GET", False),
        (b"HTTP/1.1 204 No\r\n\r\n", "DELETE", True),
        (b"HTTP/1.1 304 Same\r\n\r\n", "GET", True),
    ],
)
def test_it_is_known_when_an_answer_is_whole(data: bytes, method: str, whole: bool) -> None:
    """A service may keep its connection open: it is waited for no longer than its answer takes."""
    assert _is_whole(data, method) is whole


@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 404 \r\na\r\n:b\r\nc:\r\n\r\n\xff"]
)
def test_parsing_never_fails(data: bytes) -> None:
    """Any bytes are an answer or none."""
    answer = parse_answer(data)

    assert answer is None or answer.status in (200, 404)
