"""Losses in words, where a screen has little room for them."""

from typing import Any

import pytest

from groundup.domain.verdicts import PASSES_WITH, TestResult
from groundup.reports.causes import grouped
from groundup.reports.why import UNCUT, demanded, lacking_lines, why_lines


def _lost(number: int) -> TestResult:
    said = f"{chr(65 + number)}Error: x"
    return TestResult(id=f"tests/test_a.py::t{number}", outcome="failed", expected=True, message=said)


@pytest.mark.parametrize("room", [-3, 0, 1, 2, 5])
def test_causes_without_room_are_counted(room: int) -> None:
    """With no room at all, too; "more" is said beside others alone."""
    blocks = why_lines(grouped(map(_lost, range(4))), room, 80)
    *shown, (last,) = blocks
    rest = 4 - len(shown)
    assert len(shown) == max(room - 2, 0) // 2
    more = f"and {rest} causes more" if shown else f"{rest} causes"
    assert last == f"{more}, of {rest} tests; --full prints them"


def test_what_a_submission_lacks_is_said_once_and_by_kind() -> None:
    """Names that are not there in one line, calls that do not fit below a line that counts them."""
    lacks = ("lib.split", "call split(text, limit=2) of /workspace/lib.py", "lib.join")
    tests = [_lost(0).but(lacks=lacks), _lost(1).but(lacks=lacks[::-1])]
    assert lacking_lines(tests) == [
        "names that the tests use and the submission lacks: lib.split, lib.join",
        "1 call that the submission's signatures do not take:",
        "  split(text, limit=2) of lib.py",
    ]
    assert lacking_lines([_lost(0)]) == []


def test_each_place_where_a_cause_may_lie_is_a_line() -> None:
    """The likelier first; the line that a traceback names is told once more only with what mends it."""
    one = _lost(0).but(probably="/workspace/a.py:4: x\na.py:7: y", detail="a.py:7: in f\n    y\nE   AError: x")
    assert [line for line in why_lines(grouped([one]), 40, 80)[0] if ".py:" in line][:2] == [
        "  a.py:7: y",
        "  probably a.py:4: x",
    ]
    mended = one.but(probably=f"a.py:7: y{PASSES_WITH}z")
    assert why_lines(grouped([mended]), 40, 80)[0][1:3] == ["  a.py:7: y", f"  probably a.py:7: y{PASSES_WITH}z"]
    (apart,) = why_lines(grouped([one.but(detail="")]), 40, 80)
    assert apart[1:3] == ["  probably a.py:4: x", "  else a.py:7: y"]


@pytest.mark.parametrize("room", [5, 10, 20, 30, 40, 60, 80])
def test_causes_share_the_room_that_there_is(room: int) -> None:
    """All fit it with the empty lines around those of several lines; none is much longer than others."""
    demand = "\n".join(["> f() == 1", *(f"value {number}" for number in range(60))])
    detail = "a.py:7: in f\n    y\nE   AError: x"
    blocks = why_lines(grouped([_lost(number).but(demand=demand, detail=detail) for number in range(3)]), room, 80)
    assert sum(len(block) + 2 * (len(block) > 2) for block in blocks) <= room
    lengths = [len(block) for block in blocks if len(block) > 2]
    assert not lengths or max(lengths) - min(lengths) <= 3
    assert len(lengths) == {5: 0, 10: 0, 20: 1}.get(room, 3)


RAISED = (
    "tests/test_a.py:8: in test_fx\n    assert pkg.h(1) == 2\npkg/__init__.py:6: in h\n    return g(x)\n"
    "pkg/deep.py:5: in g\n    raise ValueError('bad')\nE   ValueError: bad"
)
COMPARED = (
    "tests/test_a.py:14: in test_b\n    assert f(1) == 2\n"
    "E   AssertionError: assert 3 == 2\nE    +  where 3 = f(1)"
)


def _told(name: str, message: str, **fields: Any) -> TestResult:
    found = {"id": name, "outcome": "failed", "expected": True, "message": message, **fields}
    return TestResult.model_validate(found)


def _screen(tests: list[TestResult], room: int, width: int) -> list[str]:
    return [line for block in why_lines(grouped(tests), room, width) for line in block]


LOST = [
    _told("tests/test_a.py::test_fx[1]", "ValueError: bad", detail=RAISED),
    _told("tests/test_a.py::test_fx[2]", "ValueError: bad", detail=RAISED, flaky=True),
    _told("tests/test_b.py::test_fx[3]", "ValueError: bad", detail=RAISED),
    _told(
        "tests/test_a.py::test_b",
        "AssertionError: assert 3 == 2",
        detail=COMPARED,
        demand="> assert f(1) == 2\nleft  3\nright 2",
    ),
    _told("tests/test_c.py::test_k", "KeyError: 'k'"),
]


