"""Each kind of bad input: one clear sentence, its exit code, and the other attempts go on."""

import json
import os
from pathlib import Path

import pytest

from groundup.store.folder import Hold
from tests.cli.conftest import TWO, Ended, Groundup, Predict
from tests.trees.hostile import member, tar_of


def sentence(ended: Ended) -> str:
    """Return the one sentence that an error is."""
    assert ended.code == 2
    assert ended.out == ""
    (line,) = [line for line in ended.err.splitlines() if line.startswith("groundup: ")]
    assert "Traceback" not in ended.err
    return line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "nl2repobnech", "-a", "oracle"), "did you mean 'nl2repobench'"),
        (("run", TWO, "-a", "orcale"), "did you mean 'oracle'"),
        (("run", TWO, "-a", "nop", "--tasks", "task-0002,task-0000"), "unknown task 'task-0002'; did you mean"),
        (("run", TWO, "-a", "nop", "--exclude", "task-9"), "unknown task 'task-9'"),
        (("run", TWO, "-a", "nop", "--grader", "strikt"), "did you mean 'strict'"),
        (("run", TWO, "-a", "nop", "--sandbox", "bubblwrap"), "did you mean 'bubblewrap'"),
        (("run", TWO, "-a", "nop", "--sandbox", "none"), "the sandbox none is gone"),
        (("run", TWO, "-a", "nop", "--run-id", "../r"), "not a usable name"),
        (("evaluate", TWO, "-p", "missing"), "no such predictions"),
        (("report", "missing"), "unknown run 'missing'"),
        (("resume", "missing"), "unknown run 'missing'"),
        (("shell", "missing", "task-0000"), "unknown run 'missing'"),
        (("tasks", "nl2repo"), "unknown suite 'nl2repo'"),
        (("leaderboard", "verify", "missing.groundup"), "missing.groundup is no file; name a bundle"),
        (("curate", "instance", "missing", "--language", "python", "-o", "set"), "missing is no folder here"),
    ],
)
def test_a_name_that_is_wrong_is_reported_with_the_nearest(
    groundup: Groundup, arguments: tuple[str, ...], says: str
) -> None:
    """A slip costs a second, not a search."""
    assert says in sentence(groundup(*arguments))


def test_an_empty_predictions_folder(groundup: Groundup, tmp_path: Path) -> None:
    """It is a mistake and not a score of zero."""
    (tmp_path / "empty").mkdir()
    assert "holds no predictions" in sentence(groundup("evaluate", TWO, "-p", tmp_path / "empty"))


def test_an_unknown_task_in_the_predictions(groundup: Groundup, predict: Predict) -> None:
    """The nearest is suggested."""
    folder = predict({"task-0000": "pass", "task-00001": "pass"})
    assert "unknown task 'task-00001'; did you mean" in sentence(groundup("evaluate", TWO, "-p", folder))


def test_a_file_with_the_wrong_encoding(groundup: Groundup, tmp_path: Path) -> None:
    """A JSONL file in UTF-16 is named with its line."""
    (tmp_path / "p.jsonl").write_text('{"instance_id": "task-0000", "path": "x"}', encoding="utf-16")
    assert "line 1: not UTF-8" in sentence(groundup("evaluate", TWO, "-p", tmp_path / "p.jsonl"))


def prediction(groundup: Groundup, folder: Path) -> tuple[str, Ended]:
    """Evaluate *folder*, whose task-0001 is good; return what is said of task-0000."""
    ended = groundup("evaluate", TWO, "-p", folder, "--json")
    bad, good = json.loads(ended.out)["runs"][0]["attempts"]
    assert ended.code == 0
    assert good["score"]["value"] == 1
    assert bad["standing"] == "graded"
    assert bad["score"]["value"] == 0
    assert bad["reasons"][0]["stage"] == "intake"
    return bad["reasons"][0]["message"], ended


def unusable(groundup: Groundup, folder: Path) -> str:
    """Evaluate *folder*, whose task-0001 is good; return why nothing ran. Without task-0000 it runs."""
    ended = groundup("evaluate", TWO, "-p", folder, "--run-id", "r")
    assert (ended.code, ended.out) == (2, "")
    assert not Path("runs/r").exists()
    assert groundup("evaluate", TWO, "-p", folder, "--exclude", "task-0000", "--fail-under", "1").code == 0
    return ended.err


def test_a_prediction_that_is_a_damaged_archive(groundup: Groundup, predict: Predict) -> None:
    """Who packed it can pack it again: no zero for the model."""
    folder = predict({"task-0001": "pass"})
    (folder / "task-0000").mkdir()
    (folder / "task-0000" / "submission.tar.gz").write_bytes(b"\x1f\x8b\x08 cut off")
    assert "task-0000/submission.tar.gz: the archive cannot be unpacked" in unusable(groundup, folder)


def test_a_prediction_that_is_a_file(groundup: Groundup, predict: Predict) -> None:
    """Nothing runs, and the sentence says what to do."""
    folder = predict({"task-0001": "pass"})
    (folder / "task-0000").write_text("print()")
    assert "is a file; a prediction is a folder" in unusable(groundup, folder)


@pytest.mark.parametrize(
    ("target", "says"), [("nowhere", "link to nothing"), ("/etc", "leads out"), ("task-0000", "circle")]
)
def test_a_prediction_that_is_a_bad_link(groundup: Groundup, predict: Predict, target: str, says: str) -> None:
    """Dangling, escaping or circling: nothing runs, and nothing of the host is copied."""
    folder = predict({"task-0001": "pass"})
    (folder / "task-0000").symlink_to(target)
    assert says in unusable(groundup, folder)


