"""`groundup recipe`: what is wrong is said before anything is fetched."""

from pathlib import Path

import pytest

from tests.cli.conftest import Groundup


def _data(folder: Path) -> Path:
    task = folder / "demo"
    task.mkdir(parents=True)
    (task / "test_commands.json").write_text('["pytest tests"]')
    (task / "test_files.json").write_text('["tests"]')
    (task / "test_case_count.txt").write_text("3")
    return folder


def test_without_data_there_is_nothing_to_read(groundup: Groundup) -> None:
    """The specification comes from the published data; the sentence says how to get it."""
    ended = groundup("recipe", "build", "demo")

    assert ended.code == 2
    assert "data pull nl2repobench" in ended.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["demmo"], "did you mean 'demo'"),
        (["demo", "--declared", "many"], "VERSION=COUNT"),
        (["demo", "--source", "wheel:demo"], "git:REPOSITORY"),
        (["demo", "--draft", "absent.toml"], "cannot be read"),
    ],
)
def test_a_wrong_request_is_explained(
    groundup: Groundup, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    """A typo in a task, a count, a source or a draft ends with 2 and what would be right."""
    ended = groundup("recipe", "build", *arguments, "--from-data", str(_data(tmp_path / "data")))

    assert ended.code == 2
    assert expected in ended.err


def test_a_recipe_that_is_not_there_is_explained(groundup: Groundup) -> None:
    """`check` takes tasks with recipes, or files."""
    ended = groundup("recipe", "check", "sqlprase")

    assert ended.code == 2
    assert "did you mean 'sqlparse'" in ended.err


def test_nothing_to_check_and_one_source_for_many_are_refused(groundup: Groundup) -> None:
    """`check` without a recipe asks for --all, and a source belongs to one task."""
    assert "--all" in groundup("recipe", "check").err
    ended = groundup("recipe", "build", "demo", "other", "--source", "sdist:demo")
    assert ended.code == 2
    assert "of one task" in ended.err


def test_of_several_tasks_each_says_what_stopped_it(groundup: Groundup, tmp_path: Path) -> None:
    """A task that cannot be built ends no other, and each line names its task."""
    data = _data(tmp_path / "data")
    ended = groundup(
        "recipe", "build", "demmo", "dmo", "--from-data", str(data), "-o", str(tmp_path), "--jobs", "2"
    )

    assert ended.code == 2
    assert "groundup: demmo: " in ended.err
    assert "groundup: dmo: " in ended.err


@pytest.mark.parametrize("tasks", [["demo"], ["demo", "other"]])
def test_a_place_that_cannot_be_written_to_is_refused_first(
    groundup: Groundup, tmp_path: Path, tasks: list[str]
) -> None:
    """Making a recipe takes minutes; it does not begin where its file cannot be written at the end."""
    (tmp_path / "file").write_text("")
    data = str(_data(tmp_path / "data"))
    ended = groundup("recipe", "build", *tasks, "--from-data", data, "-o", str(tmp_path / "file" / "in"))

    assert ended.code == 3
    assert "cannot write " in ended.err
    assert "demo: " not in ended.err


def test_warm_explains_a_wrong_task_and_a_wrong_grader(groundup: Groundup) -> None:
    """Nothing is built for a name that is not there."""
    assert "did you mean 'retrying'" in groundup("warm", "nl2repobench", "--task", "retryng").err
    assert "did you mean 'strict'" in groundup("warm", "nl2repobench", "--grader", "stric").err


def test_a_part_that_is_none_is_explained(groundup: Groundup) -> None:
    """A part is K of N with K from 1 to N, and a part of all."""
    for text in ("0/4", "5/4", "x", "1/0"):
        ended = groundup("recipe", "check", "--all", "--shard", text)
        assert ended.code == 2
        assert "K/N" in ended.err
    assert "--all" in groundup("recipe", "check", "six", "--shard", "1/4").err


def test_a_table_of_a_run_that_is_not_there_is_refused(groundup: Groundup) -> None:
    """A misspelt run is no run without results: its column would be empty, and nothing would say why."""
    ended = groundup("recipe", "table", "runs/official-oracel")

    assert ended.code == 2
    assert "is not a run folder" in ended.err
