"""Reading what the trusted runner wrote. The text comes out of a sandbox: everything in it may be a lie.

Owns the format and nothing of its meaning: lines without the run's token, unknown events and malformed ones are
counted and otherwise ignored.
"""

import json
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from groundup.domain.errors import SandboxError
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.grading.library.hidden import NumberedTest
from groundup.sandbox.protocol import CommandResult, Ending

MAX_LINE_BYTES = 1024 * 1024
MAX_EVENTS = 400_000
MAX_DETAIL = 4_000
"""Characters of a traceback."""
MAX_LACKING = 60
"""Names that a file's tests use and a submission lacks."""
MAX_CALLS = 400
"""Characters of a file, a line and its text."""
MAX_GUESS = 1200
"""Characters of the lines that a lost test leads to."""

INTERRUPTED = 2
"""pytest's exit code of a session that a KeyboardInterrupt ended."""
UNUSABLE = 4
"""pytest's exit code where it cannot begin, as for a conftest that cannot be imported."""
COMPLETE = frozenset([0, 1, 5])
"""pytest's exit codes of a session that came to its end: all passed, some failed, nothing collected."""

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]


class _Event(Record):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Start(_Event):
    event: Literal["start"]
    python: str = Field(max_length=50)
    pytest: str = Field(max_length=50)


class _Collected(_Event):
    event: Literal["collected"]
    count: int = Field(ge=0)


class _CollectionError(_Event):
    event: Literal["collection_error"]
    id: str
    message: str


class _Begin(_Event):
    event: Literal["begin"]
    id: str
    ordinal: int = Field(ge=1)


class _Test(_Event):
    event: Literal["test"]
    id: str
    ordinal: int = Field(ge=1)
    outcome: Outcome
    message: str
    detail: str = ""
    demand: str = ""
    calls: str = ""
    duration: float = Field(ge=0, allow_inf_nan=False)


class _FilterLeftOut(_Event):
    event: Literal["filter_left_out"]
    line: str


class _Lacking(_Event):
    event: Literal["lacking"]
    file: str
    names: list[str] = Field(max_length=MAX_LACKING)


class _Origin(_Event):
    event: Literal["origin"]
    id: str
    ordinal: int = Field(ge=1)
    place: str


class _Import(_Event):
    event: Literal["import"]
    name: str
    file: str | None
    error: str | None


class _Signs(_Event):
    event: Literal["signs"]
    changed: list[str] = Field(max_length=20)
    frames: list[str] = Field(max_length=10)
    processes: int = Field(ge=0)
    clock_s: float = Field(ge=0, allow_inf_nan=False)


class _BrokenOff(_Event):
    event: Literal["broken_off"]
    message: str


class _End(_Event):
    event: Literal["end"]
    exit_code: int


_Any = Annotated[
    _Start
    | _Collected
    | _CollectionError
    | _Begin
    | _Test
    | _Origin
    | _Lacking
    | _FilterLeftOut
    | _Import
    | _Signs
    | _BrokenOff
    | _End,
    Field(discriminator="event"),
]
_EVENT: TypeAdapter[_Any] = TypeAdapter(_Any)


class Result(Record):
    """What the runner reports of one test."""

    outcome: Outcome
    message: str = ""
    detail: str = Field(default="", description="a short traceback with the values of what failed")
    demand: str = Field(default="", description="what the test demanded, in lines: paths that differ, both values")
    calls: str = Field(default="", description="where what the failing statement calls is defined, and that line")
    probably: str = Field(default="", description="where its wrong value was made, and that line: a guess")
    duration_s: float = 0.0


class ImportCheck(Record):
    """Where a package under test was imported from, as the runner reports it."""

    file: str | None
    error: str | None


class Observations(Record):
    """What the runner saw at the end that no honest submission does."""

    changed: tuple[str, ...] = Field(default=(), description="functions that are not what they were at the start")
    frames: tuple[str, ...] = Field(default=(), description="code of the submission that called the report")
    processes: int = Field(default=0, description="left over")
    clock_s: float = Field(default=0.0, description="how far the clock that Python shows went astray")


class RunnerReport(Record):
    """All that a runner reported, ordered by importance."""

    results: dict[NumberedTest, Result] = {}
    collection_errors: dict[str, str] = {}
    lacking: dict[str, tuple[str, ...]] = Field(
        default={}, description="by test file: names that its tests use and the submission lacks"
    )
    filters_left_out: tuple[str, ...] = Field(
        default=(), description="warning filters of the tests whose class the submission lacks"
    )
    imports: dict[str, ImportCheck] = {}
    collected: int | None = None
    running: NumberedTest | None = Field(default=None, description="begun and not finished")
    broken_off: str | None = None
    exit_code: int | None = Field(default=None, description="pytest's, from the end record; None: there was none")
    python: str | None = None
    pytest: str | None = None
    foreign: int = Field(default=0, description="lines that are no event of this run")
    repeated: int = Field(default=0, description="tests that were reported more than once")
    observed: Observations | None = None


