"""A copy with a file added or some lines edited is a copy; two programs for one task are not."""

from pathlib import Path
from zlib import crc32

import pytest

from groundup.domain.tasks import SeedFile, Task
from groundup.trees.likeness import HandedIn, Lines, shared, written_lines

GIVEN = "".join(f"The service answers request number {number}.\n" for number in range(200))
TASK = Task(id="one", suite="toy", instruction="x", seeds=(SeedFile(path="README.md", content=GIVEN.encode()),))
PROGRAM = {"app.py": "".join(f"value_{number} = compute({number})\n" for number in range(100)), "README.md": GIVEN}


def tree(folder: Path, files: dict[str, str]) -> Path:
    """Write *files* below *folder*."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def nearly(room: Path, files: dict[str, str], task: Task = TASK) -> bool:
    """Whether *files* are the program, nearly."""
    number = len(list(room.iterdir()))
    first, second = (tree(room / f"{number}-{name}", one) for name, one in (("a", PROGRAM), ("b", files)))
    return written_lines(first, task).nearly(written_lines(second, task))


def test_a_copy_with_something_added_is_a_copy(tmp_path: Path) -> None:
    """One file, however long, a comment behind every line of a few, other indents, another name."""
    assert nearly(tmp_path, {**PROGRAM, "NOTES": "mine\n"})
    assert nearly(tmp_path, {**PROGRAM, "more.py": "".join(f"padding number {one}\n" for one in range(20_000))})
    assert nearly(tmp_path, {"other.py": PROGRAM["app.py"].replace("value_1", "  renamed_1")})
    assert not nearly(tmp_path, {"app.py": PROGRAM["app.py"].replace("value_", "renamed_")})


def test_what_was_given_makes_no_copy(tmp_path: Path) -> None:
    """Whoever keeps the task's own text shares it with everybody."""
    other = {"app.py": "".join(f"answer_{one} = other({one})\n" for one in range(100)), "README.md": GIVEN}
    assert not nearly(tmp_path, other)
    assert not nearly(tmp_path, {"README.md": GIVEN})


def test_nothing_of_a_long_text_that_was_given_makes_a_copy(tmp_path: Path) -> None:
    """Of so many lines every second is known; the others count as little."""
    text = "".join(f"The service answers request number {number}.\n" for number in range(6000))
    task = TASK.but(seeds=(SeedFile(path="README.md", content=text.encode()),))
    part = {"README.md": "".join(text.splitlines(keepends=True)[:3000])}
    assert not written_lines(tree(tmp_path / "one", part), task).numbers


def test_edits_are_compared_by_bytes_alone(tmp_path: Path) -> None:
    """Most of a manifest is given, so two right ones are alike."""
    assert not nearly(tmp_path, PROGRAM, TASK.but(deliverable="edits"))


def test_few_lines_say_nothing(tmp_path: Path) -> None:
    """Nineteen lines in common are boilerplate."""
    few = {"app.py": "\n".join(PROGRAM["app.py"].splitlines()[:19])}
    assert not nearly(tmp_path, few)


def test_of_a_large_submission_the_same_lines_are_kept_whatever_the_order_of_its_files() -> None:
    """Lines that come after many others are chosen by the same rule, or two alike would not be."""
    texts = [b"".join(b"line %d of file %d\n" % (line, file) for line in range(8000)) for file in range(4)]
    lines = Lines.of(texts)
    assert lines.step > 1
    assert lines == Lines.of(reversed(texts))
    assert not any(number % lines.step for number in lines.numbers)


def lines(*numbers: int, step: int = 1) -> Lines:
    """Return lines that have these numbers."""
    return Lines(step, frozenset(numbers))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (range(20), range(20), True),
        (range(19), range(19), False),
        (range(20), range(25), True),
        (range(25), range(5, 400), True),
        (range(25), range(6, 400), False),
        (range(100), range(20, 120), True),
        (range(100), range(21, 121), False),
        (range(0), range(0), False),
    ],
)
def test_two_are_alike_from_twenty_lines_and_four_fifths_on(one: range, other: range, *, alike: bool) -> None:
    """Of the shorter one; whichever is asked."""
    assert lines(*one).nearly(lines(*other)) is alike
    assert lines(*other).nearly(lines(*one)) is alike


def test_of_two_lengths_only_lines_that_both_keep_are_compared() -> None:
    """One that keeps every fourth stands for four times as many."""
    long = lines(*range(0, 80, 4), step=4)
    assert long.nearly(lines(*range(80)))
    assert lines(*range(20)).nearly(lines(*range(0, 20, 4), step=4))
    assert not lines(*range(16)).nearly(lines(*range(0, 16, 4), step=4))
    assert long.every(8) == frozenset(range(0, 80, 8))
    assert long.every(4) is long.numbers


def test_a_line_counts_from_eight_characters_on() -> None:
    """Blanks at its ends aside; what is no text has none, and a line that stands there twice is one."""
    found = Lines.of([b"1234567\n  12345678\t\r\nabcdefgh\n\n", b"abcdefgh  ", b"binary text\0\n"])
    assert found == Lines(1, frozenset({crc32(b"12345678"), crc32(b"abcdefgh")}))
    assert Lines.of([]) == Lines(1, frozenset())
    whole = Lines.of([b"".join(b"line number %d\n" % number for number in range(4000))])
    assert (whole.step, len(whole.numbers)) == (1, 4000)
    more = Lines.of([b"".join(b"line number %d\n" % number for number in range(4001))])
    assert more == Lines(2, frozenset(one for one in (*whole.numbers, crc32(b"line number 4000")) if one % 2 == 0))


def test_what_was_handed_in_twice_is_counted() -> None:
    """For the same task: by its bytes, or nearly; each of the first ones once."""
    program, other = lines(*range(30)), lines(*range(100, 130))
    one = HandedIn("a", "sha256:1", program)
    assert one.is_like(HandedIn("a", "sha256:1", other))
    assert one.is_like(HandedIn("a", "sha256:2", program))
    assert not one.is_like(HandedIn("a", "sha256:2", other))
    assert not one.is_like(HandedIn("b", "sha256:1", program))
    assert shared([one, one, HandedIn("b", "sha256:1", program)], [one, one]) == 2
    assert shared([], [one]) == shared([one], []) == 0


def test_of_a_tree_only_files_have_lines(tmp_path: Path) -> None:
    """At any depth people write; links lead nowhere, what is absent has none, and what was given is left out."""
    folder = tmp_path / "tree" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "deep.py").write_text("written far below\nThe service answers request number 7.\nwhat is asked\n")
    (tmp_path / "outside").write_text("somebody else's line\n")
    (tmp_path / "tree" / "link").symlink_to("../outside")
    task = TASK.but(instruction="what is asked")
    assert written_lines(tmp_path / "tree", task) == Lines(1, frozenset({crc32(b"written far below")}))
    assert written_lines(tmp_path / "absent", task) == Lines(1, frozenset())
    assert len(written_lines(tmp_path / "tree", TASK.but(instruction=None)).numbers) == 2
