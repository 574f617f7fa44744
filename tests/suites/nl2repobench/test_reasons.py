"""Which reasons a verdict names where there are more than it holds."""

from groundup.domain.verdicts import Stage
from groundup.grading.library.decision import MAX_REASONS, Decision, Integrity, reason
from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import RunnerReport
from groundup.sandbox.protocol import CommandResult, Ending
from groundup.suites.nl2repobench.strict import reasons_of
from tests.suites.nl2repobench.trials import RECIPE


def test_a_verdict_says_in_any_case_that_a_lost_test_is_flaky() -> None:
    """Four other reasons do not hide it: another grading may have another score."""
    last = Execution(
        report=RunnerReport(),
        result=CommandResult(ending=Ending.EXITED, exit_code=0, stdout=b"", stderr=b"", duration_s=1.0),
    )
    decision = Decision(
        passed=1,
        expected=2,
        extra_passed=0,
        passed_before_end=1,
        reasons=tuple(reason(Stage.TEST, f"reason {number}") for number in range(MAX_REASONS)),
    )
    flaky = Integrity(flaky=frozenset([NumberedTest("tests/test_a.py::test_b")]))
    told = [one.message for one in reasons_of(last, decision._replace(integrity=flaky), RECIPE.tests)]
    assert told[:-1] == ["reason 0", "reason 1", "reason 2"]
    assert "test_b: flaky, and lost all the same" in told[-1]
