"""Reading what the trusted runner wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import SandboxError
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import (
    MAX_DETAIL,
    MAX_EVENTS,
    MAX_LINE_BYTES,
    ImportCheck,
    Observations,
    Result,
    RunnerReport,
    parse_report,
    report_of,
)
from groundup.sandbox.protocol import CommandResult, Ending

TOKEN = "f" * 32


def _line(event: str, **fields: object) -> bytes:
    return f"{TOKEN} {json.dumps({'event': event, **fields})}\n".encode()


def _test(name: str, outcome: str = "passed", ordinal: int = 1, **fields: object) -> bytes:
    return _line("test", id=name, ordinal=ordinal, outcome=outcome, message="", duration=0.1, **fields)


def _ended(ending: Ending, report: bytes, stderr: bytes = b"") -> CommandResult:
    return CommandResult(exit_code=1, ending=ending, stdout=b"", stderr=stderr, report=report, duration_s=0.1)


def test_a_whole_report_is_read() -> None:
    """Every event of an honest run arrives in the record."""
    data = (
        _line("start", python="3.10.1", pytest="8.4.1")
        + _line("collection_error", id="tests/test_b.py", message="ImportError: no")
        + _line("collected", count=2)
        + _test("tests/test_a.py::test_x")
        + _test("tests/test_a.py::test_x", "failed", 2)
        + _line("begin", id="tests/test_a.py::test_y", ordinal=1)
        + _line("import", name="calc", file="/workspace/calc/__init__.py", error=None)
        + _line("end", exit_code=1)
    )
    report = parse_report(data, TOKEN)

    assert report.results[NumberedTest("tests/test_a.py::test_x")].outcome == "passed"
    assert report.results[NumberedTest("tests/test_a.py::test_x", 2)].outcome == "failed"
    assert report.collection_errors == {"tests/test_b.py": "ImportError: no"}
    assert report.running == NumberedTest("tests/test_a.py::test_y")
    assert report.imports["calc"].file == "/workspace/calc/__init__.py"
    assert (report.python, report.pytest, report.collected, report.exit_code) == ("3.10.1", "8.4.1", 2, 1)
    assert report.foreign == 0


@pytest.mark.parametrize(
    "data",
    [
        _test("a").replace(TOKEN.encode(), b"0" * 32),
        b'{"event":"test","id":"a","ordinal":1,"outcome":"passed","message":"","duration":0.1}\n',
        _test("a", "wonderful"),
        _test("a", ordinal=0),
        _test("a", extra="field"),
        _line("test", id=1, ordinal=1, outcome="passed", message="", duration=0.1),
        _line("test", id="a", ordinal="1", outcome="passed", message="", duration=0.1),
        _line("verdict", passed=100),
        TOKEN.encode() + b" [[[[\n",
        TOKEN.encode() + b" " + b"[" * 100_000 + b"\n",
        _test("a" * MAX_LINE_BYTES),
        _test("a")[:-1],
    ],
    ids=[
        "another token",
        "no token",
        "outcome",
        "ordinal",
        "unknown field",
        "id of a wrong type",
        "ordinal of a wrong type",
        "unknown event",
        "no JSON",
        "deep JSON",
        "too long",
        "torn",
    ],
)
def test_a_line_that_is_no_event_of_this_run_counts_for_nothing(data: bytes) -> None:
    """What somebody else wrote, or wrote wrongly, is counted as foreign and otherwise ignored."""
    report = parse_report(data, TOKEN)

    assert report == RunnerReport(foreign=1)


def test_a_traceback_comes_with_its_test_within_bounds() -> None:
    """It comes from beside hostile code; a runner of before sent none."""
    report = parse_report(
        _test("a", "failed", detail="assert 1 == 2\ud800") + _test("b", detail="x" * 9000), TOKEN
    )
    report_before = parse_report(_test("a", "failed"), TOKEN)

    assert report.results[NumberedTest("a")].detail == "assert 1 == 2\\ud800"
    assert len(report.results[NumberedTest("b")].detail) == MAX_DETAIL
    assert report_before.results[NumberedTest("a")].detail == ""


def test_what_a_file_of_tests_lacks_is_kept_as_it_was_said_first() -> None:
    """What the submission runs later takes nothing back."""
    said = _line("lacking", file="tests/test_a.py", names=["calc.add"])
    report = parse_report(said + _line("lacking", file="tests/test_a.py", names=[]), TOKEN)

    assert report.lacking == {"tests/test_a.py": ("calc.add",)}


def test_each_field_is_cut_to_its_own_length() -> None:
    """A whole report of overlong texts: what is kept of each, and that nothing else changes it."""
    much, signs = "y" * 9000, {"processes": 3, "clock_s": 1.5}
    lost = {"message": much, "detail": much, "demand": much, "calls": much, "duration": 0.25}
    data = (
        _line("test", id="t", ordinal=2, outcome="error", **lost)
        + _line("origin", id="t", ordinal=2, place=much)
        + _line("collection_error", id=much, message=much)
        + _line("collection_error", id=much, message="another")
        + _line("filter_left_out", line=much)
        + _line("filter_left_out", line="ignore::calc.Gone")
        + _line("lacking", file=much, names=[much, "calc.add"])
        + _line("import", name="calc", file=much, error=None)
        + _line("import", name="calc", file="/late.py", error=None)
        + _line("import", name="more", file=None, error=much)
        + _line("signs", changed=[much], frames=[much, "b"], **signs)
        + _line("start", python="3.9.1", pytest="8.0")
        + _line("start", python="2.7", pytest="4")
        + _line("broken_off", message=much)
    )

    assert parse_report(data, TOKEN) == RunnerReport(
        results={
            NumberedTest("t", 2): Result(
                outcome="error",
                message="y" * 300,
                detail="y" * 4000,
                demand="y" * 4000,
                calls="y" * 400,
                probably="y" * 1200,
                duration_s=0.25,
            )
        },
        collection_errors={"y" * 500: "y" * 300},
        filters_left_out=("y" * 200, "ignore::calc.Gone"),
        lacking={"y" * 500: ("y" * 300, "calc.add")},
        imports={
            "calc": ImportCheck(file="y" * 1000, error=None),
            "more": ImportCheck(file=None, error="y" * 300),
        },
        observed=Observations(changed=("y" * 100,), frames=("y" * 120, "b"), processes=3, clock_s=1.5),
        python="3.9.1",
        pytest="8.0",
        broken_off="y" * 300,
    )


@pytest.mark.parametrize(
    "data",
    [
        _line("start", python="3" * 51, pytest="8"),
        _line("start", python="3", pytest="8" * 51),
        _line("collected", count=-1),
        _line("begin", id="a", ordinal=0),
        _line("test", id="a", ordinal=1, outcome="passed", message="", duration=-0.1),
        _line("test", id="a", ordinal=1, outcome="passed", message="", duration=float("inf")),
        _line("lacking", file="a.py", names=["n"] * 61),
        _line("origin", id="a", ordinal=0, place="here"),
        _line("signs", changed=["c"] * 21, frames=[], processes=0, clock_s=0),
        _line("signs", changed=[], frames=["f"] * 11, processes=0, clock_s=0),
        _line("signs", changed=[], frames=[], processes=-1, clock_s=0),
        _line("signs", changed=[], frames=[], processes=0, clock_s=-0.5),
        _line("signs", changed=[], frames=[], processes=0, clock_s=float("nan")),
    ],
)
def test_an_event_beyond_its_bounds_counts_for_nothing(data: bytes) -> None:
    """One more or one less than the runner ever writes is not the runner's."""
    assert parse_report(data, TOKEN) == RunnerReport(foreign=1)


