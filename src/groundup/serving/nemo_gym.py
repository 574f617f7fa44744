"""NeMo Gym's resource server: `/seed_session` opens an episode for a cookie, `/bash` and `/submit` call tools,
`/verify` returns a row with its reward. `/rows` gives the rows.
"""

import asyncio
import json
from contextlib import suppress
from uuid import uuid4

from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from groundup.domain.errors import UsageError
from groundup.domain.tasks import Task
from groundup.serving.calls import Answer, CallRefusedError
from groundup.serving.http import ServedTasks, body_of, client_of, left, refusal
from groundup.serving.offers import prompt_of, tools
from groundup.serving.session import BASH, FINISH, SUBMIT, EndedError, Session, StartingError
from groundup.serving.sessions import UnknownSessionError

COOKIE = "groundup_session"
_OPEN_S = 50.0
"""Callers wait 60 s. What is not open by then is answered with 503 and a cookie, by which it is asked again."""


class NemoGym:
    """The routes."""

    def __init__(self, service: ServedTasks, open_s: float = _OPEN_S) -> None:
        self._service = service
        self._open_s = open_s

    def routes(self) -> list[BaseRoute]:
        """Return them."""
        return [
            Route("/rows", self._rows),
            Route("/seed_session", self._seed, methods=["POST"]),
            Route(f"/{BASH}", self._tool, methods=["POST"]),
            Route(f"/{SUBMIT}", self._tool, methods=["POST"]),
            Route("/verify", self._verify, methods=["POST"]),
        ]

    async def _rows(self, request: Request) -> Response:
        """Return a row for each task, one line each."""
        offer = self._service.offer
        tasks = offer.split(request.query_params.get("split") or next(iter(offer.splits))).tasks
        lines = (json.dumps(self._row(offer.named(name)), ensure_ascii=False) + "\n" for name in tasks)
        return PlainTextResponse("".join(lines), media_type="application/jsonl")

    def _row(self, task: Task) -> dict[str, JsonValue]:
        offered: list[JsonValue] = [
            {"type": "function", **tool.model_dump(mode="json"), "strict": False}
            for tool in tools(self._service.rules)
        ]
        prompt: JsonValue = {"role": "user", "content": prompt_of(task, self._service.rules)}
        asked: JsonValue = {"input": [prompt], "tools": offered}
        return {"responses_create_params": asked, **self._service.offer.record(task.id)}

    async def _seed(self, request: Request) -> Response:
        row = await body_of(request)
        task = self._service.offer.of_record({key: row.get(key) for key in ("task", "suite", "data_version")})
        session = await self._seeded(request, task)
        try:
            await session.ready(self._open_s)
        except StartingError as error:
            response = refusal(error)
        else:
            response = JSONResponse({})
        return _remembered(response, session)

    async def _seeded(self, request: Request, task: Task) -> Session:
        """Return the cookie's session where it is of *task* and nothing was done in it, else a new one."""
        sessions, client = self._service.sessions, client_of(request)
        if earlier := request.cookies.get(COOKIE):
            with suppress(UnknownSessionError, EndedError):
                found = sessions.find(earlier, client)
                if found.task.id == task.id and not found.is_used:
                    return found
            await sessions.end(earlier, client)
        return sessions.create(f"gym-{uuid4().hex}", client, task)

    async def _tool(self, request: Request) -> Response:
        session, given = self._session(request), await body_of(request)
        try:
            output = (await _made(request, session, request.url.path.strip("/"), given)).text
        except CallRefusedError as error:
            output = str(error)
        return _remembered(JSONResponse({"output": output}), session)

    async def _verify(self, request: Request) -> Response:
        """Return the row with the reward of the last submit; what was not handed in yet is handed in here."""
        session, row = self._session(request), await body_of(request)
        answer = session.graded if session.finished else await _made(request, session, FINISH, {})
        if answer is None or answer.reward is None:
            raise UsageError("this episode has no reward")
        counts = {key: value for key, value in answer.counts.items() if key in ("passed", "total")}
        # A row may have what `JSONResponse` refuses: log-probabilities of -Infinity, half a pair of surrogates.
        rewarded = json.dumps({**row, "reward": answer.reward, **counts})
        response = Response(rewarded, media_type="application/json")
        if not await request.is_disconnected():  # else it asks again
            await self._service.sessions.end(session.name, client_of(request))
        response.delete_cookie(COOKIE)
        return response

    def _session(self, request: Request) -> Session:
        name = request.cookies.get(COOKIE)
        if not name:
            raise HTTPException(400, "no cookie of a session: call /seed_session first, and send its cookie")
        return self._service.sessions.find(name, client_of(request))


def _remembered(response: Response, session: Session) -> Response:
    """Return *response* with the cookie: NeMo Gym's agents keep only what the latest answer brought."""
    response.set_cookie(COOKIE, session.name, httponly=True, samesite="strict")
    return response


async def _made(request: Request, session: Session, tool: str, given: dict[str, JsonValue]) -> Answer:
    """Call a tool. Callers whose connection breaks ask again without saying so, and get the same call."""
    call = session.call(tool, given)
    call.begin()
    leaving = asyncio.create_task(left(request.receive))
    try:
        if not await call.wait(leaving=leaving):
            call.lost()
            await call.wait()
    finally:
        leaving.cancel()
    return call.answer()
