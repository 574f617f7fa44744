"""What uploads to the package index have of a commit is found by comparing files."""

from pathlib import Path

from benchmarks.released import released_files

from groundup.environments.requests import SourceRequest
from groundup.suites.nl2repobench.recipe import Recipe, shipped_recipes
from groundup.trees.digest import tree_digest
from tests.grading.library.laboratory import write_tree

COMMIT = {
    "demo/__init__.py": "",
    "demo/core.py": "x = 2\n",
    "demo/version.py": "version = '1'\n",
    "tests/test_core.py": "def test(): pass\n",
    "setup.py": "setup\n",
    "setup.cfg": "[metadata]\nname=demo\n",
    "ci.yml": "ci\n",
}
OLDER = {
    **COMMIT,
    "demo/core.py": "x = 1\n",
    "setup.cfg": "[metadata]\nname = demo\n\n[egg_info]\ntag_build = \n",
    "demo.egg-info/PKG-INFO": "Name: demo\n",
    "PKG-INFO": "Name: demo\n",
}
NEWER = {"demo/core.py": "x = 2\n", "demo/version.py": "version = '2'\n"}


def upload(version: str) -> SourceRequest:
    """Return a request for a source distribution."""
    return SourceRequest(name="demo", version=version, sha256=version[0] * 64)


def recipe() -> Recipe:
    """Return a recipe whose package is `demo`, and whose tests lie in `tests`."""
    known = shipped_recipes()["justext"]
    return known.but(
        tests=known.tests.but(packages=("demo",), import_roots=(".",), protected=("tests",)), image=None, edits={}
    )


def test_two_releases_together_have_a_commit_between_them(tmp_path: Path) -> None:
    """What setuptools wrote is left out, its setup.cfg counts, and the digest is of what is put together."""
    uploads = {upload("1"): write_tree(tmp_path / "1", OLDER), upload("2"): write_tree(tmp_path / "2", NEWER)}
    (tmp_path / "room").mkdir()
    lost, found = released_files(recipe(), write_tree(tmp_path / "c", COMMIT), uploads, {}, tmp_path / "room")
    assert not lost
    assert found is not None
    assert {pin: part.files for pin, part in found.uploads.items()} == {
        "demo==1": (),
        "demo==2": ("demo/core.py",),
    }
    assert found.without == ("PKG-INFO", "demo.egg-info")
    assert found.tree_digest == tree_digest(tmp_path / "room").digest
    assert (tmp_path / "room" / "demo" / "core.py").read_text() == "x = 2\n"


def test_a_rule_makes_an_uploads_file_the_commits(tmp_path: Path) -> None:
    """Without it, the file is named as lost."""
    commit, uploads = write_tree(tmp_path / "c", COMMIT), {upload("1"): write_tree(tmp_path / "1", OLDER)}
    (tmp_path / "room").mkdir()
    assert released_files(recipe(), commit, uploads, {}, tmp_path / "room").lost == ("demo/core.py",)
    rules = {"demo/core.py": [("replace", "1", "2")]}
    lost, found = released_files(recipe(), commit, uploads, rules, tmp_path / "room")
    assert not lost
    assert found is not None
    assert found.edits["demo/core.py"].steps == (("replace", "1", "2"),)
    assert (tmp_path / "room" / "demo" / "core.py").read_text() == "x = 2\n"
