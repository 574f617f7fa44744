"""Verdicts that were given before, by everything that decides them. An unusable cache costs time, nothing else.

The code of a grader is a part of that, found by following imports. The files count, not a version that somebody
keeps: each module that a grader imports, late imports included, with everything that lies beside it, because
runners and stubs are read and not imported. A table of names (`catalog.Table`) also loads what extension packages
add to it, so these modules count like imports. Recipes are left out; a grader's identity has the one that it uses.
"""

import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pydantic_core import from_json, to_json

from groundup import extensions
from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError
from groundup.domain.verdicts import Graded
from groundup.store.files import write_atomically

_KEPT = {"verdict", "tests"}


class VerdictCache:
    """Content-addressed verdicts below one folder; *warn* is called once for each kind of trouble."""

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self._root = root
        self._warn = warn
        self._warned: set[str] = set()

    def find(self, key: Mapping[str, object]) -> Graded | None:
        """Return the verdict of *key* with its tests, or None."""
        path, digest = self._place(key)
        try:
            found = from_json(path.read_bytes())
            graded = Graded.model_validate({name: found[name] for name in _KEPT & found.keys()})
            of = found["key_digest"]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            self._once("damaged", f"the cached verdict {path} cannot be read and is not used; remove it")
            return None
        if of != digest:
            self._once(
                "damaged", f"the cached verdict {path} belongs to something else and is not used; remove it"
            )
            return None
        return graded

    def keep(self, key: Mapping[str, object], graded: Graded) -> None:
        """Keep verdict and tests when they may be kept; a cache that cannot be written only warns."""
        if not (graded.verdict.cacheable and graded.verdict.settles):
            return
        path, digest = self._place(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = to_json({"key_digest": digest, **graded.model_dump(include=_KEPT)})
            write_atomically(path, content, durable=False)
        except (OSError, InfrastructureError) as error:
            self._once("unwritable", f"verdicts are not cached: {error}")

    def _place(self, key: Mapping[str, object]) -> tuple[Path, str]:
        digest = digest_of(key)
        name = digest.partition(":")[2]
        return self._root / name[:2] / f"{name}.json", digest

    def _once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn(message)


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<package>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(?P<whole>[\w., \t]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"\w+")
_TABLE = re.compile(r"= Table(?:\[[^(]*\])?\(\s*\"(?P<kind>[^\"]+)\"")
_OWN = __name__.partition(".")[0]
_APART = frozenset({"recipes", "__pycache__", "README.md"})
"""Recipes stand in a grader's identity, compiled files are made of the others, and a README decides nothing."""


@cache
def code_digest(*modules: str) -> str:
    """Return the digest of the code that *modules* decide by: those of a grader, and of what it works with."""
    digest = hashlib.sha256()
    files = {name: path for module in modules for name, path in _files(module).items()}
    for name, path in sorted(files.items()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{name} {content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def modules_behind(module: str) -> frozenset[str]:
    """Return *module* and what it loads in the end from its top-level package, groundup and its extensions."""
    tops = {module.partition(".")[0], _OWN, *(one.name for one in extensions.EXTENSIONS)}
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
        waiting += [one for one in _loaded(path.read_text(encoding="utf-8")) if one.partition(".")[0] in tops]
        waiting += [name.rpartition(".")[0]] if name.count(".") > 1 else []
    return frozenset(found)


def _loaded(source: str) -> Iterator[str]:
    """Yield what *source* imports, and what extends its tables; a name imported from a package may be a module."""
    for table in _TABLE.finditer(source):
        yield from (one.module for one in extensions.adding(table["kind"]))
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


def _files(module: str) -> dict[str, Path]:
    """Return the files that decide, by names that are alike wherever packages lie: `groundup/grading/x.py`."""
    found: dict[str, Path] = {}
    for name in modules_behind(module):
        path = _source(name)
        if path is None:
            continue
        above = path.parents[name.count(".") + (path.name == "__init__.py")]
        # Beside the modules at the top of groundup lies what a wheel brings for readers: its documentation.
        beside = _beside(path.parent) if "." in name and path.parent != above / _OWN else ()
        found |= {one.relative_to(above).as_posix(): one for one in (path, *beside)}
    return found


def _beside(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _APART or path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and not (path / "__init__.py").exists():
            yield from _beside(path)
