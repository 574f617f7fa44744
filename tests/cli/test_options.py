"""What is written on a command line is what is done: nothing is dropped in silence, nothing empty means all."""

import json

import pytest

from tests.cli.conftest import TWENTY, Groundup


def planned(groundup: Groundup, *arguments: str) -> list[str]:
    """Return the attempts that a run would have."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", "--json", *arguments)
    assert ended.code == 0, ended.err
    return [name.removesuffix("/0") for name in json.loads(ended.out)["attempts"]]


def test_tasks_given_several_times_add_up(groundup: Groundup) -> None:
    """Ten flags are ten tasks, separated by commas or not; so are exclusions."""
    given = ("--tasks", "task-0001", "--tasks", "task-0002,task-0003", "--tasks", "task-0001")
    assert planned(groundup, *given) == ["task-0001", "task-0002", "task-0003"]
    assert planned(groundup, *given, "--exclude", "task-0001", "--exclude", "task-0003") == ["task-0002"]


@pytest.mark.parametrize("flag", ["--tasks", "--exclude", "--grader", "--run-id", "--output", "--lang"])
def test_an_empty_value_is_an_error(groundup: Groundup, flag: str) -> None:
    """A variable that was not set means neither the whole suite nor the current folder."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", flag, "")
    assert ended.code == 2
    assert f"{flag} is empty" in ended.err
    assert groundup("evaluate", TWENTY, "-p", "").code == 2
    assert groundup("report", "").code == 2


def test_names_of_nothing_are_an_error(groundup: Groundup) -> None:
    """Commas alone name no task."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", "--tasks", " , ")
    assert ended.code == 2
    assert "--tasks names nothing" in ended.err


def test_an_option_given_twice_is_told(groundup: Groundup) -> None:
    """Where the last value counts, the one that does not is no secret."""
    ended = groundup("run", TWENTY, "-a", "nop", "--dry-run", "--grader", "lax", "--grader", "strict")
    assert ended.code == 0
    assert "--grader is given 2 times; the last one counts, strict" in ended.err
