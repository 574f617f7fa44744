"""An index of runs beside their folders: one SQLite file, rebuilt for each run whose files changed.

Pages ask it for rows; what they show of one attempt is read from the run's folder. It can be removed at any time.

How a run that is under way gets on: how fast verdicts come, by the end of its journal, and so when it ends.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.garbage import collecting_nothing
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.reports.answers import run_answer
from groundup.reports.document import AttemptRow, RunReport
from groundup.reports.lost import kinds_in_all, stage_of, worst_first
from groundup.reports.numbers import standing_words
from groundup.reports.publishing import row_for_others
from groundup.reports.summary import report_run
from groundup.reports.views import grader_words
from groundup.reports.why import row_words
from groundup.runs.reporting import losses_by_attempt, with_faults
from groundup.store.folder import RunFolder, is_held, runs_in
from groundup.store.records import FleetFile, VerdictLine
from groundup.trees.walking import open_regular

NAME = ".groundup-index.sqlite"
_FORMAT = 5
_QUICKLY = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;"
"""It can be made again, so no write waits for the disk."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (name TEXT PRIMARY KEY, stamp TEXT NOT NULL, began REAL NOT NULL, report TEXT,
    head TEXT, error TEXT);
CREATE TABLE IF NOT EXISTS attempts (run TEXT NOT NULL, task TEXT NOT NULL, number INTEGER NOT NULL,
    standing TEXT NOT NULL, counted REAL, stage TEXT, row TEXT NOT NULL,
    PRIMARY KEY (run, task, number)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS lost ON attempts (run, stage);
"""


_MEANS = "(SELECT task, avg(counted) AS mean FROM attempts WHERE run = ? GROUP BY task HAVING mean NOT NULL)"
_PAIRS = f"FROM {_MEANS} a JOIN {_MEANS} b USING (task)"
_PART = (
    "CASE WHEN a.mean = 1 AND b.mean = 1 THEN 'both' WHEN a.mean = 1 THEN 'lost' "
    "WHEN b.mean = 1 THEN 'gained' ELSE 'neither' END"
)


class RunHead(Record):
    """What stands above a run's tasks, of all its attempts."""

    answer: tuple[str, ...]
    tasks: int
    solved: int
    """Attempts that got all points."""
    counting: int
    """Attempts that count, of which these are some."""


class RunSummary(Record):
    """A run in a list. Either `report` (without its attempts) and `head` are there, or `error`."""

    name: str
    report: RunReport | None = None
    head: RunHead | None = None
    error: str | None = None
    working: bool = False


class TaskRow(Record):
    """A task in one run: the mean of what counts, and how its attempts stand."""

    task: str
    attempts: int
    counted: float | None
    standings: tuple[str, ...]
    why: str = ""
    """Why the worst attempt lost points, or has no score."""
    worst: int = 0
    """The number of that attempt."""


class Elsewhere(Record):
    """A task in another run."""

    run: str
    graders: tuple[str, ...]
    mean: float
    best: float
    """The highest of its attempts, which is number `best_index`."""
    best_index: int
    same: bool
    """Whether it is about the same submission, graded by another run."""


class Parted(Record):
    """Tasks that two runs share, by who solved them; a task is solved where each attempt has the full score."""

    base: str
    other: str
    counts: dict[str, int]
    """Of `gained` (only the other run solved it), `lost` (only the base did), `both` and `neither`."""


class Place(Record):
    """Where an attempt is."""

    run: str
    task: str
    index: int
    why: str = ""
    """What its reasons say."""


class GridRow(Record):
    """A task in several runs: mean of what counts and cost for each; None for a run that does not have it."""

    task: str
    cells: tuple[tuple[float | None, float | None] | None, ...]


def _put_aside(path: Path) -> None:
    """Give a damaged index, or whatever it is, another name; where that is taken, it stays."""
    aside = path.with_name(f"{path.name}.damaged")
    if not os.path.lexists(aside):
        with suppress(OSError):
            path.rename(aside)


class RunIndex:
    """The index of one folder of runs. Safe to use from several threads.

    *for_others*: without what hidden tests said.
    """

    def __init__(self, folder: Path, *, for_others: bool = False) -> None:
        self.folder = folder
        self._for_others = for_others
        self._lock = threading.Lock()
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        """Open the index; in memory where the folder cannot be written, and anew where its form is another."""
        path = self.folder / NAME
        for place in (path, path, ":memory:"):
            with suppress(sqlite3.Error), ExitStack() as failed:
                connection = failed.enter_context(closing(sqlite3.connect(place, check_same_thread=False)))
                if connection.execute("PRAGMA user_version").fetchone()[0] not in (0, _FORMAT):
                    raise sqlite3.DatabaseError("another form")
                connection.executescript(f"{_QUICKLY} PRAGMA user_version={_FORMAT}; {_SCHEMA}")
                failed.pop_all()
                return connection
            _put_aside(path)
        raise UsageError(f"no index can be made for {self.folder}")

    def close(self) -> None:
        self._connection.close()

    def refresh(self) -> None:
        """Read again every run whose files changed, and forget runs that are gone."""
        with self._lock, closing(self._connection.cursor()) as cursor:
            known = dict(cursor.execute("SELECT name, stamp FROM runs"))
            there = {path.name: path for path in runs_in(self.folder)}
            for name in known.keys() - there.keys():
                _forget(cursor, name)
            for name, path in there.items():
                stamp = _stamp(path)
                if known.get(name) != stamp:
                    _forget(cursor, name)
                    # Records hold no cycles, and walking so many again costs a third.
                    with collecting_nothing():
                        _insert(cursor, name, stamp, path, for_others=self._for_others)
            self._connection.commit()

    def runs(self) -> list[RunSummary]:
        """Return all runs, the newest first."""
        query = "SELECT name, report, head, error FROM runs ORDER BY began DESC, name"
        return [self._summary(*row) for row in self._rows(query)]

    def run(self, name: str) -> RunSummary | None:
        """Return one run; None where there is none of that name."""
        found = self._rows("SELECT name, report, head, error FROM runs WHERE name = ?", (name,))
        return self._summary(*found[0]) if found else None

    def _summary(self, name: str, report: str | None, head: str | None, error: str | None) -> RunSummary:
        return RunSummary(
            name=name,
            report=None if report is None else RunReport.model_validate_json(report),
            head=None if head is None else RunHead.model_validate_json(head),
            error=error,
            working=is_held(self.folder / name),
        )

    def tasks(
        self, run: str, wanted: str = "", stage: str = "", offset: int = 0, limit: int = 200
    ) -> list[TaskRow]:
        """Return the tasks whose name holds *wanted*, those that lost most first; with *stage*, that lost there.

        Why they did is said of the worst of their attempts.
        """
        worst = "FROM attempts WHERE run = one.run AND task = one.task ORDER BY counted IS NULL, counted, number"
        query = (
            "SELECT task, count(*), avg(counted) AS mean, json_group_array(DISTINCT standing), "  # noqa: S608 - words of ours
            f"(SELECT number {worst} LIMIT 1), (SELECT row {worst} LIMIT 1) FROM attempts one "
            "WHERE run = ? AND instr(lower(task), lower(?)) AND (? = '' OR stage = ?) "
            "GROUP BY task ORDER BY mean IS NULL, mean, task LIMIT ? OFFSET ?"
        )
        values = (run, wanted, stage, stage, limit, offset)
        found = []
        for task, count, counted, standings, number, text in self._rows(query, values):
            row = AttemptRow.model_validate_json(text)
            words = tuple(json.loads(standings))
            found.append(
                TaskRow(
                    task=task, attempts=count, counted=counted, standings=words, why=row_words(row), worst=number
                )
            )
        return found

    def task_count(self, run: str, wanted: str = "", stage: str = "") -> int:
        """Return how many tasks `tasks` would give without a limit."""
        query = (
            "SELECT count(DISTINCT task) FROM attempts "
            "WHERE run = ? AND instr(lower(task), lower(?)) AND (? = '' OR stage = ?)"
        )
        return int(self._rows(query, (run, wanted, stage, stage))[0][0])

    def attempts(self, run: str, task: str) -> list[AttemptRow]:
        query = "SELECT row FROM attempts WHERE run = ? AND task = ? ORDER BY number"
        return [AttemptRow.model_validate_json(row) for (row,) in self._rows(query, (run, task))]

    def elsewhere(self, run: str, task: str) -> list["Elsewhere"]:
        """Return the other runs that have a score for *task*, the newest first, with the mean of what counts."""
        here = {row.submission for row in self.attempts(run, task)} - {None}
        best = "FROM attempts WHERE run = name AND task = ? ORDER BY counted DESC, number LIMIT 1"
        query = (
            "SELECT name, report, (SELECT avg(counted) FROM attempts WHERE run = name AND task = ?) AS mean, "  # noqa: S608 - words of ours
            f"(SELECT counted {best}), (SELECT number {best}), "
            "(SELECT group_concat(json_extract(row, '$.submission')) FROM attempts WHERE run = name AND task = ?) "
            "FROM runs WHERE name != ? AND mean IS NOT NULL ORDER BY began DESC, name"
        )
        return [
            Elsewhere(
                run=name,
                graders=tuple(map(grader_words, RunReport.model_validate_json(report).graders)),
                mean=mean,
                best=best,
                best_index=index,
                same=bool(here & set((submissions or "").split(","))),
            )
            for name, report, mean, best, index, submissions in self._rows(query, (task, task, task, task, run))
        ]

    def place_count(self, run: str = "") -> int:
        """Return how many attempts there are, of all runs or of one."""
        where, values = ("WHERE run = ?", (run,)) if run else ("", ())
        query = f"SELECT count(*) FROM attempts {where}"  # noqa: S608 - words of ours
        return int(self._rows(query, values)[0][0])

    def places(self, run: str, first: int, count: int) -> list[Place]:
        """Return attempts of all runs or of one, in an order that stays while the runs do."""
        where, values = ("WHERE run = ?", (run, count, first)) if run else ("", (count, first))
        query = f"SELECT run, task, number FROM attempts {where} LIMIT ? OFFSET ?"  # noqa: S608 - words of ours
        return [Place(run=name, task=task, index=number) for name, task, number in self._rows(query, values)]

    def search(self, wanted: str, run: str, limit: int, seconds: float) -> tuple[list[Place], bool]:
        """Return attempts whose task or reasons hold *wanted*, and whether all were looked at in that time."""
        why = "coalesce(json_extract(row, '$.reasons[0].message'), '')"
        within = "run = ? AND" if run else ""
        # Names lie in an index that is read fast; rows are long, and what is left of the time goes to them.
        names = (
            "SELECT run, task, number, '' FROM attempts INDEXED BY lost "  # noqa: S608 - words of ours
            f"WHERE {within} instr(lower(task), lower(?)) LIMIT ?"
        )
        reasons = (
            f"SELECT run, task, number, {why} FROM attempts WHERE {within} stage IS NOT NULL "  # noqa: S608 - as above
            f"AND NOT instr(lower(task), lower(?)) AND instr(lower({why}), lower(?)) LIMIT ?"
        )
        named = (run,) if run else ()
        ends = time.monotonic() + seconds
        found: list[Place] = []
        with self._lock:
            self._connection.set_progress_handler(lambda: time.monotonic() > ends, 10_000)
            try:
                for query, words in ((names, (wanted,)), (reasons, (wanted, wanted))):
                    rows = self._connection.execute(query, (*named, *words, limit - len(found)))
                    found.extend(Place(run=row[0], task=row[1], index=row[2], why=row[3]) for row in rows)
            except sqlite3.OperationalError:  # its time was up
                return found, False
            finally:
                self._connection.set_progress_handler(None, 0)
        return found, True

    def parted(self, base: str, other: str) -> Parted:
        """Return how many tasks that both runs have were solved by whom."""
        rows = self._rows(f"SELECT {_PART}, count(*) {_PAIRS} GROUP BY 1", (base, other))
        return Parted(base=base, other=other, counts=dict(rows))

    def grid(
        self,
        runs: Sequence[str],
        wanted: str = "",
        offset: int = 0,
        limit: int = 200,
        part: tuple[str, str] | None = None,
    ) -> tuple[list[GridRow], int]:
        """Return tasks that one of *runs* has and whose name holds *wanted*, by name, and how many there are.

        *part* is a word of `Parted` and the run beside the first: only the tasks that are counted there.

        Each has a cell for each of *runs*: the mean of what counts and the cost in USD, None where unknown.
        """
        marks = ",".join("?" * len(runs))
        among = f"FROM attempts WHERE run IN ({marks}) AND instr(lower(task), lower(?))"
        values: tuple[str, ...] = (*runs, wanted)
        if part is not None:
            among += f" AND task IN (SELECT a.task {_PAIRS} WHERE {_PART} = ?)"
            values += (runs[0], part[1], part[0])
        total = int(self._rows(f"SELECT count(DISTINCT task) {among}", values)[0][0])
        tasks = self._rows(
            f"SELECT DISTINCT task {among} ORDER BY task LIMIT ? OFFSET ?", (*values, limit, offset)
        )
        cells = (
            "SELECT avg(counted), sum(json_extract(row, '$.effort.cost_usd')), count(*) FROM attempts "
            "WHERE run = ? AND task = ?"
        )
        rows = []
        for (task,) in tasks:
            found = [self._rows(cells, (run, task))[0] for run in runs]
            there = tuple((mean, cost) if count else None for mean, cost, count in found)
            rows.append(GridRow(task=task, cells=there))
        return rows, total

    def neighbours(self, run: str, task: str) -> tuple[str | None, str | None]:
        """Return the task before and the one after, by name."""
        before = self._rows("SELECT max(task) FROM attempts WHERE run = ? AND task < ?", (run, task))
        after = self._rows("SELECT min(task) FROM attempts WHERE run = ? AND task > ?", (run, task))
        return before[0][0], after[0][0]

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple]:  # type: ignore[type-arg]
        with self._lock:
            return self._connection.execute(query, values).fetchall()


