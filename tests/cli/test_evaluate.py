"""Evaluating, running, resuming and grading again, as people do it."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import TWO, Groundup, Predict


def test_evaluating_a_folder_prints_a_table_and_ends_with_0(groundup: Groundup, predict: Predict) -> None:
    """Whatever the score: every attempt has a verdict."""
    ended = groundup("evaluate", TWO, "-p", predict({"task-0000": "pass", "task-0001": "half"}))
    assert ended.code == 0
    assert "100.0 % (2/2)" in ended.out
    assert "50.0 % (1/2)" in ended.out
    assert "75.0 % (1.500/2 tasks)" in ended.out
    assert "[2/2]" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", TWO, "-a", "oracle"),
        ("run", TWO, "-a", "oracle", "--dry-run"),
        ("run", TWO, "-a", "oracle", "--verbose"),
        ("suites",),
        ("tasks", TWO),
        ("clean",),
        ("report", "missing"),
        ("run", TWO, "-a", "orakel"),
        ("evaluate", TWO, "-p", "missing"),
    ],
)
def test_json_is_one_document_on_standard_output(groundup: Groundup, arguments: tuple[str, ...]) -> None:
    """Everything else is on standard error, also when it fails."""
    ended = groundup(*arguments, "--json")
    assert isinstance(json.loads(ended.out), dict)


def test_the_report_lies_in_the_run_folder(groundup: Groundup, tmp_path: Path) -> None:
    """`report.json` is what `--json` prints."""
    ended = groundup("run", TWO, "-a", "oracle", "--run-id", "r", "--json")
    assert json.loads((tmp_path / "runs" / "r" / "report.json").read_text()) == json.loads(ended.out)
    assert json.loads(groundup("report", "r", "--json").out) == json.loads(ended.out)
    assert json.loads(groundup("report", tmp_path / "runs" / "r", "--format", "json").out) == json.loads(ended.out)


def test_the_publishers_report_comes_with_the_run(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """`--layout` writes it beside the run's folder, and an unknown one is refused before anything is graded."""
    folder = predict({"task-0000": "pass"})
    suite = "tests.cli.publishing:create"
    ended = groundup("evaluate", suite, "-p", folder, "--run-id", "r", "--layout", "toy")
    assert ended.code == 0
    assert json.loads((tmp_path / "runs" / "report_r.json").read_text())["scores"]["task-0000"] == 1
    assert "report_r.json" in ended.err
    for known, layout, said in ((suite, "tyo", "did you mean 'toy'"), (TWO, "toy", "leave --layout out")):
        refused = groundup("evaluate", known, "-p", folder, "--run-id", "s", "--layout", layout)
        assert refused.code == 2
        assert said in refused.err
    assert not (tmp_path / "runs" / "s").exists()


def test_names_of_model_and_agent_are_reported(groundup: Groundup, predict: Predict) -> None:
    """Who made the predictions stands in the report."""
    folder = predict({"task-0000": "pass"})
    ended = groundup("evaluate", TWO, "-p", folder, "--model-name", "m1", "--agent-name", "a1", "--json")
    assert json.loads(ended.out)["runs"][0]["subject"] == {"agent": "a1", "model": "m1", "settings": {}}
    lines = folder.parent / "p.jsonl"
    lines.write_text(json.dumps({"instance_id": "task-0000", "model_name_or_path": "m2", "path": str(folder)}))
    ended = groundup("evaluate", TWO, "-p", lines, "--json")
    assert json.loads(ended.out)["runs"][0]["subject"]["model"] == "m2"


