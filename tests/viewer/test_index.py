"""What the index tells of three runs: each of its questions with exact answers, and how a run gets on."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from groundup.reports.summary import report_run
from groundup.store.folder import RunWriter
from groundup.store.records import FleetFile
from groundup.viewer.index import (
    Elsewhere,
    GridRow,
    Parted,
    RunIndex,
    RunSummary,
    TaskRow,
    UnderWay,
    fleet_of,
    under_way,
)
from tests.reports.made import BEGAN, Word, run_of
from tests.viewer.made import write_run

FIRST: dict[str, list[Word]] = {
    "ab": [(1, 2), (2, 2)],
    "b": [(2, 2), (2, 2)],
    "c": ["tampered", (0, 2)],
    "d": ["infrastructure", "not_attempted"],
    "e": ["pending", "pending"],
}
LOST = "test: 1 test lost, first tests/test_a.py::test_needle: needle"
AB = TaskRow(task="ab", attempts=2, counted=0.75, standings=("partial", "solved"), why=LOST, worst=0)
B = TaskRow(task="b", attempts=2, counted=1.0, standings=("solved",))
C = TaskRow(
    task="c",
    attempts=2,
    counted=0.0,
    standings=("tampered", "failed"),
    why=f"test: it wrote its own results; {LOST}",
)
D = TaskRow(task="d", attempts=2, counted=0.0, standings=("infrastructure", "not attempted"), worst=1)
E = TaskRow(task="e", attempts=2, counted=None, standings=("pending",))


def made(folder: Path) -> RunIndex:
    """Index three runs, of which the third hands in what the first made of b, and one that cannot be read."""
    write_run(folder, "r1", FIRST, said="needle")
    second: dict[str, list[Word]] = {"ab": [(2, 2)], "b": [(1, 2)], "c": [(0, 4)], "f": [(4, 4)]}
    write_run(folder, "r2", second, said="Other", submission="same")
    third: dict[str, list[Word]] = {"AB": [(1, 1)], "b": [(2, 2)], "ab": [(2, 2)]}
    write_run(folder, "r3", third, said="third", submission="made-by-r1-b-1")
    (folder / "bad").mkdir()
    (folder / "bad" / "config.json").write_text("{")
    found = RunIndex(folder)
    found.refresh()
    return found


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunIndex]:
    """The index of those runs, for tests that only ask."""
    with closing(made(tmp_path_factory.mktemp("runs"))) as found:
        yield found


def test_runs_and_what_stands_above_their_tasks(index: RunIndex) -> None:
    """One that cannot be read comes last, with why; reports hold no attempts, which are asked for by task."""
    heads = [(one.name, one.head and (one.head.tasks, one.head.solved, one.head.counting)) for one in index.runs()]
    assert heads == [("r1", (5, 3, 7)), ("r2", (4, 2, 4)), ("r3", (3, 3, 3)), ("bad", None)]
    assert index.run("none") is None
    why = f"{index.folder}/bad/config.json cannot be read: content: is not valid JSON; restore it"
    assert index.run("bad") == RunSummary(name="bad", error=why)
    found = index.run("r2")
    assert found
    assert found.report
    assert (found.report.run_id, found.report.attempts, found.error, found.working) == ("r2", (), None, False)


@pytest.mark.parametrize(
    ("wanted", "stage", "rows", "total"),
    [
        ("", "", [C, D, AB, B, E], 5),
        ("B", "", [AB, B], 2),
        ("", "test", [C, AB.but(attempts=1, counted=0.5, standings=("partial",))], 2),
        ("a", "test", [AB.but(attempts=1, counted=0.5, standings=("partial",))], 1),
        ("", "never", [], 0),
    ],
)
def test_tasks_that_lost_most_come_first(
    index: RunIndex, wanted: str, stage: str, rows: list[TaskRow], total: int
) -> None:
    """With why the worst attempt did; those without a score come last, and pages are parts of the same list."""
    assert index.tasks("r1", wanted, stage) == rows
    assert index.task_count("r1", wanted, stage) == total
    assert index.tasks("r1", wanted, stage, offset=1, limit=2) == rows[1:3]


def test_attempts_come_by_number(index: RunIndex) -> None:
    """Of a task that the run lacks there are none."""
    rows = index.attempts("r1", "c")
    assert [(row.index, row.standing, row.counted) for row in rows] == [(0, "tampered", 0.0), (1, "graded", 0.0)]
    assert index.attempts("r1", "f") == []


def test_a_task_elsewhere(index: RunIndex) -> None:
    """Other runs with a score for it; the mean and the best of its attempts, and whether one graded the same."""
    grader = ("strict 3, data d1, environment rebuilt",)

    def there(run: str, mean: float, best: float, number: int = 0, *, same: bool = False) -> Elsewhere:
        return Elsewhere(run=run, graders=grader, mean=mean, best=best, best_index=number, same=same)

    assert index.elsewhere("r1", "b") == [there("r2", 0.5, 0.5), there("r3", 1.0, 1.0, same=True)]
    assert index.elsewhere("r3", "b") == [there("r1", 1.0, 1.0, same=True), there("r2", 0.5, 0.5)]
    assert index.elsewhere("r2", "ab") == [there("r1", 0.75, 1.0, 1), there("r3", 1.0, 1.0)]
    assert index.elsewhere("r1", "d") == []
    assert index.elsewhere("r2", "e") == []


def test_places_are_parts_of_one_list(index: RunIndex) -> None:
    """All, or those of one run, from the number that is said; each attempt is there once."""
    assert (index.place_count(), index.place_count("r2"), index.place_count("none")) == (17, 4, 0)
    for run, runs in (("r2", ["r2"]), ("", ["r1", "r2", "r3"])):
        whole = index.places(run, 0, 99)
        parts = [one for first in range(0, len(whole), 3) for one in index.places(run, first, 3)]
        assert parts == whole
        expected = [
            (name, task.task, row.index)
            for name in runs
            for task in index.tasks(name)
            for row in index.attempts(name, task.task)
        ]
        assert sorted((one.run, one.task, one.index) for one in whole) == sorted(expected)


def test_names_are_found_before_reasons(index: RunIndex) -> None:
    """A and a alike, at most as many as wanted, in one run or all; an attempt is found once."""

    def found(wanted: str, run: str = "", limit: int = 9) -> list[tuple[str, str]]:
        places, whole = index.search(wanted, run, limit, 30)
        assert whole
        return [(f"{one.run}/{one.task}/{one.index}", one.why) for one in places]

    needle = "expected tests did not pass, first tests/test_a.py::test_needle: AssertionError"
    assert found("NEEDLE") == [("r1/ab/0", f"1 of 2 {needle}"), ("r1/c/1", f"2 of 2 {needle}")]
    assert sorted(found("B", "r1")) == [(f"r1/{one}", "") for one in ("ab/0", "ab/1", "b/0", "b/1")]
    assert len(found("B", "r1", 3)) == 3
    assert found("wrote") == [("r1/c/0", "it wrote its own results")]
    assert [one for one, _ in found("c", "r1", 3)] == ["r1/c/0", "r1/c/1", "r1/ab/0"]
    assert [one for one, _ in found("other", "r2")] == ["r2/b/0", "r2/c/0"]
    assert found("other", "r1") == []


def test_two_runs_side_by_side(index: RunIndex) -> None:
    """Who solved which tasks; and tasks in several runs, by name, by a part of it, or by who solved them."""
    assert index.parted("r1", "r2") == Parted(base="r1", other="r2", counts={"gained": 1, "lost": 1, "neither": 1})
    assert index.parted("r1", "r3").counts == {"both": 1, "gained": 1}
    one, half, zero, none = (1.0, None), (0.5, None), (0.0, None), (None, None)
    ab = GridRow(task="ab", cells=((0.75, None), one, one))
    rows = [
        GridRow(task="AB", cells=(None, None, one)),
        ab,
        GridRow(task="b", cells=(one, half, one)),
        GridRow(task="c", cells=(zero, zero, None)),
        GridRow(task="d", cells=(zero, None, None)),
        GridRow(task="e", cells=(none, None, None)),
        GridRow(task="f", cells=(None, one, None)),
    ]
    runs = ["r1", "r2", "r3"]
    assert index.grid(runs) == (rows, 7)
    assert index.grid(runs, "B", 1, 1) == ([ab], 3)
    for part, task in (("lost", "b"), ("gained", "ab"), ("neither", "c")):
        found, count = index.grid(runs, part=(part, "r2"))
        assert ([row.task for row in found], count) == ([task], 1)
    assert index.grid(runs, "x", part=("lost", "r2")) == ([], 0)


@pytest.mark.parametrize(
    ("task", "before", "after"), [("ab", None, "b"), ("b", "ab", "c"), ("d", "c", "e"), ("e", "d", None)]
)
def test_neighbours_by_name(index: RunIndex, task: str, before: str | None, after: str | None) -> None:
    """None at either end."""
    assert index.neighbours("r1", task) == (before, after)


def test_a_run_is_read_again_when_its_files_changed(tmp_path: Path) -> None:
    """One that is gone is forgotten, with its attempts; one that was mended has a report."""
    with closing(made(tmp_path)) as index:
        for file in (tmp_path / "r2").glob("*.json*"):
            file.unlink()
        config, _ = run_of("bad", {"x": ["pending"]})
        (tmp_path / "bad" / "config.json").write_text(config.model_dump_json())
        index.refresh()
        assert [(one.name, one.error) for one in index.runs()] == [("bad", None), ("r1", None), ("r3", None)]
        assert (index.place_count("r2"), index.place_count("bad")) == (0, 1)


MINUTES = tuple[int | None, ...]


@pytest.mark.parametrize(
    ("minutes", "left", "ends"),
    [
        ((), 6, None),
        ((0, 10), 4, None),
        ((0, 10, 20), 3, 50),
        ((0, 10, 40), 3, 100),
        ((20, 0, 10), 3, 50),  # settled at once, written in another order
        ((0, 10, 20, 30, 40, 50), 0, None),
        ((0, 10, 260), 3, None),  # a pause
        ((0, 10, 250), 3, 625),  # four hours are none
        ((0, 300, 310, 320), 2, 340),  # before the pause does not count
        ((None, 10, 20), 3, None),  # found in the cache
    ],
)
def test_when_a_run_will_end(tmp_path: Path, minutes: MINUTES, left: int, ends: int | None) -> None:
    """At the pace of its latest verdicts, from three on; without those of the cache, and those before a pause."""
    config, lines = run_of("live", {f"t{number}": [(1, 2)] for number in range(6)})
    kept = dict(list(lines.items())[: len(minutes)])
    with RunWriter.create(tmp_path / "live", config) as writer:
        for line, minute in zip(kept.values(), minutes, strict=True):
            ended = BEGAN + timedelta(minutes=minute or 0)
            writer.record(
                line.but(started_at=BEGAN, finished_at=ended, cached=minute is None, submission="s"), [], {}
            )
    expected: datetime | None = None if ends is None else BEGAN + timedelta(minutes=ends)
    assert under_way(tmp_path / "live", report_run(config, kept)) == UnderWay(left=left, ends_at=expected)


def test_what_a_journal_holds_beside_verdicts_says_nothing_of_the_pace(tmp_path: Path) -> None:
    """A torn last line, a damaged one, a try that settled nothing; without a journal nothing is known."""
    config, lines = run_of("live", {"a": [(1, 2)], "b": [(1, 2)], "c": [(1, 2)], "d": ["infrastructure"]})
    said = [
        line.but(finished_at=BEGAN + timedelta(minutes=10 * number)).model_dump_json()
        for number, line in enumerate(lines.values())
    ]
    report = report_run(config, lines)
    for written, ends in (
        ([*said[:2], "{", said[3], said[2], ""], 30),
        ([*said[:2], "{", said[3], said[2]], None),
    ):
        (tmp_path / "verdicts.jsonl").write_text("\n".join(written))
        found = under_way(tmp_path, report)
        assert found == UnderWay(left=1, ends_at=ends and BEGAN + timedelta(minutes=ends))
    assert under_way(tmp_path / "none", report) == UnderWay(left=1, ends_at=None)


def test_the_fleet_of_a_run_is_shown_while_it_works(tmp_path: Path) -> None:
    """Not after it, and not where its file is damaged."""
    write_run(tmp_path, "r1", {"a": [(1, 2)]})
    fleet = FleetFile(at=BEGAN, waiting=3, layers=2, nodes=())
    (tmp_path / "r1" / "nodes.json").write_text(fleet.model_dump_json())
    assert fleet_of(tmp_path, RunSummary(name="r1", working=True)) == fleet
    assert fleet_of(tmp_path, RunSummary(name="r1", working=False)) is None
    (tmp_path / "r1" / "nodes.json").write_text("{")
    assert fleet_of(tmp_path, RunSummary(name="r1", working=True)) is None