_CAUSES_SHOWN = 40
"""Of so many attempts, the worst, pages say causes; the tests of all would take long to read at each change."""


def run_report(path: Path) -> RunReport:
    """Return the report on the run in the folder *path*. Raises `UsageError` for one that cannot be read."""
    folder = RunFolder(path)
    config, records = folder.config(), folder.records()
    report = report_run(config, records.lines, (), folder.made(config, records.lines))
    named = {AttemptKey(task=row.task, index=row.index) for row in worst_first(report.attempts)[:_CAUSES_SHOWN]}
    lost = losses_by_attempt(folder, {key: line for key, line in records.lines.items() if key in named})
    keyed = [(AttemptKey(task=row.task, index=row.index), row) for row in report.attempts]
    rows = tuple(row.but(**lost[key]._asdict()) if key in lost else row for key, row in keyed)
    known = kinds_in_all(rows) if len(lost) < _CAUSES_SHOWN else {}  # of some attempts it would be no figure
    return with_faults(report.but(attempts=rows, kinds_lost=known), records, path)


def _stamp(path: Path) -> str:
    """Return what changes whenever a run's files do, for a run at work also whenever an episode begins."""
    found = []
    for name in ("config.json", "lock.json", "verdicts.jsonl", "attempts"):
        try:
            status = (path / name).stat()
            found.append([status.st_mtime_ns, status.st_size])
        except OSError:
            found.append([0, 0])
    if is_held(path):
        with (
            suppress(OSError),
            os.scandir(path / "attempts") as tasks,
        ):  # one at a known task changes its folder alone
            found.append([max((task.stat().st_mtime_ns for task in tasks), default=0)])
    return json.dumps(found)


