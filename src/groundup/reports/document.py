"""The report as records: what `--json` prints and `report.json` holds. Explained in docs/reports.md."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from groundup.domain.limits import Effort, Selection
from groundup.domain.records import Record
from groundup.domain.subjects import Outcome, Subject
from groundup.domain.verdicts import GraderIdentity, Reason, Score, counts_as
from groundup.reports.causes import Losses
from groundup.reports.conditions import Conditions
from groundup.reports.intervals import Interval
from groundup.reports.kinds import KindLoss
from groundup.reports.repetition import Noise
from groundup.reports.statistics import Power, Rank, Spread
from groundup.suites.base import Summary


def _of_earlier_versions(found: object) -> object:
    """Return a standing, or counts by standing, with `pending` for what earlier versions called `owed`."""
    if isinstance(found, dict) and "owed" in found:
        return {"pending" if name == "owed" else name: value for name, value in found.items()}
    return "pending" if found == "owed" else found


Standing = Annotated[
    Literal["graded", "tampered", "infrastructure", "unfit", "not_attempted", "made", "pending"],
    BeforeValidator(_of_earlier_versions),
]
"""Where an attempt stands. `made`: its submission is there, and has no score yet; `pending`: nothing is; `unfit`:
the records of its run do not fit."""
NO_VERDICT: frozenset[Standing] = frozenset({"infrastructure", "unfit", "made", "pending"})


class AttemptRow(Record):
    """One attempt at one task."""

    task: str
    index: int
    standing: Standing
    score: Score | None = Field(description="the suite's main score; None unless graded")
    scores: dict[str, Score] = {}
    reasons: tuple[Reason, ...] = ()
    losses: Losses | None = Field(default=None, description="by cause; None where no test is known to be lost")
    kinds: tuple[KindLoss, ...] = Field(
        default=(), description="by kind of cause, with the points that mending each alone would bring back"
    )
    submission: str | None = Field(default=None, description="digest")
    outcome: Outcome | None = Field(default=None, description="how making the submission ended")
    effort: Effort | None = Field(default=None, description="what making it took; None where no agent made it")
    cached: bool = False
    by_time: bool = Field(default=False, description="whether a limit of time decided the verdict")
    complete: bool = Field(default=True, description="False: unsolved whatever the score, as the verdict says")
    duration_s: float | None = None

    @property
    def solved(self) -> float | None:
        """1 for the full score of what is complete, else 0; None stays out of means."""
        return None if self.counted is None else float(self.counted == 1.0 and self.complete)

    @property
    def counted(self) -> float | None:
        """What it counts in means; None stays out."""
        return counts_as(self.standing, self.score)

    def counted_as(self, name: str) -> float | None:
        """What it counts by a further score."""
        return counts_as(self.standing, self.scores.get(name))


_CHOSEN = {
    Selection.SCORE: "best by hidden score (bound)",
    Selection.OWN_TESTS: "chosen by own tests",
    Selection.JUDGES: "chosen by judges",
    Selection.VOTES: "chosen by votes",
}
_CHOSEN_BY = {
    Selection.SCORE: "each task's best attempt, as only the hidden tests know it: no choice does better",
    Selection.OWN_TESTS: "each task's attempt of whose own tests the largest share passes, then the most",
    Selection.JUDGES: "each task's attempt that models scored highest (`groundup judge`)",
    Selection.VOTES: "each task's attempt with most of the models' votes (`groundup judge --votes`)",
}


class Choice(Record):
    """By what attempts are chosen, and which."""

    by: Selection
    attempts: dict[str, int] = Field(description="task -> index; tasks that leave no choice are absent")

    @property
    def name(self) -> str:
        return _CHOSEN[self.by]

    @property
    def meaning(self) -> str:
        """What the figure says."""
        return f"{_CHOSEN_BY[self.by]}; the mean of a task's attempts where that leaves no choice"

    def counts(self, row: AttemptRow) -> bool:
        """Whether *row* is the one of its task, or its task has none."""
        return self.attempts.get(row.task, row.index) == row.index


class AttemptCounts(Record):
    """How many attempts stand where. The first is the sum of the others."""

    planned: int
    graded: int
    tampered: int
    infrastructure: int
    unfit: int = 0
    not_attempted: int
    made: int = 0
    pending: int

    @property
    def without_verdict(self) -> int:
        """How many have no verdict, so that means are provisional."""
        return self.infrastructure + self.unfit + self.made + self.pending


EARLIER = "all_passed"
"""A further score in verdicts of earlier versions: what `solved` says."""
ATTEMPTED = "mean score of what was attempted"
"""The name of the figure that is the headline's twin where everything was attempted."""


class Figure(Record):
    """A named figure with its denominator and its interval."""

    name: str
    score: Score
    unit: str = Field(description="what the denominator counts")
    interval: Interval | None = None
    standard_error: float | None = Field(default=None, description="of the value, over tasks; None for one task")
    meaning: str
    over: str = Field(default="", description="which tasks, where not all that have a score")


