"""What a command-line agent did and left: exchanges with its model, why it ended, files of its HOME."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import JsonValue

from groundup.agents.base import AgentContext, AgentResult
from groundup.agents.cli.preset import Preset
from groundup.agents.observations import limit_met, limit_of_program
from groundup.agents.resuming import Clock
from groundup.agents.trajectories import paid_for, reply_fields
from groundup.agents.workspace import AgentSandbox
from groundup.domain.errors import InfrastructureError, MachineError
from groundup.domain.limits import Limits
from groundup.domain.subjects import Outcome
from groundup.domain.usage import ModelUse
from groundup.models.exchanges import Account, Exchange, Stop
from groundup.models.gateway import ModelGateway
from groundup.models.protocol import BudgetSpentError, ModelError, UnusableModelError
from groundup.sandbox.deadlines import is_done_within
from groundup.sandbox.protocol import Command, CommandResult, Ending
from groundup.trees.walking import FOLDER, TreeEntry, read_chunks, walk

_GRACE_S = 30.0
"""How long a program may go on when its model answers no more."""


class Exchanges:
    """Appends what goes between program and model to the trajectory, and sums up what all tries paid."""

    def __init__(self, context: AgentContext) -> None:
        recorded = context.trajectory.recorded()
        self.paid = paid_for(recorded)
        self.clock = Clock(None, context.limits.wall_clock_s, recorded)
        self.last: Exchange | None = None
        self._trajectory = context.trajectory
        self.turn = 0

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
        self.turn += 1
        fields = reply_fields(exchange.reply, self.turn)
        about: dict[str, JsonValue] = {
            "exchange": exchange.number,
            "continues": exchange.continues,
            "shared": exchange.shared,
            "place": len(exchange.request.messages),
        }
        self._trajectory.append("reply", **about, spent_s=spent_s, **fields)
        self.paid = self.paid.plus(exchange.reply)


def with_paid(paid: ModelUse, ended: AgentResult) -> AgentResult:
    """Return *ended* with what all tries took together."""
    return ended.but(**dict(paid))


@asynccontextmanager
async def open_gateway(context: AgentContext, exchanges: Exchanges) -> AsyncIterator[ModelGateway | None]:
    """Yield the attempt's way to its model, with what earlier tries left of its money; None without a model."""
    if context.model is None:
        yield None
        return
    limits = context.limits
    if limits.cost_usd is not None:
        left = limits.cost_usd - (exchanges.paid.cost_usd or 0.0)
        limits = limits.but(cost_usd=left)

    async def before() -> None:  # when the program asks again, its last turn has done all that it does
        await context.note_turn(exchanges.turn)

    async with ModelGateway(context.model, limits=limits, record=exchanges.record, before=before) as gateway:
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


_MOST_FILES = 200
_MOST_BYTES = 64 * 1024 * 1024
_DEPTH = 12


def kept_files(home: Path, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the regular files below *home* whose path matches, in order.

    Links are not followed; at most 200 files with 64 MiB together are read, of larger ones the beginning.
    """
    if not patterns:
        return
    try:
        root = os.open(home, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {home}: {error.strerror or error}") from error
    left = _MOST_BYTES
    count = 0
    try:
        for entry in walk(root, _DEPTH):
            if entry.kind != "file" or not _matches(entry.parts, patterns):
                continue
            content = _beginning(entry, left)
            if content is None:
                continue
            count += 1
            left -= len(content)
            yield "-".join(("trajectory", *(part.lstrip(".") for part in entry.parts))), content
            if count >= _MOST_FILES or left <= 0:
                return
    finally:
        os.close(root)


def _matches(parts: tuple[str, ...], patterns: Sequence[str]) -> bool:
    """Whether a path matches, part by part."""
    for pattern in patterns:
        wanted = pattern.split("/")
        if len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted)):
            return True
    return False


def _beginning(entry: TreeEntry, most: int) -> bytes | None:
    try:
        descriptor = entry.open()
    except OSError:
        return None
    try:
        content = bytearray()
        for chunk in read_chunks(descriptor):
            content += chunk
            if len(content) >= most:
                break
        return bytes(content[:most])
    finally:
        os.close(descriptor)


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    result: CommandResult
    limits: Limits
    """Of its sandbox."""
    stop: Stop | None
    """Why its model answered no more; None: it would have answered."""
    last: Exchange | None
    """What it asked last."""

    @property
    def wanted_more(self) -> bool:
        """Whether it was still asking when it was answered no more."""
        return self.last is not None and self.last.reply is None


def outcome_of(preset: Preset, finished: Finished, account: Account | None) -> AgentResult:
    """Return the outcome. Raises `ModelError`, `BudgetSpentError` and `MachineError`: try again."""
    result, stop = finished.result, finished.stop
    if stop is not None and stop.outcome is Outcome.INFRASTRUCTURE:
        raise (UnusableModelError if stop.of_the_run else ModelError)(stop.detail)
    if stop is not None and stop.outcome is Outcome.BUDGET and account is not None and account.spent() is None:
        raise BudgetSpentError(stop.detail)
    done = result.ending is Ending.EXITED and result.exit_code in preset.success
    if stop is not None and (finished.wanted_more or not done):
        return AgentResult(outcome=stop.outcome, detail=stop.detail)
    if finished.last is not None and finished.last.refused:
        return AgentResult(
            outcome=Outcome.REFUSED, detail=finished.last.error or "the endpoint's filter ended the reply"
        )
    limit = limit_of_program(result, finished.limits)
    how = limit or f"the program ended with exit code {result.exit_code}"
    if account is not None and preset.protocol != "none" and account.turns == 0:
        # A wrong flag, a version that cannot start: nothing was measured of the model, so there is no 0 for it.
        raise MachineError(f"{how} before its model had answered once: {_last_words(result)}")
    if limit is not None:
        return AgentResult(outcome=Outcome.LIMIT, detail=how)
    if not done:
        return AgentResult(outcome=Outcome.CRASHED, detail=f"{how}: {_last_words(result)}")
    met = limit_met(result, finished.limits)
    return AgentResult(outcome=Outcome.SUBMITTED, detail=f"exit code {result.exit_code}{met and '; '}{met}")


def _last_words(result: CommandResult) -> str:
    for stream in (result.stderr, result.stdout):
        text = _ESCAPES.sub("", stream.decode(errors="replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return "".join(character for character in lines[-1] if character.isprintable())[-300:]
    return "it printed nothing"