@pytest.mark.parametrize(("room", "width"), [(UNCUT, UNCUT), (40, 80)])
def test_with_room_each_cause_shows_a_test_with_its_values(room: int, width: int) -> None:
    """The cause of most tests first; values that its comparison holds already are not told twice."""
    assert _screen(LOST, room, width) == [
        "3 tests: ValueError: bad (1 passed when run again: flaky)",
        "  pkg/deep.py:5: raise ValueError('bad')",
        "  tests/test_a.py::test_fx[1]",
        "    tests/test_a.py:8: in test_fx",
        "        assert pkg.h(1) == 2",
        "    ...",
        "    E   ValueError: bad",
        "  also test_fx[2], tests/test_b.py::test_fx[3]",
        "1 test: AssertionError: assert 3 == 2",
        "  tests/test_a.py::test_b",
        "    tests/test_a.py:14: in test_b",
        "    > assert f(1) == 2",
        "    E   AssertionError: assert 3 == 2",
        "1 test: KeyError: 'k'",
        "  tests/test_c.py::test_k",
    ]


def test_with_little_room_each_cause_has_two_lines() -> None:
    """Cut to the width of the screen; what does not fit at all is counted."""
    first = ["3 tests: pkg/deep.py:5: ValueError: bad", "  tests/test_a.py::test_fx[1], test_fx[…"]
    second = ["1 test: AssertionError: assert 3 == 2", "  tests/test_a.py::test_b"]
    third = ["1 test: KeyError: 'k'", "  tests/test_c.py::test_k"]
    assert _screen(LOST, 10, 40) == _screen(LOST, 6, 40) == [*first, *second, *third]
    assert (
        _screen(LOST, 5, 40)
        == _screen(LOST, 4, 40)
        == [*first, "and 2 causes more, of 2 tests; --full prints them"]
    )
    assert _screen(LOST, 3, 40) == ["3 causes, of 5 tests; --full prints them"]


def test_names_of_dependencies_are_told_by_their_manifest() -> None:
    """They are names, and no tests."""
    names = [_told(f"a.toml::runtime::{name}", "missing", kind="dependency", detail="as it says") for name in "xy"]
    assert _screen(names, UNCUT, UNCUT) == ["2 names: a.toml, runtime: missing", "  x: as it says", "  also y"]
    assert _screen(names, 2, 60) == ["2 names: a.toml, runtime: missing", "  x, y"]
    assert _screen(names, 1, 60) == ["1 cause, of 2 names; --full prints them"]


def test_many_tests_of_a_cause_are_named_in_two_lines() -> None:
    """As many as fit, and how many more; into a file go all of them."""
    detail = "tests/test_a.py:3: in test\n    f()\nE   E: x"
    many = [_told(f"tests/test_a.py::test_number_{number:02}", "E: x", detail=detail) for number in range(30)]
    whole = [
        "30 tests: E: x",
        "  tests/test_a.py::test_number_00",
        "    tests/test_a.py:3: in test",
        "        f()",
        "    E   E: x",
    ]
    assert _screen(many, 40, 80) == [
        *whole,
        "  also test_number_01, test_number_02, test_number_03,",
        "      test_number_04, test_number_05, test_number_06, test_number_07 and 22 more",
    ]
    names = [f"test_number_{number:02}" for number in range(1, 30)]
    assert _screen(many, UNCUT, UNCUT) == [
        *whole,
        f"  also {', '.join(names[:7])},",
        *(f"      {', '.join(names[at : at + 7])}{',' if at < 22 else ''}" for at in range(7, 29, 7)),
    ]


@pytest.mark.parametrize(
    ("detail", "demand", "told"),
    [
        ("E   a\nE   b\nE   c\nE   d", "", ["a", "b", "c"]),
        ("", "> x\nleft  1\nright 2", ["> x", "left  1", "right 2"]),
        ("E   assert 1 == 2", "> x\nleft  1\nright 2", ["> x", "assert 1 == 2"]),
        ("E   assert 1 == 2", "> x\nleft  7\nright 2", ["> x", "assert 1 == 2", "left  7"]),
        ("E   Use -v to get more diff\nE   assert 1", "", ["assert 1"]),
        ("E   a\n\nDuring handling of the above exception, another exception occurred:\n\nE   b", "", ["b"]),
    ],
)
def test_what_a_test_demanded(detail: str, demand: str, told: list[str]) -> None:
    """Its statement, what it said last, and values that this does not hold; else at most three lines."""
    assert demanded(_told("t.py::a", "x", detail=detail, demand=demand)) == told
