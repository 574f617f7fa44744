"""What names of tasks mean: one task, a group, a pattern such as `sql*`, and `!GROUP` for all outside a group."""

import difflib
import fnmatch
from collections.abc import Collection, Mapping, Sequence

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.suites.base import Suite, Tables

Groups = Mapping[str, Collection[str]]
"""Tasks by the common names that their suite gives them."""


def groups_of(suite: Suite) -> Groups:
    """Return every group of tasks that `--tasks` and `--exclude` know."""
    tables = Tables.of(suite)
    return {**tables.task_sets(), **tables.groups()}


def is_pattern(name: str) -> bool:
    """Whether *name* stands for all tasks that are like it."""
    return "*" in name or "?" in name


def refuse_unknown(suite: Suite, names: Sequence[str]) -> None:
    """Raise `UsageError` for the first of *names* that means no task of *suite*."""
    every = suite.by_name()
    if every.keys() >= {*names}:
        return
    groups = groups_of(suite)
    for name in names:
        if name in every or name.removeprefix("!") in groups:
            continue
        if name.startswith("!"):
            raise UsageError(unknown(f"language or group of {suite.name}", name[1:], groups))
        if is_pattern(name):
            if fnmatch.filter(every, name):
                continue
            raise UsageError(f"no task of {suite.name} is like {name!r}; `groundup tasks {suite.name}` lists them")
        if difflib.get_close_matches(name, [*every, *groups], n=1) or len(every) <= _FEW:
            raise UsageError(unknown("task", name, [*every, *groups]))
        listed = (
            f"`groundup tasks {suite.name}` lists the {len(every)} tasks; groups are {', '.join(sorted(groups))}"
        )
        raise UsageError(f"unknown task {name!r}; {listed}")


_FEW = 30
"""Tasks that a sentence can name."""


def members(names: Sequence[str], every: Collection[str], groups: Groups) -> set[str]:
    """Return the tasks that *names* mean among *every* one; a name that is unknown means itself."""
    found: set[str] = set()
    for name in names:
        if name in every:
            found.add(name)
        elif name.startswith("!") and name[1:] in groups:
            found |= set(every) - set(groups[name[1:]])
        elif name in groups:
            found |= set(groups[name])
        else:
            found |= set(fnmatch.filter(every, name)) if is_pattern(name) else {name}
    return found
