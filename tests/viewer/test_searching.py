"""Words are found in the files of attempts: where, how the text reads, and where a search goes on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.domain.subjects import AttemptKey
from groundup.settings import load
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
