"""`groundup compare OLD NEW TASK`: what a newer attempt at a task brought back, and what it lost."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.api.flags import Output

if TYPE_CHECKING:
    from groundup.domain.verdicts import TestResult


def names_task(runs: Sequence[str], output: Output) -> bool:
    """Whether the last of three names is a task of the second run, and no run of that name is there.

    Raises `UsageError` for one that is neither, nor a report's file.
    """
    from groundup.api.folders import run_folder
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.settings import load
    from groundup.store.folder import RunFolder, runs_in

    if len(runs) != 3:
        return False
    settings = load({"output": output})
    try:
        run_folder(runs[2], settings)
    except UsageError:
        try:
            planned = RunFolder(run_folder(runs[1], settings)).config().planned.tasks
        except UsageError:
            return False
        is_task = runs[2].partition("/")[0] in planned
        if not is_task and not Path(runs[2]).exists():
            there = [path.name for path in runs_in(settings.output)]
            raise UsageError(unknown("run or task", runs[2], [*there, *planned])) from None
        return is_task
    return False


def compare_task(runs: Sequence[str], output: Output, *, json: bool) -> int:
    """Print what became of a task's tests from the first of *runs* to the second. Raises `UsageError`."""
    from groundup.api.folders import run_folder
    from groundup.cli.attempts import planned_key
    from groundup.cli.console import UNFIT, print_document, say, tables
    from groundup.cli.lost_tests import Lost
    from groundup.domain.errors import UsageError
    from groundup.domain.names import printable
    from groundup.reports.changed_tests import mended, mended_lines
    from groundup.settings import load
    from groundup.store.folder import RunFolder

    settings = load({"output": output})
    sides = []
    unfit = ""
    for run in runs[:2]:
        folder = RunFolder(run_folder(run, settings))
        key = planned_key(folder, runs[2])
        records = folder.records()
        unfit = unfit or records.told(folder.path)
        if key in records.bad or key not in records.lines:
            raise UsageError(f"{folder.path} has no verdict of {key} that counts; see `groundup report {run}`")
        sides.append(Lost(key, records.lines[key], folder.attempt(key).tests()))
    old, new = sides
    found = mended(old.tests, new.tests)
    if unfit:
        say(f"groundup: {unfit}")
    if json:
        parts: dict[str, Sequence[TestResult]] = found._asdict()
        told = {part: [one.id for one in tests] for part, tests in parts.items()}
        print_document({"attempt": str(new.key), "scores": [old.score, new.score], **told})
        return UNFIT if unfit else 0
    console = tables()

    def put(line: str) -> None:
        console.print(printable(line), soft_wrap=True, markup=False)

    put(f"{new.key}: {old.score} in {runs[0]}, {new.score} in {runs[1]}")
    for line in mended_lines(found, old.tests, console.width):
        put(line)
    return UNFIT if unfit else 0
