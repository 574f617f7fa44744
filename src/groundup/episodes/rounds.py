"""Feedback rounds: an agent works, its workspace is graded, it is told the public part, and it works on.

Each round is one attempt of the agent, with a sandbox and a conversation of its own, on what the round before
left. That is kept, so an interrupted attempt goes on in the round that it was in. Limits hold for all together.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from groundup.agents.base import Agent, AgentContext, AgentResult, EpisodeLimits, Trajectory
from groundup.agents.trajectories import Step, paid_for, spent_s
from groundup.domain.subjects import Outcome
from groundup.domain.verdicts import Stage, Verdict, counted, told_in_counts
from groundup.episodes.records import AttemptStore

ROUND_STEP, TOLD_STEP = "round", "told"
"""Steps of a trajectory: what a round handed in is kept; what its score is, and what the agent is told of it."""
_NEXT = """

---

This is round {number} of {rounds}. In your working folder lies what was handed in at the end of round {before};
packages that you installed then have to be installed again. It was tested by the hidden tests. {told} Find out
what is missing or wrong, and hand in something better.{again}"""
_AGAIN = " It will be tested again, and you will be told."
_STAGES = {
    Stage.INTAKE: "it could not be taken in",
    Stage.INSTALL: "it could not be installed",
    Stage.START: "it did not start",
    Stage.IMPORT: "it could not be imported",
    Stage.COLLECTION: "tests did not find what they import",
    Stage.TEST: "tests failed",
    Stage.CRASH: "it ended the process of the tests",
    Stage.TIMEOUT: "the time was over",
    Stage.LIMIT: "it used more memory, disk or processes than it may",
    Stage.ENVIRONMENT: "it could not be tested",
}
_LAST = (Outcome.REFUSED, Outcome.BUDGET)
"""Outcomes after which no further round can do anything."""


def public_part(verdict: Verdict) -> str:
    """Return what an agent may know of a verdict: its counts, and at which stages points were lost.

    Never a reason's message, a test's name or a further score: they quote hidden tests, or say what is looked at.
    """
    counts = told_in_counts(verdict)
    if verdict.score is None or verdict.score.value is None:
        return counts
    lost = ", ".join(dict.fromkeys(_STAGES[reason.stage] for reason in verdict.reasons))
    return f"{counts} Where points were lost: {lost}." if lost else counts


class RoundTrajectory:
    """The steps of one round. Turns are counted through all rounds, and agents count from 1 in each."""

    def __init__(self, whole: Trajectory, recorded: tuple[Step, ...], turns_before: int) -> None:
        self._whole = whole
        self._before = turns_before
        self._recorded = tuple(self._moved(step, -turns_before) for step in recorded)

    def append(self, kind: str, **fields: JsonValue) -> None:
        """Record a step."""
        self._whole.append(kind, **self._moved(fields, self._before))

    def recorded(self) -> tuple[Step, ...]:
        """Return the steps of this round's earlier tries."""
        return self._recorded

    def _moved(self, step: Mapping[str, JsonValue], turns: int) -> dict[str, JsonValue]:
        turn = step.get("turn")
        return {**step, "turn": turn + turns} if isinstance(turn, int) else dict(step)


@dataclass(frozen=True)
class RoundPlace:
    """What rounds need of an episode."""

    keep: Callable[[Path], Awaitable[None]]
    """Copies the workspace into an empty folder."""
    begin_with: Callable[[Path], Awaitable[None]]
    """Makes the workspace what was kept."""
    grade: Callable[[], Awaitable[Verdict]]
    """Grades the workspace as it is."""
    sink: AttemptStore