def test_a_dry_run_does_nothing(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """It says which attempts would be graded and which are missing; no folder is made."""
    ended = groundup("evaluate", TWO, "-p", predict({"task-0001": "pass"}), "--dry-run", "--json")
    document = json.loads(ended.out)
    assert (ended.code, document["attempts"]) == (0, ["task-0000/0", "task-0001/0"])
    assert (document["dry_run"], document["missing"]) == (True, ["task-0000/0"])
    assert not (tmp_path / "runs").exists()


def test_tasks_without_a_prediction_are_reported_apart_unless_left_out(
    groundup: Groundup, predict: Predict
) -> None:
    """A missing attempt stays in the denominator until somebody says which tasks were meant."""
    folder = predict({"task-0001": "pass"})
    whole = json.loads(groundup("evaluate", TWO, "-p", folder, "--json").out)["runs"][0]
    assert whole["counts"]["not_attempted"] == 1
    assert whole["figures"][0]["score"] == {"value": 0.5, "numerator": 1, "denominator": 2}
    part = json.loads(groundup("evaluate", TWO, "-p", folder, "--tasks", "task-0001", "--json").out)["runs"][0]
    assert part["figures"][0]["score"] == {"value": 1, "numerator": 1, "denominator": 1}
    part = json.loads(groundup("evaluate", TWO, "-p", folder, "--only-predicted", "--json").out)["runs"][0]
    assert [row["task"] for row in part["attempts"]] == ["task-0001"]
    ended = groundup("evaluate", TWO, "-p", folder, "--only-predicted", "--tasks", "task-0000")
    assert (ended.code, "leave --only-predicted out" in ended.err) == (2, True)
    rest = json.loads(groundup("evaluate", TWO, "-p", folder, "--exclude", "task-0000", "--json").out)["runs"][0]
    assert rest["counts"]["planned"] == 1


def test_fail_under(groundup: Groundup, predict: Predict) -> None:
    """4 exactly when the mean is below the share; also for a report."""
    folder = predict({"task-0000": "pass", "task-0001": "half"})
    assert groundup("evaluate", TWO, "-p", folder, "--fail-under", "0.75", "--run-id", "r").code == 0
    ended = groundup("evaluate", TWO, "-p", folder, "--fail-under", "0.76")
    assert ended.code == 4
    assert "below --fail-under" in ended.err
    assert groundup("report", "r", "--fail-under", "0.76").code == 4
    assert groundup("evaluate", TWO, "-p", folder, "--fail-under", "75").code == 2


def test_infrastructure_failures_end_with_3_and_a_resume_finishes_them(
    groundup: Groundup, predict: Predict, tmp_path: Path
) -> None:
    """Never a zero: the attempt is pending, and the hint works as it is written."""
    folder = predict({"task-0000": "pass", "task-0001": "infrastructure"})
    ended = groundup("evaluate", TWO, "-p", folder, "--run-id", "r", "--fail-under", "1")
    assert ended.code == 3
    assert "groundup resume" in ended.err
    assert json.loads(groundup("resume", "r", "--dry-run", "--json").out)["pending"] == ["task-0001/0"]
    run = json.loads((tmp_path / "runs" / "r" / "report.json").read_text())["runs"][0]
    assert run["counts"]["infrastructure"] == 1
    assert run["figures"][0]["score"] == {"value": 1, "numerator": 1, "denominator": 1}


def test_a_finished_run_can_be_resumed_and_graded_again(groundup: Groundup) -> None:
    """A resume does nothing twice; grading again makes a new run, which compares with the first."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r")
    assert groundup("resume", "r").code == 0
    assert groundup("regrade", "r", "--grader", "lax", "--run-id", "again").code == 0
    ended = groundup("report", "r", "again")
    assert ended.code == 0
    assert "again over r" in ended.out
    assert "different graders" in ended.out


def test_grading_again_can_be_looked_at_first(groundup: Groundup, tmp_path: Path) -> None:
    """A dry run names the grader and the attempts, and makes no run."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r")
    document = json.loads(groundup("regrade", "r", "--grader", "lax", "--dry-run", "--json").out)
    assert document["grader"] == "lax"
    assert len(document["attempts"]) == 2
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["r"]


