"""Signs of tampering in a run's report: each has its phrase, and an honest run has none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundup.grading.library.decision import NONE, as_fact, signs_of
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Observations, Result, RunnerReport, parse_report
from groundup.inside import runner
from groundup.inside.runner import Watch, processes_beside
from groundup.sandbox.protocol import CommandResult, Ending

DONE = CommandResult(ending=Ending.EXITED, exit_code=0, stdout=b"", stderr=b"", duration_s=1.0)
RESULTS = {NumberedTest("t.py::a"): Result(outcome="passed", duration_s=0.1)}
HONEST = RunnerReport(results=RESULTS, collected=1, exit_code=0, observed=Observations())


def test_an_honest_run_has_none() -> None:
    """The fact says that they were looked for."""
    assert as_fact(signs_of(HONEST, DONE)) == NONE


@pytest.mark.parametrize(
    ("update", "phrase"),
    [
        ({"observed": Observations(changed=("os.write",))}, "functions changed: os.write"),
        ({"observed": Observations(frames=("/workspace/x.py:f",))}, "stands in the report's path"),
        ({"observed": Observations(processes=2)}, "processes left: 2"),
        ({"observed": Observations(clock_s=60)}, "the clock went 60 s astray"),
        ({"observed": None}, "the runner did not say"),
        ({"repeated": 3}, "more than once: 3"),
        ({"foreign": 4}, "not the runner's: 4"),
        ({"collected": 9}, "never reported: 8"),
        ({"collected": 2}, "never reported: 1"),
        ({"exit_code": None}, "results without an end"),
        ({"results": {NumberedTest("t.py::a"): Result(outcome="passed", duration_s=900)}}, "900 s of 1 s"),
    ],
)
def test_each_sign_has_its_phrase(update: dict[str, object], phrase: str) -> None:
    """One phrase for one sign."""
    (found,) = signs_of(HONEST.but(**update), DONE)
    assert phrase in found


def test_processes_of_a_grader_beside_are_not_left_over(tmp_path: Path) -> None:
    """In a verifier's container, the grader's and the engine's are there, too: other users', and the first."""
    me, other = os.getuid(), os.getuid() + 1
    users = {"1": me, "2": other, str(os.getpid()): me, "40": me, "41": other, "42": me}
    for name, user in users.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "status").write_text(f"Name:\tsh\nUid:\t{user}\t{user}\t{user}\t{user}\n")
    (tmp_path / "43").mkdir()  # has ended meanwhile
    (tmp_path / "self").mkdir()
    assert processes_beside(proc=tmp_path) == 2


def test_an_ended_process_that_was_not_waited_for_is_not_left_over(tmp_path: Path) -> None:
    """A suite that drops its Popen objects leaves such ones; they run no code."""
    for name, state in {"40": "Z (zombie)", "41": "X (dead)", "42": "S (sleeping)"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "status").write_text(f"Name:\tsh\nState:\t{state}\nUid:\t{os.getuid()}\n")
    assert processes_beside(proc=tmp_path) == 1


@pytest.mark.needs("semaphores")
def test_what_multiprocessing_keeps_is_not_left_over() -> None:
    """A suite that makes a lock of it has such a process until the end."""
    code = (
        "import multiprocessing, pathlib; lock = multiprocessing.get_context('spawn').Lock()\n"
        "from groundup.inside.runner import helpers\n"
        "threads = pathlib.Path('/proc/self/task').glob('*/children')\n"
        "children = {number for one in threads for number in one.read_text().split()}\n"
        "print(len(children), children <= helpers())"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1 True\n"


def test_a_process_that_is_about_to_end_is_not_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a child of the last test may need a moment; one that stays is counted."""
    counts = [2, 1, 0]
    monkeypatch.setattr(runner, "processes_beside", lambda _: counts.pop(0))
    assert Watch([], []).signs()["processes"] == 0
    assert not counts
    monkeypatch.setattr(runner, "processes_beside", lambda _: 1)
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert Watch([], []).signs()["processes"] == 1


def test_observations_are_read_within_bounds() -> None:
    """What the process reports of itself comes from beside hostile code: longer lists are no event."""
    head = b't {"event": "signs", "frames": [], "processes": 0, "clock_s": 0, "changed": '
    good = parse_report(head + b'["os.write"]}\n', "t")
    assert good.observed == Observations(changed=("os.write",))
    assert parse_report(head + b"[" + b'"x",' * 50 + b'"x"]}\n', "t").observed is None
