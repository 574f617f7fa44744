"""Connections of clients that are slow, that send too much, or that do not read."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.asyncio.client import connect

from groundup.cli.listening import listening
from groundup.serving.http import BODY_BYTES, HEAD_BYTES, Connection, configured
from tests.serving.house import Client, events, job_in, opened

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\n"


class Hurried(Connection):
    """Waits for nothing."""

    patience_s = 0.02
    made: list["Hurried"]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember it."""
        super().connection_made(transport)
        self.made.append(self)


@asynccontextmanager
async def served(app: ASGIApp, kind: type[Connection]) -> AsyncIterator[int]:
    """Serve *app* and yield its port."""
    with listening("127.0.0.1", 0, has_token=False) as listener:
        server = uvicorn.Server(configured(app, kind))
        serving = asyncio.create_task(server._serve([listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await serving


async def test_answers_in_parts_leave_at_once() -> None:
    """Nagle's algorithm would hold each later part back until the client acknowledges the first, 40 ms."""
    delays: list[int] = []

    class Seen(Connection):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            delays.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async with served(answering, Seen) as port, httpx.AsyncClient() as client:
        await client.post(f"http://127.0.0.1:{port}/", content=b"12")

    assert delays == [1]


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body and say how long it is."""
    body = await Request(scope, receive).body()
    await Response(str(len(body)))(scope, receive, send)


async def pouring(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without end."""

    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield bytes(64 * 1024)
            await asyncio.sleep(0)

    await StreamingResponse(parts())(scope, receive, send)


@pytest.mark.parametrize("begun", [b"", b"PO", HEAD, HEAD + b"Content-Length: 9\r\n\r\nhalf"])
async def test_a_request_that_does_not_come_ends_its_connection(begun: bytes) -> None:
    """At whatever point its client stops."""
    Hurried.made = []
    async with served(answering, Hurried) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        with pytest.raises((ConnectionError, EOFError)):
            await reader.readexactly(1)
        writer.close()


async def test_a_client_that_does_not_read_is_left() -> None:
    """What is poured for it ends."""
    Hurried.made = []
    async with served(pouring, Hurried) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(HEAD + b"Content-Length: 0\r\n\r\n")
        while not Hurried.made or not Hurried.made[0].transport.is_closing():  # noqa: ASYNC110 - the server's word
            await asyncio.sleep(0.01)
        writer.close()


@pytest.mark.parametrize(("begin", "go_on"), [(b"GET /", b"a" * 99), (b"GET / HTTP/1.1\r\n", b"A: b\r\n" * 20)])
async def test_heads_have_an_end(begin: bytes, go_on: bytes) -> None:
    """Whether a request's first line goes on for ever, or its headers do; bodies before do not count."""
    async with served(answering, Connection) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(HEAD + b"Content-Length: 50000\r\n\r\n" + bytes(50000))
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n50000")
        writer.write(begin + go_on * (HEAD_BYTES // len(go_on) + 1))
        with pytest.raises((ConnectionError, EOFError)):
            await reader.readexactly(1)
        writer.close()


async def test_a_request_in_time_is_answered_in_any_time() -> None:
    """Only what clients do is hurried: an answer may take its time, and so may a WebSocket."""
    Hurried.made = []
    over = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.send", "text": (await receive())["text"]})
            return
        await over.wait()
        await answering(scope, receive, send)

    class Patient(Hurried):
        patience_s = 3600.0

    async with served(slow, Patient) as port, httpx.AsyncClient(trust_env=False, timeout=None) as http:
        asked = asyncio.create_task(http.post(f"http://127.0.0.1:{port}", content=b"word"))
        async with connect(f"ws://127.0.0.1:{port}", proxy=None) as socket:
            while len(Hurried.made) < 2 or not any(one.cycle for one in Hurried.made):  # noqa: ASYNC110 - the server's word
                await asyncio.sleep(0.01)
            assert [one.ends for one in Hurried.made] == [{}, {}]
            await socket.send("hello")
            assert await socket.recv() == "hello"
        over.set()
        assert (await asked).text == "4"


async def test_bodies_have_an_end(tmp_path: Path) -> None:
    """A large one is refused; the server goes on."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        answer = await client.http.post("/tasks", content=bytes(BODY_BYTES + 1))
        assert answer.status_code == 413
        assert (await client.post("/num_tasks", {"split": "test"})).status_code == 200


async def test_names_of_this_machine_are_not_given_away(tmp_path: Path) -> None:
    """A page can let its own name mean this machine: without a token, a server answers to no strange name."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        port = house.address.rpartition(":")[2]
        for host, status in (
            ("evil.example", 403),
            (f"evil.example:{port}", 403),
            (f"localhost:{port}", 200),
            ("[::1]:80", 200),
            (f"sessions.localhost:{port}", 200),
        ):
            assert (await client.http.get("/splits", headers={"Host": host})).status_code == status


async def test_clients_do_not_share_names(tmp_path: Path) -> None:
    """A session whose name another client guesses stays unseen, and a name that is taken can be taken again."""
    async with (
        opened(job_in(tmp_path, token="secret-one,secret-two")) as house,
        Client(house.address, "secret-one") as one,
        Client(house.address, "secret-two") as two,
    ):
        for client, index in ((one, 0), (two, 1)):
            made = await client.post("/create", {"split": "test", "index": index}, "mine")
            assert made.json() == {"sid": "mine"}
        assert (await one.get("/prompt", "mine")).text.count("task-0000")
        await one.post("/delete", sid="mine")
        assert (await two.get("/prompt", "mine")).text.count("task-0001")


async def test_a_client_leaves_others_room_to_wait(tmp_path: Path) -> None:
    """One that opens sessions without end can fill its own share."""
    async with (
        opened(job_in(tmp_path, token="secret-one,secret-two", slots=1, waiting=4)) as house,
        Client(house.address, "secret-one") as one,
        Client(house.address, "secret-two") as two,
    ):
        await one.get("/prompt", await one.create())
        body = {"split": "test", "index": 0}
        first = [(await one.post("/create", body, f"{number}")).status_code for number in range(4)]
        second = [(await two.post("/create", body, f"{number}")).status_code for number in range(4)]
        assert first == second == [200, 200, 503, 503]


async def test_few_places_to_wait_are_not_rounded_away(tmp_path: Path) -> None:
    """One place and two clients: who comes first has it."""
    async with (
        opened(job_in(tmp_path, token="secret-one,secret-two", slots=1, waiting=1)) as house,
        Client(house.address, "secret-one") as one,
        Client(house.address, "secret-two") as two,
    ):
        await one.get("/prompt", await one.create())
        body = {"split": "test", "index": 0}
        asked = [await client.post("/create", body, f"{number}") for number in range(2) for client in (two, one)]
        assert [answer.status_code for answer in asked] == [200, 503, 503, 503]
        assert asked[1].headers["X-Backend-State"] == "starting"


async def test_only_the_latest_calls_are_kept(tmp_path: Path) -> None:
    """A client cannot fill the server's memory with answers; the latest can be asked for again."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        sid = await client.create()
        await client.get("/prompt", sid)
        session = house.service.sessions.all[0]
        made = [session.call("nothing", {"number": number}).id for number in range(1001)]
        assert session.call("nothing", {}, made[1]).id == made[1]
        with pytest.raises(KeyError):
            session.call("nothing", {}, made[0])
        refused = await client.post("/call", {"name": "bash", "input": {}, "task_id": made[0]}, sid)
        assert events(refused.text)[0][0] == "error"
