"""What names of tasks mean, and which mean none."""

import pytest

from groundup.domain.errors import UsageError
from groundup.suites.selection import members, refuse_unknown
from tests.runs.toy import ToySuite

EVERY = ("sqlparse", "sqlglot", "six", "attrs")
GROUPS = {"small": ("six", "attrs"), "sql": ("sqlparse", "sqlglot")}


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["six"], {"six"}),
        (["small", "sqlglot"], {"six", "attrs", "sqlglot"}),
        (["!small"], {"sqlparse", "sqlglot"}),
        (["sql*"], {"sqlparse", "sqlglot"}),
        (["s?x"], {"six"}),
        (["unknown", "!unknown"], {"unknown", "!unknown"}),
        ([], set()),
    ],
)
def test_a_name_means_a_task_a_group_or_all_that_are_like_it(names: list[str], found: set[str]) -> None:
    """With `!` all outside of a group; what is unknown means itself."""
    assert members(names, EVERY, GROUPS) == found


@pytest.mark.parametrize(
    ("tasks", "name", "told"),
    [
        (3, "task-0003", "unknown task 'task-0003'; did you mean"),
        (3, "other", "unknown task 'other'"),
        (30, "other", "unknown task 'other'"),
        (31, "other", "unknown task 'other'; `groundup tasks toy` lists the 31 tasks; groups are"),
        (31, "task-0031", "unknown task 'task-0031'; did you mean"),
        (3, "x*", "no task of toy is like 'x*'; `groundup tasks toy` lists them"),
        (3, "!other", "unknown language or group of toy 'other'"),
    ],
)
def test_a_name_that_means_no_task_is_refused(tasks: int, name: str, told: str) -> None:
    """With what it may have meant; of many tasks not all are named."""
    suite = ToySuite(tasks)
    refuse_unknown(suite, ["task-0000", "task-000?"])
    with pytest.raises(UsageError) as refused:
        refuse_unknown(suite, ["task-0000", name])
    assert str(refused.value).startswith(told)
