"""A run's events and counts while it goes on. Showing them is the caller's."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Submission
from groundup.domain.verdicts import NOT_ATTEMPTED, Status, counted, standing_of
from groundup.reports import lost
from groundup.store.records import VerdictLine


class FleetStanding(Record):
    """The nodes that grade for a run, at this moment."""

    nodes: int
    slots: int
    grading: int = Field(default=0, description="attempts at which nodes work")
    waiting: int = Field(description="attempts that were sent and wait for a slot")
    layers: int = Field(description="that nodes took from one another so far")
    arriving: int = Field(default=0, description="layers on their way")


class Standing(Record):
    """How far a run is. Earlier starts' attempts count."""

    total: int
    settled: int = Field(description="with a verdict, or not attempted")
    running: int
    graded: int = 0
    tampered: int = 0
    not_attempted: int = 0
    infrastructure: int = Field(default=0, description="attempts whose last try so far failed so")
    cached: int = 0
    made: int = Field(
        default=0, description="attempts with a submission that is not graded yet: the run only makes them"
    )
    solved: int = Field(default=0, description="attempts with the full score")
    mean: float | None = Field(
        default=None, description="mean score of what is settled; what was not attempted or tampered with counts 0"
    )
    lost: dict[str, float] = Field(
        default={}, description="share of all points lost, by the stage that each attempt names first; most first"
    )
    left_s: float | None = Field(default=None, description="estimate of the time left; None: too early to say")
    fleet: FleetStanding | None = Field(default=None, description="None: graded here")


class RunBegan(Record):
    """The plan stands and the folder is locked."""

    run_id: str
    folder: str
    standing: Standing
    nothing_for: int = Field(default=0, description="attempts for which nothing was handed in")


class AttemptBegan(Record):
    """An attempt was admitted."""

    attempt: AttemptKey
    standing: Standing


class AttemptAt(Record):
    """What is done for an attempt now, in a few words. May come from any thread."""

    attempt: AttemptKey
    step: str


class AttemptSays(Record):
    """The model of an attempt is writing; *text* is the end of it so far, empty when it has ended."""

    attempt: AttemptKey
    text: str


class AttemptMade(Record):
    """A submission was made and is not graded now: the run only generates."""

    attempt: AttemptKey
    submission: Submission
    standing: Standing


class AttemptEnded(Record):
    """A line was recorded. When it does not settle the attempt and `again` is True, it will be retried."""

    line: VerdictLine
    again: bool
    standing: Standing


class Warned(Record):
    """Something that a user should know and that stops nothing."""

    message: str


class RunEnded(Record):
    """Nothing is running any more."""

    standing: Standing
    interrupted: bool


Event = RunBegan | AttemptBegan | AttemptAt | AttemptSays | AttemptMade | AttemptEnded | Warned | RunEnded
Progress = Callable[[Event], None]
"""Is called from the run's own thread, and with `AttemptAt` from any; must be quick and must not raise."""


def silent(event: Event) -> None:
    """Show nothing."""


class _State(NamedTuple):
    """Where an attempt stands."""

    standing: str
    counts: float | None = None
    solved: bool = False
    lost_at: str = ""
    cached: bool = False


_MADE = _State("made")


