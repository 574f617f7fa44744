"""What an attempt is decided by, what comes of it, and where it leaves things as they arise."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field, JsonValue

from groundup.domain.digests import LATER, digest_of
from groundup.domain.errors import InfrastructureError
from groundup.domain.limits import EpisodeLimits, Feedback
from groundup.domain.names import Name
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Outcome, Subject, Submission
from groundup.domain.verdicts import Graded, Verdict
from groundup.trees.walking import remove_tree

if TYPE_CHECKING:
    from groundup.agents.base import Trajectory


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
    rounds: Annotated[int, LATER] = Field(default=1, ge=1, description="how often the agent works")
    own_tests: Annotated[bool, LATER] = Field(
        default=False, description="whether its own tests are run at the end"
    )
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

    def settled(self) -> Verdict:
        """Return the verdict of a graded episode. Raises `InfrastructureError` where it settles nothing."""
        assert self.graded is not None, "only graded episodes are asked"
        verdict = self.graded.verdict
        if not verdict.settles:
            why = verdict.reasons[0].message if verdict.reasons else "unknown reasons"
            raise InfrastructureError(f"the submission could not be graded: {why}")
        return verdict


class AttemptStore(Protocol):
    """Where one attempt leaves things as they arise; a later try finds there what an earlier one left."""

    submission: Path
    """The tree that was handed in, once `incoming` has been left."""

    def made(self) -> Submission | None:
        """Return the record of a submission that is there in full; None where it must be made again."""
        ...

    def incoming(self) -> AbstractContextManager[Path]:
        """Give an empty folder to fill; on success it becomes `submission`, otherwise it is removed."""
        ...

    def write_record(self, submission: Submission) -> None:
        """Record that `submission` is complete."""
        ...

    def round(self, number: int) -> Path:
        """Where lies what was handed in at the end of a round, once that is there in full."""
        ...

    def ending_round(self, number: int) -> AbstractContextManager[Path]:
        """Give an empty folder to fill; on success it becomes `round(number)`, otherwise it is removed."""
        ...

    def trajectory(self) -> "AbstractContextManager[Trajectory]":
        """Open the record of what is done, to append to it."""
        ...

    def keep_agent_log(self, name: str, content: bytes) -> None:
        """Keep what an agent printed or logged itself."""
        ...


class MemorySink:
    """Keeps everything in memory but the tree, which lies at *submission*. For one attempt, tried once or more."""

    def __init__(self, submission: Path) -> None:
        self.submission = submission
        self.steps: list[dict[str, JsonValue]] = []
        self.logs: dict[str, bytes] = {}
        self._record: Submission | None = None

    def made(self) -> Submission | None:
        return self._record

    def incoming(self) -> AbstractContextManager[Path]:
        return _filled(self.submission)

    def write_record(self, submission: Submission) -> None:
        self._record = submission

    def round(self, number: int) -> Path:
        """Where lies what was handed in at the end of a round."""
        return self.submission.with_name(f"{self.submission.name}.round-{number}")

    def ending_round(self, number: int) -> AbstractContextManager[Path]:
        return _filled(self.round(number))

    @contextmanager
    def trajectory(self) -> "Iterator[Trajectory]":
        yield _Steps(self.steps)

    def keep_agent_log(self, name: str, content: bytes) -> None:
        self.logs[name] = content


@contextmanager
def _filled(folder: Path) -> Iterator[Path]:
    """Give *folder*, empty; it is removed again after an error."""
    remove_tree(folder)
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        remove_tree(folder)
        raise


class _Steps:
    """Appends to a list; what was in it at the beginning is of earlier tries."""

    def __init__(self, steps: list[dict[str, JsonValue]]) -> None:
        self._steps = steps
        self._earlier = tuple(steps)

    def append(self, kind: str, **fields: JsonValue) -> None:
        self._steps.append({"kind": kind, **fields})

    def recorded(self) -> tuple[Mapping[str, JsonValue], ...]:
        return self._earlier
