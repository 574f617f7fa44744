"""What a run of hidden tests is worth."""

import pytest

from groundup.domain.errors import SandboxError
from groundup.domain.verdicts import Reason, Stage
from groundup.grading.last_words import LastWords, stop_of
from groundup.grading.library.composition import SHADOWS, Dropped
from groundup.grading.library.decision import Decision, FatalTest, decide, explained, reason
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grading.library.report import ImportCheck, Result, RunnerReport
from groundup.sandbox.protocol import CommandResult, Ending

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
EXPECTED = frozenset({NumberedTest("t::a"), NumberedTest("t::b"), NumberedTest("t::c")})
FROM_SUBMISSION = {"calc": ImportCheck(file="/workspace/calc/__init__.py", error=None)}


def _report(results: dict[str, str], **fields: object) -> RunnerReport:
    said = {
        NumberedTest.parse(name): Result.model_validate({"outcome": outcome}) for name, outcome in results.items()
    }
    whole = {"results": said, "imports": FROM_SUBMISSION, "exit_code": 1, **fields}
    return RunnerReport.model_validate(whole)


def _result(exit_code: int | None = 0, ending: Ending = Ending.EXITED) -> CommandResult:
    return CommandResult(exit_code=exit_code, ending=ending, stdout=b"", stderr=b"", duration_s=1.0)


def _decide(
    report: RunnerReport,
    result: CommandResult | None = None,
    ended: tuple[FatalTest, ...] = (),
) -> Decision:
    return decide(EXPECTED, HIDDEN, report, result or _result(), ended)


def test_the_expected_tests_are_the_denominator() -> None:
    """Missing tests stay in the denominator, and tests of one's own are counted but never scored."""
    decision = _decide(_report({"t::a": "passed", "t::b": "failed", "mine::x": "passed", "mine::y": "passed"}))

    assert (decision.passed, decision.expected, decision.extra_passed) == (1, 3, 2)
    assert {result.id: result.outcome for result in decision.results if result.expected} == {
        "t::a": "passed",
        "t::b": "failed",
        "t::c": "missing",
    }
    assert [reason.stage for reason in decision.reasons] == [Stage.TEST]


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped", "xfailed", "xpassed"])
def test_only_passing_passes(outcome: str) -> None:
    """A skipped test, an expected failure and an unexpected success are not passes."""
    assert _decide(_report({"t::a": outcome})).passed == 0


def test_a_perfect_run_has_no_reasons() -> None:
    """Nothing is held against a submission that passes everything."""
    decision = _decide(_report({"t::a": "passed", "t::b": "passed", "t::c": "passed"}))

    assert (decision.passed, decision.reasons) == (3, ())


ALL_PASSED = {"t::a": "passed", "t::b": "passed", "t::c": "passed"}
UNENDED = _report(ALL_PASSED, exit_code=None)


@pytest.mark.parametrize(
    ("report", "result", "stage", "words"),
    [
        (UNENDED, _result(0), Stage.CRASH, "the test process left with exit code 0 before"),
        (UNENDED, _result(70), Stage.CRASH, "the test process left with exit code 70 before"),
        (UNENDED, _result(-11), Stage.CRASH, "the test process was ended by SIGSEGV before"),
        (_report(ALL_PASSED, exit_code=3), _result(0), Stage.CRASH, "pytest gave up with exit code 3"),
        (UNENDED.but(broken_off="SystemExit: 0"), _result(70), Stage.CRASH, "broken off by SystemExit: 0"),
        (UNENDED, _result(None, Ending.TIMEOUT), Stage.TIMEOUT, "the tests were stopped after 1 s"),
        (UNENDED, _result(None, Ending.WALL_CLOCK), Stage.TIMEOUT, "the tests were stopped after 1 s"),
        (UNENDED, _result(None, Ending.MEMORY), Stage.LIMIT, "stopped for using too much memory"),
        (UNENDED, _result(None, Ending.DISK), Stage.LIMIT, "stopped for using too much disk space"),
        (UNENDED, _result(None, Ending.PROCESSES), Stage.LIMIT, "stopped for using too many processes"),
    ],
    ids=[
        "left",
        "code",
        "signal",
        "gave up",
        "SystemExit",
        "timeout",
        "wall clock",
        "memory",
        "disk",
        "processes",
    ],
)
def test_a_run_without_an_end_is_worth_nothing(
    report: RunnerReport, result: CommandResult, stage: Stage, words: str
) -> None:
    """What was said before a crash, a timeout or a limit does not count, and the kinds are distinguished."""
    decision = _decide(report, result)

    assert (decision.passed, decision.passed_before_end) == (0, 3)
    assert decision.reasons[0].stage is stage
    assert words in decision.reasons[0].message


