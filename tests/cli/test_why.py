"""`groundup why`: what attempts lost, one screen by cause, and each lost test with `--full`."""

import json
import random
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from groundup.cli.lost_tests import all_passed
from groundup.cli.why import SCREEN
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Reason, Stage, TestResult
from groundup.store.folder import RunFolder, RunWriter
from tests.cli.conftest import Groundup, Predict
from tests.reports.made import Word, run_of
from tests.reports.test_causes import CALLED, FAILED_IN_TEST, lost
from tests.runs.toy import BEHAVIOUR

WRITTEN = "tests.runs.toy:create_written"


def write_losses(folder: Path, name: str, attempts: Sequence[Sequence[Sequence[TestResult]]]) -> None:
    """Write a run with these tests, by task and attempt."""
    words: dict[str, list[Word]] = {
        f"task-{number:04}": [(sum(not test.lost for test in tests), len(tests)) for tests in several]
        for number, several in enumerate(attempts)
    }
    config, lines = run_of(name, words, loaded=WRITTEN)
    with RunWriter.create(folder / "runs" / name, config) as writer:
        for key, line in lines.items():
            tests = attempts[int(key.task[-4:])][key.index]
            first = min((test.id for test in tests if test.lost), default="")
            told = Reason(stage=Stage.TEST, message=f"some expected tests did not pass, first {first}: ...")
            reasons = (told, Reason(stage=Stage.TEST, message="1 of 4 endpoints is missing")) if first else ()
            assert line.verdict is not None
            lost = line.but(submission=f"made-by-{name}-{key}", verdict=line.verdict.but(reasons=reasons))
            writer.record(lost, tests, {})


def many(causes: Sequence[int], passed: int = 3) -> list[TestResult]:
    """Return as many lost tests of each cause as *causes* says, every second one at a line of the submission."""
    tests = [
        TestResult(id=f"tests/test_a.py::passed{number}", outcome="passed", expected=True)
        for number in range(passed)
    ]
    for number, size in enumerate(causes):
        kind, at_line = f"{chr(97 + number % 26)}{number // 26 * 'x'}Error", number % 2
        detail = CALLED.format(number, 100 + number) if at_line else FAILED_IN_TEST.format(f"'{kind}'")
        said = f"{kind}: value {number}" if at_line else f"AssertionError: assert '{kind}' == 2"
        tests += [lost(f"test_{kind}{one:04}[{number}]", said, detail) for one in range(size)]
    return tests


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let standard output be a terminal, one without styles; in a test, for pytest changes the stream before."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def test_many_losses_of_few_causes_are_one_screen(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cause once, most tests first: the line, one test with its values, others by name."""
    on_a_terminal(monkeypatch)
    write_losses(tmp_path, "r", [[many([3, 222, 11])]])
    shown = groundup("why", "r").out
    lines = shown.splitlines()
    assert len(lines) <= SCREEN
    assert lines[:2] == [
        "task-0000/0: 1.3 % (3/239); 236 tests lost by 3 causes",
        "  test: 1 of 4 endpoints is missing",
    ]
    headings = [line for line in lines if " tests: " in line]
    assert headings == ["222 tests: bError: value 1", "11 tests: AssertionError: assert 'cError' == 2",
                        "3 tests: AssertionError: assert 'aError' == 2"]  # fmt: skip
    place = lines.index(headings[0]) + 1
    assert lines[place : place + 3] == [
        '  pkg/deep.py:101: raise ValueError(f"bad {x}")',
        "  tests/test_a.py::test_bError0000[1]",
        "    tests/test_a.py:8: in test_fx",
    ]
    assert "    E   AssertionError: assert 'cError' == 2" in lines
    also = next(line for line in lines if line.startswith("  also test_bError0001[1], test_bError0002[1]"))
    assert lines[lines.index(also) + 1].endswith(" more")
    assert shown.count("test_bError0000[1]") == 1
    assert "some expected tests did not pass" not in shown


