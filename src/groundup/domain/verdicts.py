"""The verdict of a grader on a submission."""

import math
import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, computed_field

from groundup.domain.figures import amount, percent
from groundup.domain.records import Record


def _storable(said: object) -> object:
    """Return a text as UTF-8 can hold it, no longer than it was: names of files may have other bytes."""
    if not isinstance(said, str) or said.isascii():
        return said
    return said.encode("utf-8", "replace").decode()


Said = Annotated[str, BeforeValidator(_storable)]
"""What may quote a submission."""


class Status(StrEnum):
    """Whether a verdict carries a score at all."""

    GRADED = "graded"
    INFRASTRUCTURE = "infrastructure"
    TAMPERED = "tampered"
    UNFIT = "unfit"
    """Never written: the records of its run do not fit, so what they say of it does not count."""


class Stage(StrEnum):
    """Where grading a submission stopped or lost points."""

    INTAKE = "intake"
    INSTALL = "install"
    START = "start"
    IMPORT = "import"
    COLLECTION = "collection"
    TEST = "test"
    CRASH = "crash"
    TIMEOUT = "timeout"
    LIMIT = "limit"
    ENVIRONMENT = "environment"


class Reason(Record):
    """Why points were lost or no score exists: one sentence, at most 400 characters."""

    stage: Stage
    message: Said = Field(max_length=400)


class Score(Record):
    """A share of something countable. An undefined share (0/0) has no value."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # its own JSON holds the computed value

    numerator: float
    denominator: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def value(self) -> float | None:
        """Numerator over denominator; None when the denominator is zero."""
        return self.numerator / self.denominator if self.denominator else None

    @property
    def is_share(self) -> bool:
        """Whether it is a share at all: finite numbers, and no more of them than could be got."""
        if not (math.isfinite(self.numerator) and math.isfinite(self.denominator)):
            return False
        if self.denominator == 0:
            return self.numerator == 0
        most = self.denominator * (1 + _ROUNDING)
        return self.denominator > 0 and -_ROUNDING <= self.numerator <= most

    @property
    def fraction(self) -> str:
        """Numerator and denominator for tables."""
        return f"{amount(self.numerator)}/{amount(self.denominator)}"

    def __str__(self) -> str:
        return f"{amount(self.numerator)} of {amount(self.denominator)}"


_ROUNDING = 1e-9


UNPASSABLE = "no submission passes it: "
"""Begins the message of a lost test that nobody can pass."""
PASSES_WITH = " -- the test passes with: "
"""In a guess, between a line and what it was changed to for a test to pass."""
FURTHER_WITH = " -- the test gets further with: "
"""The same, where it is not all that the test wants."""
TRIED = re.compile(f"{PASSES_WITH}|{FURTHER_WITH}")


def share(score: Score | None) -> str:
    """Return a score in percent with its parts, as people read it."""
    if score is None or score.value is None:
        return "-"
    return f"{percent(score.value)} ({score.fraction})"


def share_alone(score: Score | None) -> str:
    """Return a score in percent as papers' tables have it, without the sign."""
    return "-" if score is None or score.value is None else percent(score.value).removesuffix(" %")


class TestResult(Record):
    """What one hidden test did, as decided outside the tested process; or whether one dependency was declared."""

    __test__ = False  # not a pytest class

    id: Said
    outcome: Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "missing"]
    expected: bool = Field(description="whether it is in the denominator")
    duration_s: float | None = None
    message: Said = ""
    detail: Said = Field(default="", description="a short traceback of what failed, with its values")
    demand: Said = Field(default="", description="what it demanded, in lines: paths that differ with both values")
    calls: Said = Field(default="", description="`file:line: text` of what its failing statement calls: a claim")
    probably: Said = Field(
        default="",
        description="`file:line: text` of where its cause probably lies in the submission: a guess; where no "
        "change of a line proves one, up to three, one a line, the likelier first",
    )
    lacks: tuple[Said, ...] = Field(
        default=(),
        description="of the first lost test of a file: names that tests there use and the submission lacks, and "
        "calls that its signatures do not take",
    )
    flaky: bool = Field(default=False, description="lost, and passed when it ran again alone")
    kind: Literal["test", "dependency"] = "test"

    @property
    def lost(self) -> bool:
        """Whether it is shown to who asks why points were lost; a job's dependencies are in no denominator."""
        return self.outcome != "passed" and (self.expected or self.kind == "dependency")


