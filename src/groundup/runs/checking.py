"""Whether everything in a run's folder fits, to the last file: what `groundup runs check` says. Changes nothing.

What every reader of verdicts checks (`store.checking`), and what takes longer: trees are digested again, and each
line of trajectories, test results and opinions is read.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from groundup.domain.errors import GroundupError, InfrastructureError, UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.reports.document import Report
from groundup.settings import Settings
from groundup.store.attempts import AttemptFolder, read_trajectory
from groundup.store.checking import RecordFault
from groundup.store.folder import RunFolder, is_held
from groundup.store.judgements import read_judgements
from groundup.store.records import ConfigFile
from groundup.suites.base import open_suite
from groundup.trees.digest import tree_digest
from groundup.trees.walking import LARGE, read_regular


class RunCheck(Record):
    """What was found in a run's folder."""

    run: str
    attempts: int = Field(description="with a verdict, fitting or not")
    faults: tuple[RecordFault, ...] = Field(description="what does not fit")
    notes: tuple[str, ...] = Field(description="what is no fault, and should be known")

    @property
    def conclusion(self) -> str:
        """One sentence for people."""
        if not self.faults:
            return f"everything fits; {self.attempts} attempts have a verdict"
        lost = len({fault.attempt for fault in self.faults} - {None})
        count = f"{len(self.faults)} thing does" if len(self.faults) == 1 else f"{len(self.faults)} things do"
        return (
            f"{count} not fit; {lost} of {self.attempts} attempts have no score for it. Restore the files, or "
            "`groundup resume` the run, which grades again what was handed in"
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
        run=config.run_id,
        attempts=len(records.lines),
        faults=tuple(faults),
        notes=tuple(_notes(run, config, records.unchained, settings)),
    )


def _of_attempt(run: RunFolder, key: AttemptKey) -> Iterator[RecordFault]:
    """Yield what in the folder of an attempt whose verdict fits does not."""
    attempt = run.attempt(key)
    if fault := _of_tree(attempt):
        yield RecordFault(file=_name(run, attempt.submission), attempt=key, why=fault)
    for file, read in (
        (attempt.tests_file, attempt.tests),
        (attempt.trajectory_file, lambda: list(read_trajectory(attempt.trajectory_file))),
    ):
        if why := _unreadable(read, file):
            yield RecordFault(file=_name(run, file), attempt=key, why=why)


def _of_tree(attempt: AttemptFolder) -> str | None:
    try:
        record = attempt.record()
        if record is None or tree_digest(attempt.submission).digest == record.digest:
            return None
    except (UsageError, InfrastructureError) as error:
        return str(error)
    return "it was changed after it was handed in: its digest is not that of submission.json"


def _of_others(run: RunFolder) -> Iterator[RecordFault]:
    for name, read in (
        ("judgements.jsonl", lambda: list(read_judgements(run.path))),
        ("report.json", lambda: _read_report(run.path / "report.json")),
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
