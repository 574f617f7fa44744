"""`groundup compare OLD NEW TASK`: when the last of three names is a task, and what became of it."""

import json
from pathlib import Path

import pytest

from groundup.cli.compare_task import names_task
from groundup.domain.errors import UsageError
from tests.cli.conftest import Groundup
from tests.store.folders import edit_line, write_run


@pytest.fixture
def runs(tmp_path: Path, groundup: Groundup) -> Path:
    """Runs of the same tasks, of which one is called as a task."""
    for name in ("old", "new"):
        write_run(tmp_path / "runs" / name, "nl2repobench")
    write_run(tmp_path / "runs" / "toml", "nl2repobench")
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("names", "is_task"),
    [
        (("old", "new"), False),
        (("old", "new", "six"), True),
        (("old", "new", "six/0"), True),
        (("old", "new", "toml"), False),
        (("old", "absent", "six"), False),
        (("old", "new", "six", "six"), False),
        (("old", "new", "report.json"), False),
    ],
)
def test_a_run_comes_before_a_task(runs: Path, names: tuple[str, ...], is_task: bool) -> None:
    """And a report's file is neither."""
    (runs.parent / "report.json").touch()
    assert names_task(names, str(runs)) is is_task


def test_what_is_neither_is_answered_with_both(runs: Path) -> None:
    """The nearest of runs and tasks."""
    with pytest.raises(UsageError) as refused:
        names_task(("old", "new", "sqlpasre"), str(runs))
    assert str(refused.value).startswith("unknown run or task 'sqlpasre'; did you mean 'sqlparse'?")


def test_what_became_of_a_task_is_told(groundup: Groundup, runs: Path) -> None:
    """Its scores, and nothing where nothing changed; what does not fit is told first."""
    ended = groundup("compare", "old", "new", "sqlparse", "--json")
    document = json.loads(ended.out)
    assert (ended.code, document["attempt"]) == (0, "sqlparse/0")
    assert document["scores"] == ["95.9 % (442/461)"] * 2
    ended = groundup("compare", "old", "new", "sqlparse")
    assert ended.out.splitlines()[0] == "sqlparse/0: 95.9 % (442/461) in old, 95.9 % (442/461) in new"
    edit_line(runs / "new", 1, lambda line: line["verdict"]["score"].update(numerator=90))
    ended = groundup("compare", "old", "new", "sqlparse")
    assert (ended.code, ended.err.startswith("groundup: ")) == (4, True)
    ended = groundup("compare", "old", "new", "six")
    assert ended.code == 2
    assert ended.err.endswith("new has no verdict of six/0 that counts; see `groundup report new`\n")
