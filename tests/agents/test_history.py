"""What a workspace looked like after each turn can be told from the trajectory, whatever happens in it."""

import os
import random
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.agents import history
from groundup.agents.history import Texts, WorkspaceHistory, edited, edits_between

Steps = list[dict[str, JsonValue]]


class Told:
    """A workspace with a seed, and the steps that its history tells."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.steps: Steps = []
        self.seeds_asked = 0
        self.begin("workspace")

    def begin(self, name: str) -> None:
        """Start a try in a fresh workspace."""
        self.place = self.root / name
        self._seed(self.place)
        self.history = WorkspaceHistory(self.place, list(self.steps), self._seeds)

    def _seed(self, place: Path) -> Path:
        (place / "docs").mkdir(parents=True)
        (place / "docs" / "spec.md").write_text("one\ntwo\nthree\n")
        (place / "untouched.txt").write_text("as it was")
        return place

    def _seeds(self) -> Path:
        self.seeds_asked += 1
        place = self.root / "seeds"
        return place if place.is_dir() else self._seed(place)

    def turn(self, number: int) -> list[str]:
        """End a turn; return what was told of it."""
        step = self.history.after(number)
        if step is None:
            return []
        self.steps.append({"kind": "workspace", "at": "", **step})
        changes = history.changes_of(self.steps[-1])
        assert changes is not None
        return [f"{one.what} {one.path}" for one in changes.files]

    def texts(self, turn: int) -> dict[str, str | None]:
        """Return the texts after a turn, as the steps tell them."""
        return Texts(step for step in self.steps if int(str(step["turn"])) <= turn).known


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """A workspace before the first turn."""
    return Told(tmp_path)


def test_each_turn_is_told_and_each_text_can_be_had_again(told: Told) -> None:
    """Added, changed and removed files, seeds among them; a turn that only reads is in no step."""
    main = told.place / "pkg.py"
    main.write_text("".join(f"line {number}\n" for number in range(100)))
    assert told.turn(1) == ["added pkg.py"]
    assert told.turn(2) == []
    main.write_text(main.read_text().replace("line 50\n", "other\nlines\n"))
    (told.place / "docs" / "spec.md").write_text("one\n2\nthree\n")
    assert told.turn(3) == ["changed docs/spec.md", "changed pkg.py"]
    main.unlink()
    assert told.turn(4) == ["removed pkg.py"]
    assert "other\nlines\n" in (told.texts(3)["pkg.py"] or "")
    assert told.texts(3)["docs/spec.md"] == "one\n2\nthree\n"
    assert told.texts(4)["pkg.py"] is None
    assert "line 50\n" in (told.texts(1)["pkg.py"] or "")
    assert len(str(told.steps[1])) < 500, "a change of a line is kept as that line"
    assert told.seeds_asked == 1


def test_a_change_brings_the_seeds_text_along(told: Told) -> None:
    """So what the agent changed in it is known without the suite's data."""
    (told.place / "docs" / "spec.md").write_text("all\nnew\n")
    told.turn(1)
    (told.place / "docs" / "spec.md").unlink()
    told.turn(2)
    changes = history.changes_of(told.steps[0])
    assert changes is not None
    ((only),) = Texts().take(changes)
    assert (only.before, only.after) == ("one\ntwo\nthree\n", "all\nnew\n")


def test_a_resumed_attempt_tells_nothing_twice(told: Told) -> None:
    """Its turns are done again in a fresh workspace; only what differs from the record is told."""
    (told.place / "pkg.py").write_text("a\n")
    (told.place / "untouched.txt").unlink()
    told.turn(1)
    told.begin("again")
    (told.place / "pkg.py").write_text("a\n")
    (told.place / "untouched.txt").unlink()
    assert told.turn(1) == []
    (told.place / "pkg.py").write_text("b\n")
    assert told.turn(2) == ["changed pkg.py"]
    told.begin("anew")  # as a program of its own that is started again
    assert told.turn(0) == ["added untouched.txt", "removed pkg.py"]


