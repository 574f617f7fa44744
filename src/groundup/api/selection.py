"""Which tasks a request names, looked at before anything else of it: a slip is told before what it would cost."""

import re
from pathlib import Path

from groundup.api.flags import AnyPath, Names, names
from groundup.api.folders import run_folder
from groundup.api.reports import read_report
from groundup.domain.errors import GroundupError, UsageError
from groundup.settings import Settings, load
from groundup.suites.opening import SUITES, named_suite, open_suite
from groundup.suites.places import split_variants
from groundup.suites.selection import groups_of, refuse_unknown

_FAILED = "failed:"
"""What stands before a run whose failed tasks are meant."""


def chosen_tasks(given: Names, settings: Settings) -> tuple[str, ...] | None:
    """Return what `--tasks` names, with the tasks themselves for `failed:RUN`. Raises `UsageError`."""
    named = names(given, "--tasks")
    found: list[str] = []
    for one in named or ():
        run = one.removeprefix(_FAILED)
        if run == one and len(several := re.split(r"[;\s]+", one)) > 1:
            raise UsageError(f"names are separated by commas: --tasks {','.join(filter(None, several))}")
        if not run:
            raise UsageError("--tasks failed: names no run; write failed:RUN")
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


def refuse_unknown_suite(name: str) -> None:
    """Raise `UsageError` for a slip in the name of a suite; its data is not looked for."""
    SUITES.find(split_variants(named_suite(name, load()))[0].partition("@")[0])


def refuse_unknown_tasks(suite: str, given: Names, exclude: tuple[str, ...] | None, settings: Settings) -> None:
    """Raise `UsageError` for a slip in the name of *suite* or of a task."""
    refuse_unknown(open_suite(suite, settings), (*(chosen_tasks(given, settings) or ()), *(exclude or ())))


def groups(suite: str, *, settings: Settings | None = None) -> list[str]:
    """Return the names that stand for several tasks of *suite*. Raises `UsageError`."""
    return sorted(groups_of(open_suite(suite, settings or load())))


def task_of(repository: Path, task: str | None = None, settings: Settings | None = None) -> tuple[str, str]:
    """Return the suite and the task that a repository is for: *task*, or the one that has the folder's name.

    Raises `UsageError` unless exactly one suite has it.
    """
    from groundup.runs.predictions import without_ending  # late: it unpacks archives

    if not repository.exists():
        raise UsageError(f"{repository}: no such suite, folder or archive; `groundup suites` lists the suites")
    name = task or without_ending(repository.resolve().name).removesuffix(".git")
    found = []
    inside = {path.name for path in repository.iterdir()} if repository.is_dir() else set()
    holding = []
    for suite in SUITES.names():
        try:
            known = [*open_suite(suite, settings or load()).by_name()]
        except GroundupError:  # without data it has no tasks
            continue
        holding += [suite] if inside.intersection(known) else []
        found += [(suite, one) for one in known if one.lower().replace("_", "-") == name.lower().replace("_", "-")]
    if len(found) == 1:
        return found[0]
    line = f"`groundup evaluate SUITE -p {repository} --task TASK`"
    if not found and len(holding) == 1:
        raise UsageError(
            f"{repository} holds predictions for {holding[0]}: `groundup evaluate {holding[0]} -p {repository}`"
        )
    if not found:
        raise UsageError(
            f"no task is called {name!r}; say which one {repository} is for: {line}; `groundup suites` and "
            "`groundup tasks SUITE` list them"
        )
    several = " and ".join(f"{one} of {suite}" for suite, one in found)
    raise UsageError(f"{repository} may be for {several}; say for which: {line}")
