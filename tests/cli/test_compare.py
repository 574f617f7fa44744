"""Comparing runs, and reports in suites' own forms, as people do it."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import TWENTY, TWO, Groundup, Predict
from tests.runs.toy import BEHAVIOUR


@pytest.fixture
def two_runs(groundup: Groundup, predict: Predict) -> None:
    """Two runs of one suite: the second lost half of a task, and has not attempted another."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "a")
    groundup("evaluate", TWO, "-p", predict({"task-0000": "half"}), "--run-id", "b")


@pytest.mark.usefixtures("two_runs")
def test_two_runs_are_compared_task_by_task(groundup: Groundup) -> None:
    """Differences with their tasks; what was not attempted counts 0 and is not forgotten."""
    ended = groundup("compare", "a", "b")
    assert ended.code == 0
    assert "b against a" in ended.out
    assert "a +75.0 points over b [" in ended.out
    assert "task-0000" in ended.out
    (found,) = json.loads(groundup("compare", "a", "b", "--json").out)["comparisons"]
    assert (found["tasks"], found["worse"], found["difference"]) == (2, 2, -0.75)
    assert groundup("compare", "a", "b", "--format", "markdown").out.startswith("## b against a")


@pytest.mark.usefixtures("two_runs")
def test_a_report_file_stands_for_its_run(groundup: Groundup, tmp_path: Path) -> None:
    """What `--json` printed can be compared without the folder, and its name says that nothing checked it."""
    file = tmp_path / "kept.json"
    file.write_text(groundup("report", "a", "--json").out)
    found = json.loads(groundup("compare", file, "a", "--json").out)
    assert [run["run_id"] for run in found["runs"]] == ["a (not checked)", "a"]
    assert found["comparisons"][0]["difference"] == 0


@pytest.mark.usefixtures("two_runs")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("compare", "a"), "two runs or more"),
        (("compare", "a", "missing"), "unknown run 'missing'"),
        (("compare", "a", "b", "task-000"), "unknown run or task 'task-000'; did you mean 'task-000"),
        (
            ("report", "a", "--format", "xml"),
            "unknown format 'xml'; choose from: csv, html, json, junit, latex, markdown, table",
        ),
        (("report", "a", "b", "--format", "repogenesis"), "unknown format for several runs 'repogenesis'"),
        (("report", "a", "b", "--format", "mardkown"), "did you mean 'markdown'"),
        (("report", "a", "--save", "x.json"), "--save x.json names no form"),
    ],
)
def test_what_cannot_be_done_is_said(groundup: Groundup, arguments: tuple[str, ...], expected: str) -> None:
    """A sentence that names the choices, and exit code 2."""
    ended = groundup(*arguments)
    assert ended.code == 2
    assert expected in " ".join(ended.err.split())


@pytest.mark.usefixtures("two_runs")
def test_a_files_name_says_its_form(groundup: Groundup, tmp_path: Path) -> None:
    """`--save r.html` is enough; a form that is named counts more."""
    assert groundup("report", "a", "--save", tmp_path / "r.html").code == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert groundup("report", "a", "--format", "csv", "--save", tmp_path / "r.tex").code == 0
    assert "," in (tmp_path / "r.tex").read_text().splitlines()[0]


@pytest.mark.usefixtures("two_runs")
def test_a_run_is_reviewed(groundup: Groundup) -> None:
    """Without signs the sentence says no more than that none was looked for or found; a wrong run is bad input."""
    ended = groundup("review", "b")
    assert ended.code == 0
    assert "no grader looked for signs of tampering" in ended.err
    document = json.loads(groundup("review", "b", "--json").out)
    assert (document["run"], document["suspects"]) == ("b", [])
    assert groundup("review", "missing").code == 2


def test_other_files_are_no_reports(groundup: Groundup, tmp_path: Path) -> None:
    """A file that no one can read is named, with the forms that were tried."""
    (tmp_path / "x.json").write_text("{}")
    ended = groundup("report", tmp_path / "x.json")
    assert ended.code == 2
    assert "repogenesis" in ended.err


def published(tmp_path: Path, name: str, passed: int) -> Path:
    """Write a report as the published harness of RepoGenesis does."""
    results = [
        {
            "repo_name": task,
            "lang": "python",
            "port": 8000,
            "framework": "any",
            "exit_code": 0,
            "dsr": {"success": True, "message": "Service started successfully"},
            "pass_at_1": {
                "passed": count,
                "failed": 2 - count,
                "errors": 0,
                "skipped": 0,
                "total": 2,
                "score": count / 2,
            },
            "api_coverage": {"total_apis": 4, "implemented_apis": 2, "score": 0.5},
            "elapsed_seconds": 11.5,
        }
        for task, count in (("eve", passed), ("SimpleFastPyAPI", 2))
    ]
    summary = {
        "total_repos": 2,
        "avg_pass_at_1": 1.0,
        "avg_api_coverage": 0.5,
        "deployment_success_rate": 1.0,
    }
    metadata = {"timestamp": "2026-01-02T03:04:05", "harness_version": "1.0.0", "model_name": "m"}
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps({"metadata": metadata, "summary": summary, "results": results}))
    return file


