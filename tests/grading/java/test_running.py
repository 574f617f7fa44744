"""Tests of groundup.grading.java.running and testing: what the runner's words are worth."""

import base64

from groundup.grading.java.running import JavaReport, parse_report
from groundup.grading.java.testing import SUSPECT, TAMPERED, Belief, believed, decided
from groundup.grading.library.hidden import NumberedTest
from groundup.sandbox.protocol import CommandResult, Ending

TOKEN = "t" * 32
NAMED = ("demo.A#one", "demo.A#two", "demo.B#three")


def line(event: str, place: str = "", method: str = "", outcome: str = "", said: str = "") -> bytes:
    """Return what the runner writes."""
    encoded = base64.b64encode(said.encode()).decode()
    return "\t".join([TOKEN, event, place, method, outcome, "12", encoded, ""]).encode() + b"\n"


def ended(ending: Ending = Ending.EXITED, code: int | None = 0) -> CommandResult:
    """Return how the process ended."""
    return CommandResult(exit_code=code, ending=ending, stdout=b"", stderr=b"", duration_s=1.0)


def passed(*tests: str) -> JavaReport:
    """Return a complete report in which these tests passed."""
    return JavaReport(each=dict.fromkeys(tests, (("passed", "", 0.1),)), complete=True)


def outcomes(report: JavaReport, result: CommandResult | None = None) -> list[str]:
    """Return what each test did."""
    run = decided(NAMED, report, result or ended())
    return [run.results[NumberedTest.of(test)].outcome for test in NAMED]


def test_lines_without_the_token_or_of_another_shape_say_nothing() -> None:
    """What a test did each time that it ran is kept in order."""
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
    assert dict(report.each) == {
        "demo.A#one": (("passed", "", 0.012), ("failed", "no", 0.012), ("passed", "", 0.012))
    }
    assert not report.passed
    assert dict(report.broken_classes) == {"demo.B": "no server"}
    assert report.complete


def test_what_was_not_tried_is_an_error_with_the_reason_of_its_class() -> None:
    """Nothing leaves the denominator."""
    report = JavaReport(
        each={"demo.A#one": (("passed", "", 0.1),)}, broken_classes={"demo.B": "no server"}, complete=True
    )
    run = decided(NAMED, report, ended())
    assert outcomes(report) == ["passed", "error", "error"]
    assert run.results[NumberedTest.of("demo.B#three")].message == "no server"


def test_without_an_end_nothing_counts_unless_time_was_up() -> None:
    """A process that leaves early proves nothing; a slow one keeps what it had."""
    early = passed(*NAMED).but(complete=False)
    assert outcomes(early) == ["error"] * 3
    run = decided(NAMED, early, ended())
    assert run.stopped is not None
    assert "results without an end" in str(run.signs)
    slow = JavaReport(each={"demo.A#one": (("passed", "", 0.1),)}, running="demo.A#two")
    run = decided(NAMED, slow, ended(Ending.TIMEOUT, None))
    assert outcomes(slow, ended(Ending.TIMEOUT, None)) == ["passed", "error", "error"]
    assert run.timed_out
    assert run.results[NumberedTest.of("demo.A#two")].message == "hung"


def test_a_check_changes_no_result_unless_they_are_forged() -> None:
    """Who is suspect keeps all points, who is tampered none; each with a sentence."""
    run = decided(NAMED, passed(*NAMED[:2]), ended())
    suspect = believed(run, Belief(SUSPECT, "odd"))
    assert (suspect.results, suspect.integrity, suspect.integrity_why) == (run.results, "suspect", "odd")
    tampered = believed(run, Belief(TAMPERED, "forged"))
    assert (tampered.count("passed"), tampered.count("error"), tampered.signs) == (0, 3, "forged")
    assert tampered.results[NumberedTest.of(NAMED[2])].message == "it did not run"
    assert believed(run, Belief("clean")).signs == "none"


def test_what_runs_several_times_is_several_tests() -> None:
    """As Surefire counts invocations; a factory that breaks off, or one that hangs, loses one more."""
    data = (
        line("test", "demo.A", "one", "passed")
        + line("test", "demo.A", "one", "failed", "no")
        + line("test", "demo.A", "two", "passed")
        + line("container", "demo.A", "two", "error", "the stream broke")
        + line("test", "demo.B", "three", "passed")
        + line("end")
    )
    report = parse_report(data, TOKEN)
    run = decided(NAMED, report, ended())

    assert {str(test): one.outcome for test, one in run.results.items()} == {
        "demo.A#one[1]": "passed",
        "demo.A#one[2]": "failed",
        "demo.A#two[1]": "passed",
        "demo.A#two[2]": "error",
        "demo.B#three": "passed",
    }
    assert report.passed == {"demo.B#three"}