def test_what_a_run_never_attempted_is_not_graded_again(groundup: Groundup, tmp_path: Path) -> None:
    """It would count 0 in the new run; the name is refused with those that are there."""
    groundup("run", TWO, "-a", "oracle", "--tasks", "task-0000", "--run-id", "r")
    ended = groundup("regrade", "r", "--tasks", "task-0001")
    assert ended.code == 2
    assert "r has no attempt: unknown task 'task-0001'; did you mean 'task-0000'?" in ended.err
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["r"]


def test_how_often_to_retry_is_a_setting(
    groundup: Groundup, predict: Predict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`retries` and `retry_delay_s` come from the settings, as everything else does."""
    folder = predict({"task-0000": "infrastructure", "task-0001": "pass"})
    for retries in (0, 3):
        monkeypatch.setenv("GROUNDUP_RETRIES", str(retries))
        assert groundup("evaluate", TWO, "-p", folder, "--run-id", f"r{retries}").code == 3
        lines = (tmp_path / "runs" / f"r{retries}" / "verdicts.jsonl").read_text().splitlines()
        assert len(lines) == 2 + retries


def test_a_resume_with_another_option_is_refused_by_name(groundup: Groundup) -> None:
    """What was asked for once cannot change under way."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r")
    ended = groundup("resume", "r", "--grader", "lax")
    assert ended.code == 2
    assert "no option --grader: a run keeps what it was begun with; `groundup regrade` takes" in ended.err


def test_a_log_file_has_every_event_with_its_time(groundup: Groundup, tmp_path: Path) -> None:
    """For runs that no one watches."""
    groundup("run", TWO, "-a", "oracle", "--log-file", tmp_path / "logs" / "x.log")
    lines = (tmp_path / "logs" / "x.log").read_text().splitlines()
    assert sum(" began" in line for line in lines) == 2
    assert all(line.startswith("20") and "Z " in line for line in lines)
    assert groundup("run", TWO, "-a", "oracle", "--log-file", tmp_path).code == 2


def test_attempts_several_per_task(groundup: Groundup, predict: Predict) -> None:
    """Numbered folders are attempts; `-k` takes fewer of them."""
    folder = predict({"task-0000/0": "pass", "task-0000/1": "fail", "task-0001/0": "pass", "task-0001/1": "pass"})
    run = json.loads(groundup("evaluate", TWO, "-p", folder, "--json").out)["runs"][0]
    assert run["figures"][0]["score"] == {"value": 0.75, "numerator": 1.5, "denominator": 2}
    fewer = json.loads(groundup("evaluate", TWO, "-p", folder, "-k", "1", "--json").out)["runs"][0]
    assert fewer["counts"]["planned"] == 2


