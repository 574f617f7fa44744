"""What lies at /workspace before the first published command."""

from pathlib import Path

import pytest

from groundup.grading.library.hidden import HiddenTests
from groundup.suites.nl2repobench.official_workspace import Image, archive_problem, lay_out, overlay, write_image
from groundup.suites.nl2repobench.published_image import PublishedFiles, PublishedImage
from groundup.suites.nl2repobench.recipe import PublishedRun
from tests.grading.library.laboratory import write_tree

HIDDEN = HiddenTests(
    packages=("calc",), arguments=("tests",), protected=("tests", "conftest.py"), absent=("tox.ini",)
)
RUN = PublishedRun(commands=("pytest tests",), test_files=("tests",))
ORIGINAL = {
    "calc/__init__.py": "",
    "calc/setup.cfg": "data",
    "tests/test_calc.py": "hidden",
    "extra/test_more.py": "hidden too",
    "conftest.py": "hidden",
    "pyproject.toml": "original",
    "needs/requirements.txt": "original",
    "tox.ini": "original",
    "README.md": "original",
}


def _files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_the_image_holds_tests_and_declarations_only(tmp_path: Path) -> None:
    """No line of the library, no readme, and nothing that the image lacks: `absent` of tests is for `strict`."""
    original = write_tree(tmp_path / "original", ORIGINAL | {"setup.cfg": "original"})
    image = write_tree(tmp_path / "image", {})
    known = PublishedImage(packages=PublishedFiles(absent=("setup.cfg",)))
    write_image(Image(original, HIDDEN, PublishedRun(commands=("pytest",), test_files=("extra/",)), known), image)

    assert sorted(_files(image)) == [
        "conftest.py",
        "extra/test_more.py",
        "needs/requirements.txt",
        "pyproject.toml",
        "tests/test_calc.py",
        "tox.ini",
    ]


def test_the_image_holds_what_the_original_makes_beside_its_packages(tmp_path: Path) -> None:
    """A folder that tests write into and a repository are there; what a build writes into packages is not."""
    generated = {"data/": "", ".git/": "", ".git/HEAD": "ref", "src/calc/_v.py": "", "calc/x/": ("*",)}
    hidden = HIDDEN.but(generated=generated)
    image = write_tree(tmp_path / "image", {})
    write_image(Image(write_tree(tmp_path / "original", ORIGINAL), hidden, RUN), image)

    assert (image / "data").is_dir()
    assert (image / ".git/HEAD").read_text() == "ref"
    assert not (image / "src").exists()
    assert not (image / "calc").exists()


def test_an_image_may_have_its_tests_elsewhere(tmp_path: Path) -> None:
    """Where the publishers moved tests out of the package, the recipe says so, and the old place is empty."""
    original = write_tree(tmp_path / "original", {"calc/tests/test_calc.py": "hidden", "calc/core.py": ""})
    hidden = HiddenTests(packages=("calc",), arguments=("calc/tests",), protected=("calc/tests",))
    image = write_tree(tmp_path / "image", {})
    write_image(Image(original, hidden, RUN.but(moved={"tests": "calc/tests"})), image)

    assert _files(image) == {"tests/test_calc.py": "hidden"}


async def test_a_submission_lies_over_the_image(tmp_path: Path) -> None:
    """Its tests and declarations are gone, the image's are there; everything else of both is kept."""
    original = write_tree(tmp_path / "original", ORIGINAL)
    own = {"calc/core.py": "mine", "tests/test_calc.py": "mine", "pyproject.toml": "mine", "conftest.py": "mine"}
    laid = await lay_out(
        write_tree(tmp_path / "submission", own), Image(original, HIDDEN, RUN), tmp_path / "scratch"
    )

    assert laid.refused is None
    assert laid.deleted == ("pyproject.toml", "tests")
    assert _files(laid.workspace) == {
        "calc/core.py": "mine",
        "tests/test_calc.py": "hidden",
        "pyproject.toml": "original",
        "conftest.py": "mine",
        "needs/requirements.txt": "original",
        "tox.ini": "original",
    }
    assert sorted(_files(tmp_path / "submission")) == sorted(own), "and what was handed in is untouched"


@pytest.mark.parametrize(
    ("upper", "link", "says"),
    [
        ({"tests": "a file"}, None, "tests cannot replace the folder"),
        ({"conftest.py/x": ""}, None, "conftest.py cannot replace what the image holds"),
        ({"mine/x": ""}, "tests", "tests cannot replace the folder"),
    ],
)
def test_what_an_image_build_refuses(tmp_path: Path, upper: dict[str, str], link: str | None, says: str) -> None:
    """Folders and other things never replace each other."""
    above = write_tree(tmp_path / "upper", upper)
    if link is not None:
        (above / link).symlink_to("mine")
    refused = overlay(above, write_tree(tmp_path / "lower", ORIGINAL))

    assert refused is not None
    assert says in refused


def test_nothing_is_written_through_a_link_of_the_image(tmp_path: Path) -> None:
    """A folder over a link is refused, so the link's target stays what it was."""
    lower = write_tree(tmp_path / "lower", {"real/x": "kept"})
    (lower / "link").symlink_to("real")
    assert overlay(write_tree(tmp_path / "upper", {"link/x": "mine"}), lower) is not None
    assert _files(lower)["real/x"] == "kept"


def test_a_program_of_the_image_stays_one(tmp_path: Path) -> None:
    """Everybody may read the original's files, and execute those that somebody could."""
    original = write_tree(tmp_path / "original", ORIGINAL | {"tests/run": "hidden"})
    (original / "tests/run").chmod(0o700)
    (original / "tests/test_calc.py").chmod(0o600)
    image = write_tree(tmp_path / "image", {})
    write_image(Image(original, HIDDEN, RUN), image)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (image / "tests").iterdir()}
    assert modes == {"run": 0o755, "test_calc.py": 0o644}


def test_a_link_replaces_a_file(tmp_path: Path) -> None:
    """As a file does."""
    upper = write_tree(tmp_path / "upper", {"mine.py": "mine"})
    (upper / "conftest.py").symlink_to("mine.py")
    lower = write_tree(tmp_path / "lower", ORIGINAL)
    assert overlay(upper, lower) is None
    assert (lower / "conftest.py").read_text() == "mine"


def test_what_cannot_be_archived(tmp_path: Path) -> None:
    """A dangling link ends the published evaluation; a linked folder does not."""
    tree = write_tree(tmp_path / "tree", {"a/b": ""})
    (tree / "folder").symlink_to("a")
    assert archive_problem(tree) is None
    (tree / "gone").symlink_to("a/c")
    assert archive_problem(tree) == "gone leads nowhere, so the submission cannot be archived"
