"""What a recipe knows of the published image, and what graders make of it."""

from pathlib import Path

import pytest
from typing_extensions import override

from groundup.domain.errors import TaskError
from groundup.domain.tasks import Task
from groundup.environments.requests import AnySource, Layer
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import HiddenTests
from groundup.suites.nl2repobench.official import NL2RepoOfficialGrader
from groundup.suites.nl2repobench.official_workspace import Image, lay_out, write_image
from groundup.suites.nl2repobench.published_image import PublishedFiles, PublishedImage, graded_edits
from groundup.suites.nl2repobench.recipe import PublishedRun, shipped_recipes
from groundup.trees.edits import FileEdit, applied, sha256_of
from tests.grading.library.laboratory import HostBuilder, write_tree
from tests.sandbox.fake import FakeProvider
from tests.suites.nl2repobench.images import Laboratory, Published

TESTS = """from calc import CalcError, add


def test_add():
    assert add(1, 2) == 3


def test_error():
    assert issubclass(CalcError, Exception)
"""
STAR = (("star-imports", "calc"),)
SETUP = "open('README.rst').read()\nopen('docs/CHANGELOG.md').read()\n"
ORIGINAL = {
    "calc/__init__.py": "class CalcError(Exception):\n    pass\n\n\ndef add(a, b):\n    return a + b\n",
    "tests/test_calc.py": TESTS,
    "tests/data.txt": "one\ntwo\n",
    "setup.py": SETUP,
    "setup.cfg": "[metadata]\n",
    "README.rst": "about",
    "docs/CHANGELOG.md": "changes",
    "NEWS": "not looked for",
}
LOOSE = FileEdit(sha256=sha256_of(applied(TESTS.encode(), STAR)), steps=STAR)
HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
RUN = PublishedRun(commands=("pytest tests",), test_files=("tests",))
RENAMED = {"calc/__init__.py": ORIGINAL["calc/__init__.py"].replace("CalcError", "Error"), "README.md": "mine"}
IDS = frozenset({"tests/test_calc.py::test_add", "tests/test_calc.py::test_error"})


def _image(**tests: object) -> PublishedImage:
    return PublishedImage(tests=PublishedFiles.model_validate(tests))


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_image_has_the_published_form(tmp_path: Path) -> None:
    """Line ends, edits, files that are missing and empty ones: byte for byte as stated."""
    known = _image(
        edited={"tests/test_calc.py": LOOSE},
        crlf={"tests/data.txt": sha256_of(b"one\r\ntwo\r\n")},
        empty=("tests/__init__.py",),
    ).but(packages=PublishedFiles(same={"setup.py": sha256_of(SETUP.encode())}, all_named=True))
    image = write_tree(tmp_path / "image", {})
    write_image(Image(write_tree(tmp_path / "original", ORIGINAL), HIDDEN, RUN, known), image)

    found = _files(image)
    assert found["tests/test_calc.py"].startswith(b"from calc import *\n\n\ndef test_add")
    assert found["tests/data.txt"] == b"one\r\ntwo\r\n"
    assert found["tests/__init__.py"] == b""
    assert "setup.cfg" not in found, "the image holds no other package file"


def test_another_original_is_refused(tmp_path: Path) -> None:
    """A file that is not as the recipe says ends grading with a sentence about it."""
    known = _image(same={"tests/test_calc.py": "0" * 64})
    original = write_tree(tmp_path / "original", ORIGINAL)
    with pytest.raises(TaskError, match=r"tests/test_calc.py: is .* and the recipe says"):
        write_image(Image(original, HIDDEN, RUN, known), write_tree(tmp_path / "image", {}))


async def test_files_that_unknown_package_files_read_are_lent(tmp_path: Path) -> None:
    """README and changelog of upstream where its setup.py reads them; never over what was handed in."""
    original = write_tree(tmp_path / "original", ORIGINAL)
    image = Image(original, HIDDEN, RUN)
    laid = await lay_out(write_tree(tmp_path / "a", RENAMED), image, tmp_path / "scratch")
    assert laid.lent == ("README.rst", "docs/CHANGELOG.md")
    assert (laid.workspace / "README.rst").read_text() == "about"

    own = write_tree(tmp_path / "b", {**RENAMED, "README.rst": "mine"})
    (own / "docs").symlink_to("calc")
    laid = await lay_out(own, image, tmp_path / "second")
    assert laid.lent == ()
    assert (laid.workspace / "README.rst").read_text() == "mine"