def test_a_prediction_that_is_a_device(groundup: Groundup, predict: Predict) -> None:
    """Nothing is opened that might never end (a fifo stands for devices, which only root can make)."""
    folder = predict({"task-0001": "pass"})
    os.mkfifo(folder / "task-0000")
    assert "neither a folder nor a file" in unusable(groundup, folder)


def test_a_zip_bomb(groundup: Groundup, predict: Predict) -> None:
    """A gigabyte of zeros in a megabyte is refused while it unpacks."""
    import gzip

    folder = predict({"task-0001": "pass"})
    (folder / "task-0000").mkdir()
    info = member("zeros")
    info.size = 1024**3
    packed = gzip.compress(info.tobuf() + bytes(72 * 1024**2))
    (folder / "task-0000" / "submission.tar.gz").write_bytes(packed)
    assert "bomb" in prediction(groundup, folder)[0]


def test_a_huge_log_in_a_prediction(groundup: Groundup, predict: Predict) -> None:
    """Five gigabytes are not read, let alone copied."""
    folder = predict({"task-0001": "pass"})
    (folder / "task-0000").mkdir()
    with (folder / "task-0000" / "debug.log").open("wb") as file:
        file.truncate(5 * 1024**3)
    assert "debug.log" in prediction(groundup, folder)[0]


def test_a_device_file_in_a_prediction_is_left_out(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """The rest of the tree is graded, and the record of the submission names what is missing."""
    folder = predict({"task-0000": "pass", "task-0001": "pass"})
    os.mkfifo(folder / "task-0000" / "fifo")
    assert groundup("evaluate", TWO, "-p", folder, "--run-id", "r", "--fail-under", "1").code == 0
    record = json.loads((tmp_path / "runs" / "r" / "attempts" / "task-0000" / "0" / "submission.json").read_text())
    assert record["dropped"] == ["fifo: fifo"]


def test_an_archive_with_names_that_lead_out(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """What is harmless in it is graded; nothing is written elsewhere."""
    folder = predict({"task-0001": "pass"})
    (folder / "task-0000").mkdir()
    content = tar_of([(member("../../../out"), b"x"), (member("behaviour"), b"pass")])
    (folder / "task-0000" / "submission.tar").write_bytes(content)
    assert groundup("evaluate", TWO, "-p", folder, "--fail-under", "1").code == 0
    assert not list(tmp_path.rglob("out"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache(groundup: Groundup, predict: Predict, tmp_path: Path) -> None:
    """A cache that cannot be written costs time and a warning, no verdict."""
    (tmp_path / "cache").mkdir(mode=0o500)
    ended = groundup("evaluate", TWO, "-p", predict({"task-0000": "pass", "task-0001": "pass"}))
    assert ended.code == 0
    assert "not cached" in ended.err


def test_two_runs_with_one_id_at_once(groundup: Groundup, tmp_path: Path) -> None:
    """The second learns who works there, and the first is not disturbed."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r")
    hold = Hold(tmp_path / "runs" / "r")
    try:
        said = f"process {os.getpid()} is working on the run 'r'"
        assert said in sentence(groundup("run", TWO, "-a", "oracle", "--run-id", "r"))
        assert "is working on the run 'r'" in sentence(groundup("resume", "r"))
    finally:
        hold.close()
    assert "exists" in sentence(groundup("run", TWO, "-a", "oracle", "--run-id", "r"))


def test_a_damaged_run_folder(groundup: Groundup, tmp_path: Path) -> None:
    """File and line are named; nothing is guessed, and what fits is reported."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r")
    verdicts = tmp_path / "runs" / "r" / "verdicts.jsonl"
    verdicts.write_text("garbage\n" + verdicts.read_text())
    ended = groundup("report", "r", "--json")
    assert ended.code == 4
    assert "verdicts.jsonl, line 1: it is damaged" in ended.out
    assert f"`groundup runs check {verdicts.parent}` lists all" in " ".join(ended.err.split())
    (tmp_path / "runs" / "r" / "config.json").write_text("{")
    assert "config.json cannot be read" in sentence(groundup("report", "r"))


def test_bad_settings(groundup: Groundup, tmp_path: Path) -> None:
    """A setting that is none, and a file that is no TOML."""
    (tmp_path / "groundup.toml").write_text("[settings]\njbos = 3\n")
    assert "did you mean 'jobs'" in sentence(groundup("suites"))
    (tmp_path / "groundup.toml").write_text("[settings]\nagent_jobs = true\n")
    assert "groundup.toml, setting agent_jobs: must be a whole number" in sentence(groundup("suites"))
    (tmp_path / "groundup.toml").write_text("[settings]\nresolutions_s = true\n")
    assert "groundup.toml, setting resolutions_s: must be a number" in sentence(groundup("suites"))
    (tmp_path / "groundup.toml").write_text("[settings")
    assert "not valid TOML" in sentence(groundup("suites"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("attempts = true", "attempts: must be a whole number"),
        ("timeout = true", "timeout: must be a number"),
        ("agent-option = { command_s = true }", "command_s of the agent loop: must be a number"),
        ("model-option = { timeout_s = true }", "timeout_s: must be a number"),
    ],
)
def test_true_is_no_number(groundup: Groundup, tmp_path: Path, line: str, says: str) -> None:
    """It counted as 1, also as a second."""
    run = f'[[run]]\nsuite = "{TWO}"\nagent = "loop"\nmodel = "compatible/m"\nbase-url = "http://127.0.0.1:9"\n'
    (tmp_path / "runs.toml").write_text(run + line + "\n")
    assert says in sentence(groundup("run", "--config", "runs.toml"))
