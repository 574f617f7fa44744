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
        "1 flaky test: b",
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


TESTS = """
import calc, calc.deep as deep, other.calc
from calc import Basket as B, _hidden
from calc.more import *
from calcium import no
from .calc import relative
def check_it(x): helper(x)
def helper(x): assert x
def plain(x): return x
def test_by_helper(): check_it(1)
def test_by_fixture(helper): pass
def test_nothing(): plain(calc.shown, deep.__all__)
def not_a_test(): pass
async def test_awaits(): await mock.assert_awaited()
def test_raises():
    with pytest.raises(ValueError): B.take(no.x)
class TestMany:
    def test_compare(self): self.assertEqual(1, 2)
    def test_none(self): "nothing"
    def helper_of(self): pass
    class Inner:
        def test_inner(self): pass
def test_throws(): raise AssertionError
"""


def test_hidden_tests_are_read() -> None:
    """Which check nothing, also through helpers and fixtures, and which names nobody was told of."""
    files = {"tests/test_a.py": TESTS, "tests/broken.py": "def (:", "tests/a.js": "get('/users/{id}/Posts')"}
    known = HiddenCode(
        files=files, packages=("calc",), specification="The Basket is SHOWN. Nothing is deep or calc."
    )
    found = read_hidden_tests(known)
    assert found.tests == 8
    assert found.assert_nothing == (
        "tests/test_a.py::TestMany::test_none",
        "tests/test_a.py::test_nothing",
    )
    assert found.hidden_names == ("calc.Basket.take", "calc._hidden")
    assert read_hidden_tests(HiddenCode(files=files, packages=("calc",), specification=None)).hidden_names is None
    routes = {"a.js": "get('/users/{id}/Posts'); get(`/users/${x}`); get('/secret/:n'); open('/'); open('/x y')"}
    spec = "Users have posts."
    found = read_hidden_tests(HiddenCode(files=routes, packages=(), specification=spec))
    assert (found.tests, found.hidden_names) == (0, ("/secret/:n", "/x"))


def test_the_whole_page() -> None:
    """A row for each task, and below it what was found: at most thirty names of each kind."""
    readings = Readings(tests=40, assert_nothing=tuple(f"t{at}" for at in range(32)), hidden_names=("a.b",))
    facts = TaskFacts(task="odd", declared={"1": 9, "2": 9, "collected": 4}, readings=readings, answers=("x", "y"))
    failed = graded({}, status=Status.INFRASTRUCTURE)
    odd = judged(facts, (ALL, HALF), {"nop": HALF, "stub": ALL, "other": None, "gone": failed}, worthless=("nop",))
    bare = judged(TaskFacts(task="bare"), (), {}, worthless=())
    audit = Audit(suite="lab", grader="strict", groundup="9", tasks=(odd, bare, audited(ALL)))
    said = "assert nothing | hidden names"
    assert (
        page(audit)
        == f"""# Audit of lab (strict)

By groundup 9. *Oracle*: the lowest of its scores, and runs with the full one. *Assert
nothing* and *hidden names* are read in the text of the tests: reasons to look, no verdicts.

| task | standing | oracle | flaky | {" | ".join(("gone", "nop", "other", "stub"))} | declared | {said} | answers |
|{"---|" * 12}
| odd | invalid | 1/2 (1 of 2) | 1 | infrastructure | 1 | none | 2 | 9, 4 | 32 of 40 | 1 | 2 |
| bare | not audited | - (0 of 0) | 0 | - | - | - | - | - | - | - | 0 |
| demo | valid | 2/2 (1 of 1) | 0 | - | 0 | - | - | 3 | 0 of 2 | 0 | 0 |

## odd

the oracle has its full score in 1 of 2 runs (1 of 2); nop scores 1 of 2; gone has no verdict; """
        + (
            "1 flaky test: b; stub scores 2 of 2; the answer is within reach: x, y\n\n"
            "Flaky: `b`\n\n"
            "Pass without the submission's behaviour: `a`, `b`\n\n"
            f"Assert nothing: {', '.join(f'`t{at}`' for at in range(30))}, 2 more\n\n"
            "Names that the specification does not mention: `a.b`\n\n"
            "Answers within reach: `x`, `y`\n\n"
            "## bare\n\nthere is no oracle\n"
        )
    )
