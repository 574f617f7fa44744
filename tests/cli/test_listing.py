"""Runs as a list: what there is, and removing some; and all of them as the papers' tables."""

import json
import shutil
from pathlib import Path

import pytest

from groundup.store.folder import RunWriter
from groundup.suites.repogenesis.report_format import write_report
from tests.cli.conftest import TWO, Groundup
from tests.reports.made import run_of
from tests.suites.repogenesis.test_report_format import PROBLEMS, VERDICTS, results


@pytest.fixture
def two(groundup: Groundup) -> Groundup:
    """Two runs."""
    for name in ("first", "second"):
        assert groundup("run", TWO, "-a", "oracle", "--run-id", name).code == 0
    return groundup


def test_runs_are_removed_by_name(two: Groundup, tmp_path: Path) -> None:
    """Those that are named and no others; without a terminal only with --yes."""
    refused = two("runs", "rm", "first")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert (tmp_path / "runs" / "first").is_dir()
    assert two("runs", "rm", "first", "--yes").code == 0
    left = json.loads(two("runs", "--json").out)["runs"]
    assert [run["run"] for run in left] == ["second"]
    assert {path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()} == {"second"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("rm",), "removes some"), (("remove", "first"), "removes some"), (("rm", "first", "frist"), "unknown run")],
)
def test_a_slip_removes_nothing(two: Groundup, tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    """A run that is not there, or another word than rm: all runs stay."""
    ended = two("runs", *words, "--yes")
    assert ended.code == 2
    assert expected in " ".join(ended.err.split())
    assert (tmp_path / "runs" / "first").is_dir()


def test_a_run_at_work_stays(groundup: Groundup, tmp_path: Path) -> None:
    """It would go on writing."""
    config, _ = run_of("live", {"one": ["pending"]})
    with RunWriter.create(tmp_path / "runs" / "live", config):
        ended = groundup("runs", "rm", "live", "--yes")
    assert ended.code == 2
    assert "a process works on" in ended.err
    assert (tmp_path / "runs" / "live" / "config.json").is_file()


def test_all_runs_and_published_reports_in_a_folder_become_one_table(groundup: Groundup, tmp_path: Path) -> None:
    """Each is a row of the paper's table, at any depth; what submissions hold is no run."""
    published = tmp_path / "all" / "published"
    published.mkdir(parents=True)
    for name in ("report_a.json", "report_b.json"):
        (published / name).write_bytes(write_report(results(VERDICTS), PROBLEMS).document)
    groundup("run", TWO, "-a", "oracle", "--run-id", "mine")
    shutil.move(tmp_path / "runs" / "mine", tmp_path / "all" / "deep" / "mine")
    hidden = tmp_path / "all" / "deep" / "mine" / "attempts" / "task-0000" / "0" / "submission"
    (hidden / "report.json").write_text("{}")
    (tmp_path / "all" / "config.json").write_text('{"not": "a run"}')
    ended = groundup("report", tmp_path / "all", "--layout", "paper", "--json")
    assert ended.code == 0, ended.err
    assert len(json.loads(ended.out)["runs"]) == 3
    table = groundup("report", tmp_path / "all", "--layout", "paper").out
    assert "RepoGenesis: agents and models by language" in table
    assert "Without a table as in a paper" in table
    (tmp_path / "none").mkdir()
    empty = groundup("report", tmp_path / "none", "--layout", "paper")
    assert empty.code == 2
    assert "holds neither runs" in empty.err


def test_runs_that_are_not_finished_are_counted(groundup: Groundup, tmp_path: Path) -> None:
    """The list ends with how many there are, and with the command that continues one."""
    for name, word in (("half", "pending"), ("whole", (1, 2)), ("begun", "pending")):
        config, lines = run_of(name, {"one": [word]})
        with RunWriter.create(tmp_path / "runs" / name, config) as writer:
            for line in lines.values():
                writer.record(line, ())
    assert "2 runs are not finished; `groundup resume " in groundup("runs").err
    assert groundup("runs", "rm", "begun", "--yes").err == "groundup: removed 1 run\n"
    assert groundup("runs").err == "groundup: 1 run is not finished; `groundup resume half` continues it\n"
    elsewhere = groundup("runs", "--output", tmp_path / "runs").err
    assert f"`groundup resume {tmp_path}/runs/half` continues it" in elsewhere
