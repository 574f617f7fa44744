"""Whatever path somebody gives: only regular files are read, and nothing waits for a pipe or grows without end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import TWO, Groundup

AGENT = ("run", TWO, "-a", "oneshot", "--dry-run")
PLACES = {
    "infer": ("infer", "{}"),
    "predictions": ("evaluate", TWO, "-p", "{}", "--dry-run"),
    "one prediction": ("evaluate", TWO, "-p", "{}", "--task", "task-0000", "--dry-run"),
    "text of an option": ("run", TWO, "-a", "loop", "--agent-option", "system=@{}", "--dry-run"),
    "matrix": ("run", "--config", "{}", "--dry-run"),
    "script": ("run", "tests.runs.toy:create_written", "-a", "oneshot", "-m", "scripted/{}"),
    "preset": ("run", TWO, "-a", "cli", "-m", "scripted/x", "--agent-option", "preset={}", "--dry-run"),
    "report": ("report", "{}"),
    "comparison": ("compare", "{}", "{}"),
    "recipe": ("recipe", "check", "{}"),
    "draft": ("recipe", "build", "six", "--draft", "{}"),
    "older data": ("data", "convert", "dibench", "{}", "-o", "new.jsonl"),
    "data": ("data", "pull", "nl2repobench", "--from", "{}"),
    "archive of data": ("data", "pull", "dibench", "--from", "{}"),
    "list of libraries": ("curate", "set", "--list", "{}", "-o", "new"),
    "packed set": ("data", "pull", "mine", "--from", "{}"),
    "bundle": ("leaderboard", "verify", "{}"),
}


@pytest.fixture(params=["pipe.toml", "pipe.tar.gz"])
def pipe(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A pipe that no one writes to."""
    path = tmp_path / str(request.param)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("command", PLACES.values(), ids=PLACES)
def test_a_pipe_is_refused(groundup: Groundup, pipe: Path, command: tuple[str, ...]) -> None:
    """A sentence says so at once."""
    ended = groundup(*(part.replace("{}", str(pipe)) for part in command))
    assert ended.code == 2, ended.err
    assert "a bug" not in ended.err
    assert "Errno" not in ended.err


@pytest.mark.needs("groundup_infer")
def test_a_device_without_end_is_refused(tmp_path: Path) -> None:
    """`groundup infer /dev/zero` ends with a sentence, in little memory."""
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); "
    script = limited + "from groundup.cli.main import main; sys.exit(main(sys.argv[1:]))"
    ended = subprocess.run(
        [sys.executable, "-c", script, "infer", "/dev/zero"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "no regular file" in ended.stderr


def test_infer_leaves_devices_and_pipes_of_a_repository_alone(groundup: Groundup, tmp_path: Path) -> None:
    """They are no source code; the rest of the repository is read."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "a.py").write_text("import requests\n")
    os.mkfifo(tmp_path / "repository" / "b.py")
    os.mkfifo(tmp_path / "repository" / "pyproject.toml")
    ended = groundup("infer", "repository")
    assert ended.code == 0
    assert "requests" in ended.out
