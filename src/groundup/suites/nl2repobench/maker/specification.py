"""What a specification asks of its environment: interpreter, installed versions, directory tree.

The texts were written for models, in many shapes and with errors, so everything here is a hint that has to prove
itself: what cannot be read is absent, and nothing is raised.
"""

import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from groundup.domain.records import Record
from groundup.registries.pypi.pages import spelled_version

_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_PYTHON = re.compile(r"python(?:\s+version)?[^\n\d]{0,80}?\b(3\.\d{1,2})(?:\.\d+)?\b", re.IGNORECASE)
_CURRENT = re.compile(r"python version used[^\n]*?\b(3\.\d{1,2})", re.IGNORECASE)
_COLUMNS = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)[ \t]+v?(\d[A-Za-z0-9.+!_-]*)\s*(?:#.*)?$")
_BRANCH = re.compile(r"^(?P<lead>[\s│|├└`+\\-]*?)(?:├|└|\||\+|`)[─—-]{1,3}\s*(?P<name>[^\s#(<←─]+)")
_NOT_LIBRARIES = frozenset({"python", "pip", "setuptools", "wheel"})
"""Where an interpreter brings its own, or none is needed to run tests."""
_FAR = 6000
"""Characters after the words on the environment within which its lists stand."""


class Specification(Record):
    """What could be read."""

    python: str | None = None
    pins: dict[str, str] = {}
    """Normalised name -> version, of a whole environment."""
    wishes: tuple[str, ...] = ()
    """Requirement lines that name no one version."""
    tree: frozenset[str] = frozenset()
    """Paths of files and folders, relative to the root."""


def read_specification(text: str) -> Specification:
    """Return what *text* asks for."""
    pins, wishes = _requirements(text)
    return Specification(python=_python(text), pins=pins, wishes=wishes, tree=frozenset(_tree(text)))


def _python(text: str) -> str | None:
    found = _CURRENT.search(text)
    if found is None:
        heading = re.search(r"^#+.*(environment|python version)", text, re.IGNORECASE | re.MULTILINE)
        place = heading.start() if heading else 0
        found = _PYTHON.search(text, place, place + _FAR)
    return found[1] if found else None


def _requirements(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the pins and wishes of the block that has most of them: a specification may show several."""
    best: tuple[dict[str, str], tuple[str, ...]] = ({}, ())
    for block in _FENCE.finditer(text):
        if "──" in block[1]:
            continue
        found = _of_block(block[1])
        if len(found[0]) + len(found[1]) > len(best[0]) + len(best[1]):
            best = found
    return best


def _of_block(block: str) -> tuple[dict[str, str], tuple[str, ...]]:
    pins: dict[str, str] = {}
    wishes: list[str] = []
    lines = [line.strip() for line in block.splitlines() if line.strip() and not line.strip().startswith("#")]
    understood = 0
    for line in lines:
        columns = _COLUMNS.match(line)
        if columns and spelled_version(columns[2]) is not None:
            understood += 1
            _add(pins, columns[1], columns[2])
            continue
        wish = _requirement(line)
        if wish is None:
            continue
        understood += 1
        exact = [part.version for part in wish.specifier if part.operator == "==" and "*" not in part.version]
        if exact and spelled_version(exact[0]) is not None:
            _add(pins, wish.name, exact[0])
        elif canonicalize_name(wish.name) not in _NOT_LIBRARIES:
            wishes.append(f"{wish.name}{wish.specifier}")
    # A block of code has an accidental line that looks like a requirement.
    return (pins, tuple(wishes)) if understood * 2 > len(lines) else ({}, ())


def _add(pins: dict[str, str], name: str, version: str) -> None:
    project = str(canonicalize_name(name))
    if project not in _NOT_LIBRARIES:
        pins.setdefault(project, version)


def _requirement(line: str) -> Requirement | None:
    bare = re.sub(r"\s+#.*$", "", line.strip().rstrip(",").strip("\"'"))
    try:
        found = Requirement(bare)
    except InvalidRequirement:
        return None
    return found if found.specifier and not found.url else None


def _tree(text: str) -> Iterator[str]:
    """Yield the paths of the first drawn tree."""
    for block in _FENCE.finditer(text):
        if "──" in block[1]:
            yield from _paths(block[1])
            return


def _paths(block: str) -> Iterator[str]:
    above: list[tuple[int, str]] = []
    for line in block.splitlines():
        found = _BRANCH.match(line)
        if found is None:
            continue
        depth, name = found.start("name"), found["name"].strip("/").strip("*`")
        if not name or name in (".", "..", "..."):
            continue
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, name))
        yield "/".join(part for _, part in above)
