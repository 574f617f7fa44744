"""Agents on nodes: their sandboxes are there, while models, keys and the record of what they did stay here.

The driver has a relay that nodes reach over connections like those between them. A token lets one attempt ask the
run's model and add to its own trajectory, as long as it goes on; no key and no other attempt is within reach.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import JsonValue
from typing_extensions import override

from groundup.agents.base import Agent, Trajectory
from groundup.agents.opening import open_agent
from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError
from groundup.domain.names import is_loopback
from groundup.episodes.records import MemorySink
from groundup.models.protocol import CallWatch, ChatModel
from groundup_fleet.clusters import FleetAddress, security
from groundup_fleet.extra import distributed
from groundup_fleet.orders import Play

_OPERATION = "groundup_relay"


@dataclass
class _Served:
    model: ChatModel | None
    trajectory: Trajectory
    keep: Callable[[str, bytes], None]
    steps: list[Mapping[str, JsonValue]]
    """What is recorded so far: a node may die, and Dask gives the same order to another one."""
    sitting: int = 0
    """How many nodes have begun; only the last is answered."""


class ModelRelay:
    """What the driver does for agents on nodes."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._served: dict[str, _Served] = {}

    @contextmanager
    def serving(
        self, model: ChatModel | None, trajectory: Trajectory, keep: Callable[[str, bytes], None]
    ) -> Iterator[str]:
        """Yield a token by which one attempt reaches these, until this is left."""
        token = secrets.token_urlsafe(24)
        self._served[token] = _Served(model, trajectory, keep, list(trajectory.recorded()))
        try:
            yield token
        finally:
            del self._served[token]

    async def answer(self, token: str, sitting: int, asked: str, text: str, data: bytes) -> str:
        """Return what a node asks for. What this raises, Dask raises there."""
        served = self._served.get(token)
        if served is None or (asked != "begin" and sitting != served.sitting):
            raise InfrastructureError("the attempt is over, or goes on elsewhere")
        match asked:
            case "begin":
                served.sitting += 1
                return json.dumps([served.sitting, served.steps])
            case "step":
                step: dict[str, JsonValue] = dict(json.loads(text))
                served.steps.append(dict(step))
                served.trajectory.append(str(step.pop("kind")), **step)
            case "log":
                served.keep(text, data)
            case "reply" if served.model is not None:
                reply = await served.model.complete(ChatRequest.model_validate_json(text))
                return reply.model_dump_json()
            case "tokens" if served.model is not None:
                return str(await served.model.count_tokens(ChatRequest.model_validate_json(text)))
            case _:
                raise InfrastructureError("a node asks for what there is not")
        return ""


@asynccontextmanager
async def relay_at(address: FleetAddress) -> AsyncIterator[ModelRelay]:
    """Yield the driver's relay for nodes of the fleet at *address*, where they reach it."""
    keys = security(address)
    place = urlsplit(address.scheduler)
    host = (
        "127.0.0.1" if is_loopback(place.hostname or "") else distributed.utils.get_ip(place.hostname, place.port)
    )
    relay = ModelRelay("")
    server = distributed.core.Server({_OPERATION: relay.answer})
    logging.getLogger("distributed.core").setLevel(logging.CRITICAL)  # what is raised for a node is no error here
    try:
        await server.listen(f"{place.scheme}://{host}:0", **(keys.get_listen_args("worker") if keys else {}))
        relay.address = server.address
        yield relay
    finally:
        await server.close()


class DriversModel:
    """The run's model as an agent on a node sees it. A `ChatModel`."""

    def __init__(self, play: Play, line: "LineToDriver") -> None:
        self.name = play.model or ""
        self.context_tokens = play.context_tokens
        self._line = line

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Return the reply, or raise what asking raised on the driver, which has the watch."""
        return ChatReply.model_validate_json(await self._line.asked("reply", request.model_dump_json()))

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return how many input tokens *request* has."""
        return int(await self._line.asked("tokens", request.model_dump_json()))

    async def __aenter__(self) -> "DriversModel":
        return self

    async def __aexit__(self, *error: object) -> None:
        pass


class LineToDriver(MemorySink):
    """What a node does through the driver's relay; as a sink, it leaves steps and logs there as they arise."""

    def __init__(self, worker: Any, play: Play, submission: Path) -> None:
        super().__init__(submission)
        self._worker = worker
        self._play = play
        self._sitting = 0
        self._recorded: tuple[Mapping[str, JsonValue], ...] = ()

    async def begin(self) -> None:
        """Take over from a node that began before, with the steps that it recorded."""
        self._sitting, steps = json.loads(await self.asked("begin", ""))
        self._recorded = tuple(steps)

    async def asked(self, what: str, text: str) -> str:
        """Return what the relay answers. Raises what it says; can be called from any event loop."""
        return await asyncio.wrap_future(self._begun(what, text))

    @override
    @contextmanager
    def trajectory(self) -> Iterator[Trajectory]:
        """Give the driver's record of this attempt."""
        yield self

    def append(self, kind: str, **fields: JsonValue) -> None:
        """Record a step; the driver has it on its disk when this returns."""
        self._begun("step", json.dumps({"kind": kind, **fields})).result()

    def recorded(self) -> tuple[Mapping[str, JsonValue], ...]:
        """Return the steps of earlier tries."""
        return self._recorded

    @override
    def keep_agent_log(self, name: str, content: bytes) -> None:
        self._begun("log", name, content).result()

    def _begun(self, what: str, text: str, data: bytes = b"") -> Any:
        # Connections belong to the worker's event loop, and agents run in another one.
        return asyncio.run_coroutine_threadsafe(self._ask(what, text, data), self._worker.loop.asyncio_loop)

    async def _ask(self, what: str, text: str, data: bytes) -> str:
        relay = self._worker.rpc(self._play.relay)
        try:
            return str(
                await relay.groundup_relay(
                    token=self._play.token, sitting=self._sitting, asked=what, text=text, data=data
                )
            )
        except OSError as error:
            raise InfrastructureError(f"the driver cannot be reached: {error}") from error


def checked_agent(play: Play) -> Agent | None:
    """Return the agent that *play* names; None when it is not the driver's. Raises `UsageError`."""
    agent = open_agent(play.agent, play.options)
    return agent if identity_of(agent) == play.identity else None


def identity_of(agent: Agent) -> str:
    """Return a digest of everything that decides what *agent* does."""
    return digest_of([agent.name, agent.version, agent.identity()])