def _forget(cursor: sqlite3.Cursor, name: str) -> None:
    cursor.execute("DELETE FROM attempts WHERE run = ?", (name,))
    cursor.execute("DELETE FROM runs WHERE name = ?", (name,))


def _insert(cursor: sqlite3.Cursor, name: str, stamp: str, path: Path, *, for_others: bool) -> None:
    try:
        # Pages of a site are made from links to runs. A copied run is called as its folder, as its address says.
        report = run_report(path.resolve()).but(run_id=name)
    except UsageError as error:
        cursor.execute("INSERT INTO runs VALUES (?, ?, 0, NULL, NULL, ?)", (name, stamp, str(error)))
        return
    if for_others:
        report = report.but(attempts=tuple(map(row_for_others, report.attempts)))
    cursor.executemany("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?)", _attempt_rows(name, report.attempts))
    kept = report.but(attempts=()).model_dump_json()
    began, head = report.created_at.timestamp(), _head(report).model_dump_json()
    cursor.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, NULL)", (name, stamp, began, kept, head))


def _head(report: RunReport) -> RunHead:
    solved = [row.solved for row in report.attempts if row.solved is not None]
    return RunHead(
        answer=run_answer(report),
        tasks=len({row.task for row in report.attempts}),
        solved=solved.count(1.0),
        counting=len(solved),
    )


