"""What an attempt lost, test by test."""

from pathlib import Path

import pytest

from groundup.cli.lost_tests import Lost, all_passed, further, print_every
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Reason, Stage, TestResult
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from tests.store.folders import write_run

KEY = AttemptKey(task="six")


def result(name: str, outcome: str = "passed", **fields: object) -> TestResult:
    """Return a test that counts, if nothing else is said."""
    return TestResult.model_validate({"id": name, "outcome": outcome, "expected": True, **fields})


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ([], "no test was counted, so none can have passed"),
        ([result("a", expected=False)], "no test was counted, so none can have passed"),
        ([result("a"), result("b"), result("c", expected=False)], "all 2 expected tests passed"),
        ([result("a", kind="dependency")], "all 1 dependencies are declared as expected"),
        (
            [result("a", kind="dependency", detail="as b"), result("b", kind="dependency")],
            "all 2 dependencies are declared, 1 of them otherwise than in the original",
        ),
    ],
)
def test_that_nothing_was_lost_is_said(tests: list[TestResult], said: str) -> None:
    """Of tests and of dependencies."""
    assert all_passed(tests) == said


def test_without_a_line_nothing_is_known(tmp_path: Path) -> None:
    """An attempt that is pending has lost nothing yet; one that was graded has what its verdict says."""
    none = Lost(KEY, None, ())
    assert (none.reasons, none.ended, none.reward, none.score) == ((), "", 1.0, "pending")
    run = RunFolder(write_run(tmp_path / "one", "nl2repobench"))
    line = run.latest()[KEY]
    lost = Lost(KEY, line, ())
    assert line.verdict is not None
    assert (lost.reasons, lost.reward, lost.score) == (line.verdict.reasons, 0.0, "0.0 % (0/90)")
    assert Lost(KEY, line.but(verdict=None), ()).reasons == ()


def test_who_wants_more_is_told_where_it_is(tmp_path: Path) -> None:
    """Logs, else how it ended, else nothing."""
    run = RunFolder(write_run(tmp_path / "one", "nl2repobench", made_by_agent=True))
    attempt, show = run.attempt(KEY), f"groundup show {tmp_path / 'one'} six/0"
    assert further(run, KEY) == f": `{show}` says how it ended"
    attempt.logs.mkdir(exist_ok=True)
    assert further(run, KEY) == f": `{show} --logs` shows what was printed"
    assert further(run, AttemptKey(task="absent")) == ""


def printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], one: Lost, test: str | None) -> tuple[str, str]:
    """Return what is printed of an attempt, and what is said of it."""
    run = RunFolder(write_run(tmp_path / "one", "nl2repobench"))
    print_every(run, one, test, Settings(cache_dir=tmp_path / "cache"))
    ended = capsys.readouterr()
    return ended.out, ended.err


def test_each_lost_test_is_shown_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what it says, demands, calls and a guess; those that say nothing of their own stand together."""
    tests = (
        result("passes"),
        result("fails", "failed", message="short", detail="E   assert 1 == 2\nE   more", flaky=True),
        result("calls", "error", message="boom", calls="/workspace/a.py:3: f()"),
        result("gone", "missing", message="its file was not collected"),
        result("silent", "skipped"),
        *(result(f"many{number}", "missing", message="too many") for number in range(21)),
        result("uncounted", "failed", expected=False, message="no matter"),
    )
    out, err = printed(tmp_path, capsys, Lost(KEY, None, tests), None)
    assert out == "\n".join(
        [
            "",
            "──  fails: failed, passed when it ran again (flaky)",
            "E   assert 1 == 2",
            "E   more",
            "",
            "──  calls: error",
            "boom",
            "calls a.py:3: f()",
            "",
            "──  tests without a result: 1, its file was not collected",
            "gone",
            "",
            "──  tests without a result: 1",
            "silent",
            "",
            "──  tests without a result: 21, too many",
            *(f"many{number}" for number in range(20)),
            "and 1 more, which --json lists",
            "",
        ]
    )
    assert err == "groundup: six/0: 25 of 26 expected tests did not pass\n"


def test_without_tests_the_reasons_are_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By their stages."""
    run = RunFolder(write_run(tmp_path / "one", "nl2repobench"))
    line = run.latest()[KEY]
    assert line.verdict is not None
    reasons = (
        Reason(stage=Stage.INSTALL, message="no metadata"),
        Reason(stage=Stage.INSTALL, message="no wheel"),
        Reason(stage=Stage.IMPORT, message="no module"),
    )
    lost = Lost(KEY, line.but(verdict=line.verdict.but(reasons=reasons)), ())
    print_every(run, lost, None, Settings(cache_dir=tmp_path / "cache"))
    ended = capsys.readouterr()
    assert ended.out == "\n──  install\nno metadata\nno wheel\n\n──  import\nno module\n"
    assert ended.err == "groundup: six/0 has no list of tests\n"


@pytest.mark.parametrize(
    ("tests", "test", "said"),
    [
        ((result("a"), result("b")), None, "all 2 expected tests passed"),
        ((result("a"), result("b")), "a", "six/0: 0 of 2 expected tests whose names hold 'a' did not pass"),
        (
            (
                result("a", "missing", kind="dependency", message="missing"),
                result("b", "failed", kind="dependency", message="too many: no registry has it", expected=False),
                result("c", kind="dependency"),
            ),
            None,
            "2 of 3 dependencies are missing, too many or elsewhere; 1 that no registry has",
        ),
    ],
)
def test_a_sentence_counts_what_was_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tests: tuple[TestResult, ...], test: str | None, said: str
) -> None:
    """Of all, or of those with a name."""
    assert printed(tmp_path, capsys, Lost(KEY, None, tests), test)[1] == f"groundup: {said}\n"
