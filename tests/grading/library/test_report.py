"""Reading what the trusted runner wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import MAX_DETAIL, MAX_LINE_BYTES, RunnerReport, parse_report

TOKEN = "f" * 32


def _line(event: str, **fields: object) -> bytes:
    return f"{TOKEN} {json.dumps({'event': event, **fields})}\n".encode()


def _test(name: str, outcome: str = "passed", ordinal: int = 1, **fields: object) -> bytes:
    return _line("test", id=name, ordinal=ordinal, outcome=outcome, message="", duration=0.1, **fields)


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
