"""Tests of groundup.grading.java.running and testing: what the runner's words are worth."""

import base64

from groundup.grading.java.running import JavaReport, parse_report
from groundup.grading.java.testing import FORGED, LYING, MANY_FORGED, WITHHELD, decided
from groundup.grading.library.hidden import NumberedTest
from groundup.sandbox.protocol import CommandResult, Ending

TOKEN = "t" * 32
NAMED = ("demo.A#one", "demo.A#two", "demo.B#three")


def line(event: str, place: str = "", method: str = "", outcome: str = "", said: str = "") -> bytes:
    """Return what the runner writes."""
    encoded = base64.b64encode(said.encode()).decode()
    return "\t".join([TOKEN, event, place, method, outcome, "12", encoded]).encode() + b"\n"


def ended(ending: Ending = Ending.EXITED, code: int | None = 0) -> CommandResult:
    """Return how the process ended."""
    return CommandResult(exit_code=code, ending=ending, stdout=b"", stderr=b"", duration_s=1.0)


def passed(*tests: str) -> JavaReport:
    """Return a complete report in which these tests passed."""
    return JavaReport(outcomes=dict.fromkeys(tests, ("passed", "", 0.1)), complete=True)


def outcomes(report: JavaReport, twin: JavaReport | None = None, result: CommandResult | None = None) -> list[str]:
    """Return what each test is worth."""
    run = decided(NAMED, report, twin, result or ended())
    return [run.results[NumberedTest.of(test)].outcome for test in NAMED]


def test_lines_without_the_token_or_of_another_shape_say_nothing() -> None:
    """Of several invocations of one test, one that failed decides."""
    data = (
        line("begin", "demo.A", "one")
        + line("test", "demo.A", "one", "passed")
        + line("test", "demo.A", "one", "failed", "no")
        + line("test", "demo.A", "one", "passed")
        + line("test", "demo.A", "two", "passed").replace(b"t" * 32, b"u" * 32)
        + b"\xff\xfe\n"
        + line("test", "demo.A", "two", "wonderful")
        + line("container", "demo.B", "", "error", "no server")
        + line("end")
    )
    report = parse_report(data, TOKEN)
    assert dict(report.outcomes) == {"demo.A#one": ("failed", "no", 0.012)}
    assert dict(report.broken_classes) == {"demo.B": "no server"}
    assert report.complete


def test_what_was_not_tried_is_an_error_with_the_reason_of_its_class() -> None:
    """Nothing leaves the denominator."""
    report = JavaReport(
        outcomes={"demo.A#one": ("passed", "", 0.1)}, broken_classes={"demo.B": "no server"}, complete=True
    )
    run = decided(NAMED, report, None, ended())
    assert outcomes(report) == ["passed", "error", "error"]
    assert run.results[NumberedTest.of("demo.B#three")].message == "no server"


def test_a_test_that_passes_with_false_expectations_too_did_not_decide() -> None:
    """It counts as an error; the others keep what they have."""
    report = passed(*NAMED)
    assert outcomes(report, passed("demo.A#two")) == ["passed", "error", "passed"]
    run = decided(NAMED, report, passed("demo.A#two"), ended())
    assert run.results[NumberedTest.of("demo.A#two")].message == FORGED


def test_without_an_end_nothing_counts_unless_time_was_up() -> None:
    """A process that leaves early proves nothing; a slow one keeps what it had."""
    early = passed(*NAMED).model_copy(update={"complete": False})
    assert outcomes(early, None, ended(code=0)) == ["error"] * 3
    assert decided(NAMED, early, None, ended(code=0)).stopped is not None
    slow = JavaReport(outcomes={"demo.A#one": ("passed", "", 0.1)}, running="demo.A#two")
    run = decided(NAMED, slow, None, ended(Ending.TIMEOUT, None))
    assert outcomes(slow, None, ended(Ending.TIMEOUT, None)) == ["passed", "error", "error"]
    assert run.timed_out
    assert run.results[NumberedTest.of("demo.A#two")].message == "hung"


def test_nothing_counts_when_a_report_lies_about_canaries() -> None:
    """One that passed was forged; one that is not there was spared, if its class came to its end."""
    canary = "demo.A#oneThree"
    failing = {canary: ("failed", "no", 0.1)}
    honest = JavaReport(outcomes={**passed(*NAMED).outcomes, **failing}, complete=True)
    forged, spared = passed(*NAMED, canary), passed(*NAMED)
    elsewhere = passed("demo.B#three")
    unfinished = JavaReport(outcomes=dict.fromkeys(NAMED[:1], ("passed", "", 0.1)))

    def messages(report: JavaReport, twin: JavaReport | None = None) -> set[str]:
        return {one.message for one in decided(NAMED, report, twin, ended(), (canary,)).results.values()}

    assert messages(honest) == {""}
    assert messages(forged) == {LYING}
    assert messages(spared) == {WITHHELD}
    assert messages(honest, forged) == {FORGED}
    assert messages(honest, JavaReport(outcomes={canary: ("passed", "", 0.1)}, complete=True)) == {LYING}
    assert LYING not in messages(elsewhere) | messages(unfinished)
    assert WITHHELD not in messages(elsewhere) | messages(unfinished)
    assert WITHHELD in str(decided(NAMED, spared, None, ended(), (canary,)).signs)


def test_two_tests_that_pass_where_they_must_fail_cost_all() -> None:
    """A coin for each test wins some of them, but is seen; a single one merely does not count."""
    report, twin = passed(*NAMED), passed(*NAMED[:2])

    assert outcomes(report, twin) == ["error", "error", "passed"]  # none of them is known to fail at its end
    run = decided(NAMED, report, twin, ended(), (), NAMED)
    assert {one.outcome for one in run.results.values()} == {"error"}
    assert run.results[NumberedTest.of(NAMED[2])].message == MANY_FORGED
    assert MANY_FORGED in str(run.signs)
    one = decided(NAMED, report, passed(*NAMED[:1]), ended(), (), NAMED)
    assert [one.results[NumberedTest.of(test)].outcome for test in NAMED] == ["error", "passed", "passed"]