def test_what_is_no_text_or_too_much_is_named(told: Told) -> None:
    """With its size; nothing follows a link, waits for a pipe or opens what cannot be read."""
    (told.place / "picture.bin").write_bytes(b"\0" * 10)
    (told.place / "latin.txt").write_bytes(b"\xe9")
    (told.place / "long.txt").write_text("x" * (history.FILE_BYTES + 1))
    (told.place / "out").symlink_to("/etc/passwd")
    os.mkfifo(told.place / "pipe")
    for cache in (".git", "node_modules", "__pycache__", "env"):
        (told.place / cache).mkdir()
        (told.place / cache / "inside.txt").write_text("x")
    (told.place / "env" / "pyvenv.cfg").write_text("")
    assert told.turn(1) == ["added latin.txt", "added long.txt", "added picture.bin"]
    changes = history.changes_of(told.steps[0])
    assert changes is not None
    assert [one.left_out for one in changes.files] == ["no text", "longer than 256 KiB", "no text"]
    assert changes.files[2].bytes == 10


def test_many_files_are_told_over_several_turns(told: Told) -> None:
    """A step stays small; it says that there is more."""
    for number in range(300):
        (told.place / f"{number:03}.txt").write_text("x")
    assert len(told.turn(1)) == 200
    assert told.steps[0]["more"]
    assert len(told.turn(2)) == 100
    assert "more" not in told.steps[1]


def test_what_lies_too_deep_is_told_of(told: Told) -> None:
    """A step says that there is more than was looked at."""
    deep = told.place.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    (deep / "far.txt").write_text("x")
    (told.place / "near.txt").write_text("x")
    assert told.turn(1) == ["added near.txt"]
    assert told.steps[0]["more"]


def test_edits_are_exact() -> None:
    """Whatever the texts, lines without an end and odd separators included."""
    random.seed(7)
    pieces = ["a\n", "b\n", "}\n", "\n", "c", "\r\n", "d\u2028", "e\x0c"]
    for _ in range(500):
        before, after = ("".join(random.choices(pieces, k=random.randrange(12))) for _ in range(2))
        assert edited(before, edits_between(before, after)) == after
    before, after = "x\n" * 3000, "y\n" * 3000 + "x\n"
    assert edited(before, edits_between(before, after)) == after


@pytest.mark.parametrize(("number", "more"), [(200, False), (201, True)])
def test_a_step_says_that_there_is_more_only_where_there_is(told: Told, number: int, more: bool) -> None:
    """As many as a step holds are all."""
    for at in range(number):
        (told.place / f"{at:03}.txt").write_text("x")
    assert len(told.turn(1)) == 200
    assert told.steps[0].get("more", False) is more


def test_of_one_attempt_so_much_is_kept(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, edits and what seeds had count; what is beyond is told of by its size."""
    monkeypatch.setattr(history, "KEPT_CHARACTERS", 30)
    (told.place / "a.txt").write_text("x" * 10)
    (told.place / "docs" / "spec.md").write_text("one\ntwo\nfour\n")  # 14 characters before, and an edit of 5
    told.turn(1)
    (told.place / "b.txt").write_text("y")
    told.turn(2)
    (told.place / "c.txt").write_text("z")
    told.turn(3)
    files = [(one.path, one.text, one.left_out, one.bytes) for at in (1, 2) for one in _changes(told, at)]
    assert files == [("b.txt", "y", None, None), ("c.txt", None, "more than is kept of one attempt", 1)]
    assert Texts(told.steps).characters == 30
    assert [(one.path, one.before, one.text) for one in _changes(told, 0)] == [
        ("a.txt", None, "x" * 10),
        ("docs/spec.md", "one\ntwo\nthree\n", None),
    ]


def _changes(told: Told, at: int) -> tuple[history.FileChange, ...]:
    changes = history.changes_of(told.steps[at])
    assert changes is not None
    return changes.files