def test_a_limit_that_was_met_beats_an_end_record() -> None:
    """An end record that was forged before the time ran out gains nothing."""
    assert _decide(_report(ALL_PASSED, exit_code=0), _result(None, Ending.TIMEOUT)).passed == 0


def test_a_signal_is_named() -> None:
    """A person sees which signal ended the tests, and in which test."""
    report = _report({}, exit_code=None, running=NumberedTest("t::b"))

    assert "SIGSEGV" in _decide(report, _result(-11)).reasons[0].message
    assert "t::b" in _decide(report, _result(-11)).reasons[0].message


@pytest.mark.parametrize(
    "file",
    ["/opt/env/lib/python3.10/site-packages/calc/__init__.py", "/workspace-elsewhere/calc.py"],
    ids=["environment", "a neighbour"],
)
def test_a_package_must_come_from_the_submission(file: str) -> None:
    """Passing tests prove nothing about a submission when the package came from elsewhere."""
    decision = _decide(_report(ALL_PASSED, imports={"calc": ImportCheck(file=file, error=None)}))

    assert decision.passed == 0
    assert decision.reasons[0].stage is Stage.IMPORT


@pytest.mark.parametrize("error", ["ModuleNotFoundError: No module named 'calc'", None], ids=["fails", "nowhere"])
def test_what_passes_without_a_package_counts(error: str | None) -> None:
    """Tests that need it fail by themselves; the reason says what is missing."""
    report = _report({"t::a": "passed"}, imports={"calc": ImportCheck(file=None, error=error)})
    decision = _decide(report)

    assert decision.passed == 1
    assert decision.reasons[0].stage is Stage.IMPORT


def test_of_a_run_that_imported_nothing_no_package_is_called_absent() -> None:
    """It did not come so far, for a reason of its own."""
    assert not [one for one in _decide(_report({}, imports={})).reasons if one.stage is Stage.IMPORT]


def test_a_package_in_another_layout_is_called_the_submissions_own() -> None:
    """Its place and the expected one are named; only what lies outside, or in the tests, is a stranger."""
    own = ImportCheck(file="/workspace/lib/calc/__init__.py", error=None)
    hidden = HIDDEN.but(import_roots=("src",))
    (reason, *_) = decide(EXPECTED, hidden, _report(ALL_PASSED, imports={"calc": own}), _result()).reasons
    beside = ImportCheck(file="/workspace/tests/calc.py", error=None)
    (other, *_) = decide(EXPECTED, hidden, _report({}, imports={"calc": beside}), _result()).reasons

    expected = "src/calc.py or src/calc/"
    assert (
        reason.message == f"calc lies at lib/calc/__init__.py in the submission; the tests expect it at {expected}"
    )
    assert "not from the submission" in other.message


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("ModuleNotFoundError: No module named 'calc'", "; the tests expect it at src/calc/ops or calc/ops"),
        ("ModuleNotFoundError: No module named 'calc.ops'", "; the tests expect it at src/calc/ops or calc/ops"),
        ("ModuleNotFoundError: No module named 'calculus'", "'calculus'"),
        (None, "the submission has no file for it at src/calc/ops or calc/ops"),
    ],
)
def test_a_package_that_is_nowhere_is_told_where_it_belongs(error: str | None, told: str) -> None:
    """The specification may leave the layout open; what a package fails to import itself is another matter."""
    hidden = HIDDEN.but(import_roots=("src", "."), packages=("calc.ops",))
    absent = {"calc.ops": ImportCheck(file=None, error=error)}
    (reason, *_) = decide(EXPECTED, hidden, _report({}, imports=absent), _result()).reasons

    assert reason.message.endswith(told)


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (["calc-1.0", "calc-1.0/calc.py", "calc-1.0/localc.py"], "; the submission has it at calc-1.0/calc.py"),
        (["deep/calc", "deep/calc/__init__.py"], "; the submission has it at deep/calc/__init__.py"),
        (["README.md"], "; the tests expect it at calc.py or calc/"),
        ([], "; the submission has no file that counts"),
    ],
)
def test_a_package_that_lies_a_folder_deeper_is_found(kept: list[str], told: str) -> None:
    """Who packed one folder too many, or nothing at all, reads so."""
    absent = {"calc": ImportCheck(file=None, error="ModuleNotFoundError: No module named 'calc'")}
    (why, *_) = decide(EXPECTED, HIDDEN, _report({}, imports=absent), _result(), kept=kept).reasons

    assert why.message.endswith(told)


