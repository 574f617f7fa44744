"""Which tasks a request names, looked at before anything else of it: a slip is told before what it would cost."""

from groundup.api.flags import AnyPath, Names, names
from groundup.api.reports import read_report, run_folder
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from groundup.suites.opening import open_suite
from groundup.suites.selection import refuse_unknown

_FAILED = "failed:"
"""What stands before a run whose failed tasks are meant."""


def chosen_tasks(given: Names, settings: Settings) -> tuple[str, ...] | None:
    """Return what `--tasks` names, with the tasks themselves for `failed:RUN`. Raises `UsageError`."""
    named = names(given, "--tasks")
    found: list[str] = []
    for one in named or ():
        run = one.removeprefix(_FAILED)
        found += [one] if run == one else failed_tasks(run, settings)
    return tuple(dict.fromkeys(found)) or None


def failed_tasks(run: AnyPath, settings: Settings) -> list[str]:
    """Return the tasks of *run* of which an attempt counts and is not solved. Raises `UsageError` without any."""
    folder = run_folder(run, settings)
    (report,) = read_report([folder]).runs
    found = sorted({row.task for row in report.attempts if row.solved == 0})
    if not found:
        raise UsageError(f"no task of {folder} failed; `groundup resume` does what has no verdict")
    return found


def refuse_unknown_tasks(suite: str, given: Names, exclude: tuple[str, ...] | None, settings: Settings) -> None:
    """Raise `UsageError` for a slip in the name of *suite* or of a task."""
    refuse_unknown(open_suite(suite, settings), (*(chosen_tasks(given, settings) or ()), *(exclude or ())))