class RunReport(Record):
    """What a run says so far."""

    run_id: str
    created_at: datetime
    suite: str = Field(description="with the name of a data set other than the published one, as dibench@mine")
    suite_version: str
    subject: Subject
    sandbox: str
    conditions: Conditions | None = Field(
        default=None, description="what decides its numbers besides; None where reports do not say it"
    )
    graders: tuple[GraderIdentity, ...] = Field(
        description="of all verdicts; warnings name them where there are several"
    )
    counts: Annotated[AttemptCounts, BeforeValidator(_of_earlier_versions)]
    figures: tuple[Figure, ...] = Field(description="the headline first")
    lost_at: dict[str, int] = Field(description="attempts below full score by the stage they name first")
    points_lost: dict[str, float] = Field(
        default={},
        description="tasks' worth of score lost by stage, also of what was not attempted: what the mean lacks",
    )
    kinds_lost: dict[str, float] = Field(
        default={},
        description="points of the mean, of 100, that mending one kind of cause alone would bring back, by kind",
    )
    cut_short: dict[str, int] = Field(
        default={}, description="attempts that agents did not end by themselves, by outcome"
    )
    by_time: int = Field(default=0, description="verdicts that a limit of time decided")
    looked_at: int = Field(default=0, description="verdicts of graders that look for signs of tampering")
    flagged: int = Field(default=0, description="verdicts that are `tampered` or hold signs of it")
    effort: Effort | None = Field(default=None, description="of all attempts that an agent made, together")
    spread: Spread | None = Field(default=None, description="how much attempts differ; None without several")
    noise: Noise | None = Field(default=None, description="what chance does to its mean; None without several")
    warnings: tuple[str, ...] = ()
    faults: int = Field(default=0, description="what in the run's folder does not fit; the first is a warning")
    attempts: tuple[AttemptRow, ...]
    left_out: tuple[str, ...] = Field(
        default=(), description="tasks of the suite that the run could not grade, and that nobody left out by name"
    )
    choice: Choice | None = Field(default=None, description="which attempts the headline is of; None: all")
    summaries: tuple[Summary, ...] = Field(default=(), description="what the suite itself makes of the run")

    @property
    def benchmark(self) -> str:
        """The suite, without the name of its data set."""
        return self.suite.partition("@")[0]

    @property
    def unfit(self) -> str:
        """The first fault of its records, and how to see all; empty where they fit."""
        return self.warnings[0] if self.faults else ""

    @property
    def several(self) -> bool:
        """Whether some task has more than one attempt."""
        return any(row.index for row in self.attempts)

    @property
    def reported(self) -> tuple[AttemptRow, ...]:
        """The attempts that the headline and comparisons are of."""
        return tuple(row for row in self.attempts if self.choice is None or self.choice.counts(row))

    @property
    def headline(self) -> Figure:
        """The figure that `--fail-under` looks at."""
        return self.figures[0]


def _without_correction(found: object) -> object:
    """Return a figure without the second p that earlier versions wrote beside one of a single comparison."""
    if not isinstance(found, dict):
        return found
    return {name: value for name, value in found.items() if name != "p_corrected"}


class PairedFigure(Record):
    """One score of two runs, over the tasks that have it in both."""

    name: str = Field(description="score, solved, or a suite's further score")
    pairs: int = Field(description="tasks: the denominator of both means")
    base: float = Field(description="mean over the pairs")
    other: float
    difference: float = Field(description="other minus base")
    interval: Interval | None = Field(
        default=None, description="of the difference; of several comparisons in one report all hold at once"
    )
    standard_error: float | None = Field(default=None, description="of the difference; None for one pair")
    correlation: float | None = Field(
        default=None,
        description="of the pairs: the higher, the more pairing helps; None where a run's are alike",
    )
    p_value: float | None = Field(
        description="of the interval, which holds 0 where this is above 0.05 and nowhere else; None for one pair"
    )
    better: int
    worse: int
    equal: int


class TaskPair(Record):
    """One task's score in two runs, each the mean over its attempts."""

    task: str
    base: float
    other: float
    difference: float


class Unpaired(Record):
    """A task without a score in one of two runs, and how it stands in each."""

    task: str
    base: str
    other: str


class Lead(Record):
    """Which of two runs is ahead, and by how much: what sentences, tables and pages say, with one sign."""

    run: str
    over: str
    difference: float = Field(description="mean of `run` minus `over` over the pairs, a share of 1, above 0")
    interval: Interval | None = None
    p_value: float | None = None
    told_apart: bool = Field(description="whether p is at most 0.05, so that the interval leaves out 0")


class RunComparison(Record):
    """A run against the first one, by tasks that both have a score for."""

    base: str
    other: str
    tasks: int = Field(description="pairs")
    difference: float | None = Field(description="mean of other minus base over the pairs")
    interval: Interval | None = None
    lead: Lead | None = Field(default=None, description="the same, of the run that is ahead; None where none is")
    better: int
    worse: int
    equal: int
    left_out: tuple[str, ...] = Field(description="tasks without a score in one of the two")
    figures: tuple[Annotated[PairedFigure, BeforeValidator(_without_correction)], ...] = Field(
        default=(), description="every score that both runs have"
    )
    pairs: tuple[TaskPair, ...] = Field(default=(), description="the main score, task by task")
    unpaired: tuple[Unpaired, ...] = Field(default=(), description="those left out, and why")
    tasks_needed: int | None = Field(
        default=None, description="pairs that show the difference found; None where there is none, or one pair"
    )
    power: Power | None = Field(default=None, description="what it takes to see a difference that was asked for")
    same: str = Field(
        default="", description="that both are one run, or hold the same submissions or nearly; else empty"
    )
    warnings: tuple[str, ...] = Field(default=(), description="why the two may not be comparable")


class Report(Record):
    """One document, for one run or several."""

    format: Literal[1] = 1
    groundup: str = Field(description="version that made the report")
    answer: tuple[str, ...] = Field(
        default=(), description="what it comes to, in sentences: of one run, or of all compared with the first"
    )
    runs: tuple[RunReport, ...]
    comparisons: tuple[RunComparison, ...] = ()
    ranks: tuple[Rank, ...] = Field(default=(), description="of three runs or more of one suite, the best first")