def _attempt_rows(run: str, rows: Iterable[AttemptRow]) -> Iterator[tuple[object, ...]]:
    for row in rows:
        yield (
            run,
            row.task,
            row.index,
            standing_words(row),
            row.counted,
            stage_of(row),
            row.model_dump_json(exclude_defaults=True),
        )


_TAIL_BYTES = 256 * 1024
_LEAST = 3
"""Verdicts from which a pace is guessed."""
_PAUSE_S = 4 * 3600
"""A longer time without a verdict is no pace but a pause, as before a resume."""


class UnderWay(Record):
    """What is left, and when that will be done; None: it is too early to say."""

    left: int
    ends_at: datetime | None


def under_way(run: Path, report: RunReport) -> UnderWay:
    """Return how the run in the folder *run* gets on, at the pace of its latest verdicts."""
    counts = report.counts
    left = counts.pending + counts.made + counts.infrastructure + counts.unfit
    times = _finished(run / "verdicts.jsonl")
    if len(times) < _LEAST or not left:
        return UnderWay(left=left, ends_at=None)
    pace_s = (times[-1] - times[0]).total_seconds() / (len(times) - 1)
    return UnderWay(left=left, ends_at=times[-1] + timedelta(seconds=pace_s * left))


def _finished(journal: Path) -> list[datetime]:
    """Return when the latest attempts were settled, in order, without what lies before a pause."""
    try:
        with open_regular(journal) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")[1 if size > _TAIL_BYTES else 0 : -1]
    except OSError:
        return []
    times: list[datetime] = []
    for data in lines:
        try:
            line = VerdictLine.model_validate_json(data)
        except ValidationError:
            continue
        if not line.settles or line.cached:
            continue
        if times and (line.finished_at - times[-1]).total_seconds() > _PAUSE_S:
            times = []
        times.append(line.finished_at)
    return sorted(times)


def fleet_of(output: Path, run: RunSummary) -> FleetFile | None:
    """Return the nodes that grade for a run under way; None: it has none, or the file is damaged."""
    with suppress(UsageError):
        return RunFolder(output / run.name).fleet() if run.working else None
    return None
