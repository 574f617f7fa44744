"""A server in this process that serves the toy suite with a fake sandbox, and a client by hand."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import uvicorn

from groundup.api.flags import ServeFlags
from groundup.cli.listening import listening
from groundup.cli.serve import serve_job
from groundup.sandbox.protocol import Command, CommandResult, SandboxProvider, SandboxSpec
from groundup.serving.http import ServedTasks, configured
from groundup.serving.metrics import Log
from groundup.serving.server import ServeJob, application, service
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import VerdictLine
from tests.episodes.theatre import Builder, HangingSandbox, Provider, obeying
from tests.sandbox.fake import FakeSandbox

SUITE = "tests.runs.toy:create_written"
ENVIRONMENT = "toy"


def scripted(spec: SandboxSpec, command: Command) -> CommandResult:
    """Write the behaviour that a command names, and note each command."""
    with (spec.workspace / "commands").open("a") as file:
        file.write(f"{command.argv[-1]!r}\n")
    return obeying(spec, command)


class HoldingSandbox(HangingSandbox):
    """Commands that say so end when the test says so."""

    async def run(self, command: Command) -> CommandResult:
        """Answer, or hang, or wait for `Hold`."""
        if "held" in command.argv[-1]:
            await Hold.over.wait()
        _, slow, seconds = command.argv[-1].partition("slow ")
        if slow:
            await asyncio.sleep(float(seconds))
        return await super().run(command)


class Hold:
    """What held commands wait for; each test makes its own."""

    over = asyncio.Event()


class HoldingProvider(Provider):
    """Opens them."""

    def opened(self, spec: SandboxSpec, ports: "dict[int, socket.socket]") -> FakeSandbox:
        """Return one."""
        sandbox = HoldingSandbox(self, spec, ports)
        self.sandboxes.append(sandbox)
        return sandbox


def create_provider(settings: Settings) -> Provider:
    """Return a fake provider whose commands can hang."""
    return HoldingProvider(scripted)


def create_builder(settings: Settings, provider: SandboxProvider) -> Builder:
    """Return a builder of empty environments."""
    return Builder(settings.cache_dir / "layers")


class House:
    """A running server, and what it wrote."""

    def __init__(self, job: ServeJob, opened: ServedTasks, address: str, events: list[dict[str, Any]]) -> None:
        self.job = job
        self.service = opened
        self.address = address
        self.events = events

    def lines(self) -> list[VerdictLine]:
        """Return the records of the run."""
        return list(RunFolder(self.job.path).lines())

    def scores(self) -> list[float | None]:
        """Return the recorded scores; None for lines without one."""
        verdicts = [line.verdict for line in self.lines()]
        return [verdict.score.value if verdict and verdict.score else None for verdict in verdicts]


def job_in(root: Path, suite: str = SUITE, **flags: Any) -> ServeJob:
    """Return what is served, with everything below *root*."""
    given = cast("ServeFlags", {"run_id": "served", **flags})
    settings = Settings(
        cache_dir=root / "cache",
        output=root / "runs",
        sandbox="tests.serving.house:create_provider",
        builder="tests.serving.house:create_builder",
    )
    return serve_job(suite, settings=settings, **given)


@asynccontextmanager
async def opened(job: ServeJob) -> AsyncIterator[House]:
    """Serve *job*."""
    events: list[dict[str, Any]] = []
    object.__setattr__(job, "log", Log(lambda line: events.append(json.loads(line))))
    with listening("127.0.0.1", 0, has_token=False) as listener:
        async with service(job) as found, application(found, job.tokens) as answering:
            server = uvicorn.Server(configured(answering))
            serving_task = asyncio.create_task(server._serve([listener]))
            try:
                yield House(job, found, f"http://127.0.0.1:{listener.getsockname()[1]}", events)
            finally:
                await found.sessions.close()
                server.should_exit = server.force_exit = True
                await serving_task


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something holds; the limit of every test ends what never does."""
    while not await holds():  # noqa: ASYNC110 - what is waited for is in another process's hands, or seems so
        await asyncio.sleep(0.01)


class Client:
    """Speaks ORS by hand."""

    def __init__(self, address: str, token: str | None = None) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.http = httpx.AsyncClient(base_url=address, headers=headers, trust_env=False, timeout=None)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.http.aclose()

    async def post(self, path: str, body: object = None, sid: str | None = None) -> httpx.Response:
        """Send a body."""
        headers = {} if sid is None else {"X-Session-ID": sid}
        return await self.http.post(path, json=body, headers=headers)

    async def get(self, path: str, sid: str | None = None) -> httpx.Response:
        """Ask."""
        return await self.http.get(path, headers={} if sid is None else {"X-Session-ID": sid})

    async def create(self, index: int = 0) -> str:
        """Open a session and return its id."""
        sid = dict(events((await self.post("/create_session")).text))["task_id"]
        assert (await self.post("/create", {"split": "test", "index": index}, sid)).json() == {"sid": sid}
        return sid

    async def call(self, sid: str, name: str, task_id: str | None = None, **given: object) -> dict[str, Any]:
        """Call a tool and return the document, or {"error event": text}."""
        body = {"name": name, "input": given, **({} if task_id is None else {"task_id": task_id})}
        return joined((await self.post("/call", body, sid)).text)

    async def bash(self, sid: str, command: str) -> str:
        """Run a command and return its output."""
        return str((await self.call(sid, "bash", command=command))["output"]["blocks"][0]["text"])


def events(stream: str) -> list[tuple[str, str]]:
    """Read server-sent events as SDKs do: white space at the start of data is lost."""
    found = []
    for block in stream.split("\n\n"):
        fields = dict(line.split(":", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if fields:
            found.append((fields["event"].lstrip(), fields["data"].lstrip()))
    return found


def joined(stream: str) -> dict[str, Any]:
    """Return the document of a call's stream."""
    found = events(stream)
    for name, data in found:
        if name == "error":
            return {"error event": data}
    assert found[0][0] == "task_id"
    assert found[-1][0] == "end"
    document: dict[str, Any] = json.loads("".join(data for name, data in found if name in ("chunk", "end")))
    return document
