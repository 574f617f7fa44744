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


def test_a_misspelt_variable_is_named_once(tmp_path: Path) -> None:
    """It set nothing, and nobody knew; variables of keys and of the server's token are no settings."""
    variables = {"GROUNDUP_JOB": "2", "GROUNDUP_TOKEN": "t", "GROUNDUP_MY_KEY": "k", "GROUNDUP_JOBS": "2"}
    ended = shell(f"{PROGRAM} runs", tmp_path, **variables)
    told = [line for line in ended.stderr.splitlines() if "GROUNDUP_" in line]
    assert told == ["groundup: unknown variable 'GROUNDUP_JOB'; did you mean 'GROUNDUP_JOBS'?"]
    assert ended.returncode == 0
    twice = f'"{sys.executable}" -c "import groundup.settings as s; s.load()\ns.load()"'
    assert shell(twice, tmp_path, **variables).stderr.count("unknown variable 'GROUNDUP_JOB'") == 1


def test_as_many_attempts_are_graded_at_once_as_there_are_processors_for_this_process(tmp_path: Path) -> None:
    """A job of a cluster has some of its machine's; all of them were counted."""
    program = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); import groundup.settings as s; "
    ended = shell(f'"{sys.executable}" -c "{program}print(s.Settings().jobs)"', tmp_path)
    assert (ended.stdout, ended.stderr) == ("1\n", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter everything")
def test_a_home_of_somebody_else_is_named(tmp_path: Path) -> None:
    """As `sudo -u` leaves it; each command failed elsewhere, at a file that nobody knows."""
    (tmp_path / "home").mkdir(mode=0)
    ended = shell(f"{PROGRAM} suites", tmp_path, HOME=str(tmp_path / "home"))
    assert (ended.returncode, "which this user may not enter" in ended.stderr) == (2, True)


def test_a_user_without_a_home_is_told(tmp_path: Path) -> None:
    """As in a container that runs as a number of no account; it was called a bug."""
    known = "import pwd; pwd.getpwuid = lambda uid: {}[uid]"
    line = "from groundup.cli.main import main; import sys; sys.exit(main(['runs']))"
    ended = shell(f'unset HOME; "{sys.executable}" -c "{known}; {line}"', tmp_path)
    assert (ended.returncode, "HOME is not set, and this user has no home" in ended.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("GROUNDUP_DATA_DIR=locked {} tasks nl2repobench", 3),
        ("GROUNDUP_DATA_DIR=locked {} tasks repogenesis --json", 3),
        ("GROUNDUP_DATA_DIR=locked {} data pull repogenesis --from .", 3),
        ("GROUNDUP_CACHE_DIR=locked {} doctor", 3),
        ("{} run nl2repobench -a oracle --output locked/in", 3),
        ("{} report latest --output locked", 2),
    ],
)
def test_a_folder_that_may_not_be_entered_is_no_bug(command: str, code: int, tmp_path: Path) -> None:
    """One sentence names it, and what to do."""
    (tmp_path / "locked").mkdir(mode=0)
    ended = shell(command.format(PROGRAM), tmp_path)
    last = ended.stderr.strip().splitlines()[-1]
    assert (ended.returncode, "locked" in last, "a bug" in last) == (code, True, False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_run_that_may_not_be_entered_stays_in_the_list(tmp_path: Path) -> None:
    """It was left out without a word."""
    (tmp_path / "runs" / "mine").mkdir(mode=0, parents=True)
    ended = shell(f"{PROGRAM} runs", tmp_path)
    assert (ended.returncode, "mine" in ended.stdout) == (0, True)
    assert "config.json cannot be read: Permission denied; change its mode or its owner" in ended.stderr


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
    assert ended.err.endswith("name one of them: also, broken\n"), "the newest comes first"
