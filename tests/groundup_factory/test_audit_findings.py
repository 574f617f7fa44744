"""What the verdicts of an audit's runs say of a task."""

from groundup.domain.verdicts import Graded, GraderIdentity, Score, Status, TestResult, Verdict
from groundup.suites.base import HiddenCode
from groundup_factory.audit_findings import (
    Audit,
    Readings,
    TaskAudit,
    TaskFacts,
    judged,
    page,
    read_hidden_tests,
)


def graded(outcomes: dict[str, str], *, status: Status = Status.GRADED) -> Graded:
    """Return an attempt in which the tests did that."""
    passed = sum(outcome == "passed" for outcome in outcomes.values())
    return Graded(
        verdict=Verdict(
            status=status,
            score=Score(numerator=passed, denominator=len(outcomes)) if status is Status.GRADED else None,
            grader=GraderIdentity(name="strict", version="1"),
        ),
        tests=tuple(
            TestResult.model_validate({"id": name, "outcome": outcome, "expected": True})
            for name, outcome in outcomes.items()
        ),
    )


ALL = graded({"a": "passed", "b": "passed"})
NONE = graded({"a": "failed", "b": "failed"})
HALF = graded({"a": "passed", "b": "failed"})


def audited(*oracle: Graded, nop: Graded = NONE, answers: tuple[str, ...] = (), **others: Graded) -> TaskAudit:
    """Return the audit of these attempts."""
    facts = TaskFacts(task="demo", declared={"1": 3}, answers=answers, readings=Readings(tests=2))
    return judged(facts, oracle, {"nop": nop, **others}, worthless=("nop",))


def test_a_task_is_valid_when_the_oracle_passes_and_nothing_does_not() -> None:
    """Nothing else makes a task valid."""
    found = audited(ALL, ALL)
    assert (found.standing, found.why, found.free) == ("valid", (), ())
    assert (found.oracle.full, found.oracle.runs, found.oracle.numerator) == (2, 2, 2)


def test_flaky_tests_are_named() -> None:
    """A test that does not do the same each time is named, and an oracle that fails once makes a task invalid."""
    found = audited(ALL, HALF)
    assert found.standing == "invalid"
    assert found.oracle.flaky == ("b",)
    assert found.why == (
        "the oracle has its full score in 1 of 2 runs (1 of 2)",
        "1 tests are flaky: b",
    )
    outside = graded({"a": "passed", "b": "passed"})
    gone = Graded(verdict=ALL.verdict, tests=ALL.tests[:1])
    assert audited(outside, gone).standing == "doubtful"
    assert audited(outside, gone).oracle.flaky == ("b",)


def test_a_score_for_nothing_is_invalid_and_for_a_stub_doubtful() -> None:
    """The empty submission may pass nothing; what a stub or a copy passes is the floor, test by test."""
    assert audited(ALL, nop=HALF).standing == "invalid"
    found = audited(ALL, stub=HALF)
    few = graded({"a": "passed", "b": "failed", "c": "failed"})
    assert (found.standing, found.free) == ("doubtful", ("a",))
    assert found.floors["stub"].passed == ("a",)
    assert audited(ALL, stub=few).standing == "valid"


def test_a_cheat_that_is_found_out_gains_nothing() -> None:
    """A submission with the status tampered counts neither for nor against a task."""
    found = audited(ALL, cheat=graded({"a": "passed", "b": "passed"}, status=Status.TAMPERED))
    assert found.standing == "valid"
    assert found.floors["cheat"].status == "tampered"


def test_what_the_machine_failed_at_is_not_audited() -> None:
    """A failure of the infrastructure says nothing of a task."""
    assert audited(graded({}, status=Status.INFRASTRUCTURE)).standing == "not audited"
    assert audited().standing == "not audited"
    without = audited(ALL, nop=graded({}, status=Status.INFRASTRUCTURE), stub=HALF)
    assert (without.standing, without.why) == ("not audited", ("nop has no verdict", "stub scores 1 of 2"))
    assert audited(ALL, HALF, stub=graded({}, status=Status.INFRASTRUCTURE)).standing == "invalid"


def test_the_page_has_a_row_for_each_task_and_names_what_was_found() -> None:
    """People see every column, and the tests by name."""
    audit = Audit(
        suite="toy", grader="strict", groundup="1", tasks=(audited(ALL, HALF, stub=HALF, answers=("x.py",)),)
    )
    text = page(audit)
    assert (
        "| task | standing | oracle | flaky | nop | stub | declared | assert nothing | hidden names | answers |"
        in text
    )
    assert "| demo | invalid | 1/2 (1 of 2) | 1 | 0 | 1 | 3 | 0 of 2 | 0 | 1 |" in text
    assert "Flaky: `b`" in text
    assert "Pass without the submission's behaviour: `a`" in text


def test_a_task_without_a_specification_is_not_valid() -> None:
    """Which names are hidden is unknown then, and not none; nor is an unread part a good one."""
    code = HiddenCode(files={"test_a.py": "def test_a(): assert lib.f()"}, packages=("lib",), specification=None)
    readings = read_hidden_tests(code)
    assert readings.hidden_names is None
    found = judged(TaskFacts(task="demo", readings=readings), [ALL], {"nop": NONE}, worthless=("nop",))
    assert (found.standing, found.why) == (
        "not audited",
        ("there is no specification to compare the tests with",),
    )
    assert "| - |" in page(Audit(suite="s", grader="strict", groundup="1", tasks=(found,)))
    unread = TaskFacts(task="demo", unread=("the original is gone",))
    assert judged(unread, [ALL], {"nop": NONE}, worthless=("nop",)).why == ("the original is gone",)


def test_a_task_with_few_of_its_tests_is_doubtful() -> None:
    """Where most tests were lost, such as for missing data, a score is of another library."""
    facts = TaskFacts(task="demo", declared={"1": 9, "2": 5})
    found = judged(facts, [ALL], {"nop": NONE}, worthless=("nop",))
    assert (found.standing, found.why) == ("doubtful", ("2 of 5 tests are expected of a submission",))


def test_a_task_without_an_oracle_says_so() -> None:
    """Not audited, with the reason."""
    assert audited().why == ("there is no oracle",)
    assert audited(graded({}, status=Status.INFRASTRUCTURE)).why[0] == "the oracle has no verdict"
