"""OpenEnv: a session for each WebSocket. `reset` opens the episode, `step` calls a tool.

Its client waits 60 s for an answer and then drops the socket, so no step lasts longer than 45 s: what takes longer
is asked for again with the action `wait`. A client that connects again without `reset` has no episode, and gets an
error.
"""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.version import __version__
from groundup.serving.http import ServedTasks, client_of
from groundup.serving.offers import tools
from groundup.serving.protocols import Protocol
from groundup.serving.session import Answer, CallRefusedError, EndedError, Session, SessionCall, StartingError
from groundup.serving.sessions import FullError, UnknownSessionError

STEP_S = 45.0
WAIT = "wait"
_RUNNING = '[still running; wait for it with the action {"tool": "wait"}]'

Data = dict[str, JsonValue]
_CODES: tuple[tuple[tuple[type[GroundupError], ...], str], ...] = (
    ((UsageError,), "VALIDATION_ERROR"),
    ((FullError, StartingError), "CAPACITY_REACHED"),
    ((EndedError, UnknownSessionError), "SESSION_ERROR"),
)


class OpenEnv:
    """The routes."""

    def __init__(self, service: ServedTasks) -> None:
        self._service = service

    def routes(self) -> list[BaseRoute]:
        """Return them, at the root and below `/openenv`; the health at the root is that of ORS."""
        return [
            WebSocketRoute("/ws", self._socket),
            Route("/schema", self._schema),
            Route("/metadata", self._metadata),
            WebSocketRoute("/openenv/ws", self._socket),
            Route("/openenv/schema", self._schema),
            Route("/openenv/metadata", self._metadata),
            Route("/openenv/health", self._health),
        ]

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    async def _metadata(self, request: Request) -> Response:
        about = f"Tasks of {self._service.offer.suite}, with the tools bash and submit"
        return JSONResponse({"name": self._service.offer.suite, "description": about, "version": __version__})

    async def _schema(self, request: Request) -> Response:
        return JSONResponse({"action": _ACTION, "observation": _OBSERVATION, "state": _STATE})

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        player = _Player(self._service, client_of(socket))
        try:
            while not player.has_closed:
                await socket.send_text(json.dumps(await player.answered(await socket.receive_text())))
        except (WebSocketDisconnect, RuntimeError, KeyError):  # Starlette's, for a socket that is gone; for bytes
            pass
        finally:
            await player.close()
        with suppress(RuntimeError, WebSocketDisconnect):
            await socket.close()


