"""Which files within reach of a submission hold the answer, or nearly."""

from pathlib import Path

from groundup.environments.requests import ENVIRONMENT_TARGET
from groundup.grading.library.hidden import HiddenTests
from groundup.sandbox.protocol import Mount
from groundup_factory.recipes.within_reach import LeakedFile, find_answers
from tests.grading.library.laboratory import NO_ENVIRONMENT, write_tree

LINES = [f"value_{number} = {number}" for number in range(20)]
SHORT = [f"short_{number} = {number}" for number in range(14)]
TESTS = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))


def text(lines: list[str]) -> str:
    """Return a module of these lines."""
    return "".join(f"{line}\n" for line in lines)


def test_copies_of_the_originals_files_are_found_wherever_they_are_seen(tmp_path: Path) -> None:
    """Equal but for order, comments and blanks, or by four fifths of its lines; short ones are alike by chance."""
    original = write_tree(
        tmp_path / "original",
        {
            "calc/__init__.py": text(LINES),
            "calc/short.py": text(SHORT),
            "tests/test_a.py": text([*LINES[:16], *(f"other_{number}" for number in range(40))]),
            "tests/data.txt": text(LINES),
        },
    )
    installed = write_tree(
        tmp_path / "installed",
        {
            "lib/equal.py": "# a comment\n\n" + text([f"  {line}" for line in reversed(LINES)]),
            "lib/less.py": text(LINES[:15]),
            "lib/short.py": text(SHORT),
            "lib/none.py": text([f"else_{number} = 1" for number in range(30)]),
        },
    )
    (installed / "lib/link.py").symlink_to("equal.py")
    mounts = (
        Mount(source=installed, target=ENVIRONMENT_TARGET),
        Mount(source=installed, target="/elsewhere"),
    )
    source = "calc/__init__.py"
    assert find_answers(original, TESTS, NO_ENVIRONMENT.but(mounts=mounts)) == [
        LeakedFile(place=f"{ENVIRONMENT_TARGET}/lib/equal.py", source=source, likeness=1.0),
        LeakedFile(place="tests/test_a.py", source=source, likeness=0.8),
    ]
