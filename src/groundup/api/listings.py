"""What there is: suites and their tasks. Listings are sequences of records that show themselves."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

from groundup.api.flags import AnyPath
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.limits import Limits
from groundup.domain.names import count, printable, unknown
from groundup.domain.records import Record
from groundup.environments.installed_tools import HERE
from groundup.reports.formats import Rows
from groundup.reports.views import View
from groundup.runs.oracles import OracleResult, newest_oracles
from groundup.settings import Settings, load, with_flags
from groundup.suites.base import AtHand, ForCommands, Suite, Summary, Tables
from groundup.suites.opening import SUITES, open_suite

R = TypeVar("R", bound=Record)


class RecordList(Sequence[R], Generic[R]):
    """Records in order, with the table that people see of them."""

    def __init__(self, records: Iterable[R], view: View) -> None:
        self._made = records
        self.view = view

    @cached_property
    def _records(self) -> tuple[R, ...]:
        """Each may take a file to read, and whoever wants the table alone asks for none."""
        return tuple(self._made)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[R]: ...
    def __getitem__(self, index: int | slice) -> R | Sequence[R]:
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[R]:
        return iter(self._records)

    def rows(self) -> Rows:
        """Return the table as flat rows of texts, for data frames."""
        return [dict(zip(self.view.columns, row, strict=True)) for row in self.view.rows]

    def __repr__(self) -> str:
        return f"<{self.view.title or 'RecordList'}: {len(self)} entries>"

    def _repr_html_(self) -> str:
        from groundup.reports.pages import tables

        return tables([self.view])


class TaskListing(RecordList["TaskEntry"]):
    """The tasks of a suite."""

    def __init__(self, suite: Suite, records: Iterable["TaskEntry"], view: View) -> None:
        super().__init__(records, view)
        self.suite = suite.name
        self.version = suite.version
        self.blocked = AtHand.of(suite).blocked()
        """Why tasks cannot be graded on any machine, by task."""
        self.beside = AtHand.of(suite).beside()
        """What graders beside the default one lack on this machine: one sentence each."""


class SuiteEntry(Record):
    """A benchmark; where it cannot be loaded, *error* says why."""

    name: str
    version: str = ""
    description: str = ""
    tasks: int = 0
    graders: tuple[str, ...] = ()
    default_grader: str = ""
    error: str | None = None


class TaskEntry(Record):
    """A problem of a benchmark."""

    id: str
    data_version: str
    digest: str
    limits: Limits
    metadata: dict[str, str | int | float | bool | None]
    here: str | None = None
    """`yes` where this machine can grade it, else what it lacks; None where the suite does not say."""
    last_oracle: OracleResult | None = None


def list_suites(*, settings: Settings | None = None) -> RecordList[SuiteEntry]:
    """List the benchmarks, with their versions, graders and numbers of tasks."""
    found = [_suite_entry(name, settings or load()) for name in SUITES.names()]
    rows = tuple(
        (one.name, one.version, str(one.tasks), ", ".join(one.graders), one.description)
        if one.error is None
        else (one.name, "-", "-", "-", one.error)
        for one in found
    )
    columns = ("suite", "version", "tasks", "graders", "about")
    return RecordList(found, shown_as("", columns, rows))


def tasks(suite: str, *, output: AnyPath | None = None, settings: Settings | None = None) -> TaskListing:
    """List the tasks of *suite*: what is at hand of each, and the newest verdict on its oracle in folder *output*.

    Raises `UsageError` for a suite that does not exist.
    """
    found = with_flags(settings, {"output": output})
    chosen = open_suite(suite, found)
    columns, rows = Tables.of(chosen).task_rows()
    oracles = newest_oracles(chosen, found.output, suite.partition("@")[2])
    here = {row[0]: row[columns.index(HERE)] for row in rows} if HERE in columns else {}
    entries = (
        TaskEntry(
            id=task.id,
            data_version=task.data_version,
            digest=task.digest,
            limits=task.limits,
            metadata=task.metadata,
            here=here.get(task.id),
            last_oracle=oracles.get(task.id),
        )
        for task in chosen.by_name().values()
    )
    title = f"{suite} {chosen.version}: {count(len(rows), 'task')}"
    more = tuple((*row, str(oracles.get(row[0], "-"))) for row in rows)
    return TaskListing(chosen, entries, shown_as(title, (*columns, "last oracle"), more))


class TaskEnvironment(Record):
    """What lies beside a submission of a task when the suite's default grader tests it."""

    suite: str
    task: str
    grader: str
    python: str | None
    packages: tuple[str, ...]
    """Those of the tests, as NAME==VERSION."""
    programs: tuple[str, ...]
    installs_declared: bool
    """Whether packages that a submission declares are installed, too."""
    rights: tuple[str, ...] = ()
    """Licences of the task's parts, and what to cite."""


def environment(suite: str, task: str, *, settings: Settings | None = None) -> TaskEnvironment:
    """Return what the environment of *task* holds. Raises `UsageError`, also for a task that cannot be graded."""
    chosen = open_suite(suite, settings or load())
    known, part = chosen.by_name(), AtHand.of(chosen)
    if why := part.blocked().get(task):
        raise UsageError(f"{task} {why}")
    if task not in known:
        raise UsageError(unknown("task", task, known))
    if task not in part.gradable():
        raise UsageError(f"{task} cannot be graded with the data at hand; `groundup doctor` says what is missing")
    needs = part.needs(known[task])
    programs = (*needs.programs, *(("javac", "java", "mvn") if needs.java else ()))
    lines = () if needs.environment is None else needs.environment.requirements
    return TaskEnvironment(
        suite=suite,
        task=task,
        grader=chosen.default_grader,
        python=needs.environment.python if needs.environment else needs.python,
        packages=tuple(line.partition(" ")[0] for line in lines),
        programs=programs,
        installs_declared=needs.packages,
        rights=tuple(ForCommands.of(chosen).rights(known[task])),
    )


def statistics(suite: str, *, settings: Settings | None = None) -> tuple[str, Summary]:
    """Return the name of *suite* and its data in numbers. Raises `UsageError` where it offers none."""
    chosen = open_suite(suite, settings or load())
    found = ForCommands.of(chosen).statistics()
    if found is None:
        raise UsageError(f"{chosen.name} has no statistics of its data; leave --statistics out")
    return chosen.name, found


async def list_suites_async(*, settings: Settings | None = None) -> RecordList[SuiteEntry]:
    """Return `list_suites()` without holding the event loop up."""
    return await asyncio.to_thread(list_suites, settings=settings)


async def tasks_async(
    suite: str, *, output: AnyPath | None = None, settings: Settings | None = None
) -> TaskListing:
    """Return `tasks(...)` without holding the event loop up."""
    return await asyncio.to_thread(tasks, suite, output=output, settings=settings)


def _suite_entry(name: str, settings: Settings) -> SuiteEntry:
    try:
        suite = open_suite(name, settings)
        return SuiteEntry(
            name=name,
            version=suite.version,
            description=suite.description,
            tasks=len(suite.by_name()),
            graders=tuple(suite.graders()),
            default_grader=suite.default_grader,
        )
    except GroundupError as error:  # one that cannot be loaded must not hide the others
        return SuiteEntry(name=name, error=str(error))


def shown_as(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> View:
    """Return a table whose cells a terminal and a notebook can show, however hostile their text is."""
    return View(
        title=printable(title),
        columns=tuple(columns),
        rows=tuple(tuple(map(printable, row)) for row in rows),
    )
