"""What a run tells while it goes on. Owns the events; showing them is the caller's."""

from collections.abc import Callable

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Submission
from groundup.store.records import VerdictLine


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
    failed: dict[str, int] = Field(
        default={}, description="attempts that lost points, by the stage they name first"
    )
    left_s: float | None = Field(default=None, description="estimate of the time left; None: too early to say")


class RunBegan(Record):
    """The plan stands and the folder is locked."""

    run_id: str
    folder: str
    standing: Standing


class AttemptBegan(Record):
    """An attempt was admitted."""

    attempt: AttemptKey
    standing: Standing


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


Event = RunBegan | AttemptBegan | AttemptMade | AttemptEnded | Warned | RunEnded
Progress = Callable[[Event], None]
"""Is called from the run's own thread; must be quick and must not raise."""


def silent(event: Event) -> None:
    """Show nothing."""
