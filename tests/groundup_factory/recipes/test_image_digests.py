"""A recipe's account of its image beside a table of digests."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.suites.nl2repobench.published_image import PublishedFiles, PublishedImage
from groundup.trees.edits import FileEdit, sha256_of
from groundup_factory.recipes.image_digests import account_differs, read_digests
from tests.grading.library.laboratory import write_tree
from tests.suites.nl2repobench.trials import RECIPE

HEAD = "task\tkind\tpath\timage_sha256\tstatus\tchange\n"
EDIT = FileEdit(sha256=sha256_of(b"from calc import *\n"), steps=(("star-imports", "calc"),))
IMAGE = PublishedImage(
    tests=PublishedFiles(
        same={"tests/same.py": sha256_of(b"same\n")},
        crlf={"tests/ends.txt": ""},
        edited={"tests/imports.py": EDIT},
        differs={"tests/other.py": "1" * 64},
    ),
    packages=PublishedFiles(absent=("setup.cfg",)),
)
ORIGINAL = {"tests/same.py": "same\n", "tests/ends.txt": "a\n", "tests/imports.py": "from calc import add\n"}
ROWS = (
    f"calc\ttest\ttests/same.py\t{sha256_of(b'same' + chr(10).encode())}\tequal\t\n"
    f"calc\ttest\ttests/ends.txt\t{'2' * 63}\tline_ends_only\ta digest that is too short counts as none\n"
    f"calc\ttest\ttests/imports.py\t{EDIT.sha256}\tchanged\t\n"
    f"calc\ttest\ttests/other.py\t{'1' * 64}\tchanged\t\n"
    f"calc\tpackage\tsetup.cfg\t{'3' * 64}\tchanged\tof the build (not copied to /workspace)\n"
    f"calc\tpackage\t/calc/setup.py\t{'4' * 64}\tchanged\toutside\n"
    f"calc\tother\tDockerfile\t{'5' * 64}\tadded\t\n"
)


def _lines(tmp_path: Path, rows: str, image: PublishedImage = IMAGE) -> list[str]:
    table = tmp_path / "images.tsv"
    table.write_text(HEAD + rows)
    original = write_tree(tmp_path / "original", ORIGINAL)
    return account_differs(RECIPE.but(image=image), read_digests(table)["calc"], original)


def test_an_account_that_fits(tmp_path: Path) -> None:
    """Every file has its standing and its digest; what lies outside the workspace is passed over."""
    assert _lines(tmp_path, ROWS) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("\tequal", "\tchanged", "tests/same.py: same in the recipe, changed in the table"),
        ("1" * 64, "6" * 64, "tests/other.py: 111111111111 in the recipe, 666666666666 in the table"),
        ("tests/other.py", "tests/new.py", "tests/new.py: is in the table (changed) and not in the recipe"),
    ],
)
def test_what_differs_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    """Another standing, another digest, a file that only one of them knows."""
    assert says in _lines(tmp_path, ROWS.replace(old, new, 1))


def test_a_file_that_rules_do_not_make_is_named(tmp_path: Path) -> None:
    """Each proven file is made again from the original."""
    wrong = EDIT.but(steps=(("crlf",),))
    lines = _lines(tmp_path, ROWS, IMAGE.but(tests=IMAGE.tests.but(edited={"tests/imports.py": wrong})))
    assert len(lines) == 1
    assert lines[0].startswith("tests/imports.py: its rules make a file")


def test_a_table_without_its_columns_is_refused(tmp_path: Path) -> None:
    """One sentence names the column."""
    table = tmp_path / "images.tsv"
    table.write_text("task\tpath\n")
    with pytest.raises(UsageError, match="names no column image_sha256; it needs task, kind"):
        read_digests(table)