def test_one_error_is_told_once() -> None:
    """Where the package breaks, with file and line; that its tests could not be collected follows from it."""
    error = "ModuleNotFoundError: No module named 'yaml'"
    report = _report(
        {},
        imports={"calc": ImportCheck(file=None, error=f"{error} (/workspace/calc/io.py, line 3)")},
        collection_errors={"tests/test_a.py": f"{error} (calc/io.py, line 3)", "tests/test_b.py": "KeyError: 1"},
    )

    assert [why.message for why in _decide(report).reasons] == [
        f"calc cannot be imported: {error} (calc/io.py, line 3)",
        "2 test files could not be collected, first tests/test_a.py",
    ]


def test_giving_up_names_the_error_behind_it() -> None:
    """pytest ends with 4 when a conftest cannot be imported; what it printed says why, with file and line."""
    printed = (
        b"ImportError while loading conftest '/workspace/tests/conftest.py'.\n"
        b"tests/conftest.py:1: in <module>\n    import calc.core\n"
        b'E     File "/workspace/calc/core.py", line 12\nE       def f(:\n'
        b"E             ^\nE   SyntaxError: invalid syntax\n"
    )
    gave_up = _result().but(stderr=printed)
    (reason, *_) = _decide(_report({}, exit_code=4), gave_up).reasons

    assert reason.message == "pytest gave up with exit code 4: SyntaxError: invalid syntax (calc/core.py, line 12)"


def test_a_failing_import_is_reported_before_what_follows_from_it() -> None:
    """When a conftest cannot import the package, pytest gives up; the import is the reason, not a crash."""
    check = ImportCheck(file=None, error="ModuleNotFoundError: No module named 'calc'")
    decision = _decide(_report({}, exit_code=4, imports={"calc": check}))

    assert [reason.stage for reason in decision.reasons][:2] == [Stage.IMPORT, Stage.CRASH]


def test_collection_failures_are_reported() -> None:
    """A file that cannot be collected costs its tests only, and is named."""
    decision = _decide(_report({"t::a": "passed"}, collection_errors={"tests/test_b.py": "ImportError: x"}))

    assert decision.passed == 1
    assert [reason.stage for reason in decision.reasons] == [Stage.COLLECTION, Stage.TEST]
    assert "tests/test_b.py" in decision.reasons[0].message


def test_a_warning_filter_that_was_left_out_is_told_after_the_losses() -> None:
    """Plain pytest refuses such a filter and runs nothing: who compares the two reads why they differ."""
    report = _report({"t::a": "failed", "t::b": "passed"}, filters_left_out=("ignore::demo.Noise",))
    decision = _decide(report)

    assert decision.passed == 1
    assert decision.reasons[-1].stage is Stage.IMPORT
    assert "ignore::demo.Noise was left out" in decision.reasons[-1].message


def test_a_dead_sandbox_is_never_a_zero() -> None:
    """An infrastructure failure is raised, so that the attempt is owed again."""
    with pytest.raises(SandboxError):
        _decide(_report({}), _result(None, Ending.SANDBOX_DIED))


def test_reasons_stay_short() -> None:
    """However much is wrong and however long its message, a verdict's line stays small."""
    errors = {f"tests/test_{number}.py": "\u20ac" * 300 for number in range(50)}
    imports = {"calc": ImportCheck(file=None, error="\x1b" * 300)}
    decision = _decide(_report({"t::a": "failed"}, collection_errors=errors, imports=imports))

    assert len(decision.reasons) <= 4
    assert all(len(reason.model_dump_json().encode()) <= 400 for reason in decision.reasons)
    assert all(reason.message.isprintable() for reason in decision.reasons)
    assert reason(Stage.TEST, "a" * 300).message == "a" * 237 + "..."
    assert reason(Stage.TEST, "a" * 240).message == "a" * 240


def test_of_tests_that_are_not_expected_only_the_outcome_and_the_message_are_kept() -> None:
    """A traceback, and guesses of its origin, are for those that count; so is the stack of one that hung."""
    texts = {"message": "lost", "detail": "trace", "demand": "1 != 2", "calls": "calc.add", "probably": "calc.py"}
    lost = Result.model_validate({"outcome": "failed", **texts})
    stop = LastWords("hung for 2 s", stack="calc.py:1: in add")
    fatal = (NumberedTest("t::b"), NumberedTest("mine::y"))
    report = _report({}).but(
        results=dict.fromkeys([NumberedTest("t::a"), NumberedTest("mine::x"), fatal[1]], lost)
    )
    decision = _decide(report, ended=tuple(FatalTest(test=test, stop=stop) for test in fatal))
    known = {one.id: one.model_dump(include=set(texts)) for one in decision.results}

    blank = dict.fromkeys(texts, "")
    assert known["t::a"] == texts
    assert known["mine::x"] == {**blank, "message": "lost"}
    assert known["t::b"] == {**blank, "message": "hung for 2 s", "detail": "calc.py:1: in add\nE   hung for 2 s"}
    assert known["mine::y"] == {**blank, "message": "hung for 2 s"}