def parse_report(data: bytes, token: str) -> RunnerReport:
    """Return what the lines with *token* report; never raises."""
    state = _State()
    prefix = token.encode() + b" "
    lines = data.split(b"\n")
    state.foreign += bool(lines.pop())  # a whole line ends with a newline
    for line in lines[:MAX_EVENTS]:
        event = _event(line, prefix) if len(line) <= MAX_LINE_BYTES else None
        # Nothing honest comes after the end.
        if event is None or state.exit_code is not None:
            state.foreign += 1
        else:
            state.add(event)
    return state.report(max(0, len(lines) - MAX_EVENTS))


def report_of(result: CommandResult, token: str) -> RunnerReport:
    """Return what the runner reported before it ended.

    Raises `SandboxError` where it said nothing: it did not start, and only then can anything of a submission be
    found. A machine that lets a process open few files does this.
    """
    report = parse_report(result.report, token)
    if report.but(foreign=0) == RunnerReport() and result.ending is not Ending.SANDBOX_DIED:
        lines = result.stderr.decode("utf-8", "replace").split("\n")
        words = next((line.strip() for line in reversed(lines) if line.strip()), str(result.ending))
        raise SandboxError(f"the test runner did not start: {printable(words)[:200]}; see `groundup doctor`")
    return report


def _event(line: bytes, prefix: bytes) -> _Any | None:
    if not line.startswith(prefix):
        return None
    try:
        # The standard parser accepts what pytest may put into an id: halves of surrogate pairs.
        return _EVENT.validate_python(json.loads(line[len(prefix) :]))
    except (ValidationError, ValueError, RecursionError):
        return None


class _State:
    """A report while it is read."""

    def __init__(self) -> None:
        self.results: dict[NumberedTest, Result] = {}
        self.collection_errors: dict[str, str] = {}
        self.lacking: dict[str, tuple[str, ...]] = {}
        self.filters_left_out: tuple[str, ...] = ()
        self.imports: dict[str, ImportCheck] = {}
        self.collected: int | None = None
        self.running: NumberedTest | None = None
        self.broken_off: str | None = None
        self.exit_code: int | None = None
        self.start: _Start | None = None
        self.foreign = 0
        self.repeated = 0
        self.observed: Observations | None = None

    def add(self, event: _Any) -> None:
        match event:
            case _Test():
                self._add_test(event)
            case _Begin():
                self.running = _key(event)
            case _CollectionError():
                self.collection_errors.setdefault(_text(event.id, 500), _text(event.message, 300))
            case _Origin() | _Lacking():
                self._add_hint(event)
            case _FilterLeftOut():
                self.filters_left_out += (_text(event.line, 200),)
            case _Import():
                # The first one counts: what runs later cannot take it back.
                file = None if event.file is None else _text(event.file, 1000)
                error = None if event.error is None else _text(event.error, 300)
                self.imports.setdefault(event.name, ImportCheck(file=file, error=error))
            case _Collected():
                self.collected = event.count
            case _Signs():
                self.observed = Observations(
                    changed=tuple(_text(name, 100) for name in event.changed),
                    frames=tuple(_text(frame, 120) for frame in event.frames),
                    processes=event.processes,
                    clock_s=event.clock_s,
                )
            case _BrokenOff():
                self.broken_off = _text(event.message, 300)
            case _Start():
                self.start = self.start or event
            case _End():
                self.exit_code = event.exit_code

    def _add_hint(self, event: _Origin | _Lacking) -> None:
        """Take in what is for people, about a test that was reported as lost."""
        if isinstance(event, _Lacking):
            self.lacking.setdefault(_text(event.file, 500), tuple(_text(name, 300) for name in event.names))
        elif (known := self.results.get(key := _key(event))) is not None and known.outcome != "passed":
            self.results[key] = known.but(probably=_text(event.place, MAX_GUESS))

    def _add_test(self, event: _Test) -> None:
        key = _key(event)
        self.running = None
        result = Result(
            outcome=event.outcome,
            message=_text(event.message, 300),
            detail=_text(event.detail, MAX_DETAIL),
            demand=_text(event.demand, MAX_DETAIL),
            calls=_text(event.calls, MAX_CALLS),
            duration_s=event.duration,
        )
        before = self.results.get(key)
        self.repeated += before is not None
        # Said twice, the worse counts: no honest runner repeats itself.
        if before is None or before.outcome == "passed":
            self.results[key] = result

    def report(self, more_lines: int) -> RunnerReport:
        """Return the finished record."""
        return RunnerReport(
            results=self.results,
            collection_errors=self.collection_errors,
            lacking=self.lacking,
            filters_left_out=self.filters_left_out,
            imports=self.imports,
            collected=self.collected,
            running=self.running,
            broken_off=self.broken_off,
            exit_code=self.exit_code,
            python=self.start and self.start.python,
            pytest=self.start and self.start.pytest,
            foreign=self.foreign + more_lines,
            repeated=self.repeated,
            observed=self.observed,
        )


def _key(event: _Test | _Begin | _Origin) -> NumberedTest:
    return NumberedTest.of(_text(event.id), event.ordinal)


def _text(text: str, limit: int | None = None) -> str:
    """Return *text* as something that can be stored as UTF-8, cut to *limit* characters."""
    return text.encode("utf-8", "backslashreplace").decode()[:limit]
