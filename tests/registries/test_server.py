"""Tests of groundup.registries.server: what hostile clients can do."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundup.domain.errors import NetworkError
from groundup.registries.server import GatewayServer, Handler, Request, Response, ServerLimits
from tests.effort import often
from tests.patience import patient

QUICK = ServerLimits(request_s=0.3, idle_s=0.3, write_s=0.3, connections=8)


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
    """An answer that no one takes does not stay in memory."""
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    async with served(QUICK, big) as (server, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while not server.bytes_out or server._clients:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0.02)
        assert server.bytes_out < 32 * 1024 * 1024


async def test_more_connections_than_allowed_shut_out_no_one() -> None:
    """A client that opens connections without end shuts out no one for longer than its idle time."""
    async with served(QUICK) as (_, port):
        flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
        assert await answers(port)
        for _, writer in flood:
            writer.close()


async def test_more_clients_than_connections_are_all_answered() -> None:
    """Honest clients that come all at once wait for their turn; none is dropped, and idle ones make room."""

    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.01)
        return Response(200, request.path.encode())

    async with GatewayServer(slow, ServerLimits(connections=8, request_s=0.05)) as server:
        listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await server.serve(listening)
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(
                    httpx.AsyncClient(trust_env=False, base_url=base, timeout=patient(60))
                )
                for _ in range(100)
            ]
            found = await asyncio.gather(*(client.get(f"/{number}") for number, client in enumerate(clients)))
    assert [answer.text for answer in found] == [f"/{number}" for number in range(100)]


async def test_a_server_that_was_kept_from_its_work_answers_what_waits() -> None:
    """A request that came in time is answered however late the server gets to it, on an idle connection too."""
    async with served(ServerLimits(request_s=0.2, idle_s=0.2)) as (_, port):
        whole = b"GET /late HTTP/1.1\r\nHost: a\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(whole)
        assert (await reader.readuntil(b"/late")).startswith(b"HTTP/1.1 200")
        begun_reader, begun = await asyncio.open_connection("127.0.0.1", port)
        begun.write(whole[:10])
        await asyncio.sleep(0.05)
        for late in (writer, begun):
            late.get_extra_info("socket")._sock.send(whole if late is writer else whole[10:])
        time.sleep(0.5)  # noqa: ASYNC251  # the whole process stands
        assert (await reader.readuntil(b"/late")).startswith(b"HTTP/1.1 200")
        assert (await begun_reader.readuntil(b"/late")).startswith(b"HTTP/1.1 200")
        for late in (writer, begun):
            late.close()


async def test_a_connection_serves_as_many_requests_as_are_asked() -> None:
    """A client that fetches thousands of packages over one connection is not cut off in the middle."""
    async with served() as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(21):
            writer.write(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n" * 100)
            for _ in range(100):
                assert (await reader.readuntil(b"/x")).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_all_answers_together_are_bounded() -> None:
    """What one sandbox can have sent to it ends at its limit, and the server knows."""
    async with served(ServerLimits(total_bytes=2000)) as (server, port):
        async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{port}") as client:
            statuses = {(await client.get("/" + "x" * 300)).status_code for _ in range(20)}
        assert statuses == {200, 403}
        assert server.exhausted


@asynccontextmanager
async def posting(handler: Handler, limits: ServerLimits | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """Serve *handler*, which takes POST; yield a client."""
    async with GatewayServer(handler, limits, methods=("GET", "HEAD", "POST")) as server:
        listening = socket.create_server(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await server.serve(listening)
        async with httpx.AsyncClient(trust_env=False, base_url=base) as client:
            yield client


async def test_a_server_made_for_it_takes_bodies_up_to_its_limit() -> None:
    """A handler gets method and whole body, also from a client that asks first; a larger body costs 413."""

    async def mirror(request: Request) -> Response:
        return Response(200, request.method.encode() + b" " + request.body)

    async with posting(mirror, ServerLimits(body_bytes=100_000)) as client:
        big = b"x" * 90_000
        assert (await client.post("/", content=big)).content == b"POST " + big
        waiting = await client.post("/", content=b"abc", headers={"Expect": "100-continue"})
        assert (waiting.status_code, waiting.content) == (200, b"POST abc")
        assert (await client.get("/")).content == b"GET "
        assert (await client.put("/", content=b"abc")).status_code == 405
        with contextlib.suppress(httpx.TransportError):  # the server may hang up while it is being sent to
            assert (await client.post("/", content=b"x" * 100_001)).status_code == 413


async def test_pieces_arrive_as_they_come() -> None:
    """A client sees the first piece before the second one exists, and the connection serves on afterwards."""
    seen = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        await seen.wait()
        yield b"second"

    async def handler(request: Request) -> Response:
        return Response(200, pieces(), content_type="text/event-stream")

    async with posting(handler) as client:
        async with client.stream("POST", "/", content=b"ask") as answer:
            found = answer.aiter_raw()
            assert await anext(found) == b"first"
            seen.set()
            assert await anext(found) == b"second"
        assert (await client.head("/")).status_code == 200
        assert (await client.get("/")).text == "firstsecond"


async def test_pieces_that_end_too_early_break_the_connection() -> None:
    """What fails in the middle never looks whole; neither does what exceeds the limit of all answers."""

    async def failing() -> AsyncIterator[bytes]:
        yield b"first"
        raise NetworkError("gone")

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000

    async def handler(request: Request) -> Response:
        return Response(200, failing() if request.path == "/failing" else endless())

    async with posting(handler, ServerLimits(total_bytes=50_000)) as client:
        for path in ("/failing", "/endless"):
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(path)


async def test_a_client_that_leaves_ends_the_work_for_it() -> None:
    """A generator whose client is gone is closed, so nothing goes on for no one."""
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 100_000
        finally:
            closed.set()

    async def handler(request: Request) -> Response:
        return Response(200, endless())

    async with posting(handler) as client:
        async with client.stream("GET", "/") as answer:
            await anext(answer.aiter_raw())
        await asyncio.wait_for(closed.wait(), timeout=patient(30))


@settings(max_examples=often(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_no_bytes_break_the_server(pieces: list[bytes]) -> None:
    """Whatever arrives, the next honest client is served."""

    async def attack() -> None:
        async with served(ServerLimits(request_s=0.05, idle_s=0.05)) as (_, port):
            await said(port, b"".join(pieces))
            assert await answers(port)

    asyncio.run(attack())
