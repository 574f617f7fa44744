"""Words are found in the files of attempts: where, how the text reads, and where a search goes on."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from groundup.domain.subjects import AttemptKey
from groundup.settings import load
from groundup.store.folder import RunFolder
from groundup.viewer.app import Viewer
from groundup.viewer.index import RunIndex
from groundup.viewer.searching import search_files
from tests.viewer.made import write_run


@pytest.fixture
def index(tmp_path: Path) -> Iterator[RunIndex]:
    """The index of two runs; the second has a trajectory."""
    write_run(tmp_path, "r1", {"a": [(1, 2)], "b": [(1, 2)]}, said="needle")
    run = write_run(tmp_path, "r2", {"a": [(1, 2)]}, said="other")
    steps = [
        {"kind": "message", "content": "x" * 300 + '\nsay "Straw"\n' + "y" * 300},
        {"kind": "reply", "turn": 4, "content": "hay"},
        {"kind": "result", "call": 0, "content": "chaff"},
    ]
    attempt = run.attempt(AttemptKey(task="a", index=0))
    attempt.trajectory_file.parent.mkdir(parents=True, exist_ok=True)
    attempt.trajectory_file.write_text("".join(json.dumps(step) + "\n" for step in steps))
    viewer = Viewer(load({"output": str(tmp_path)}))
    viewer.index.refresh()
    yield viewer.index
    viewer.index.close()


def found(index: RunIndex, wanted: str, run: str = "") -> list[tuple[str, str, int | None, str]]:
    """Return where *wanted* is, and what is told."""
    hits = search_files(index, wanted, run, 0, 30).hits
    return [(f"{one.place.run}/{one.place.task}", one.part, one.turn, one.text) for one in hits]


def test_a_test_is_told_by_its_name_and_the_line_that_holds_the_words(index: RunIndex) -> None:
    """A and a alike, in one run or all; in its name alone there is no line."""
    told = "tests/test_a.py::test_needle failed: needle"
    assert found(index, "NEEDLE") == [("r1/a", "tests", None, told), ("r1/b", "tests", None, told)]
    assert found(index, "needle", "r2") == []
    assert found(index, "test_b", "r2") == [("r2/a", "tests", None, "tests/test_a.py::test_b passed")]


@pytest.mark.parametrize(
    ("wanted", "turn", "text"),
    [
        ('"straw"', None, "x" * 94 + ' say \\"Straw\\" ' + "y" * 98),
        ("hay", 4, '{"kind": "reply", "turn": 4, "content": "hay"}'),
        ("chaff", 4, '{"kind": "result", "call": 0, "content": "chaff"}'),
    ],
)
def test_a_trajectory_is_told_by_its_turn_and_what_stands_around(
    index: RunIndex, wanted: str, turn: int | None, text: str
) -> None:
    """A hundred characters on both sides, without the signs of JSON for line breaks."""
    assert found(index, wanted, "r2") == [("r2/a", "trajectory", turn, text)]


def test_a_search_goes_on_where_it_ended(index: RunIndex) -> None:
    """By the number of the attempt; one whose time is over looks at nothing."""
    whole = search_files(index, "needle", "", 0, 30)
    assert (len(whole.hits), whole.looked_at, whole.total) == (2, 3, 3)
    rest = search_files(index, "needle", "", 1, 30)
    assert ([one.place.task for one in rest.hits], rest.looked_at, rest.total) == (["b"], 3, 3)
    late = search_files(index, "needle", "", 1, -1)
    assert (late.hits, late.looked_at, late.total) == ((), 1, 3)
    beyond = search_files(index, "needle", "", 3, 30)
    assert (beyond.hits, beyond.looked_at) == ((), 3)


def test_a_search_ends_at_fifty_hits_and_goes_on_after_them(tmp_path: Path) -> None:
    """However many attempts there are, each is looked at once."""
    write_run(tmp_path, "many", {f"t{number:03}": [(1, 2)] for number in range(53)}, said="needle")
    with closing(RunIndex(tmp_path)) as index:
        index.refresh()
        first = search_files(index, "needle", "many", 0, 60)
        assert (len(first.hits), first.looked_at, first.total) == (50, 50, 53)
        rest = search_files(index, "needle", "many", first.looked_at, 60)
        assert (len(rest.hits), rest.looked_at, rest.total) == (3, 53, 53)
        assert len({one.place.task for one in (*first.hits, *rest.hits)}) == 53
        assert search_files(index, "nowhere", "many", 0, 60).looked_at == 53


@pytest.mark.parametrize(
    ("lines", "wanted", "text"),
    [
        (["no test, with a straw in it"], "straw", "no test, with a straw in it"),  # a damaged line
        (["x" * 150 + "straw" + "y" * 150], "straw", "x" * 100 + "straw" + "y" * 100),
        (["x" * 99 + "straw" + "y" * 99], "straw", "x" * 99 + "straw" + "y" * 99),
        (["first", "a straw", "another straw"], "straw", "a straw"),
        (["straw"], "straw", "straw"),
        ([r"a\nb\tstraw\rc\d"], "straw", r"a b straw c\d"),
        (
            ['{"id":"t::one","outcome":"failed","expected":true,"message":"a\\n  the STRAW \\nb"}'],
            "straw",
            "t::one failed: the STRAW",
        ),
        (['{"id":"t::straw","outcome":"failed","expected":true,"message":"a"}'], "straw", "t::straw failed"),
        (
            ['{"id":"t::one","outcome":"failed","expected":true,"detail":"a straw"}'],
            "straw",
            "t::one failed: a straw",
        ),
        (
            [json.dumps({"id": "t", "outcome": "failed", "expected": True, "message": "straw" + "z" * 500})],
            "straw",
            "t failed: straw" + "z" * 385,
        ),
    ],
)
def test_lines_of_tests_as_they_are_told(
    index: RunIndex, tmp_path: Path, lines: list[str], wanted: str, text: str
) -> None:
    """A test by its name and the line that holds the words, at most 400 characters; anything else as it stands."""
    attempt = RunFolder(tmp_path / "r1").attempt(AttemptKey(task="a", index=0))
    attempt.tests_file.write_text("".join(f"{line}\n" for line in lines))
    assert found(index, wanted, "r1") == [("r1/a", "tests", None, text)]
    attempt.tests_file.write_text("\n".join(lines))  # torn
    assert found(index, wanted, "r1") == [("r1/a", "tests", None, text)]
