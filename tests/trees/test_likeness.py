"""A copy with a file added or some lines edited is a copy; two programs for one task are not."""

from pathlib import Path

from groundup.domain.tasks import SeedFile, Task
from groundup.trees.likeness import Lines, written_lines

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
