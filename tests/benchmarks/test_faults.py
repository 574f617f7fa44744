"""Mutants of a small library."""

import ast
import random
from pathlib import Path

import pytest
from benchmarks.faults import KINDS, Mutant, write_mutant

from groundup.grading.library.hidden import HiddenTests
from tests.grading.library.laboratory import write_tree

SHAPES = '''
"""Shapes."""
from .marks import marked, plain

__all__ = ["Square", "area_of", "grow"]

class Square:
    side = plain(3)

    def __init__(self, side=2):
        self.side = side

    def __eq__(self, other):
        return isinstance(other, Square) and self.side == other.side

    def __enter__(self): return self

    def __exit__(self, *problem):
        """Leave it."""
        self.side = 0

    @property
    def area(self):
        if self.side > 1:
            return self.side * self.side
        return 1

def area_of(shape):
    """Return the area."""
    return shape.area

@marked
async def grow(square, by=1):
    square.side += by
'''
FILES = {
    "kit/__init__.py": "from .shapes import *\nfrom kit.shapes import area_of as area\n",
    "kit/shapes.py": SHAPES,
    "kit/marks.py": "def marked(one): return one\n\ndef plain(one): return one\n\ndef rare(): return 7\n",
    "kit/old.py": "print 'of another Python'\n",
    "kit/table.txt": "data",
    "tests/test_kit.py": "from kit import area_of\n\ndef test_area(): assert area_of(None) == 1\n",
}
HIDDEN = HiddenTests(packages=("kit",), arguments=("tests",), protected=("tests",))
EMPTY = {"original", "small"}


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """Return the library."""
    return write_tree(tmp_path / "original", FILES)


def made(original: Path, kind: str, seed: int, name: str) -> tuple[Mutant, dict[str, str]]:
    """Return a mutant with its files."""
    target = original.with_name(f"{kind}-{seed}-{name}")
    mutant = write_mutant(original, HIDDEN, target, random.Random(seed), [kind])
    paths = (path for path in target.rglob("*") if path.is_file())
    return mutant, {str(path.relative_to(target)): path.read_text() for path in paths}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_can_be_read_and_made_again(original: Path, kind: str) -> None:
    """Every kind gives readable Python, with all other files; the same seed gives the same mutant."""
    drawn = set()
    for seed in range(12):
        mutant, files = made(original, kind, seed, "a")
        assert (mutant, files) == made(original, kind, seed, "b")
        assert mutant.kind == kind
        assert files.keys() == FILES.keys()
        for name, text in files.items():
            if name.endswith(".py") and name != "kit/old.py":
                ast.parse(text)
            else:
                assert text == FILES[name]
        drawn.add(str(files))
        assert (files == FILES) == (kind == "original")
        assert (mutant.share == 0) == (kind in EMPTY)
    assert len(drawn) > 1 or kind == "original"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("none", "return None"),
        ("argument", "return shape"),
        ("unwritten", "raise NotImplementedError"),
        ("swallow", "except Exception:\n        return None"),
        ("off", "by=2"),
        ("equal", "def __eq__(self, other):\n        return True"),
        ("exit", '"""Leave it."""\n        return True'),
    ],
)
def test_a_kind_does_what_it_is_called(original: Path, kind: str, text: str) -> None:
    """Bodies are replaced by what the kind says; a docstring stays."""
    assert any(text in made(original, kind, seed, "a")[1]["kit/shapes.py"] for seed in range(20))


def test_what_is_missing_is_not_imported(original: Path) -> None:
    """A removed function is gone from imports and `__all__`; what a module needs to load mostly stays."""
    texts = [made(original, "missing", seed, "a")[1] for seed in range(20)]
    without = [files for files in texts if "def area_of" not in files["kit/shapes.py"]]
    assert without
    for files in without:
        assert "'area_of'" not in files["kit/shapes.py"]
        assert "area_of" not in files["kit/__init__.py"]
    assert sum("def plain" in files["kit/marks.py"] for files in texts) > 12


def test_a_kind_without_a_place_gives_way(original: Path) -> None:
    """Where a library has nothing for a kind, another is taken."""
    (original / "kit/shapes.py").write_text("def one(): return 1\n")
    target = original.with_name("mutant")
    mutant = write_mutant(original, HIDDEN, target, random.Random(1), ["exit", "equal", "none"])
    assert mutant.kind == "none"
