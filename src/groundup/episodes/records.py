"""What an attempt is decided by, and what comes of it."""

from pydantic import Field, JsonValue

from groundup.domain.digests import digest_of
from groundup.domain.limits import EpisodeLimits, Feedback
from groundup.domain.names import Name
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Outcome, Subject, Submission
from groundup.suites.base import Graded


class EpisodeSpec(Record):
    """Everything that decides one attempt. Episodes with the same digest may stand for each other."""

    suite: str = Field(description="short name or dotted path")
    task: Name
    index: int = Field(default=0, ge=0, description="which of the attempts at the task")
    subject: Subject
    model_settings: dict[str, JsonValue] = Field(default={}, description="as far as they may change replies")
    grader: str | None = Field(default=None, description="None: the suite's default")
    limits: EpisodeLimits = EpisodeLimits()
    feedback: Feedback = Feedback.SCORE
    timeout_s: float | None = Field(default=None, gt=0, description="overrides the recipe's test timeout")
    pinned: dict[str, str] = Field(
        default={}, description="digests of the task, grader and agent; empty: as they are where it is opened"
    )

    @property
    def key(self) -> AttemptKey:
        """The attempt's name within a run."""
        return AttemptKey(task=self.task, index=self.index)

    @property
    def digest(self) -> str:
        """The digest of all of it."""
        return digest_of(self)


class EpisodeResult(Record):
    """What came of one try at an attempt. The tree that was handed in lies where the sink put it."""

    outcome: Outcome
    submission: Submission | None = None
    """None: nothing could be taken in."""
    graded: Graded | None = None
    """None: the submission is made and not graded now."""
    cached: bool = False
    """Whether the verdict was found in the verdict cache."""
    repeatable: bool = True
    """Whether trying again soon may help where the verdict does not settle the attempt."""