def test_published_reports_are_read_and_compared(groundup: Groundup, tmp_path: Path) -> None:
    """Reports of the published harness are runs like others, with the published averages beside."""
    good, bad = published(tmp_path, "good", 2), published(tmp_path, "bad", 1)
    ended = groundup("report", good)
    assert ended.code == 0
    assert "As the published harness averages" in ended.out
    assert "graded by published 1.0.0" in ended.out
    (found,) = json.loads(groundup("compare", good, bad, "--json").out)["comparisons"]
    assert found["difference"] == -0.25
    assert {figure["name"] for figure in found["figures"]} == {"score", "solved", "deployed", "api_coverage"}


def test_runs_of_different_suites_are_not_compared(groundup: Groundup, tmp_path: Path) -> None:
    """They have no task in common: that is a mistake, not an empty table."""
    groundup("run", TWENTY, "-a", "oracle", "--run-id", "toy", "--tasks", "task-0000")
    ended = groundup("compare", "toy", published(tmp_path, "good", 2))
    assert ended.code == 2
    assert "different suites" in ended.err


def test_a_run_is_written_in_its_suites_own_form(groundup: Groundup, tmp_path: Path) -> None:
    """On standard output the document alone; with --save it goes to the file, and the table is printed."""
    groundup("run", "tests.cli.publishing:create", "-a", "oracle", "--run-id", "r")
    ended = groundup("report", "r", "--format", "toy")
    expected = {"subject": "oracle", "scores": {"task-0000": 1.0, "task-0001": 1.0}}
    assert json.loads(ended.out) == expected
    assert "nothing is left out" in ended.err
    assert "2 tasks in some time" in ended.err
    saved = groundup("report", "r", "--format", "toy", "--save", tmp_path / "own.json")
    assert saved.out == "2 tasks in some time\n"
    assert json.loads((tmp_path / "own.json").read_text()) == expected
    assert (
        "unknown format 'xml'; choose from: csv, html, json, junit, latex, markdown, table, toy"
        in groundup("report", "r", "--format", "xml").err
    )


def program(folder: Path, files: Mapping[str, str]) -> Path:
    """Write one prediction of each of the two tasks, with *files* beside what says how grading goes."""
    for task in ("task-0000", "task-0001"):
        (folder / task).mkdir(parents=True)
        for name, text in {BEHAVIOUR: "half", **files}.items():
            (folder / task / name).write_text(text)
    return folder


def test_a_copy_with_a_file_added_is_named(groundup: Groundup, tmp_path: Path) -> None:
    """Comparisons know it by its lines, as boards do; another program for the same tasks is none."""
    lines = "".join(f"value_{number} = compute({number})\n" for number in range(60))
    made = {"a": {"app.py": lines}, "b": {"app.py": lines, "NOTES": "mine\n"}, "c": {"app.py": lines[::-1]}}
    for name, files in made.items():
        groundup("evaluate", TWO, "-p", program(tmp_path / name, files), "--run-id", name)
    said = "2 of 2 submissions of b are those of a, or nearly: one holds four fifths of the lines of the other"
    assert said in " ".join(groundup("compare", "a", "b").out.split())
    document = json.loads(groundup("compare", "a", "b", "--json").out)
    assert (document["comparisons"][0]["same"], document["answer"][0]) == (said, said)
    (found,) = json.loads(groundup("compare", "a", "c", "--json").out)["comparisons"]
    assert found["same"] == ""


@pytest.mark.usefixtures("two_runs")
def test_a_copied_run_is_called_as_its_folder(groundup: Groundup) -> None:
    """Beside the one that it is a copy of; the same folder twice is numbered."""
    shutil.copytree("runs/a", "runs/edited")
    assert groundup("compare", "a", "edited").out.startswith("edited against a\n")
    assert groundup("compare", "a", "a").out.startswith("a (2) against a\n")


def test_review_names_attempts_that_are_nearly_the_same(groundup: Groundup, tmp_path: Path) -> None:
    """The best attempt put in the place of the worst with a comment in it is not hidden by the comment."""
    lines = "".join(f"value_{number} = compute({number})\n" for number in range(60))
    for index, text in enumerate((lines, f"# mine\n{lines}", lines[::-1])):
        folder = tmp_path / "predictions" / "task-0000" / str(index)
        folder.mkdir(parents=True)
        (folder / BEHAVIOUR).write_text("half")
        (folder / "app.py").write_text(text)
    groundup("evaluate", TWO, "-p", tmp_path / "predictions", "--run-id", "a")
    assert "nearly the same (four fifths of the lines): task-0000/0, task-0000/1" in groundup("review", "a").err
    assert json.loads(groundup("review", "a", "--json").out)["alike"] == [["task-0000/0", "task-0000/1"]]
