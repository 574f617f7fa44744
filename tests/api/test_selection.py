"""Which tasks a request names."""

from pathlib import Path

import pytest

from groundup.api import runs
from groundup.api.selection import (
    chosen_tasks,
    failed_tasks,
    groups,
    refuse_unknown_suite,
    refuse_unknown_tasks,
    task_of,
)
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from tests.api.conftest import Predict
from tests.runs.configurations import TWO

LACKING = "tests.runs.toy:create_lacking"


def test_failed_tasks_of_a_run_are_named_by_it(settings: Settings, predict: Predict) -> None:
    """Those that count and are not solved, beside others; a run without any is refused."""
    made = runs.evaluate(TWO, predict({"task-0000": "half", "task-0001": "pass"}), run_id="r", settings=settings)
    assert failed_tasks("r", settings) == failed_tasks(made.folder, settings) == ["task-0000"]
    assert chosen_tasks("task-0009,failed:r,task-0000", settings) == ("task-0009", "task-0000")
    runs.run(TWO, "oracle", run_id="full", settings=settings)
    with pytest.raises(UsageError) as caught:
        chosen_tasks("failed:full", settings)
    assert str(caught.value) == (
        f"no task of {settings.output}/full failed; `groundup resume` does what has no verdict"
    )


def test_slips_are_told_before_anything_else(settings: Settings) -> None:
    """In the name of a suite, of a task and of one that is left out."""
    refuse_unknown_suite("nl2repobench")
    refuse_unknown_suite("nl2repobench@lite")
    with pytest.raises(UsageError, match="unknown suite 'nl2repobensh'"):
        refuse_unknown_suite("nl2repobensh")
    refuse_unknown_tasks(LACKING, "early,task-0002", ("!late",), settings)
    refuse_unknown_tasks(LACKING, None, None, settings)
    with pytest.raises(UsageError, match="task-0009"):
        refuse_unknown_tasks(LACKING, "task-0009", None, settings)
    with pytest.raises(UsageError, match="erly"):
        refuse_unknown_tasks(LACKING, None, ("erly",), settings)
    assert {"early", "late"} <= set(groups(LACKING, settings=settings))
    assert groups(LACKING, settings=settings) == sorted(groups(LACKING, settings=settings))


@pytest.mark.parametrize(
    ("folder", "task", "found"),
    [
        ("jsonlines", None, ("nl2repobench", "jsonlines")),
        ("JsonLines.git", None, ("nl2repobench", "jsonlines")),
        ("mine", "jsonlines", ("nl2repobench", "jsonlines")),
        ("jsonlines.zip", None, ("nl2repobench", "jsonlines")),
    ],
)
def test_a_repository_is_for_the_task_of_its_name(
    tmp_path: Path, settings: Settings, folder: str, task: str | None, found: tuple[str, str]
) -> None:
    """However it is written, and packed or not."""
    place = tmp_path / folder
    if folder.endswith(".zip"):
        place.touch()
    else:
        place.mkdir()
    assert task_of(place, task, settings) == found
