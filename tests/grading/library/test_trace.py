"""What the golden trace takes from a decision."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError, TaskError
from groundup.domain.verdicts import Status
from groundup.grading.library.canary import draw_canaries
from groundup.grading.library.decision import decide
from groundup.grading.library.execution import Execution, Rounds
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grading.library.observing import encoded
from groundup.grading.library.report import ImportCheck, Result, RunnerReport, Sent, parse_report
from groundup.grading.library.staging import Staged
from groundup.grading.library.trace import (
    DIFFERS,
    HOLDS,
    UNFINISHED,
    Trace,
    TraceOutcome,
    TraceRecord,
    names_of_traced,
    trace_of,
    traced,
)
from groundup.grading.library.tracing import TracedSuite
from groundup.grading.library.twin import HiddenSuite
from groundup.sandbox.protocol import CommandResult, Ending

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
CANARIES = draw_canaries(HIDDEN)
SOURCE = """
def test_value(): assert f(1) == "secret"
def test_pair(): assert f(1) == g(1)
def test_truth(): assert f(1)
def test_inside(): assert "part" in f(1)
def test_raised():
    with pytest.raises(KeyError): f(1)
"""
SUITE = HiddenSuite({"t.py": SOURCE.encode()})
NAMES = ("value", "pair", "truth", "inside", "raised")
KEYS = {name: NumberedTest(f"t.py::test_{name}") for name in NAMES}
DIGEST = "c1980264fc22"
"""The first half of SHA-256 of the JSON text "secret" begins so."""
RECORD = TraceRecord.model_validate(
    {
        "runs": 3,
        "form": TracedSuite(SUITE).form(),
        "tests": {
            str(key): {"places": {number: DIGEST if name == "value" else HOLDS}}
            for number, (name, key) in enumerate(KEYS.items(), 1)
        },
    }
)
RIGHT: Mapping[str, tuple[Sent, ...]] = {
    "value": ((encoded("secret"),),),
    "pair": ((encoded(1), encoded(1.0), "true"),),
    "truth": (("true",),),
    "inside": ((encoded("some part"),),),
    "raised": ((encoded(["KeyError", "LookupError", "Exception"]),),),
}


def _rounds(
    sent: Mapping[str, tuple[Sent, ...]], outcome: str = "passed", ending: Ending = Ending.EXITED
) -> Rounds:
    report = RunnerReport(
        results={
            **{key: Result.model_validate({"outcome": outcome}) for key in KEYS.values()},
            **{canary.key: Result(outcome="failed") for canary in CANARIES},
        },
        imports={"calc": ImportCheck(file="/workspace/calc/__init__.py", error=None)},
        exit_code=1,
        values={KEYS[name]: {NAMES.index(name) + 1: values} for name, values in sent.items()},
    )
    return Rounds(
        last=Execution(
            canaries=CANARIES,
            staged=Staged(workspace=Path("/nowhere"), mounts=(), dropped=()),
            report=report,
            result=CommandResult(ending=ending, exit_code=0, stdout=b"", stderr=b"", duration_s=1.0),
            peak_memory_mb=None,
        )
    )


def _judged(rounds: Rounds | None, trace: Trace | None, seed: str = "") -> TraceOutcome:
    last = _rounds({}).last
    decision = decide(frozenset(KEYS.values()), HIDDEN, CANARIES, last.report, last.result)
    return traced(decision, rounds, trace, seed)


def _outcome(**changed: tuple[Sent, ...]) -> TraceOutcome:
    return _judged(_rounds({**RIGHT, **changed}), trace_of(SUITE, RECORD))


def test_what_compares_as_the_original_does_counts() -> None:
    """An honest submission loses nothing, and the outcome says how many tests the trace covers."""
    outcome = _outcome()

    assert (outcome.decision.passed, outcome.decision.status, outcome.decision.reasons) == (5, Status.GRADED, ())
    assert (outcome.applied, outcome.traced, outcome.hidden, outcome.signs) == (True, 5, 3, ())


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("value", ((encoded("wrong"),),)),
        ("value", ((encoded("secret"),), (encoded("wrong"),))),
        ("value", (("no encoding",),)),
        ("pair", ((encoded(1), encoded(1), "false"),)),
        ("pair", ((encoded(1), encoded(2), "true"),)),
        ("pair", ((encoded(1),),)),
        ("truth", (("false",),)),
        ("truth", (("true",), ("false",))),
        ("inside", ((encoded("other"),),)),
        ("inside", ((encoded(object()),),)),
        ("inside", (("[" * 100_000,),)),
        ("inside", (('["b", "no hexadecimal"]',),)),
        ("raised", ((encoded(["ValueError"]),),)),
        ("raised", ((encoded([]),),)),
        ("raised", (("7",),)),
    ],
    ids=str,
)
def test_what_compares_otherwise_does_not_count(name: str, sent: tuple[Sent, ...]) -> None:
    """The test is lost although it was reported as passed; a reason says why, and a sign shows it to a person."""
    outcome = _outcome(**{name: sent})

    assert outcome.decision.passed == 4
    assert outcome.lost == {KEYS[name]: DIFFERS}
    assert outcome.signs == ("tests that pass and compare other values than the original's: 1",)
    assert "not confirmed by the trace" in outcome.decision.reasons[0].message
    assert {test.message for test in outcome.decision.results if test.outcome == "error"} == {DIFFERS}


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("value", ((encoded("secret"),), (encoded("secret"),))),
        ("pair", ((encoded(object()), encoded(1), "true"),)),
        ("inside", ((encoded({"part": 1}),),)),
        ("inside", ((encoded(["part"]),),)),
        ("raised", ((encoded(["OwnError", "KeyError"]),),)),
    ],
)
def test_what_another_implementation_may_do_counts(name: str, sent: tuple[Sent, ...]) -> None:
    """Rounds of a loop, objects with an equality of their own, other containers, subclasses of an exception."""
    assert _outcome(**{name: sent}).decision.passed == 5


def test_silence_confirms_nothing() -> None:
    """Without values, or when the traced tests did not pass, no traced test counts; that alone is no sign."""
    for rounds in (_rounds({}), _rounds(RIGHT, outcome="failed")):
        outcome = _judged(rounds, trace_of(SUITE, RECORD))

        assert outcome.decision.passed == 0
        assert set(outcome.lost.values()) == {UNFINISHED}
        assert outcome.signs == ()


def test_conditions_are_asked_by_the_seed() -> None:
    """Always sending "true" fails where the seed asks for the opposite."""
    trace = trace_of(SUITE, RECORD)
    turned = next(seed for seed in "abcdefghijkl" if trace.suite.asks_opposite(trace.suite.sites[3], seed))

    assert _judged(_rounds(RIGHT), trace, turned).lost == {KEYS["truth"]: DIFFERS}
    assert _judged(_rounds({**RIGHT, "truth": (("false",),)}), trace, turned).decision.passed == 5


def test_tests_without_a_record_count_as_before() -> None:
    """What is not traced is decided by the other passes alone."""
    record = RECORD.model_copy(update={"tests": {}})

    assert _judged(_rounds({}), trace_of(SUITE, record)).decision.passed == 5
    assert not _judged(None, None).applied


def test_a_trace_of_other_tests_is_refused() -> None:
    """A trace that was recorded for other tests would take points from everybody."""
    with pytest.raises(TaskError, match="groundup recipe trace"):
        trace_of(HiddenSuite({"t.py": SOURCE.replace("1", "2").encode()}), RECORD)


def test_a_sandbox_that_died_is_not_the_submissions_fault() -> None:
    """The machine failed; the attempt is owed again."""
    with pytest.raises(SandboxError, match="traced"):
        _judged(_rounds(RIGHT, ending=Ending.SANDBOX_DIED), trace_of(SUITE, RECORD))


def test_a_record_is_the_same_after_it_was_written() -> None:
    """The file has a line for each test and loses nothing."""
    record = RECORD.model_copy(update={"opened": (7,), "unstable": 2})

    assert TraceRecord.model_validate_json(record.text()) == record
    assert record.text().count("\n") == 3 + len(record.tests)


def test_values_belong_to_the_test_that_runs() -> None:
    """What is sent outside of a test, or malformed, belongs to none."""
    lines = [
        b'x {"event": "value", "site": 1, "values": ["early"]}',
        b'x {"event": "begin", "id": "t.py::test_value", "ordinal": 1}',
        b'x {"event": "value", "site": 1, "values": ["one"]}',
        b'x {"event": "value", "site": 1, "values": ["two"]}',
        b'x {"event": "value", "site": 0, "values": ["none"]}',
        b'x {"event": "value", "site": 2, "values": []}',
        b"",
    ]
    report = parse_report(b"\n".join(lines), "x")

    assert report.values == {KEYS["value"]: {1: (("one",), ("two",))}}
    assert report.foreign == 2


def test_cases_keep_their_names_in_any_order() -> None:
    """Cases out of a set come in any order; only where values change names does order count."""

    def report(*names: str) -> RunnerReport:
        return RunnerReport(results={NumberedTest(name): Result(outcome="passed") for name in names})

    one, two = NumberedTest("t.py::test_a[1]"), NumberedTest("t.py::test_a[2]")
    shuffled = report("t.py::test_a[2]", "t.py::test_a[1]")
    named = report("t.py::test_a[x]", "t.py::test_a[y]")

    plain = report("t.py::test_a[1]", "t.py::test_a[2]")
    assert names_of_traced({one, two}, plain, shuffled) == {one: one, two: two}
    assert names_of_traced({two}, plain, named) == {two: NumberedTest("t.py::test_a[y]")}
