"""Whether everything in a run's folder fits, to the last file: what `groundup runs check` says. Changes nothing.

What every reader of verdicts checks (`store.checking`), and what takes longer: trees are digested again, and each
line of trajectories, test results and opinions is read.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from groundup.agents.trajectories import paid_for
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.reports.document import Report
from groundup.settings import Settings
from groundup.store.attempts import AttemptFolder, read_trajectory
from groundup.store.checking import RecordFault, why_tree_differs
from groundup.store.folder import REPORT, RunFolder, is_held
from groundup.store.judgements import read_judgements
from groundup.store.records import ConfigFile
from groundup.suites.opening import open_suite
from groundup.trees.walking import LARGE, read_regular


class RunCheck(Record):
    """What was found in a run's folder."""

    run: str = Field(description="the folder's name: a copy has the run_id of what it was copied from")
    attempts: int = Field(description="with a verdict, fitting or not")
    unscored: int = Field(description="attempts that have no score in reports, for what does not fit")
    faults: tuple[RecordFault, ...] = Field(description="what does not fit")
    notes: tuple[str, ...] = Field(description="what is no fault, and should be known")

    @property
    def conclusion(self) -> str:
        """One sentence for people."""
        if not self.faults:
            return f"everything fits; verdicts: {self.attempts}"
        found = f"{len(self.faults)} thing does" if len(self.faults) == 1 else f"{len(self.faults)} things do"
        return (
            f"{found} not fit; {self.unscored} of {self.attempts} attempts have no score for it. Restore the "
            "files, or `groundup resume` the run, which grades again what was handed in"
        )


def check_run(run: RunFolder, settings: Settings) -> RunCheck:
    """Look at everything in the folder of *run*. Raises `UsageError` where no verdict can be read at all."""
    config, records = run.config(), run.records()
    faults, known = list(records.faults), {fault.attempt for fault in records.faults}
    for key, line in records.lines.items():
        if key not in known and line.settles:
            faults += _of_attempt(run, key)
    faults += _of_others(run)
    return RunCheck(
        run=run.path.resolve().name,
        attempts=len(records.lines),
        unscored=len(records.bad),
        faults=tuple(faults),
        notes=tuple(_notes(run, config, records.unchained, settings)),
    )


def _of_attempt(run: RunFolder, key: AttemptKey) -> Iterator[RecordFault]:
    """Yield what in the folder of an attempt whose verdict fits does not."""
    attempt = run.attempt(key)
    if fault := why_tree_differs(attempt):
        yield RecordFault(file=_name(run, attempt.submission), attempt=key, why=fault)
    if why := _unreadable(attempt.tests, attempt.tests_file):
        yield RecordFault(file=_name(run, attempt.tests_file), attempt=key, why=why)
    if told := _of_logs(attempt):
        name, why = told
        yield RecordFault(file=_name(run, attempt.logs / name), attempt=key, why=why)
    if why := _of_trajectory(attempt):
        yield RecordFault(file=_name(run, attempt.trajectory_file), attempt=key, why=why)


_OF_TESTS = ("stdout.txt", "tests.txt")
"""Logs with the end of the trusted runner's pytest, of libraries and of services."""
_END = re.compile(rb"^(?:=+ )?(?=\d+ [a-z]+)(?:.*?\b(\d+) passed\b)?.* in \d+\.\d+s\b", re.MULTILINE)


def _of_logs(attempt: AttemptFolder) -> tuple[str, str] | None:
    """Return which log has fewer tests that passed than the list of them, as one written by hand may have."""
    for name in _OF_TESTS:
        try:
            ends = [end[1] for end in _END.finditer(read_regular(attempt.logs / name, LARGE))]
            passed = sum(test.outcome == "passed" for test in attempt.tests())
        except (OSError, UsageError):  # told elsewhere, or there are none
            continue
        counted = sum(int(count or 0) for count in ends)
        if ends and counted < passed:
            return name, f"{counted} tests passed by it, and {passed} by {attempt.tests_file.name}"
    return None


def _of_trajectory(attempt: AttemptFolder) -> str | None:
    """Return what is wrong with what an agent did: it is all there, and cost no more than is said."""
    file = attempt.trajectory_file
    try:
        paid_usd = paid_for(read_trajectory(file)).cost_usd or 0.0
        record = attempt.record()
    except UsageError as error:
        return str(error).removeprefix(str(file)).lstrip(", ")
    if record is None or record.provenance.source != "agent" or record.effort is None:
        return None
    if not file.exists():
        return "it is missing: what the agent did is not known"
    if _ends_torn(file):
        return "it ends in the middle of a line: it was cut"
    told_usd = record.effort.cost_usd
    if told_usd is not None and told_usd < paid_usd * 0.99 - _LEAST_USD:
        return f"its replies cost ${paid_usd:.4f}, and the record of the submission says ${told_usd:.4f}"
    return None


_LEAST_USD = 1e-6


def _ends_torn(file: Path) -> bool:
    with file.open("rb") as content:
        size = content.seek(0, 2)
        content.seek(max(0, size - 1))
        return content.read() not in (b"", b"\n")


def _of_others(run: RunFolder) -> Iterator[RecordFault]:
    for name, read in (
        ("judgements.jsonl", lambda: list(read_judgements(run.path))),
        (REPORT, lambda: _read_report(run.path / REPORT)),
    ):
        if why := _unreadable(read, run.path / name):
            yield RecordFault(file=name, why=why)


def _read_report(path: Path) -> None:
    try:
        Report.model_validate_json(read_regular(path, LARGE))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise UsageError("it is no report; resume the run, which writes it again") from error


def _unreadable(read: Callable[[], object], file: Path) -> str | None:
    """Return what is wrong with a file that *read* reads; None: nothing."""
    try:
        read()
    except UsageError as error:
        return str(error).removeprefix(str(file)).lstrip(", ")
    return None


def _name(run: RunFolder, path: Path) -> str:
    return str(path.relative_to(run.path))


def _notes(run: RunFolder, config: ConfigFile, unchained: int, settings: Settings) -> Iterator[str]:
    if unchained:
        yield (
            f"{unchained} of its verdicts are of an earlier version and have no digests, so a change shows "
            "only where it fits nothing else"
        )
    if is_held(run.path):
        yield "a process works on it: what it writes just now may not fit yet"
    try:
        tasks = open_suite(config.configuration.suite, settings).by_name()
    except GroundupError as error:
        yield f"its tasks were not compared with those here: {error}"
        return
    pinned = config.pinned
    others = [
        name
        for name in config.planned.tasks
        if f"task {name}" in pinned
        and (name not in tasks or pinned[f"task {name}"] not in (tasks[name].digest, tasks[name].graded_digest))
    ]
    if others:
        yield f"{len(others)} of its tasks have other content here, such as {others[0]}: a resume is refused"
