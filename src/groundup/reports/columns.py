"""What is said of an attempt, a column a row: the table of reports in every format, CSV, and the viewer's. Pure.

A new column is one row here. What a run says as a whole is a figure of `summary`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from groundup.domain.figures import money
from groundup.domain.verdicts import share
from groundup.reports.document import AttemptRow, RunReport
from groundup.reports.lost import left_out_words
from groundup.reports.numbers import standing_words
from groundup.reports.why import reasons_of, row_words

Cell = str | int | float | bool | None
Where = Literal["data", "table", "page"]
"""`data`: CSV, rows for data frames. `table`: terminal, Markdown, LaTeX, HTML. `page`: of a task in the viewer."""


class Column(NamedTuple):
    """A column: its value for programs, and its words for people where these are not the value."""

    name: str
    value: Callable[[RunReport, AttemptRow], Cell]
    where: tuple[Where, ...] = ("data",)
    words: Callable[[RunReport, AttemptRow], str] | None = None
    heading: str = ""
    """For people, where it is not the name."""

    @property
    def head(self) -> str:
        """What stands above the column for people."""
        return self.heading or self.name

    def told(self, run: RunReport, row: AttemptRow) -> str:
        """Return what people read."""
        if self.words is not None:
            return self.words(run, row)
        value = self.value(run, row)
        return "" if value is None else str(value)


def label(run: RunReport, row: AttemptRow) -> str:
    """Return the name of an attempt in its run: its task's where each task has one."""
    return f"{row.task}/{row.index}" if run.several else row.task


def standing(row: AttemptRow) -> str:
    """Say how an attempt stands, and whether its verdict was given before."""
    words = standing_words(row)
    return f"{words} (cached)" if row.cached else words


def _cost(_: RunReport, row: AttemptRow) -> str:
    return "" if row.effort is None or row.effort.cost_usd is None else money(row.effort.cost_usd)


def _seconds(_: RunReport, row: AttemptRow) -> str:
    return "" if row.duration_s is None else f"{row.duration_s:.1f}"


COLUMNS: tuple[Column, ...] = (
    Column("run", lambda run, _: run.run_id),
    Column("suite", lambda run, _: run.suite),
    Column("suite_version", lambda run, _: run.suite_version),
    Column("agent", lambda run, _: run.subject.name),
    Column("model", lambda run, _: run.subject.model_name),
    Column("task", lambda _, row: row.task, ("data", "table"), label),
    Column("attempt", lambda _, row: row.index, ("data", "page")),
    Column(
        "score",
        lambda _, row: row.score.value if row.score else None,
        ("data", "table", "page"),
        lambda _, row: share(row.score),
    ),
    Column(
        "standing",
        lambda _, row: row.standing,
        ("data", "table", "page"),
        lambda _, row: standing(row),
        heading="verdict",
    ),
    Column("numerator", lambda _, row: row.score.numerator if row.score else None),
    Column("denominator", lambda _, row: row.score.denominator if row.score else None),
    Column("counted", lambda _, row: row.counted),
    Column("stage", lambda _, row: row.reasons[0].stage.value if row.reasons else None),
    Column(
        "why",
        lambda _, row: "; ".join(reasons_of(row)),
        ("data", "table", "page"),
        lambda _, row: row_words(row),
    ),
    Column("outcome", lambda _, row: row.outcome.value if row.outcome else None),
    Column("turns", lambda _, row: row.effort.turns if row.effort else None, ("data", "page")),
    Column("input_tokens", lambda _, row: row.effort.usage.input_tokens if row.effort else None),
    Column("output_tokens", lambda _, row: row.effort.usage.output_tokens if row.effort else None),
    Column(
        "cost_usd", lambda _, row: row.effort.cost_usd if row.effort else None, ("data", "page"), _cost, "cost"
    ),
    Column("seconds", lambda _, row: row.duration_s, ("data", "page"), _seconds),
    Column("cached", lambda _, row: row.cached),
    Column("by_time", lambda _, row: row.by_time),
    Column("submission", lambda _, row: row.submission),
)


def shown(where: Where) -> tuple[Column, ...]:
    """Return the columns that stand there."""
    return tuple(column for column in COLUMNS if where in column.where)


def data_row(run: RunReport, row: AttemptRow, further: Iterable[str]) -> dict[str, Cell]:
    """Return an attempt for programs; a suite's *further* scores are `scores.<name>`, behind what is counted."""
    made: dict[str, Cell] = {}
    for column in shown("data"):
        made[column.name] = column.value(run, row)
        if column.name == "counted":
            made |= {f"scores.{name}": row.scores[name].value if name in row.scores else None for name in further}
    return made


LEFT_OUT = "left out"
"""How a task of the suite stands that is no part of the run."""


def left_out_rows(run: RunReport, further: Iterable[str]) -> Iterator[dict[str, Cell]]:
    """Yield a row for each task that a run left out: without a score, and with both means."""
    names = tuple(further)
    for task in run.left_out:
        row = data_row(run, AttemptRow(task=task, index=0, standing="pending", score=None), names)
        yield {**row, "attempt": None, "standing": LEFT_OUT, "why": left_out_words(run)}
