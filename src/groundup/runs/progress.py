"""A run's events and counts while it goes on. Showing them is the caller's."""

import math
import time
from collections import Counter
from collections.abc import Callable

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Submission
from groundup.domain.verdicts import Status, Verdict
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
    failed: dict[str, int] = Field(
        default={}, description="attempts that lost points, by the stage they name first"
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
"""Is called from the run's own thread; must be quick and must not raise."""


def silent(event: Event) -> None:
    """Show nothing."""


class Tally:
    """Follows verdict lines; keeps one word per attempt, however long the lines were."""

    def __init__(self, total: int, fleet: Callable[[], FleetStanding | None] = lambda: None) -> None:
        self._total = total
        self._fleet = fleet
        self._kinds: dict[AttemptKey, str] = {}
        self._failed: dict[AttemptKey, str] = {}
        self._scores: dict[AttemptKey, float] = {}
        self._cached: set[AttemptKey] = set()
        self._made = 0
        self._running = 0
        self._graded_now = 0
        self._began = time.monotonic()

    def earlier(self, line: VerdictLine) -> None:
        """Count a line of an earlier start."""
        self._count(line)

    def began(self) -> None:
        """Count an attempt that goes on now."""
        self._running += 1

    def abandoned(self) -> None:
        """Count an attempt as not going on any more: somebody stopped the run."""
        self._running -= 1

    def made(self, key: AttemptKey, *, now: bool) -> None:
        """Count a submission that is there and is not graded by this start, whatever failed before."""
        self._made += 1
        self._kinds.pop(key, None)
        self._scores.pop(key, None)
        self._running -= now

    def ended(self, line: VerdictLine) -> None:
        """Count a line of this start."""
        self._running -= 1
        self._count(line)
        if line.settles and not line.cached and line.verdict is not None:
            self._graded_now += 1

    def standing(self) -> Standing:
        """Return the counts as they are now."""
        kinds = Counter(self._kinds.values())
        infrastructure = kinds[Status.INFRASTRUCTURE]
        settled = len(self._kinds) - infrastructure
        left_s = None
        if self._graded_now:
            left_s = (time.monotonic() - self._began) / self._graded_now * (self._total - settled)
        return Standing(
            total=self._total,
            settled=settled,
            running=self._running,
            graded=kinds[Status.GRADED],
            tampered=kinds[Status.TAMPERED],
            not_attempted=kinds["not_attempted"],
            infrastructure=infrastructure,
            cached=len(self._cached),
            made=self._made,
            solved=sum(score == 1.0 for score in self._scores.values()),
            mean=math.fsum(self._scores.values()) / len(self._scores) if self._scores else None,
            failed=dict(sorted(Counter(self._failed.values()).items())),
            left_s=left_s,
            fleet=self._fleet(),
        )

    def _count(self, line: VerdictLine) -> None:
        key = line.attempt
        self._kinds[key] = line.verdict.status if line.verdict else "not_attempted"
        self._failed.pop(key, None)
        self._scores.pop(key, None)
        if (score := _score(line.verdict)) is not None:
            self._scores[key] = score
        if line.verdict and (stage := _lost_at(line.verdict)):
            self._failed[key] = stage
        if line.cached:
            self._cached.add(key)


def _score(verdict: Verdict | None) -> float | None:
    """Return what a line counts in the mean; None for what is in no mean."""
    if verdict is None or verdict.status is Status.TAMPERED:
        return 0.0
    return verdict.score.value if verdict.status is Status.GRADED and verdict.score else None


def _lost_at(verdict: Verdict) -> str | None:
    """Return where a graded verdict lost points, as far as it says."""
    if verdict.status is Status.INFRASTRUCTURE or (verdict.score and verdict.score.value == 1.0):
        return None
    return verdict.reasons[0].stage.value if verdict.reasons else None
