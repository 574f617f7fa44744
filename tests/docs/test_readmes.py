"""Each folder of the sources with three modules or more has a README with one line for each file."""

import re
from pathlib import Path

import pytest

from groundup.extensions import EXTENSIONS

ROOT = Path(__file__).parents[2] / "src"
SUBMISSIONS = ROOT / "groundup" / "suites" / "repogenesis" / "oracles"
MANY = 3
"""Modules of a folder, from which on its names alone do not tell what is where."""
FOLDERS = sorted(
    {ROOT, *(readme.parent for readme in ROOT.rglob("README.md"))}
    | {
        path.parent
        for path in ROOT.rglob("__init__.py")
        if SUBMISSIONS not in path.parents and len([*path.parent.glob("[!_]*.py")]) >= MANY
    }
)


def holds_files(folder: Path) -> bool:
    """Return whether a folder holds more than what Python compiled."""
    return any(path.is_file() and path.suffix != ".pyc" for path in folder.rglob("*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: str(one.relative_to(ROOT)))
def test_a_readme_lists_every_module_and_folder(folder: Path) -> None:
    """A stranger finds a file by its purpose: after what the folder is, each name has one line of its own."""
    first, *lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert first
    named = [re.match(r"- `([a-z0-9_]+/?)`: \S", line) for line in lines]
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    folders = {f"{path.name}/" for path in folder.iterdir() if path.is_dir() and holds_files(path)}
    absent = {f"{one.name}/" for one in EXTENSIONS if folder == ROOT and not one.present()}
    if "groundup_bridges/" in absent:
        absent.add("groundup_verifiers/")  # the name that verifiers knows for a module of it
    told = [one[1] if one else "a line without a name" for one in named]
    assert sorted(one for one in told if one not in absent) == sorted((modules | folders) - absent)
