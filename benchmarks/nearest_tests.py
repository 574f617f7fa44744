"""Which of groundup's own tests are most likely to reach a function: those that share its rare words.

The file that is named as the module comes first, where it imports it or lies in its folder of tests, and with it
the records of outputs (`test_golden.py`) in that folder and above, which name no function. A word counts
threefold in a file that imports the module, and twofold in one that imports a module that does, or that lies in
the module's folder of tests.
"""

import ast
import inspect
import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pytest

_WORD = re.compile(r"[A-Za-z_]\w{2,}")


class _Text(NamedTuple):
    words: frozenset[str]
    imports: frozenset[str]


class NearestTests:
    """The tests below *root* in their order for a function of *module* that holds *words*."""

    def __init__(self, root: Path, module: str, words: frozenset[str]) -> None:
        self._words, self._stem = words, f"test_{module.rpartition('.')[2]}"
        self._texts = {path: _read(path) for path in sorted((root / "tests").rglob("test_*.py"))}
        held = Counter(word for text in self._texts.values() for word in words & text.words)
        self._rarity = {word: math.log(len(self._texts) / number) for word, number in held.items()}
        sources = root / "src"
        importers = {_name(path, sources) for path in sources.rglob("*.py") if module in _read(path).imports}
        self._folder = folder = root / "tests" / Path(*module.removeprefix("groundup.").split(".")).parent
        self._weights = {
            path: 3
            if module in text.imports
            else 2
            if text.imports & importers or path.is_relative_to(folder)
            else 1
            for path, text in self._texts.items()
        }

    def files(self, most: int) -> list[str]:
        """Return the *most* nearest files."""
        return [str(path) for path in sorted(self._texts, key=self._place_of_file)[:most]]

    def tests(self, items: "Iterable[pytest.Item]", most: int, after: int = 0) -> "list[pytest.Item]":
        """Return those of *items* that are made of the *most* nearest functions, less the first *after*."""
        functions: dict[str, list[pytest.Item]] = {}
        for item in items:
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
        ranked = sorted(functions.values(), key=lambda made: self._place_of_test(made[0]))
        return [item for made in ranked[after:most] for item in made]

    def _place_of_file(self, path: Path) -> tuple[bool, float]:
        weight = self._weights[path]
        is_its_own = path.stem == self._stem and (weight == 3 or path.parent == self._folder)
        is_record = path.stem == "test_golden" and self._folder.is_relative_to(path.parent)
        return not (is_its_own or is_record), -weight * self._shared(self._texts[path].words)

    def _place_of_test(self, item: "pytest.Item") -> tuple[bool, float]:
        # Half of what its file says counts, too: helpers and fixtures are there.
        others, near = self._place_of_file(item.path)
        own = self._shared(_words(inspect.getsource(item.function))) if hasattr(item, "function") else 0.0
        return others, near / 2 - self._weights[item.path] * own

    def _shared(self, words: frozenset[str]) -> float:
        return sum(self._rarity.get(word, 0.0) for word in self._words & words)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


@cache
def _read(path: Path) -> _Text:
    text = path.read_text(encoding="utf-8")
    imports: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                imports.update(name.name for name in names)
            case ast.ImportFrom(module=str() as module, names=names):
                imports.update([module, *(f"{module}.{name.name}" for name in names)])
    return _Text(_words(text), frozenset(imports))


def _name(path: Path, sources: Path) -> str:
    return ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
