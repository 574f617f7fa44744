"""`groundup suites` and `tasks`: what is listed at once, and what lies beside a submission."""

import json
import shutil
from pathlib import Path

import pytest

from groundup.api.listings import TaskEnvironment
from groundup.cli.suites import _installed, _is_fresh, glanced
from tests.cli.conftest import TWO, Groundup

NAMES = ("OUTPUT", "CACHE_DIR", "DATA_DIR", "PYTHON")


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Git and nothing else of ours; return its cache."""
    for name in NAMES:
        monkeypatch.delenv(f"GROUNDUP_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GROUNDUP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return tmp_path / "cache"


def test_what_ships_is_listed_at_once_where_nothing_else_is_there(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not with data, a setting that decides what can be graded, runs elsewhere, or without Git."""
    suite = "nl2repobench"
    assert _is_fresh(suite, None)
    assert glanced(suite)
    ended = capsys.readouterr()
    assert f"{suite} " in ended.out.splitlines()[0]
    assert "sqlparse" in ended.out
    assert "groundup: `groundup doctor` counts what can be graded here" in ended.err
    assert not glanced("dibench")
    (fresh / "data" / suite).mkdir(parents=True)
    assert not _is_fresh(suite, None)
    assert not glanced(suite)
    monkeypatch.setenv("GROUNDUP_DATA_DIR", str(tmp_path / "elsewhere"))
    assert _is_fresh(suite, None)
    (tmp_path / "elsewhere" / suite).mkdir(parents=True)
    assert not _is_fresh(suite, None)
    monkeypatch.delenv("GROUNDUP_DATA_DIR")
    (fresh / "data" / suite).rmdir()
    assert _is_fresh(suite, tmp_path / "no-runs")
    monkeypatch.setenv("GROUNDUP_PYTHON", "3.11")
    assert not _is_fresh(suite, None)
    monkeypatch.delenv("GROUNDUP_PYTHON")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert not _is_fresh(suite, None)


@pytest.mark.parametrize(
    ("programs", "installs", "said"),
    [
        (("mvn",), True, "in its pom.xml comes from Maven's repositories"),
        (("node",), True, "is installed, too"),
        ((), False, "is not installed: nothing else is there"),
    ],
)
def test_what_is_declared_is_installed_or_not(programs: tuple[str, ...], installs: bool, said: str) -> None:
    """As its grader does it."""
    found = TaskEnvironment.model_construct(programs=programs, installs_declared=installs)  # type: ignore[call-arg]
    assert _installed(found) == said


def test_tasks_are_listed_for_people_and_programs(groundup: Groundup) -> None:
    """A row for each; what a suite does not have is refused by name."""
    ended = groundup("tasks", TWO)
    assert [line.split()[0] for line in ended.out.splitlines() if "task-0" in line] == ["task-0000", "task-0001"]
    document = json.loads(groundup("tasks", TWO, "--json").out)
    assert [one["id"] for one in document["tasks"]] == ["task-0000", "task-0001"]
    assert document["suite"] == "toy"
    ended = groundup("tasks", TWO, "task-0009")
    assert (ended.code, "unknown task 'task-0009'" in ended.err) == (2, True)
    assert groundup("tasks", TWO, "--statistics").code == 2
