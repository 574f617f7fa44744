"""A recipe's account of its published image beside a table of digests that somebody took from the image.

The table has tabs, and a first line with at least the columns `task`, `kind` (test or package; others are passed
over), `path`, `image_sha256` (empty: not taken) and `status`: equal, line_ends_only, changed, added, removed or
unknown. A path that begins with `/` lies outside the workspace.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import TaskError, UsageError
from groundup.suites.nl2repobench.published_image import NOTHING_KNOWN, PublishedFiles, Standing
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.edits import sha256_of
from groundup.trees.walking import read_regular

_COLUMNS = ("task", "kind", "path", "image_sha256", "status")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NOT_THERE = re.compile(r"not copied to /workspace")
_FITTING: dict[str, frozenset[Standing]] = {
    # An archive of the original can differ from its repository, which the table compares.
    "equal": frozenset({"same", "edited", "empty"}),
    "line_ends_only": frozenset({"same", "crlf"}),
    "changed": frozenset({"edited", "differs"}),
    "added": frozenset({"added", "empty"}),
    "removed": frozenset({"absent"}),
}


class DigestRow(NamedTuple):
    """One file of an image."""

    task: str
    kind: str
    path: str
    sha256: str
    status: str

    @property
    def is_about_workspace(self) -> bool:
        return self.kind in ("test", "package") and self.status in _FITTING and self.path[:1] not in ("/", "(", "")


def read_digests(path: Path) -> dict[str, list[DigestRow]]:
    """Return the table in *path* by task. Raises `UsageError`."""
    try:
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as a table: {error}") from error
    reader = csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    if missing := {*_COLUMNS} - {*(reader.fieldnames or ())}:
        raise UsageError(f"{path}: the first line names no column {min(missing)}; it needs {', '.join(_COLUMNS)}")
    found: dict[str, list[DigestRow]] = {}
    for line in reader:
        task, kind, place, digest, status = (line[name] or "" for name in _COLUMNS)
        if _NOT_THERE.search(line.get("change") or ""):
            status = "removed"
        known = digest if _SHA256.fullmatch(digest) and status != "removed" else ""
        found.setdefault(task, []).append(DigestRow(task, kind, place, known, status))
    return found


def account_differs(recipe: Recipe, rows: Sequence[DigestRow], original: Path) -> list[str]:
    """Return where the account of *recipe* and *rows* differ, and which files rules do not make of *original*."""
    image = recipe.image or NOTHING_KNOWN
    wanted = [row for row in rows if row.is_about_workspace]
    moved = recipe.published.moved if recipe.published else {}
    found = []
    for kind, files in (("test", image.tests), ("package", image.packages)):
        mine = {path: (standing, digest) for path, standing, digest in files.standings()}
        theirs = {moved.get(row.path, row.path): row for row in wanted if row.kind == kind}
        found += [line for path, row in theirs.items() if (line := _unlike(path, row, mine.get(path)))]
        found += [f"{path}: is in the recipe and not in the table" for path in sorted(mine.keys() - theirs.keys())]
        found += _unmade(files, original)
    return found


def _unlike(path: str, row: DigestRow, mine: tuple[Standing, str] | None) -> str:
    if mine is None:
        return f"{path}: is in the table ({row.status}) and not in the recipe"
    standing, digest = mine
    if standing not in _FITTING[row.status]:
        return f"{path}: {standing} in the recipe, {row.status} in the table"
    if row.sha256 and digest != row.sha256:
        return f"{path}: {digest[:12] or 'no digest'} in the recipe, {row.sha256[:12]} in the table"
    return ""


def _unmade(files: PublishedFiles, original: Path) -> Iterator[str]:
    """Make every file again that follows from the original, and say which do not come out as stated."""
    for path, standing, digest in files.standings():
        place = original / path
        if standing not in ("same", "crlf", "edited"):
            continue
        if not place.is_file():
            if digest:  # such as a large file that the recipe leaves out
                yield f"{path}: the original has no such file"
            continue
        try:
            made = sha256_of(files.content(path, read_regular(place)))
        except TaskError as error:
            yield str(error)
            continue
        if digest and made != digest:
            yield f"{path}: {made[:12]} is made, {digest[:12]} is stated"


def standing_of(recipe: Recipe) -> str:
    """Say in one line what the recipe knows of its image."""
    image = recipe.image or NOTHING_KNOWN
    return f"tests {image.tests.told()}, package files {image.packages.told()}"
