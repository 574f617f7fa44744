"""docs/developers/where.md names files and what lies in them: both are there."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "developers" / "where.md"
_CELL = re.compile(r"`(?P<file>[^`]+)`(?:: (?P<names>`\w+`(?:, `\w+`)*))?(?P<copied>, copied)?")


class Place(NamedTuple):
    """A file that a change touches, and the names in it."""

    change: str
    file: Path
    names: tuple[str, ...]


def rows() -> list[list[str]]:
    """Return the cells of the table."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def places() -> Iterator[Place]:
    """Yield all places. Raises `AssertionError` for a cell of another form."""
    for change, *cells in rows():
        for cell in filter(None, cells):
            found = _CELL.fullmatch(cell)
            assert found, f"{cell!r} is not `file`: `name`, `name`"
            yield Place(change, ROOT / found["file"], tuple(re.findall(r"\w+", found["names"] or "")))


def names_in(path: Path) -> set[str]:
    """Return what a module defines at its top, or the keys of a document."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return {*tomllib.loads(text)}
    found = set()
    for one in ast.parse(text).body:
        if isinstance(one, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(one.name)
        targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_twenty_changes_touch_two_files_at_most() -> None:
    """The page keeps its promise, and no change stands twice."""
    changes = [change for change, *_ in rows()]
    assert len(changes) == len({*changes}) == 20
    assert all(1 <= len([*filter(None, cells)]) <= 2 for _, *cells in rows())


@pytest.mark.parametrize("place", [*places()], ids=lambda one: f"{one.change}, {one.file.name}")
def test_files_and_names_are_there(place: Place) -> None:
    """Whoever follows the page finds what it names; a package that was removed takes its rows along."""
    if not (ROOT / "src" / place.file.relative_to(ROOT / "src").parts[0]).is_dir():
        pytest.skip(f"needs {place.file.relative_to(ROOT / 'src').parts[0]}: it was removed from this checkout")
    assert place.file.is_file()
    assert {*place.names} <= names_in(place.file) if place.names else True