def test_tests_that_were_left_out_with_their_file_are_counted_and_say_why() -> None:
    """Where two tests hung and three were lost, the reasons also explain the third."""
    ended = (FatalTest(test=NumberedTest("t::b")), FatalTest(test=NumberedTest("t::c"), whole_file=True))
    decision = _decide(_report({}), ended=ended)

    assert [reason.message for reason in decision.reasons] == [
        "2 tests ended the test process: lost, first t::b",
        "the other 1 of t were not tried, after 2 ended the process",
    ]
    assert {result.id: result.message for result in decision.results} == {
        "t::a": "not tried: 2 tests had ended the process",
        "t::b": "ended the test process",
        "t::c": "ended the test process",
    }


def test_tests_of_a_file_that_was_not_collected_say_why() -> None:
    """Each names the error, so that a hundred of them are one cause; what is in another file says nothing."""
    errors = {"t": "ImportError: cannot import name 'x' (/workspace/calc/a.py, line 3)"}
    decision = _decide(_report({}, collection_errors=errors))
    said = "not collected: ImportError: cannot import name 'x' (calc/a.py, line 3)"
    assert {result.id: result.message for result in decision.results} == dict.fromkeys(
        ("t::a", "t::b", "t::c"), said
    )
    other = _decide(_report({}, collection_errors={"u": "ImportError"}))
    assert {result.message for result in other.results} == {""}


@pytest.mark.parametrize(
    ("ending", "stage", "words"),
    [
        (Ending.EXITED, Stage.CRASH, "ended the test process with exit code 3"),
        (Ending.TIMEOUT, Stage.TIMEOUT, "hung for 20 s in calc.py, line 3, in add"),
        (Ending.MEMORY, Stage.LIMIT, "used too much memory"),
        (Ending.DISK, Stage.LIMIT, "used too much disk space"),
    ],
)
def test_how_a_test_ended_the_process_is_told(ending: Ending, stage: Stage, words: str) -> None:
    """A test that was left out is reported by its cause, and where the sandbox knows a limit, by that."""
    stderr = b'Stack (most recent call first):\n  File "/workspace/calc.py", line 3 in add\n'
    result = CommandResult(exit_code=3, ending=ending, stdout=b"", stderr=stderr, duration_s=30.0)
    culprit = FatalTest(test=NumberedTest("t::c"), ending=ending, stop=stop_of(result, 20.0, 60.0))
    decision = _decide(_report({"t::a": "passed", "t::b": "passed"}), ended=(culprit,))
    told = {result.id: result.message for result in decision.results}

    assert (decision.passed, decision.reasons[0].stage) == (2, stage)
    assert told["t::c"] == words
    assert decision.reasons[0].message.startswith(f"1 test {words.partition(' in ')[0]}: lost, first t::c")
    assert decision.timed_out is (stage is Stage.TIMEOUT)


DROPPED = (
    Dropped(path="pyproject.toml", why="it is a project file"),
    Dropped(path="yaml.py", why=f"{SHADOWS} one of the environment"),
)


@pytest.mark.parametrize(
    ("stage", "message", "told"),
    [
        (
            Stage.TEST,
            "No such file or directory: '/workspace/pyproject.toml'",
            "pyproject.toml was left out (it is a",
        ),
        (Stage.TEST, "No such file or directory: '/workspace/other.toml'", ""),
        (
            Stage.TEST,
            "No module named 'cowsay.deep'",
            "nothing that a submission requires is installed for the tests",
        ),
        (Stage.TEST, "No module named 'calc.ops'", ""),
        (Stage.TEST, "No module named 'helper'", ""),
        (Stage.TEST, "No module named 'tkinter'", ""),
        (Stage.TEST, "No module named 'tests_of_mine'", ""),
        (Stage.IMPORT, "yaml has no attribute x", f"yaml.py was left out: it {SHADOWS} one of the environment"),
        (Stage.TEST, "yaml has no attribute x", ""),
    ],
)
def test_what_is_not_there_is_explained_by_what_was_left_out(stage: Stage, message: str, told: str) -> None:
    """A file, a module that stood in for another, or a requirement; what is the submission's own is not."""
    found = explained(Reason(stage=stage, message=message), DROPPED, ["src/helper.py"], HIDDEN)
    assert found.stage is stage
    assert found.message.startswith(f"{message}; {told}" if told else message)
    assert bool(told) or found.message == message
