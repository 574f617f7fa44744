"""The Open Reward Standard: sessions over HTTP, calls answered as server-sent events that no client damages.

SDKs strip white space at the start of data, read no line above 64 KB, end a call after 30 silent seconds, and ask
again with the id that they got first: so the id is sent before the work begins, and a comment every ten seconds.

Clients ask for `/prompt` or for `/<environment>/prompt`; both are served. A session's id costs nothing: it is made
without anything being kept, and a session exists from `/create` on.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from uuid import uuid4

from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from groundup.domain.errors import UsageError
from groundup.domain.tasks import Task
from groundup.domain.version import __version__
from groundup.serving.http import ServedTasks, body_of, client_of, left, text_of
from groundup.serving.offers import TERMINAL, tools
from groundup.serving.session import Answer, CallRefusedError, Session, SessionCall

COMMENT_S = 10.0
_CHUNK = 8 * 1024
"""If all of it is spaces, six times as much is sent."""
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}

Document = Mapping[str, JsonValue]
Form = Callable[[SessionCall], Document]
"""Returns what a call came to, as the protocol says it. Raises for an `error` event."""


def event(name: str, data: str) -> bytes:
    """Return one event; *data* has no line breaks."""
    return f"event: {name}\ndata: {data}\n\n".encode()


def answer_events(document: Document) -> Iterator[bytes]:
    """Yield *document* in chunks, the last one as `end`."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    # White space at the end of a chunk survives; at the start it does not, and only JSON strings hold any.
    parts = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    for number, part in enumerate(parts, start=1):
        bare = part.lstrip(" ")
        yield event("end" if number == len(parts) else "chunk", "\\u0020" * (len(part) - len(bare)) + bare)


def error_event(error: BaseException) -> bytes:
    """Return the event that ends a client's session: the infrastructure failed, and there is no reward."""
    return event("error", " ".join(str(error).split())[:2000] or type(error).__name__)


class CallStream(Response):
    """Begins a call and streams what it comes to. A client that leaves early does not end the call."""

    media_type = "text/event-stream"

    def __init__(self, call: SessionCall, form: Form) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._call = call
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.create_task(left(receive))
        delivered = False
        try:
            await send(self._start())
            await send(_body(event("task_id", self._call.id)))
            # Once round the loop: a connection that is broken already is noticed before anything is done.
            await asyncio.sleep(0)
            self._call.begin()
            while not await self._call.wait(COMMENT_S, leaving):
                if leaving.done():
                    return
                await send(_body(b": working\n\n"))
            await _rounds(leaving)
            # All at once: it is bounded, and each piece sent costs the server more than its bytes.
            await send({**_body(b"".join(self._parts())), "more_body": False})
            delivered = not leaving.done()
        finally:
            if not delivered:
                self._call.lost()
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving

    def _start(self) -> Message:
        return {"type": "http.response.start", "status": 200, "headers": self.raw_headers}

    def _parts(self) -> Iterator[bytes]:
        try:
            document = self._form(self._call)
        except Exception as error:  # noqa: BLE001 - the boundary of one call: whatever failed, there is no reward
            yield error_event(error)
            return
        yield from answer_events(document)


_ROUNDS = 6
"""Of the event loop, in which the end of a connection reaches `leaving`: the socket, its transport, the server."""


async def _rounds(leaving: "asyncio.Task[None]") -> None:
    # A command that took no time must not be answered into a connection that broke when its id was sent: who did
    # not get the id asks without it, and the command would run twice.
    # By callbacks: each time that a task goes on costs as much as all that it waits through.
    loop = asyncio.get_running_loop()
    over = loop.create_future()

    def go_on(rounds: int) -> None:
        if over.cancelled():
            return
        if leaving.done() or not rounds:
            over.set_result(None)
        else:
            loop.call_soon(go_on, rounds - 1)

    go_on(_ROUNDS)
    await over


def _body(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}


READY_S = 20.0
"""How long a question waits for an episode that opens; proxies and clients end silent ones after 30 s."""
_SESSION_CHARACTERS = 200

Handler = Callable[[Request], Awaitable[Response]]


