"""What an image holds, as the account of a recipe."""

from pathlib import Path

from groundup.sandbox.rooted import UnpackedImage
from groundup.suites.nl2repobench.published_image import NOTHING_KNOWN, PublishedFiles, PublishedImage
from groundup.suites.nl2repobench.recipe import parse_recipe, shipped_recipes
from groundup.trees.edits import sha256_of
from groundup_factory.recipes.files import recipe_text
from groundup_factory.recipes.image_account import account_changes, account_of
from tests.grading.library.laboratory import write_tree

ORIGINAL = {
    "tests/test_same.py": "same\n",
    "tests/test_ends.py": "a\nb\n",
    "tests/test_changed.py": "one\n",
    "tests/test_gone.py": "gone\n",
    "setup.py": "setup\n",
    "setup.cfg": "cfg\n",
    "core.py": "code\n",
}
IMAGE = {
    "workspace/tests/test_same.py": "same\n",
    "workspace/tests/test_ends.py": "a\r\nb\r\n",
    "workspace/tests/test_changed.py": "two\n",
    "workspace/tests/test_own.py": "own\n",
    "workspace/tests/__init__.py": "",
    "workspace/setup.py": "setup\n",
}


def account(tmp_path: Path, known: PublishedImage | None = None) -> PublishedImage:
    """Return the account of IMAGE beside ORIGINAL, by a recipe whose tests lie in `tests`."""
    recipe = shipped_recipes()["justext"]
    assert recipe.published is not None
    run = recipe.published.but(test_files=("tests",), moved={})
    image = UnpackedImage(name="x.tar", digest="sha256:1", root=write_tree(tmp_path / "root", IMAGE))
    return account_of(image, recipe.but(image=known, published=run), write_tree(tmp_path / "original", ORIGINAL))


def test_each_file_is_what_it_is(tmp_path: Path) -> None:
    """By its bytes: the original's, with other line ends, another, the publishers' own, empty, or not there."""
    found = account(tmp_path)
    assert {path: standing for path, standing, _ in found.tests.standings()} == {
        "tests/test_same.py": "same",
        "tests/test_ends.py": "crlf",
        "tests/test_changed.py": "differs",
        "tests/test_own.py": "added",
        "tests/__init__.py": "empty",
        "tests/test_gone.py": "absent",
    }
    assert {path: standing for path, standing, _ in found.packages.standings()} == {
        "setup.py": "same",
        "setup.cfg": "absent",
    }
    assert found.tests.differs["tests/test_changed.py"] == sha256_of(b"two\n")


def test_changes_are_named(tmp_path: Path) -> None:
    """Beside what a recipe said; what it had right is not named, nor what it has not among all that it names."""
    said = PublishedImage(
        tests=PublishedFiles(same={"tests/test_same.py": sha256_of(b"same\n"), "tests/test_ends.py": ""}),
        packages=PublishedFiles(same={"setup.py": ""}, all_named=True),
    )
    lines = [*account_changes(said, account(tmp_path))]
    assert "test file tests/test_ends.py: same in the recipe, crlf in the image" in lines
    assert not any("test_same" in line or "setup" in line for line in lines)
    assert len([*account_changes(NOTHING_KNOWN, account(tmp_path / "again"))]) == 8


def test_a_recipe_reads_it(tmp_path: Path) -> None:
    """The account is written as the recipe's `[image]`."""
    found = account(tmp_path)
    recipe = shipped_recipes()["justext"].but(image=found)
    assert parse_recipe(recipe_text(recipe), "justext.toml").image == found