async def test_a_readme_that_the_original_lacks_is_empty(tmp_path: Path) -> None:
    """An upload may come without the file that its own setup.py opens; nothing that is there is emptied."""
    setup = "setup(long_description=open('README.rst').read(), version=open('VERSION').read(), name='x.txt')"
    original = write_tree(tmp_path / "original", {"setup.py": setup, "VERSION": "1", "tests/test_calc.py": ""})
    own = write_tree(tmp_path / "a", {"README.md": "mine", "calc.py": ""})
    laid = await lay_out(own, Image(original, HIDDEN, RUN), tmp_path / "scratch")
    assert laid.lent == ("VERSION", "README.rst")
    assert {path.name: path.read_text() for path in laid.workspace.glob("[RV]*")} == {
        "README.md": "mine",
        "README.rst": "",
        "VERSION": "1",
    }


async def test_nothing_is_lent_where_the_image_is_known(tmp_path: Path) -> None:
    """What the published package files read and the image lacks, it lacks."""
    known = PublishedImage(packages=PublishedFiles(same={"setup.py": ""}, all_named=True))
    image = Image(write_tree(tmp_path / "original", ORIGINAL), HIDDEN, RUN, known)
    assert (await lay_out(write_tree(tmp_path / "a", RENAMED), image, tmp_path / "scratch")).lent == ()


def test_strict_takes_published_imports_and_no_published_skip() -> None:
    """A form that only imports otherwise is fairer; one that takes a test away is not."""
    skipping = FileEdit(sha256="0" * 64, steps=(*STAR, ("skip", "test_add")))
    ends = FileEdit(sha256="0" * 64, steps=(("crlf",),))
    known = _image(edited={"a.py": LOOSE, "b.py": skipping, "c.py": ends})
    assert [*graded_edits(known)] == ["a.py"]
    assert not graded_edits(known.but(revision="0" * 40))
    assert not graded_edits(None)


class _Builder(HostBuilder):
    """Remembers which sources it was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: list[AnySource] = []

    @override
    async def source(self, request: AnySource) -> Layer:
        self.asked.append(request)
        return await super().source(request)


async def test_official_builds_the_revision_of_the_image(tmp_path: Path) -> None:
    """Whoever warms a task, or begins a run, has both revisions: the recipe's, and that of the published image."""
    recipe = shipped_recipes()["icecream"]
    builder = _Builder(tmp_path)
    context = GradingContext(provider=FakeProvider(), builder=builder, scratch=tmp_path)
    task = Task(id="icecream", suite="nl2repobench", instruction=None, data_version="781a1da")

    layers = await NL2RepoOfficialGrader({"icecream": recipe}, {}).layers(task, context)

    assert builder.asked == [recipe.image_request()] != [recipe.source_request()]
    assert layers.keys() == {"python", "source"}


async def test_a_missing_name_loses_its_own_test(laboratory: Laboratory) -> None:
    """By the published form both graders lose one test of two; by upstream's the whole file."""
    published = Published(
        original=ORIGINAL,
        hidden=HIDDEN,
        expected=IDS,
        declared=2,
        image=_image(edited={"tests/test_calc.py": LOOSE}),
    )
    submission = laboratory.submission(RENAMED)
    official, strict = (
        await laboratory.official(published, submission),
        await laboratory.strict(published, submission),
    )

    assert official.verdict.score is not None
    assert strict.verdict.score is not None
    assert (official.verdict.score.numerator, strict.verdict.score.numerator) == (1, 1)
    assert official.verdict.facts["test_files"] == "published"
    assert official.verdict.facts["package_files"] == "upstream's"
    assert official.verdict.facts["lent"] == "README.rst docs/CHANGELOG.md"
    assert str(strict.verdict.facts["test_files"]).startswith("imports as published in 1 file")