class _Player:
    """What one connection does."""

    def __init__(self, service: ServedTasks, client: str) -> None:
        self.has_closed = False
        self._service = service
        self._client = client
        self._session: Session | None = None
        self._call: SessionCall | None = None
        self._steps = 0

    async def answered(self, text: str) -> Data:
        """Return the message that answers *text*."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return _error("INVALID_JSON", "the message is not JSON")
        kind, data = (message.get("type"), message.get("data") or {}) if isinstance(message, dict) else (None, {})
        try:
            return await self._done(kind, data)
        except GroundupError as error:
            code = next((code for kinds, code in _CODES if isinstance(error, kinds)), "EXECUTION_ERROR")
            return _error(code, str(error))

    async def _done(self, kind: JsonValue, data: JsonValue) -> Data:
        match kind:
            case "reset":
                return await self._reset(data)
            case "step":
                return await self._step(data)
            case "close":
                self.has_closed = True
            case "state":
                pass
            case _:
                return _error("UNKNOWN_TYPE", f"there is no message {str(kind)[:100]!r}")
        return {"type": "state", "data": self._state()}

    async def close(self) -> None:
        """End the episode: as its client's wish where it asked for it."""
        if self._session is not None:
            session, self._session = self._session, None
            how = "the client closed the connection" if self.has_closed else "the connection was lost"
            await self._service.sessions.give_up(session, how, by_client=self.has_closed)

    async def _reset(self, data: JsonValue) -> Data:
        if not isinstance(data, dict):
            raise UsageError("reset takes an object with `task`, or `split` and `index`")
        offer = self._service.offer
        first = next(iter(offer.splits))
        task = offer.named(data["task"]) if data.get("task") else None
        if task is None:
            split = data.get("split") or first
            index, seed = data.get("index"), data.get("seed")
            if index is None:
                index = seed % len(offer.split(split).tasks) if isinstance(seed, int) else 0
            task = offer.at(split, index)
        if self._session is not None:
            session, self._session = self._session, None
            await self._service.sessions.give_up(session, "the client began anew", by_client=True)
        self._call, self._steps = None, 0
        session = self._service.sessions.create(f"ws-{uuid4().hex}", self._client, task)
        try:
            episode = await session.ready(STEP_S)
        except BaseException:
            await self._service.sessions.give_up(session, "there was no slot in time", by_client=True)
            raise
        self._session = session
        offered: list[JsonValue] = [tool.model_dump(mode="json") for tool in tools(self._service.rules)]
        return _observation({"prompt": episode.prompt, "tools": offered, "task": offer.record(task.id)})

    async def _step(self, data: JsonValue) -> Data:
        session = self._session
        if session is None:
            raise EndedError("this connection has no episode: an earlier one is lost; send `reset` first")
        if not isinstance(data, dict) or not isinstance(tool := data.get("tool"), str):
            raise UsageError("an action is an object with `tool`, and for bash `command`")
        session.heard()
        self._service.sessions.find(session.name, self._client)
        if tool == WAIT:
            if self._call is None:
                raise UsageError("nothing is running")
        elif self._call is not None:
            return _observation({"output": f"[{tool} was not called] {_RUNNING}", "running": True})
        else:
            given = {key: value for key, value in data.items() if key not in ("tool", "metadata")}
            self._call = session.call(tool, given)
            self._call.begin()
            self._steps += 1
        call, until = self._call, time.monotonic() + STEP_S
        if not await call.wait(until - time.monotonic()):
            return _observation({"output": _RUNNING, "running": True})
        self._call = None
        try:
            answer = call.answer()
        except CallRefusedError as error:
            return _observation({"output": str(error), "running": False}, done=session.finished)
        return _answered(answer)

    def _state(self) -> Data:
        session = self._session
        return {
            "episode_id": session.name if session else None,
            "step_count": self._steps,
            "task": session.task.id if session else None,
            "finished": session.finished if session else False,
        }


def _answered(answer: Answer) -> Data:
    shown: Data = {"output": answer.text, "running": False}
    return _observation(shown, reward=answer.reward, done=answer.finished, metadata=answer.counts)


def _observation(
    seen: Data, *, reward: float | None = None, done: bool = False, metadata: Data | None = None
) -> Data:
    data: Data = {"observation": seen, "reward": reward, "done": done, "metadata": metadata or {}}
    return {"type": "observation", "data": data}


def _error(code: str, message: str) -> Data:
    return {"type": "error", "data": {"message": message, "code": code}}


_ACTION: Data = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "enum": ["bash", "submit", WAIT]},
        "command": {"type": ["string", "null"], "description": "for bash"},
        "timeout_s": {"type": ["number", "null"], "description": "for bash: seconds until it is ended"},
    },
    "required": ["tool"],
}
_OBSERVATION: Data = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "description": "after reset: the prompt"},
        "tools": {"type": "array", "description": "after reset"},
        "task": {"type": "object", "description": "after reset"},
        "output": {"type": "string", "description": "after a step"},
        "running": {"type": "boolean", "description": "whether the call goes on: send the action wait"},
    },
}
_STATE: Data = {
    "type": "object",
    "properties": {
        "episode_id": {"type": ["string", "null"]},
        "step_count": {"type": "integer"},
        "task": {"type": ["string", "null"]},
        "finished": {"type": "boolean"},
    },
}


@asynccontextmanager
async def _routes(service: ServedTasks) -> AsyncIterator[list[BaseRoute]]:
    yield OpenEnv(service).routes()


PROTOCOL = Protocol("OpenEnv", "at /ws", _routes)