class Ors:
    """The routes."""

    def __init__(self, service: ServedTasks) -> None:
        self._service = service
        self._offer = service.offer
        self._sessions = service.sessions

    def routes(self) -> list[Route]:
        """Return them: those of its environment, below its name and bare, then those of the server."""
        name = self._offer.suite
        of_server: list[tuple[str, str, Handler]] = [
            ("GET", "/health", self._health),
            ("GET", "/version", self._version),
            ("GET", "/list_environments", self._environments),
            ("POST", "/create_session", self._create_session),
            ("POST", "/create", self._create),
            ("POST", "/ping", self._ping),
            ("POST", "/delete", self._delete),
            ("POST", "/delete_session", self._delete),
            ("GET", "/v1/environments/{rest:path}/required-secrets", self._secrets),
        ]
        of_environment: list[tuple[str, str, Handler]] = [
            ("POST", "/call", self._call),  # routes are tried in order, and this is the one that is asked for
            ("GET", "/prompt", self._prompt),
            ("GET", "/splits", self._splits),
            ("POST", "/num_tasks", self._num_tasks),
            ("POST", "/tasks", self._tasks),
            ("POST", "/task", self._task),
            ("POST", "/task_range", self._task_range),
            ("GET", "/tools", self._tools),
            ("GET", "/task_tools", self._task_tools),
            ("GET", "/messages", self._messages),
        ]
        below = [(method, f"/{name}{path}", handler) for method, path, handler in of_environment]
        every = [*below, *of_environment, *of_server]
        return [Route(path, handler, methods=[method]) for method, path, handler in every]

    # --- questions that need no session

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _version(self, request: Request) -> Response:
        return JSONResponse({"version": __version__, "build_sha": None})

    async def _environments(self, request: Request) -> Response:
        return JSONResponse([self._offer.suite])

    async def _secrets(self, request: Request) -> Response:
        return JSONResponse({"secrets": []})

    async def _splits(self, request: Request) -> Response:
        return JSONResponse([{"name": one.name, "type": one.type} for one in self._offer.splits.values()])

    async def _num_tasks(self, request: Request) -> Response:
        split = self._offer.split((await body_of(request)).get("split"))
        return JSONResponse({"num_tasks": len(split.tasks)})

    async def _tasks(self, request: Request) -> Response:
        split = self._offer.split((await body_of(request)).get("split"))
        return self._records("tasks", [self._offer.record(name) for name in split.tasks])

    async def _task(self, request: Request) -> Response:
        given = await body_of(request)
        return self._records("task", self._offer.record(self._offer.at(given.get("split"), given.get("index")).id))

    async def _task_range(self, request: Request) -> Response:
        given = await body_of(request)
        tasks = self._offer.split(given.get("split")).tasks
        part = slice(_bound(given, "start"), _bound(given, "stop"))
        return self._records("tasks", [self._offer.record(name) for name in tasks[part]])

    def _records(self, name: str, found: JsonValue) -> Response:
        return JSONResponse({name: found, "env_name": self._offer.suite})

    async def _tools(self, request: Request) -> Response:
        return JSONResponse(
            {
                "tools": [
                    {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                    for tool in tools(self._service.rules)
                ],
                "terminal_tool": {"name": TERMINAL.name, "arg": None, "description": TERMINAL.description},
                "supports_score_group": False,
                "message_block_types": ["text"],
            }
        )

    # --- sessions

    async def _create_session(self, request: Request) -> Response:
        stream = event("task_id", uuid4().hex) + event("end", "")
        return Response(stream, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})

    async def _create(self, request: Request) -> Response:
        name, given = _named(request), await body_of(request)
        environment = text_of(given, "env_name")
        if environment is not None and environment.lower() != self._offer.suite.lower():
            raise HTTPException(404, f"there is no environment {environment[:100]!r}, but {self._offer.suite}")
        self._sessions.create(name, client_of(request), self._meant(given))
        return JSONResponse({"sid": name})

    def _meant(self, given: dict[str, JsonValue]) -> Task:
        if given.get("task_spec") is not None:
            return self._offer.of_record(given["task_spec"])
        return self._offer.at(given.get("split"), given.get("index"))

    async def _ping(self, request: Request) -> Response:
        self._session(request)
        return JSONResponse({"status": "ok"})

    async def _delete(self, request: Request) -> Response:
        name = _named(request)
        await self._sessions.end(name, client_of(request))
        return JSONResponse({"sid": name})

    async def _task_tools(self, request: Request) -> Response:
        self._session(request)
        return await self._tools(request)

    async def _prompt(self, request: Request) -> Response:
        return JSONResponse([_block(await self._opening(request))])

    async def _messages(self, request: Request) -> Response:
        return JSONResponse([{"role": "user", "blocks": [_block(await self._opening(request))], "detail": None}])

    async def _opening(self, request: Request) -> str:
        return (await self._session(request).ready(READY_S)).prompt

    async def _call(self, request: Request) -> Response:
        session, given = self._session(request), await body_of(request)
        name, arguments = text_of(given, "name"), given.get("input")
        if name is None or not isinstance(arguments, dict | None):
            raise UsageError("a call has `name`, a text, and `input`, an object")
        await session.ready(READY_S)
        try:
            call = session.call(name, arguments or {}, text_of(given, "task_id"))
        except KeyError:
            unknown = error_event(UsageError("this session has no call of that id"))
            return Response(unknown, media_type="text/event-stream")
        return CallStream(call, _document)

    def _session(self, request: Request) -> Session:
        return self._sessions.find(_named(request), client_of(request))


def _named(request: Request) -> str:
    """Return the session that a request names. Raises `HTTPException`."""
    name = request.headers.get("x-session-id", "").strip()
    if not name or len(name) > _SESSION_CHARACTERS:
        raise HTTPException(400, "the header X-Session-ID names a session")
    return name


def _bound(given: dict[str, JsonValue], name: str) -> int | None:
    """Return an end of a range; None where it is open. Raises `UsageError`."""
    value = given.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise UsageError(f"Invalid index range: {name} is a whole number")
    return value


def _block(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text, "detail": None}


def _document(call: SessionCall) -> Document:
    """Return what a call came to. Raises for what is not the agent's fault."""
    try:
        answer: Answer = call.answer()
    except CallRefusedError as error:
        return {"ok": False, "error": str(error), "reason": error.reason}
    return {
        "ok": True,
        "output": {
            "blocks": [_block(answer.text)],
            "metadata": answer.counts or None,
            "reward": answer.reward,
            "finished": answer.finished,
        },
    }
