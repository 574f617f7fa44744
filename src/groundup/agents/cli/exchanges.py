"""Between a command-line agent and its model: what is recorded, what is paid, and when the program has to end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import JsonValue

from groundup.agents.base import AgentResult, Assignment
from groundup.agents.resuming import Clock
from groundup.agents.trajectories import Paid, paid_for, reply_fields
from groundup.agents.workplace import AgentSandbox
from groundup.domain.errors import InfrastructureError
from groundup.models.exchanges import Exchange
from groundup.models.gateway import ModelGateway
from groundup.sandbox.deadlines import is_done_within
from groundup.sandbox.protocol import Command, CommandResult

_GRACE_S = 30.0
"""How long a program may go on when its model answers no more."""


class Exchanges:
    """Appends what goes between program and model to the trajectory, and sums up what all tries paid."""

    def __init__(self, assignment: Assignment) -> None:
        recorded = assignment.trajectory.recorded()
        self.paid = paid_for(recorded)
        self.clock = Clock(None, assignment.limits.wall_clock_s, recorded)
        self.last: Exchange | None = None
        self._trajectory = assignment.trajectory
        self._turn = 0

    def record(self, exchange: Exchange) -> None:
        """Record what *exchange* has new."""
        for message in exchange.news:
            if message.role != "assistant":  # those are replies, recorded when they were given
                fields = message.model_dump(mode="json", exclude_defaults=True)
                self._trajectory.append("message", exchange=exchange.number, **fields)
        self.last = exchange
        spent_s = self.clock.spent_s
        if exchange.reply is None:
            self._trajectory.append("unanswered", exchange=exchange.number, error=exchange.error, spent_s=spent_s)
            return
        self._turn += 1
        fields = reply_fields(exchange.reply, self._turn)
        about: dict[str, JsonValue] = {"exchange": exchange.number, "continues": exchange.continues}
        self._trajectory.append("reply", **about, spent_s=spent_s, **fields)
        self.paid = self.paid.plus(exchange.reply)


def with_paid(paid: Paid, ended: AgentResult) -> AgentResult:
    """Return *ended* with what all tries took together."""
    return ended.model_copy(update=dict(paid))


@asynccontextmanager
async def open_gateway(assignment: Assignment, exchanges: Exchanges) -> AsyncIterator[ModelGateway | None]:
    """Yield the attempt's way to its model, with what earlier tries left of its money; None without a model."""
    if assignment.model is None:
        yield None
        return
    limits = assignment.limits
    if limits.cost_usd is not None:
        left = limits.cost_usd - (exchanges.paid.cost_usd or 0.0)
        limits = limits.model_copy(update={"cost_usd": left})
    async with ModelGateway(assignment.model, limits=limits, record=exchanges.record) as gateway:
        yield gateway


async def watched(place: AgentSandbox, command: Command, gateway: ModelGateway | None) -> CommandResult:
    """Run the program; one whose model answers no more gets a little time to end by itself."""
    running = asyncio.ensure_future(place.run(command))
    stopped = asyncio.ensure_future(gateway.until_stopped()) if gateway is not None else None
    try:
        await asyncio.wait({running, *([stopped] if stopped else [])}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await is_done_within(running, (await place.sandbox()).stopwatch(), _GRACE_S)
        if not running.done():  # everything inside but process 1 and the kill itself
            await place.run(Command(argv=("/bin/kill", "-KILL", "-1"), timeout_s=_GRACE_S))
        return await running
    finally:
        for waiting in (running, stopped):
            if waiting is not None:
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError, InfrastructureError):
                    await waiting
