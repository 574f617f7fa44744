"""Tests of groundup.gateways.server: what hostile clients can do."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundup.gateways.server import GatewayServer, Request, Response, ServerLimits

QUICK = ServerLimits(request_s=0.3, write_s=0.3, connections=8)


async def echo(request: Request) -> Response:
    """Answer with the path that was asked for."""
    return Response(200, request.path.encode())


@asynccontextmanager
async def served(
    limits: ServerLimits | None = None, big: Path | None = None
) -> AsyncIterator[tuple[GatewayServer, int]]:
    """Serve `echo`, or one file, on a loopback port."""

    async def file(request: Request) -> Response:
        assert big is not None
        return Response(200, big)

    async with GatewayServer(file if big else echo, limits) as server:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        await server.serve(listening)
        yield server, port


async def said(port: int, data: bytes) -> bytes:
    """Return everything that the server says to a client that sends *data* and then only listens."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        await writer.drain()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def answers(port: int) -> bool:
    """Whether an honest client is served."""
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(f"http://127.0.0.1:{port}/alive")).text == "/alive"


async def test_honest_clients_are_served_on_one_connection() -> None:
    """Requests follow each other on one connection; HEAD tells the length and sends nothing."""
    async with (
        served() as (_, port),
        httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{port}") as client,
    ):
        assert [(await client.get(f"/{number}")).text for number in range(20)] == [f"/{n}" for n in range(20)]
        head = await client.head("/four")
        assert (head.headers["content-length"], head.content) == ("5", b"")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X-A: " + b"y" * 200 + b"\r\n" * 1 + b"X: z\r\n" * 50_000 + b"\r\n", b"431"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTX/1.1\r\nHost: a\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", b"405"),
        (b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", b"405"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n" + b"z" * 70_000, b"413"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b""),
        (b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", b"417"),
    ],
)
async def test_broken_requests_cost_only_their_connection(sent: bytes, status: bytes) -> None:
    """Endless headers, huge paths and bodies, TLS and smuggling get an error or nothing; others are served on."""
    async with served(QUICK) as (_, port):
        answer = await said(port, sent)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 " + status)
        assert await answers(port)


async def test_pipelined_requests_are_answered_in_order() -> None:
    """A client that does not wait gets its answers in order, and garbage behind them is an error, not a crash."""
    async with served(QUICK) as (_, port):
        answer = await said(
            port, b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\x00garbage\r\n\r\n"
        )
        assert answer.index(b"/1") < answer.index(b"/2") < answer.index(b"HTTP/1.1 400")
        assert await answers(port)


async def test_slow_clients_lose_their_connection() -> None:
    """A request that trickles in is cut off after its time, however alive it looks."""
    async with served(QUICK) as (_, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b"X: y\r\n")
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()
        assert await answers(port)


async def test_clients_that_do_not_read_lose_their_connection(tmp_path: Path) -> None:
    """An answer that nobody takes does not stay in memory."""
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    async with served(QUICK, big) as (server, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while not server.bytes_out or server._clients:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0.02)
        assert server.bytes_out < 32 * 1024 * 1024


async def test_more_connections_than_allowed_are_dropped() -> None:
    """A client that opens connections without end shuts out nobody for longer than its idle time."""
    async with served(QUICK) as (_, port):
        flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
        for reader, writer in flood:
            assert await reader.read() == b""
            writer.close()
        assert await answers(port)


async def test_all_answers_together_are_bounded() -> None:
    """What one sandbox can have sent to it ends at its limit, and the server knows."""
    async with served(ServerLimits(total_bytes=2000)) as (server, port):
        async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{port}") as client:
            statuses = {(await client.get("/" + "x" * 300)).status_code for _ in range(20)}
        assert statuses == {200, 403}
        assert server.exhausted


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_no_bytes_break_the_server(pieces: list[bytes]) -> None:
    """Whatever arrives, the next honest client is served."""

    async def attack() -> None:
        async with served(ServerLimits(request_s=0.05)) as (_, port):
            await said(port, b"".join(pieces))
            assert await answers(port)

    asyncio.run(attack())
