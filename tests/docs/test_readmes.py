"""Each folder at the top of groundup, each package beside it, and each large folder has a README of its files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src"
BESIDE = [one for one in ROOT.glob("groundup_*") if one.name != "groundup_verifiers"]  # a name for verifiers
LARGE = 7
"""Modules of a folder within another one, from which on its names alone do not tell what is where."""
FOLDERS = sorted(
    path.parent
    for path in ROOT.rglob("__init__.py")
    if path.parent in BESIDE
    or path.parent.parent == ROOT / "groundup"
    or (path.parent / "README.md").is_file()
    or (len([*path.parent.glob("*.py")]) > LARGE and path.parent != ROOT / "groundup")
)


def holds_files(folder: Path) -> bool:
    """Return whether a folder holds more than what Python compiled."""
    return any(path.is_file() and path.suffix != ".pyc" for path in folder.rglob("*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: str(one.relative_to(ROOT)))
def test_a_readme_lists_every_module_and_folder(folder: Path) -> None:
    """A stranger finds a file by its purpose: three to eight lines name each one, and nothing that is gone."""
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert 3 <= len(lines) <= 8
    named = re.findall(r"`([a-z0-9_]+/?)`", "\n".join(lines[1:]))
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    assert {*named} == modules | {
        f"{path.name}/" for path in folder.iterdir() if path.is_dir() and holds_files(path)
    }