def test_an_event_at_its_bounds_counts() -> None:
    """The most and the least that the runner writes."""
    data = (
        _line("start", python="3" * 50, pytest="8" * 50)
        + _line("collected", count=0)
        + _line("lacking", file="a.py", names=["n"] * 60)
        + _line("signs", changed=["c"] * 20, frames=["f"] * 10, processes=0, clock_s=0)
    )
    report = parse_report(data, TOKEN)

    assert report.foreign == 0
    assert report.observed == Observations(changed=("c",) * 20, frames=("f",) * 10)
    assert (report.collected, len(report.lacking["a.py"])) == (0, 60)


def test_lines_after_the_last_that_is_read_are_counted() -> None:
    """A report without end takes no memory without end; its torn last line is one more."""
    assert parse_report(b"\n" * (MAX_EVENTS + 3), TOKEN).foreign == MAX_EVENTS + 3
    said = b"\n" * (MAX_EVENTS - 1) + _test("last") + _test("too late") + b"torn"
    report = parse_report(said, TOKEN)

    assert [key.id for key in report.results] == ["last"]
    assert report.foreign == MAX_EVENTS + 1


@pytest.mark.parametrize(
    ("stderr", "ending", "said"),
    [
        (b"Traceback\nOSError: too many open files  \n\n", Ending.EXITED, "OSError: too many open files"),
        (b"", Ending.EXITED, "exited"),
        (b"w" * 300, Ending.WALL_CLOCK, "w" * 200),
        (b"a\x1b[31m\xff", Ending.EXITED, "a\\x1b[31m\ufffd"),
    ],
)
def test_a_runner_that_said_nothing_did_not_start(stderr: bytes, ending: Ending, said: str) -> None:
    """Only foreign lines came: that is a fault of the machine, and its last words are named."""
    silent = CommandResult(
        exit_code=1, ending=ending, stdout=b"", stderr=stderr, report=b"foreign\n", duration_s=0.1
    )

    with pytest.raises(SandboxError) as caught:
        report_of(silent, TOKEN)

    assert str(caught.value) == f"the test runner did not start: {said}; see `groundup doctor`"