class GraderIdentity(Record):
    """Which grader made a verdict, on which data, in which kind of environment."""

    name: str
    version: str
    data_version: str = "none"
    environment: Literal["rebuilt", "stand-in", "image", "host", "none"] = "rebuilt"
    """`stand-in`: rebuilt, with another interpreter than the task's."""


class Verdict(Record):
    """One grader's judgement of one submission."""

    status: Status
    score: Score | None = Field(description="the suite's main score; None unless graded")
    scores: dict[str, Score] = Field(default={}, description="further named scores")
    facts: dict[str, Said | int | float | bool | None] = {}
    counts: dict[str, JsonValue] = Field(default={}, description="what the suite's own tables are made of")
    reasons: tuple[Reason, ...] = Field(default=(), max_length=4)
    timings_s: dict[str, float] = {}
    grader: GraderIdentity
    cacheable: bool = Field(default=True, description="False for infrastructure failures and timeouts")
    by_time: bool = Field(default=False, description="whether a limit of time decided")
    complete: bool = Field(
        default=True, description="False: unsolved whatever the score, such as a service that was not deployed"
    )

    @property
    def settles(self) -> bool:
        """Whether the attempt needs no further grading."""
        return self.status in (Status.GRADED, Status.TAMPERED)


class Graded(Record):
    """A verdict with the evidence that is too long for its line."""

    verdict: Verdict
    tests: tuple[TestResult, ...] = ()
    logs: dict[str, bytes] = {}
    repeat_alone: bool = Field(
        default=False, description="whether a neighbour on the machine may have cost all points that are missing"
    )
    is_certain: bool = Field(
        default=False, description="whether more time cannot give what is missing, however busy the machine was"
    )


NOT_ATTEMPTED = "not_attempted"


def standing_of(verdict: Verdict | None) -> str:
    """Return where an attempt with this verdict stands; None: nothing was handed in."""
    return NOT_ATTEMPTED if verdict is None else verdict.status.value


NOTHING_TO_COUNT = "with nothing to count (0/0)"


def got(verdict: Verdict | None, *, is_pending: bool = False) -> str:
    """Return what an attempt got, for a table's cell: its score, or how it stands where it has none."""
    score = None if verdict is None else verdict.score
    if is_pending or score is None:
        return "pending" if is_pending else standing_of(verdict).replace("_", " ")
    return NOTHING_TO_COUNT if score.value is None else share(score)


def counted(verdict: Verdict | None, name: str | None = None) -> float | None:
    """Return what an attempt with this verdict counts, by its main score or the one called *name*."""
    scores = None if verdict is None else verdict.score if name is None else verdict.scores.get(name)
    return counts_as(standing_of(verdict), scores)


def counts_as(standing: str, score: Score | None) -> float | None:
    """Return what an attempt counts wherever it counts: in means, as a reward, in training data.

    A share of 1, never above it: what has more points than there are has all of them. Whoever handed in nothing or
    tampered has 0. None stays out of every mean: there is no score (yet), or it is 0 of 0.
    """
    if standing in (NOT_ATTEMPTED, Status.TAMPERED):
        return 0.0
    value = score.value if score is not None and standing == Status.GRADED else None
    return None if value is None else min(max(value, 0.0), 1.0)


def told_in_counts(verdict: Verdict) -> str:
    """Return what an agent may know of a verdict, in a sentence; reasons may quote hidden tests."""
    value = counted(verdict)
    if verdict.score is None or value is None:
        return "There is no score."
    shown = value if value in (0.0, 1.0) else min(max(value, 0.0001), 0.9999)  # all and nothing only where exact
    return f"Score {shown:.4f}: {verdict.score} passed."