class FeedbackRounds:
    """The rounds of one attempt."""

    def __init__(self, number: int, agent: Agent, context: AgentContext, place: RoundPlace) -> None:
        self.scores: list[float | None] = []
        """What the agent was told so far."""
        self._most = number
        self._agent = agent
        self._context = context
        self._place = place
        self._total = AgentResult(outcome=Outcome.SUBMITTED)
        self._spent_s = 0.0

    async def play(self) -> AgentResult:
        """Let the agent work until it has all points, or there are no rounds or means left."""
        *kept, recorded = self._earlier()
        for part in kept:
            ended = AgentResult(outcome=Outcome(str(part[-1]["outcome"])), detail=str(part[-1]["detail"]))
            self._count(ended.but(**dict(paid_for(part))), spent_s(part))
            self.scores += [_score(step) for step in part if step.get("kind") == TOLD_STEP]
        done = len(kept)
        if done:
            await self._place.begin_with(self._place.sink.round(done))
        told = ""
        while done < self._most:
            if done:
                told = await self._told(done, recorded)
                if self.scores[-1] in (1.0, None) or self._total.outcome in _LAST or self._left() is None:
                    break
            await self._play(done + 1, told, recorded)
            done, recorded = done + 1, ()
            if done < self._most:
                await self._keep(done)
        return self._total

    async def _keep(self, number: int) -> None:
        """Keep what round *number* leaves, and go on with that, as a resumed attempt does."""
        with self._place.sink.ending_round(number) as folder:
            await self._place.keep(folder)
        total = self._total
        self._context.trajectory.append(
            ROUND_STEP, number=number, outcome=total.outcome.value, detail=total.detail
        )
        await self._place.begin_with(self._place.sink.round(number))

    def _earlier(self) -> list[tuple[Step, ...]]:
        """Return the steps of earlier tries: of each round that is kept, then of the one after them."""
        steps, parts, start = self._context.trajectory.recorded(), list[tuple[Step, ...]](), 0
        while len(parts) < self._most - 1 and self._place.sink.round(len(parts) + 1).is_dir():
            number = len(parts) + 1
            ends = [
                place
                for place, step in enumerate(steps)
                if step.get("kind") == ROUND_STEP and step.get("number") == number
            ]
            if not ends:
                break
            parts.append(steps[start : ends[-1] + 1])
            start = ends[-1] + 1
        return [*parts, steps[start:]]

    async def _told(self, number: int, recorded: tuple[Step, ...]) -> str:
        """Return what the agent is told of what round *number* handed in, which is graded once."""
        known = [step for step in recorded if step.get("kind") == TOLD_STEP and step.get("number") == number]
        if known:
            score, message = _score(known[0]), str(known[0].get("message"))
        else:
            verdict = await self._place.grade()
            score = counted(verdict)
            message = public_part(verdict)
            self._context.trajectory.append(TOLD_STEP, number=number, score=score, message=message)
        self.scores.append(score)
        return message

    async def _play(self, number: int, told: str, recorded: tuple[Step, ...]) -> None:
        context, before = self._context, self._total.turns
        task = context.task
        if number > 1:
            again = _AGAIN if number < self._most else ""
            more = _NEXT.format(number=number, rounds=self._most, before=number - 1, told=told, again=again)
            task = task.but(instruction=(task.instruction or "") + more)
        trajectory = RoundTrajectory(context.trajectory, recorded, before)

        async def note_turn(turn: int) -> None:
            await context.note_turn(turn + before)

        left = self._left()
        assert left is not None, "a round begins only with something left"
        scratch = context.scratch
        if self._most > 1:  # each round has a home and an environment of its own
            scratch /= f"round-{number}"
            scratch.mkdir()
        began = time.monotonic()
        ended = await self._agent.attempt(
            replace(context, task=task, scratch=scratch, trajectory=trajectory, limits=left, note_turn=note_turn)
        )
        self._count(ended, spent_s(recorded) + time.monotonic() - began)

    def _count(self, ended: AgentResult, seconds: float) -> None:
        total = self._total
        costs = [cost for cost in (total.cost_usd, ended.cost_usd) if cost is not None]
        self._spent_s += seconds
        self._total = ended.but(
            turns=total.turns + ended.turns,
            usage=total.usage + ended.usage,
            estimated=total.estimated or ended.estimated,
            cost_usd=sum(costs) if costs else None,
        )

    def _left(self) -> EpisodeLimits | None:
        """Return what the rounds so far left of the attempt's limits; None: nothing."""
        limits, total = self._context.limits, self._total
        used = {
            "turns": total.turns,
            "tokens": total.usage.input_tokens + total.usage.output_tokens,
            "cost_usd": total.cost_usd or 0.0,
            "wall_clock_s": self._spent_s,
        }
        left = {name: limit - used[name] for name, limit in limits if limit is not None}
        return None if any(value <= 0 for value in left.values()) else EpisodeLimits.model_validate(left)


def _score(step: Step) -> float | None:
    value = step.get("score")
    return float(value) if isinstance(value, int | float) else None
