"""Which code decides a verdict: found by following imports, so that a cached verdict is forgotten when it changes.

The files count, not a version that somebody keeps: each module that a grader imports, late imports included, with
everything that lies beside it, because runners and stubs are read and not imported. Recipes are left out; a
grader's identity has the one that it uses.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<package>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(?P<whole>[\w., \t]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"\w+")
_APART = frozenset({"recipes", "__pycache__"})


@cache
def code_digest(module: str) -> str:
    """Return the digest of the code that the grader in *module* decides by."""
    digest = hashlib.sha256()
    for path in sorted(set(_files(module))):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.parent.name}/{path.name} {content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def modules_behind(module: str) -> frozenset[str]:
    """Return *module* and the modules of its own top-level package and of groundup that it imports in the end."""
    tops = {module.partition(".")[0], __name__.partition(".")[0]}
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _source(name)
        if path is None:
            continue
        found.add(name)
        if name in tops - {module}:
            continue  # a top-level package offers everything, and decides nothing
        waiting += [one for one in _imported(path.read_text(encoding="utf-8")) if one.partition(".")[0] in tops]
        waiting += [name.rpartition(".")[0]] if name.count(".") > 1 else []
    return frozenset(found)


def _imported(source: str) -> Iterator[str]:
    """Yield what *source* imports; a name that is imported from a package may be a module."""
    for statement in _IMPORT.finditer(source):
        if statement["whole"]:
            yield from (part.split()[0] for part in statement["whole"].split(",") if part.split())
            continue
        yield statement["package"]
        yield from (f"{statement['package']}.{name}" for name in _NAME.findall(statement["names"]))


def _source(name: str) -> Path | None:
    """Return the file of a module, by its place below its top-level package; None where there is none."""
    top, _, rest = name.partition(".")
    module = sys.modules.get(top)
    file = module.__file__ if module is not None else getattr(find_spec(top), "origin", None)
    if file is None:
        return None
    place = Path(file)
    if not rest:
        return place
    below = place.parent.joinpath(*rest.split("."))
    return next((path for path in (below / "__init__.py", below.with_suffix(".py")) if path.is_file()), None)


def _files(module: str) -> Iterator[Path]:
    for name in modules_behind(module):
        path = _source(name)
        if path is None:
            continue
        yield path
        if "." in name:
            yield from _beside(path.parent)


def _beside(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _APART or path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and not (path / "__init__.py").exists():
            yield from _beside(path)