def test_a_runner_that_its_sandbox_took_along_gave_no_report() -> None:
    """Where the sandbox died, or anything was said, there is a report to judge."""
    dead = CommandResult(
        exit_code=1, ending=Ending.SANDBOX_DIED, stdout=b"", stderr=b"", report=b"foreign\n", duration_s=0.1
    )
    begun = CommandResult(
        exit_code=1,
        ending=Ending.EXITED,
        stdout=b"",
        stderr=b"",
        report=_line("start", python="3", pytest="8"),
        duration_s=0.1,
    )

    assert report_of(dead, TOKEN) == RunnerReport(foreign=1)
    assert report_of(begun, TOKEN) == RunnerReport(python="3", pytest="8")


@pytest.mark.parametrize("order", [("passed", "failed"), ("failed", "passed")])
def test_a_test_that_is_reported_twice_has_the_worse_outcome(order: tuple[str, str]) -> None:
    """Adding a second, better result gains nothing."""
    report = parse_report(_test("a", order[0]) + _test("a", order[1]), TOKEN)

    assert report.results[NumberedTest("a")].outcome == "failed"
    assert report.repeated == 1


def test_where_a_value_was_made_is_kept_of_lost_tests_alone() -> None:
    """It is a guess about what was reported as lost before; of others it says nothing."""
    guesses = b"".join(_line("origin", id=name, ordinal=1, place="calc.py, line 3") for name in ("a", "b", "c"))
    report = parse_report(_test("a", "failed") + _test("b") + guesses, TOKEN)

    assert {key.id: known.probably for key, known in report.results.items()} == {"a": "calc.py, line 3", "b": ""}
    assert report.repeated == 0


def test_nothing_counts_after_the_end() -> None:
    """Results that arrive behind the end record are foreign."""
    report = parse_report(_line("end", exit_code=0) + _test("a"), TOKEN)

    assert not report.results
    assert report.foreign == 1


def test_half_characters_are_made_storable() -> None:
    """Ids and messages with lone surrogates can be written as UTF-8 afterwards."""
    report = parse_report(_test("\ud800") + _line("broken_off", message="\udfff"), TOKEN)

    assert [key.id for key in report.results] == ["\\ud800"]
    assert report.broken_off == "\\udfff"


@given(st.lists(st.binary(max_size=80) | st.just(_test("a"))))
def test_no_bytes_make_it_raise(pieces: list[bytes]) -> None:
    """Whatever comes out of a sandbox, reading it yields a record."""
    parse_report(b"".join(pieces), TOKEN)
