"""What the page of an attempt shows, and in which order."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from starlette.requests import Request

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import TestResult
from groundup.store.attempts import AttemptFolder
from groundup.store.folder import RunWriter
from groundup.viewer import attempt_page
from groundup.viewer.addresses import whole_number
from groundup.viewer.attempt_page import TESTS_SHOWN, better_than
from groundup.viewer.index import Elsewhere
from tests.reports.made import report_of, run_of


def asking(query: str = "") -> Request:
    """Return a request with these words behind its address."""
    return Request({"type": "http", "query_string": query.encode(), "headers": []})


def attempt_with(folder: Path, tests: Sequence[TestResult]) -> AttemptFolder:
    """Return an attempt that was graded by *tests*."""
    config, lines = run_of("r", {"one": [(1, 2)]})
    with RunWriter.create(folder / "r", config) as writer:
        writer.record(lines[AttemptKey(task="one")], tests)
        return writer.folder.attempt(AttemptKey(task="one"))


TESTS = [
    TestResult(id="t.py::test_a", outcome="passed", expected=True),
    TestResult(id="t.py::test_b", outcome="failed", expected=False, message="secret"),
    TestResult(id="t.py::test_c[1]", outcome="error", expected=True, message="secret"),
    TestResult(id="t.py::test_d", outcome="passed", expected=False),
]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["c[1]", "b", "a", "d"]),
        ("q=TEST_B", ["b"]),
        ("outcome=passed", ["a", "d"]),
        ("outcome=passed&q=d", ["d"]),
        ("first=3", ["d"]),
        ("first=-3", ["c[1]", "b", "a", "d"]),
        ("first=x", ["c[1]", "b", "a", "d"]),
        ("first=9", []),
    ],
)
def test_lost_tests_come_first_and_those_that_count_before_others(
    tmp_path: Path, query: str, names: list[str]
) -> None:
    """They are found by a part of their name in any case, by their outcome, and from a place on."""
    shown = attempt_page.tests_of(attempt_with(tmp_path, TESTS), asking(query), {}, for_others=False)
    assert [test.id.removeprefix("t.py::test_") for test, _, _ in shown["tests"]] == names
    assert shown["outcomes"] == ["error", "failed", "passed"]


def test_others_see_no_word_of_a_hidden_test(tmp_path: Path) -> None:
    """Not what it said, and not its parameters."""
    shown = attempt_page.tests_of(attempt_with(tmp_path, TESTS), asking(), {}, for_others=True)
    assert next(test.id for test, _, _ in shown["tests"]) == "t.py::test_c[...]"
    assert not any(test.message for test, _, _ in shown["tests"])


def test_many_tests_have_pages(tmp_path: Path) -> None:
    """So many stand on one."""
    tests = [TestResult(id=f"t{number}", outcome="passed", expected=True) for number in range(TESTS_SHOWN + 1)]
    attempt = attempt_with(tmp_path, tests)
    first, last = (
        attempt_page.tests_of(attempt, asking(f"first={at}"), {}, for_others=False) for at in (0, TESTS_SHOWN)
    )
    assert (len(first["tests"]), len(last["tests"]), first["total"]) == (TESTS_SHOWN, 1, TESTS_SHOWN + 1)
    assert first["pages"] == [(0, 1), (TESTS_SHOWN, 2)]


def test_a_better_attempt_is_named_where_there_is_one() -> None:
    """Of the same run or of others; the same submission, graded by another run, is none."""
    config, lines = run_of("r", {"one": [(1, 4), (2, 4), "pending"]})
    (run,) = report_of([(config, lines)]).runs
    first, second, pending = run.attempts
    other = Elsewhere(run="other", graders=(), mean=0.6, best=0.75, best_index=1, same=False)
    assert better_than("r", first, run.attempts, []) == ("r", 1, 0.5)
    assert better_than("r", first, run.attempts, [other]) == ("other", 1, 0.75)
    assert better_than("r", first, run.attempts, [other.but(same=True)]) == ("r", 1, 0.5)
    assert better_than("r", second, run.attempts, []) is None
    assert better_than("r", pending, run.attempts, []) == ("r", 1, 0.5)
    assert better_than("r", pending, [pending], []) is None


@pytest.mark.parametrize(
    ("text", "number"), [(None, 0), ("", 0), ("7", 7), ("-7", -2), ("1.5", 0), ("9" * 30, 2**62), ("1" * 5000, 0)]
)
def test_a_number_in_an_address_is_one_that_can_be_counted_to(text: str | None, number: int) -> None:
    """What is none counts as 0."""
    assert whole_number(text, least=-2) == number
