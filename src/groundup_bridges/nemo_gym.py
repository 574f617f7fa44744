"""NeMo Gym's resource server: `/seed_session` opens an episode for a cookie, `/bash` and `/submit` call tools,
`/verify` returns a row with its reward. `/rows` gives the rows, `/nemo_gym.yaml` what its programs must know.
"""

import asyncio
import json
import statistics
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from groundup.domain.errors import UsageError
from groundup.domain.tasks import Task
from groundup.serving.http import ServedTasks, body_of, client_of, left, refusal
from groundup.serving.offers import tools
from groundup.serving.protocols import Protocol
from groundup.serving.session import (
    BASH,
    FINISH,
    SUBMIT,
    Answer,
    CallRefusedError,
    EndedError,
    Session,
    StartingError,
)
from groundup.serving.sessions import UnknownSessionError

COOKIE = "groundup_session"
AGENT = "groundup_agent"
"""What the agent is called that plays the rows, in their `agent_ref` and in the configuration."""
_INDEX = "_ng_task_index"
_FIGURES = ("reward", "passed", "total")
_MEASURES: dict[str, Callable[[list[float]], float]] = {
    "mean": statistics.fmean,
    "max": max,
    "min": min,
    "median": statistics.median,
    "std": statistics.stdev,
}
_CONFIGURATION = """\
groundup:  # resources_servers/groundup/app.py is started beside it, and only waits
  resources_servers:
    groundup: {{host: "{host}", port: {port}, domain: coding, entrypoint: app.py}}
{agent}:
  responses_api_agents:
    simple_agent:
      entrypoint: app.py
      resources_server: {{type: resources_servers, name: groundup}}
      model_server: {{type: responses_api_models, name: policy_model}}
      max_steps: 200
"""
_OPEN_S = 50.0
"""Callers wait 60 s. What is not open by then is answered with 503 and a cookie, by which it is asked again."""


class NemoGym:
    """The routes."""

    def __init__(self, service: ServedTasks, open_s: float = _OPEN_S) -> None:
        self._service = service
        self._open_s = open_s

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/rows", self._rows),
            Route("/seed_session", self._seed, methods=["POST"]),
            Route(f"/{BASH}", self._tool, methods=["POST"]),
            Route(f"/{SUBMIT}", self._tool, methods=["POST"]),
            Route("/verify", self._verify, methods=["POST"]),
            Route("/aggregate_metrics", self._aggregate, methods=["POST"]),
            Route("/nemo_gym.yaml", self._configuration),
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
        prompt: JsonValue = {"role": "user", "content": self._service.offer.prompt(task, self._service.rules)}
        asked: JsonValue = {"input": [prompt], "tools": offered}
        agent: JsonValue = {"type": "responses_api_agents", "name": AGENT}
        return {"responses_create_params": asked, **self._service.offer.record(task.id), "agent_ref": agent}

    async def _configuration(self, request: Request) -> Response:
        """Return the file that its programs take, with the address by which it was asked for."""
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        text = _CONFIGURATION.format(host=request.url.hostname, port=port, agent=AGENT)
        return PlainTextResponse(text, media_type="application/yaml")

    async def _aggregate(self, request: Request) -> Response:
        """Return figures on rows that were verified, by the names that NeMo Gym's own servers have for them."""
        given = (await body_of(request)).get("verify_responses")
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise UsageError("verify_responses is a list of rows that /verify has returned")
        rows = [one for one in given if isinstance(one, dict)]
        groups: dict[int, list[Mapping[str, JsonValue]]] = {}
        for row in rows:
            index = row.get(_INDEX)
            groups.setdefault(index if isinstance(index, int) else 0, []).append(row)
        overall = _measured(rows)
        by_task = [{_INDEX: index, **_measured(groups[index])} for index in sorted(groups)]
        means = {name: value for name, value in overall.items() if name.startswith("mean/")}
        return JSONResponse({"group_level_metrics": by_task, "agent_metrics": overall, "key_metrics": means})

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


def _measured(rows: Sequence[Mapping[str, JsonValue]]) -> dict[str, float]:
    """Return the measures of each figure that *rows* have."""
    measured: dict[str, float] = {}
    for figure in _FIGURES:
        values = [value for row in rows if isinstance(value := row.get(figure), int | float)]
        for name, measure in _MEASURES.items() if values else ():
            alone = name == "std" and len(values) == 1
            measured[f"{name}/{figure}"] = 0.0 if alone else float(measure(values))
    return measured


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


@asynccontextmanager
async def _routes(service: ServedTasks) -> AsyncIterator[list[BaseRoute]]:
    yield NemoGym(service).routes()


PROTOCOL = Protocol("NeMo Gym", "", _routes)