@pytest.mark.parametrize("seed", range(30))
def test_a_screen_has_all_causes_that_fit(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """However many there are, the largest are shown, the others are counted, and nothing is counted twice."""
    on_a_terminal(monkeypatch)
    draw = random.Random(seed)
    sizes = [draw.randint(1, 300) for _ in range(draw.randint(1, 60 if seed % 3 == 0 else 12))]
    write_losses(tmp_path, "r", [[many(sizes)]])
    lines = groundup("why", "r", "task-0000").out.splitlines()
    assert len(lines) <= SCREEN
    shown = [int(line.split()[0]) for line in lines if line.split()[1:2] in (["tests:"], ["test:"])]
    assert shown == sorted(sizes, reverse=True)[: len(shown)]
    rest = f"and {len(sizes) - len(shown)} cause{'s' * (len(sizes) - len(shown) > 1)} more"
    assert lines[-1].startswith(rest) is (len(shown) < len(sizes))


def test_a_pipe_has_everything(groundup: Groundup, tmp_path: Path) -> None:
    """In a file or a pipe each cause is whole, each test is named, and each attempt has its line."""
    sizes = [*range(1, 60), 200]
    write_losses(tmp_path, "r", [[many(sizes)]])
    shown = groundup("why", "r").out
    headings = [
        int(line.split()[0]) for line in shown.splitlines() if line.split()[1:2] in (["tests:"], ["test:"])
    ]
    assert headings == sorted(sizes, reverse=True)
    assert "test_hxxError0199[59]" in shown
    assert " more" not in shown
    write_losses(tmp_path, "s", [[many([number + 1])] for number in range(100)])
    lines = groundup("why", "s").out.splitlines()
    assert len([line for line in lines if line.startswith("task-")]) == 100
    assert "…" not in "".join(lines)


def test_each_attempt_that_lost_has_its_causes(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the first's alone; the attempt that lost most comes first, and one that lost nothing is left out."""
    on_a_terminal(monkeypatch)
    write_losses(tmp_path, "r", [[many([2]), many([]), many([5, 1])], [many([4]), many([1]), many([1])]])
    shown = groundup("why", "r", "task-0000")
    heads = [line for line in shown.out.splitlines() if line.startswith("task-")]
    assert heads == [
        "task-0000/2: 33.3 % (3/9); 6 tests lost by 2 causes",
        "task-0000/0: 60.0 % (3/5); 2 tests lost",
    ]
    whole = groundup("why", "r").out.splitlines()
    assert whole[0] == "r: 64.4 % [10.2 %, 94.4 %] over 2 tasks: of 6 attempts 5 partial, 1 solved"
    assert len([line for line in whole if line.startswith("task-")]) == 5
    assert len(whole) <= SCREEN
    documents = json.loads(groundup("why", "r", "task-0000", "--json").out)["attempts"]
    assert [one["attempt"] for one in documents] == ["task-0000/0", "task-0000/2"]
    assert [[cause["tests"] for cause in one["causes"]] for one in documents] == [[2], [5, 1]]


def test_many_attempts_have_a_line_each(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of a hundred lost tasks is a screen, too: the largest losses with their cause, the others counted."""
    on_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "100")
    write_losses(tmp_path, "r", [[many([number + 1])] for number in range(100)])
    lines = groundup("why", "r").out.splitlines()
    assert len(lines) == SCREEN
    assert lines[0].startswith("r: 10.2 % [")
    assert max(map(len, lines[:-1])) == 100
    assert lines[1].startswith(
        "task-0099/0: 2.9 % (3/103); 100 tests lost, first tests/test_a.py::test_aError0000[0]"
    )
    assert lines[-1] == f"and 62 more; `groundup why {tmp_path}/runs/r TASK` shows one of them"


def test_all_prints_each_lost_test(groundup: Groundup, tmp_path: Path) -> None:
    """As `why` did before there were causes: each with its whole traceback, and the reasons that none tells."""
    write_losses(tmp_path, "r", [[many([2, 1])]])
    ended = groundup("why", "r", "--full")
    assert ended.out.count("──") == 4
    assert "tests/test_a.py::test_aError0001[0]: failed\ntests/test_a.py:14: in test_b\n" in ended.out
    assert "1 of 4 endpoints is missing" in ended.out
    assert "some expected" not in ended.out
    assert "3 of 6 expected tests did not pass" in ended.err


def test_tests_are_found_by_their_names(groundup: Groundup, tmp_path: Path) -> None:
    """One that passed is not called lost; a name that no test has is refused, and does not read as all passed."""
    write_losses(tmp_path, "r", [[many([2])]])
    found = groundup("why", "r", "task-0000", "-t", "0001")
    assert "1 of 1 expected tests whose names hold '0001' did not pass" in found.err
    assert found.out.count("──") == 2
    passed = groundup("why", "r", "task-0000", "-t", "passed1")
    assert (passed.code, "0 of 1 expected tests whose names hold 'passed1' did not pass" in passed.err) == (
        0,
        True,
    )
    wrong = groundup("why", "r", "task-0000", "-t", "zzz")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no name of 5 tests holds 'zzz'; they are named such as tests/test_a.py::passed0" in wrong.err


def test_tests_that_say_nothing_are_one_cause(groundup: Groundup) -> None:
    """For people and for programs; an unknown attempt is refused."""
    groundup("run", WRITTEN, "-a", "nop", "--run-id", "one")
    ended = groundup("why", "one", "task-0000")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "task-0000/0: 0.0 % (0/2); 2 tests lost",
        "  test: nothing passed",
        "",
        "2 tests: failed",
        "  first",
        "  also second",
    ]
    document = json.loads(groundup("why", "one", "task-0000", "--json").out)
    assert [one["id"] for one in document["lost"]] == document["causes"][0]["names"] == ["first", "second"]
    assert document["reasons"] == [{"stage": "test", "message": "nothing passed"}]
    assert "tests without a result: 2\nfirst\nsecond\n" in groundup("why", "one", "task-0000", "--full").out
    assert groundup("why", "one", "task-0000/5").code == 2
    assert groundup("why", "one", "other").code == 2


def test_how_an_attempt_ended_comes_before_what_was_lost(groundup: Groundup, tmp_path: Path) -> None:
    """A reply without a file is no bad library: who reads why sees that first."""
    script = tmp_path / "prose.toml"
    script.write_text('[[turn]]\ncontent = "I would begin with a parser."\n')
    groundup(
        "run", WRITTEN, "-a", "oneshot", "-m", f"scripted/{script}", "--tasks", "task-0000", "--run-id", "one"
    )
    ended = "ended by format (the reply holds no file that can be read: it is prose)"
    assert groundup("why", "one").out.splitlines()[1:3] == [f"  {ended}", "  test: nothing passed"]
    assert json.loads(groundup("why", "one", "--json").out)["ended"] == ended
    assert f"{ended}; test: nothing passed" in groundup("report", "one", "--format", "markdown").out


def test_without_a_task_those_that_lost_are_shown(groundup: Groundup, predict: Predict) -> None:
    """Who names no task is not sent to look for it; where nothing was lost, that is said."""
    groundup("evaluate", WRITTEN, "-p", predict({"task-0000": "pass", "task-0001": "half"}), "--run-id", "one")
    assert groundup("why", "one").out.startswith("task-0001/0: 50.0 % (1/2); 1 test lost\n")
    groundup("run", WRITTEN, "-a", "oracle", "--run-id", "whole")
    assert "no attempt lost points" in groundup("why", "whole").err
    assert "all 2 expected tests passed" in groundup("why", "whole", "task-0000").err


def test_attempts_without_a_verdict_are_counted_with_the_command_that_finishes_them(
    groundup: Groundup, tmp_path: Path
) -> None:
    """A run that was cut off has not lost nothing: whoever asks why learns that it is not over."""
    config, lines = run_of("cut", {"task-0000": [(2, 2)], "task-0001": [(1, 2)]}, loaded=WRITTEN)
    with RunWriter.create(tmp_path / "runs" / "cut", config) as writer:
        first, second = lines
        again = f"1 attempt has no verdict; finish with `groundup resume {writer.folder.path}`"
        none = groundup("why", "cut")
        assert none.code == 2
        assert "no attempt has a verdict yet; 2 attempts have no verdict; finish with `groundup resume" in none.err
        writer.record(lines[first], [], {})
        whole = groundup("why", "cut")
        assert whole.code == 2
        assert f"no attempt lost points; {again}" in whole.err
        assert again not in groundup("why", "cut", str(first)).err
        assert again in groundup("why", "cut", str(second)).err
        told = Reason(stage=Stage.TEST, message="some expected tests did not pass")
        verdict = lines[second].verdict
        assert verdict is not None
        writer.record(lines[second].but(verdict=verdict.but(reasons=(told,))), [], {})
        assert "no verdict" not in groundup("why", "cut").err


def test_nothing_is_not_called_passed() -> None:
    """Of a job that was not executed nothing was expected, and nothing passed."""
    assert all_passed([]) == "no test was counted, so none can have passed"


def test_tests_that_were_not_tried_stand_below_their_reason(groundup: Groundup, tmp_path: Path) -> None:
    """Twenty tests that were left out for one reason do not repeat it."""
    said = "not tried: 5 tests had ended the process"
    tests = [lost(name, said, outcome="missing") for name in ("first", "second")]
    write_losses(tmp_path, "r", [[tests]])
    assert f"2 tests: {said}\n  tests/test_a.py::first\n  also second\n" in groundup("why", "r").out
    listed = f"tests without a result: 2, {said}\ntests/test_a.py::first\ntests/test_a.py::second\n"
    assert listed in groundup("why", "r", "--full").out


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_three_questions_are_answered_in_five_lines(
    groundup: Groundup, predict: Predict, tmp_path: Path, form: str
) -> None:
    """Is my repository good, and why not; which model is better; what did this run lose, and where."""

    def asked(*arguments: str | Path) -> str:
        lines = groundup(*arguments).out.replace("\\", "").splitlines()
        return " ".join(" ".join([line for line in lines if line][:5]).split())

    one = ("evaluate", WRITTEN, "-p", predict({"task-0000": "half"}), "--tasks", "task-0000", "--format", form)
    assert "task-0000: 50.0 % (1/2); 1 test lost, failed" in asked(*one)
    write_losses(tmp_path, "a", [[many([2])], [many([5, 2])], [many([1])]])
    write_losses(tmp_path, "b", [[many([1])], [many([3, 1])], [many([])]])
    compared = asked("compare", "a", "b", "--format", form)
    assert (
        "b +17.6 points over a [-56.7, +69.7], p 0.616 (better on 3 of 3 tasks): these tasks cannot tell"
        in compared
    )
    lost = (
        "lost most: task-0001 30.0 %, 7 tests lost, 5 of them by AssertionError: assert 'aError' == 2; task-0000"
    )
    assert lost in asked("report", "a", "--format", form)


def test_a_row_of_a_report_names_the_same_causes(groundup: Groundup, tmp_path: Path) -> None:
    """Three of them, with how many tests each; forms for programs have them all, and the words."""
    write_losses(tmp_path, "r", [[many([4, 3, 2, 1, 1, 1, 1])], [many([2])], [many([])]])
    (report,) = json.loads(groundup("report", "r", "--json").out)["runs"]
    losses = [row["losses"] for row in report["attempts"]]
    assert [cause["tests"] for cause in losses[0]["causes"]] == [4, 3, 2, 1, 1]
    assert (losses[0]["tests"], losses[0]["further"], losses[2]) == (13, 2, None)
    causes = (
        "test: 13 tests lost by 7 causes: 4 AssertionError: assert 'aError' == 2; 3 pkg/deep.py:101: bError: "
        "value 1; 2 AssertionError: assert 'cError' == 2; 4 more"
    )
    one = "test: 2 tests lost, first tests/test_a.py::test_aError0000[0]: AssertionError: assert 'aError' == 2"
    for form in ("csv", "markdown", "junit"):
        text = groundup("report", "r", "--format", form).out.replace("\\", "").replace("&apos;", "'")
        assert causes in text
        assert f"test: 1 of 4 endpoints is missing; {one}" in text


def test_lost_tests_are_read_without_the_others(tmp_path: Path) -> None:
    """What a test is called or says cannot make it pass for one that passed."""
    tests = [*many([2]), lost('"outcome":"passed"', 'of {"outcome":"passed"}')]
    write_losses(tmp_path, "r", [[tests]])
    attempt = RunFolder(tmp_path / "runs/r").attempt(AttemptKey(task="task-0000"))
    assert attempt.lost_tests() == tuple(one for one in attempt.tests() if one.lost)
    assert len(attempt.lost_tests()) == 3


def test_compare_tells_what_a_mend_brought_back(groundup: Groundup, tmp_path: Path) -> None:
    """Of one task of two runs, by cause: what came back, what is new, what fails otherwise and how before."""
    before, after = many([2, 1]), many([0, 1])
    after += [one.but(outcome="passed", message="", detail="") for one in before[3:5]]
    after.append(lost("test_new", "KeyError: 'k'"))
    before.append(lost("test_next", "KeyError: 'first'"))
    after.append(lost("test_next", "KeyError: 'second'"))
    write_losses(tmp_path, "old", [[before]])
    write_losses(tmp_path, "new", [[after]])
    lines = groundup("compare", "old", "new", "task-0000").out.splitlines()
    assert lines[0].startswith("task-0000/0: ")
    counted = "2 came back; 1 newly lost; 1 still lost, for another reason than before; 1 lost as before"
    assert lines[1] == counted
    assert lines[3:5] == ["2 tests came back:", "  2 tests: AssertionError: assert 'aError' == 2"]
    at = lines.index("1 test still lost, for another reason than before:")
    assert lines[at + 1 : at + 3] == ["  1 test: KeyError: 'second'", "    before: KeyError: 'first'"]
    assert [line for line in lines if line.endswith(":")][1:] == [
        "1 test newly lost:",
        "1 test still lost, for another reason than before:",
        "1 test lost as before:",
    ]
    document = json.loads(groundup("compare", "old", "new", "task-0000", "--json").out)
    assert document["new"] == ["tests/test_a.py::test_new"]
    assert json.loads(groundup("compare", "old", "new", "task-0000", "--format", "json").out) == document
    assert groundup("compare", "old", "new", "task-0000", "--format", "markdown").code == 2
    assert len(document["back"]) == 2


def test_what_was_left_out_of_a_submission_is_told(groundup: Groundup, predict: Predict) -> None:
    """A name that leads outside is why a file is missing, which no test says."""
    folder = predict({"task-0000": "half"})
    (folder / "task-0000" / BEHAVIOUR).unlink()
    with zipfile.ZipFile(folder / "task-0000" / "submission.zip", "w") as packed:
        packed.writestr(BEHAVIOUR, "half")
        packed.writestr("C:\\me\\a.py", "x = 1")
    groundup("evaluate", WRITTEN, "-p", folder, "--run-id", "one")
    asked = ("why", "one", "task-0000")
    assert "left out of what was handed in: C:\\me\\a.py: name leads outside" in groundup(*asked).out
    assert json.loads(groundup(*asked, "--json").out)["left_out"] == ["C:\\me\\a.py: name leads outside"]


def test_without_a_list_of_tests_the_next_command_tells_more(groundup: Groundup, tmp_path: Path) -> None:
    """Logs where there are some, which `show` names, too; nothing is named that has nothing to tell."""
    config, lines = run_of("r", {"task-0000": [(1, 2)], "task-0001": [(1, 2)]}, loaded=WRITTEN)
    with RunWriter.create(tmp_path / "runs" / "r", config) as writer:
        for key, line in lines.items():
            assert line.verdict is not None
            reasons = (Reason(stage=Stage.TEST, message="a command failed"),)
            logs = {"job.txt": b"why it failed"} if key.task == "task-0000" else {}
            writer.record(line.but(verdict=line.verdict.but(reasons=reasons)), (), logs)
    told = groundup("why", "r", "task-0000").err
    show = f"`groundup show {tmp_path}/runs/r task-0000/0 --logs`"
    assert told == f"groundup: no list of tests: {show} shows what was printed\n"
    assert groundup("why", "r", "task-0000", "--full").err.endswith("--logs` shows what was printed\n")
    assert "why it failed" in groundup("show", "r", "task-0000/0", "--logs").out
    assert "--logs shows what was printed" in groundup("show", "r", "task-0000").err
    assert groundup("why", "r", "task-0001").err == "groundup: no list of tests\n"
    assert groundup("show", "r", "task-0001", "--logs").err.endswith("task-0001/0 has no logs\n")
    shown = groundup("show", "r", "task-0001").err
    assert "--logs" not in shown
    assert shown.endswith("groundup: nothing was handed in yet\n")