def test_cleaning_asks_first(groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal nothing goes unless --yes says so; runs only with --older-than."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # nothing of other programs is in sight
    groundup("run", TWO, "-a", "oracle", "--run-id", "r")
    assert groundup("clean", "-y").code == 0
    assert (tmp_path / "runs" / "r").exists()
    assert groundup("clean", "--older-than", "1d", "-y").err == "groundup: nothing to remove\n"
    ended = groundup("clean", "--older-than", "0s")
    assert ended.code == 2
    assert re.search(r"would remove 3 things \([\d.]+ KB\); say --yes", ended.err), ended.err
    dry = groundup("clean", "--older-than", "0s", "--dry-run")
    assert (dry.code, dry.err.startswith("groundup: left 3 things, ")) == (0, True)
    assert (tmp_path / "runs" / "r").exists()
    document = json.loads(groundup("clean", "--older-than", "0s", "-y", "--json").out)
    assert document["removed"]
    assert not (tmp_path / "runs" / "r").exists()
    assert groundup("clean", "--older-than", "soon").code == 2


def test_one_prediction_of_two_is_said_first_and_the_other_is_one_line(
    groundup: Groundup, predict: Predict
) -> None:
    """The score of what is there comes before the score over all, also with --quiet; nothing scrolls it away."""
    folder = predict({"task-0001": "pass"})
    said = "1 of 2 tasks was attempted: 100.0 %; over all 2: 50.0 %"
    ended = groundup("evaluate", TWO, "-p", folder)
    assert ended.out.splitlines()[1] == said
    assert "task-0000" not in ended.err
    assert "not attempted, counted as 0: task-0000; `evaluate --only-predicted`" in " ".join(ended.out.split())
    assert groundup("evaluate", TWO, "-p", folder, "--quiet").out.endswith(f": {said}\n")


def test_the_newest_run_is_called_latest(groundup: Groundup, predict: Predict) -> None:
    """Nobody types a time stamp; a run that is called so comes first."""
    folder = predict({"task-0001": "pass"})
    assert groundup("report", "latest").code == 2
    groundup("evaluate", TWO, "-p", folder, "--run-id", "one")
    groundup("evaluate", TWO, "-p", folder, "--run-id", "another")
    assert json.loads(groundup("report", "latest", "--json").out)["runs"][0]["run_id"] == "another"
    groundup("evaluate", TWO, "-p", folder, "--run-id", "latest")
    groundup("evaluate", TWO, "-p", folder, "--run-id", "newer")
    assert json.loads(groundup("report", "latest", "--json").out)["runs"][0]["run_id"] == "latest"


def test_evaluate_without_predictions_says_what_is_missing(groundup: Groundup, tmp_path: Path) -> None:
    """A folder alone is a repository, whose task is the one of its name; no name is guessed."""
    assert "such as `groundup evaluate nl2repobench -p predictions/`" in groundup("evaluate", "nl2repobench").err
    assert "no such suite, folder or archive" in groundup("evaluate", "./missing").err
    (tmp_path / "no-such-task").mkdir()
    ended = groundup("evaluate", "no-such-task")
    assert (ended.code, "no task is called 'no-such-task'" in ended.err) == (2, True)
    (tmp_path / "jsonlines").mkdir()
    (tmp_path / "jsonlines" / "setup.py").touch()
    ended = groundup("evaluate", "jsonlines", "--dry-run")
    assert ended.code == 0
    assert "jsonlines is graded as the task jsonlines of nl2repobench" in ended.err
    ended = groundup("evaluate", "jsonlines", "--dry-run", "--task", "sqlparse")
    assert "jsonlines is graded as the task sqlparse of nl2repobench" in ended.err
    (tmp_path / "made" / "jsonlines").mkdir(parents=True)
    ended = groundup("evaluate", "made")
    assert (ended.code, "`groundup evaluate nl2repobench -p made`" in ended.err) == (2, True)
    with zipfile.ZipFile(tmp_path / "six.zip", "w") as archive:
        archive.writestr("six.py", "")
    assert "six.zip is graded as the task six of nl2repobench" in groundup("evaluate", "six.zip", "--dry-run").err


def test_task_and_tasks_mean_one_thing(groundup: Groundup, predict: Predict) -> None:
    """The folder says whether it is one repository: either flag names its task, or chooses among predictions."""
    folder = predict({"task-0000": "pass", "task-0001": "half"})

    def attempts(place: Path, *flags: str) -> list[str]:
        ended = groundup("evaluate", TWO, "-p", place, "--dry-run", "--json", *flags)
        assert ended.code == 0, ended.err
        document = json.loads(ended.out)
        return sorted({*document["attempts"]} - {*document["missing"]})

    assert attempts(folder / "task-0000", "--task", "task-0001") == ["task-0001/0"], "no file tells what it is"
    for flag in ("--task", "--tasks"):
        assert attempts(folder, flag, "task-0001") == ["task-0001/0"]
        assert attempts(folder, flag, "task-0000", flag, "task-0001") == ["task-0000/0", "task-0001/0"]
        (folder / "task-0000" / "setup.py").touch()
        assert attempts(folder / "task-0000", flag, "task-0001") == ["task-0001/0"]
    assert attempts(folder, "--task", "task-0000", "--tasks", "task-0001") == ["task-0000/0", "task-0001/0"]