class Tally:
    """Keeps one state per attempt, of the last line on it; tells each event with the counts of its moment."""

    def __init__(
        self,
        total: int,
        progress: Progress = silent,
        fleet: Callable[[], FleetStanding | None] = lambda: None,
    ) -> None:
        self._total = total
        self._progress = progress
        self._fleet = fleet
        self._states: dict[AttemptKey, _State] = {}
        self._running = 0
        self._graded_now = 0
        self._began = time.monotonic()

    def earlier(self, line: VerdictLine) -> None:
        """Count a line of an earlier start."""
        self._states[line.attempt] = _state(line)

    def made_earlier(self, key: AttemptKey) -> None:
        """Count a submission that is there and is not graded by this start, whatever failed before."""
        self._states[key] = _MADE

    def run_began(self, run_id: str, folder: Path, *, nothing_for: int) -> None:
        """Tell that work begins, with what earlier starts came to."""
        self._tell(lambda now: RunBegan(run_id=run_id, folder=str(folder), standing=now, nothing_for=nothing_for))

    def run_ended(self, *, interrupted: bool) -> Standing:
        """Tell that nothing goes on any more, and return how the run stands."""
        return self._tell(lambda now: RunEnded(standing=now, interrupted=interrupted))

    def began(self, key: AttemptKey) -> None:
        """Count an attempt that goes on now."""
        self._running += 1
        self._tell(lambda now: AttemptBegan(attempt=key, standing=now))

    def at(self, key: AttemptKey, step: str) -> None:
        """Tell what is done for an attempt now; from any thread."""
        self._progress(AttemptAt(attempt=key, step=step))

    def says(self, key: AttemptKey, text: str) -> None:
        """Tell what the model of an attempt is writing."""
        self._progress(AttemptSays(attempt=key, text=text))

    def abandoned(self) -> None:
        """Count an attempt as not going on any more: the run was stopped, or can make no submission."""
        self._running -= 1

    def made(self, key: AttemptKey, submission: Submission) -> None:
        """Count a submission that this start made and does not grade."""
        self._running -= 1
        self._states[key] = _MADE
        self._tell(lambda now: AttemptMade(attempt=key, submission=submission, standing=now))

    def ended(self, line: VerdictLine, *, again: bool = False) -> None:
        """Count a line of this start; *again*: the attempt is tried once more."""
        self._running -= 1
        self._states[line.attempt] = _state(line)
        if line.settles and not line.cached and line.verdict is not None:
            self._graded_now += 1
        self._tell(lambda now: AttemptEnded(line=line, again=again, standing=now))

    def _tell(self, event: Callable[[Standing], Event]) -> Standing:
        """Tell *event* with the counts of this moment, and return these."""
        standing = self.standing()
        self._progress(event(standing))
        return standing

    def standing(self) -> Standing:
        """Return the counts as they are now."""
        states = self._states.values()
        standings = Counter(state.standing for state in states)
        counts = [state.counts for state in states if state.counts is not None]
        settled = sum(standings[word] for word in (Status.GRADED, Status.TAMPERED, NOT_ATTEMPTED))
        left_s = None
        if self._graded_now:
            left_s = (time.monotonic() - self._began) / self._graded_now * (self._total - settled)
        return Standing(
            total=self._total,
            settled=settled,
            running=self._running,
            graded=standings[Status.GRADED],
            tampered=standings[Status.TAMPERED],
            not_attempted=standings[NOT_ATTEMPTED],
            infrastructure=standings[Status.INFRASTRUCTURE],
            cached=sum(state.cached for state in states),
            made=standings[_MADE.standing],
            solved=sum(state.solved for state in states),
            mean=math.fsum(counts) / len(counts) if counts else None,
            lost=_shares_lost(states),
            left_s=left_s,
            fleet=self._fleet(),
        )


def _shares_lost(states: Iterable[_State]) -> dict[str, float]:
    """Return which share of all that was lost so far was lost at each stage."""
    found: Counter[str] = Counter()
    for state in states:
        if state.counts is not None and state.counts < 1:
            found[state.lost_at] += 1 - state.counts  # type: ignore[assignment]  # counters take any number
    total = math.fsum(found.values())
    return {stage: value / total for stage, value in found.most_common()}


def _state(line: VerdictLine) -> _State:
    verdict, counts = line.verdict, counted(line.verdict)
    if verdict is None:
        lost_at = lost.NOT_ATTEMPTED
    else:
        lost_at = lost.stage_name(verdict.scores, verdict.reasons[0].stage) if verdict.reasons else lost.UNSTATED
    return _State(
        standing=standing_of(verdict),
        counts=counts,
        solved=counts == 1.0 and verdict is not None and verdict.complete,
        lost_at=lost_at,
        cached=line.cached,
    )
