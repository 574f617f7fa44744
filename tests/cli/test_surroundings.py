"""A command where its streams, its working directory or its home are not as usual."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import TWENTY, TWO, Groundup, Predict
from tests.patience import patient

PROGRAM = f'"{sys.executable}" -m groundup'


def shell(line: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run *line* by a shell in *folder*."""
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(60),
    )


@pytest.mark.parametrize(
    ("command", "code"), [("suites >&-", 0), ("report missing --json >&-", 2), ("report missing 2>&-", 2)]
)
def test_a_closed_stream_changes_no_exit_code(command: str, code: int, tmp_path: Path) -> None:
    """Services and cron close streams; what is printed goes nowhere then, and into no file of ours."""
    ended = shell(f"{PROGRAM} {command}", tmp_path)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr


def test_a_working_directory_that_was_removed_is_named(tmp_path: Path) -> None:
    """Every path would be looked up from it."""
    ended = shell(f"mkdir gone; cd gone; rmdir ../gone; {PROGRAM} runs", tmp_path)
    assert (ended.returncode, "the working directory was removed" in ended.stderr) == (2, True)


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    """It was blamed on the cache, or on an interpreter that could not be fetched."""
    (tmp_path / "home").touch()
    ended = shell(f"{PROGRAM} runs", tmp_path, HOME=str(tmp_path / "home"))
    assert (ended.returncode, f"HOME is {tmp_path / 'home'}, which is a file" in ended.stderr) == (2, True)


def test_a_share_that_is_no_number_is_not_compared(groundup: Groundup) -> None:
    """No score would be below it."""
    ended = groundup("run", TWO, "-a", "nop", "--fail-under", "nan")
    assert (ended.code, "must be a finite number" in ended.err) == (2, True)


def test_submissions_that_are_at_hand_are_not_made(groundup: Groundup) -> None:
    """`--generate-only` beside a reference graded it all the same."""
    ended = groundup("run", TWO, "-a", "oracle", "--generate-only")
    assert (ended.code, "oracle makes nothing" in ended.err) == (2, True)


def test_the_only_unfinished_run_needs_no_name(groundup: Groundup, predict: Predict) -> None:
    """`resume` takes it and says so; of several, or where there is none, it takes no guess."""
    assert "no run in" in groundup("resume").err
    groundup("run", TWENTY, "-a", "nop", "--limit", "2", "--run-id", "whole")
    folder = predict({"task-0000": "infrastructure"})
    groundup("evaluate", TWO, "-p", folder, "--run-id", "broken")
    ended = groundup("resume", "--dry-run")
    assert (ended.code, "the run with pending attempts is broken" in ended.err) == (0, True)
    groundup("evaluate", TWO, "-p", folder, "--run-id", "also")
    ended = groundup("resume")
    assert (ended.code, "2 runs have pending attempts" in ended.err) == (2, True)
