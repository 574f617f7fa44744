"""Specifications extracted from originals: every name that tests need, nothing of what tests or functions do."""

import tempfile
from pathlib import Path

from groundup_factory.recipes.extracted import extracted
from tests.grading.library.laboratory import write_tree
from tests.suites.nl2repobench.trials import RECIPE

GOLDEN = Path(__file__).parent / "golden/extracted.txt"
BODY = "    basket = Basket(['apple', 'pear'])\n    basket.take('apple')\n    assert basket.names() == ['pear']\n"
FILES = {
    "README.md": f"# Baskets\n\nHold fruit.\n\n```python\ndef test_take():\n{BODY}```\n\nBuy one.\n",
    "calc/__init__.py": (
        '"""Baskets."""\nfrom .core import Basket, _sorted\nfrom calc import extra as more\n'
        "globals()['made_late'] = 1\n_private = 1\n"
    ),
    "calc/core.py": (
        "import abc\n"
        "TABLE = {name: len(name) for name in ('a long list of things', 'that says how it is made', 'x')}\n"
        "SIZE: int = 12\n"
        "class Basket(abc.ABC):\n    '''Holds fruit.'''\n    colour = 'red'\n"
        "    def __init__(self, names=()):\n        self._names = list(names)\n"
        "    @property\n    def size(self) -> int:\n        '''How many.'''\n        return by_secret(self)\n"
        "    def _inner(self): return 'secret'\n"
        "def _sorted(names, *, key=None):\n    '''Sort them.'''\n    return sorted(names)\n"
        "def _unused(): return 'secret'\n"
        "try:\n    import fast\nexcept ImportError:\n    def fallback(a, /, b): return 'secret'\n"
    ),
    "calc/extra.py": (
        "def patched(where): return 'secret'\ndef _reached(x): return 'secret'\n_hidden_by_patch = 1\n"
    ),
    "tests/test_calc.py": (
        "from calc import Basket, _sorted, made_late\nimport calc.extra as extra\n"
        "from unittest import mock\n"
        "PROGRAM, count = 'calc.exe', PROGRAM.count('x')\n"
        f"def test_take():\n{BODY}"
        "def test_more():\n    with mock.patch('calc.extra._hidden_by_patch'):\n        assert extra._reached(1)\n"
        "        assert Basket()._names == [self._own]\n"
    ),
}

MORE = {
    "README.rst": "Never read\n",
    "calc/_core/deep.py": (
        "from __future__ import annotations\nimport typing as t\nfrom typing import overload\n"
        "__all__ = ['Row', 'LIMIT']\nLIMIT = 3\nNAMES: t.Final = ('a', 'b')\nlong = 'x' * 3 + 'y'\n"
        "T = t.TypeVar('T')\n"
        "class Row(dict, t.Generic[T], total=False):\n"
        "    __slots__ = ('a',)\n    _inner = 3\n    a: int\n    b: str = 'z'\n"
        "    class Nested:\n        '''Within.'''\n        def go(self): return 1\n"
        "    @classmethod\n    def make(cls, *args: int, key: str = 'a', **rest: object) -> 'Row[T]':\n"
        "        '''Make one.\n\n        Of args.\n        '''\n        return cls()\n"
        "    @staticmethod\n    async def wait(s=..., /, *, t=None): yield s\n"
        "    @a.setter\n    def a(self, value): ...\n"
        "    def __getitem__(self, at): return at\n    def __private(self): return 1\n"
        "@overload\ndef load(a: int) -> int: ...\n@overload\ndef load(a: str) -> str: ...\n"
        "def load(a): return a\n"
        "if t.TYPE_CHECKING:\n    X = int\nelse:\n    X = None\n"
        "def outer():\n    def inner(): ...\n    return inner\n"
        "lambda_of = lambda a, b=1: a\nfirst = second = 2\n(p, q) = 1, 2\n"
    ),
    "calc/empty.py": "",
    "calc/broken.py": "def (:\n",
    "calc/tests/test_own.py": "def test_own(): assert 1\n",
    "tests/conftest.py": (
        "import pytest\n@pytest.fixture\ndef row():\n    from calc._core.deep import Row, NAMES\n"
        "    return Row.make(1, key='b')\n"
    ),
    "tests/test_deep.py": (
        "import calc._core.deep as deep\ndef test_deep(row):\n    assert row.unknown_name == deep.absent\n"
        "    assert deep.load('1') == getattr(row, 'by_text')\n"
    ),
}


def test_a_specification_to_the_letter(tmp_path: Path) -> None:
    """`python -m tests.groundup_factory.recipes.test_extracted` writes golden/extracted.txt anew: read it then."""
    assert _text(tmp_path, MORE) == GOLDEN.read_text(encoding="utf-8")


def _text(tmp_path: Path, more: dict[str, str] | None = None) -> str:
    write_tree(tmp_path, FILES | (more or {}))
    tests = RECIPE.tests.but(packages=("calc",), import_roots=(".",), arguments=("tests",), protected=("tests",))
    return extracted(RECIPE.but(tests=tests), tmp_path, "c0ffee")


def test_every_name_that_tests_use_stands_in_it(tmp_path: Path) -> None:
    """Public names, private ones that tests import, reach or patch, ones made at run time, and no file's name."""
    text = _text(tmp_path)
    assert "exe" not in text

    for stated in (
        "class Basket(abc.ABC)", "def __init__(self, names=())", "def size(self) -> int", "colour = 'red'",
        "def _sorted(names, *, key=None)", "def fallback(a, /, b)", "def patched(where)", "def _reached(x)",
        "SIZE: int = 12", "TABLE = ...", "`made_late`", "_hidden_by_patch = 1", "`_names`",
    ):  # fmt: skip
        assert stated in text, stated


def test_no_body_stands_in_it(tmp_path: Path) -> None:
    """Neither of a function, nor of a hidden test that the README shows, too; the rest of the README stays."""
    text = _text(tmp_path)

    for answer in ("secret", "_unused", "_inner", "basket.take", "how it is made"):
        assert answer not in text, answer
    assert "(left out: it stands in a hidden test)" in text
    assert "Hold fruit." in text
    assert "Buy one." in text


def test_it_says_what_it_is(tmp_path: Path) -> None:
    """A reader sees that nobody wrote it, and a corpus can be searched for its canary."""
    text = _text(tmp_path)

    assert "extracted" in text.partition("## ")[0]
    assert "canary c0ffee" in text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(_text(Path(folder), MORE), encoding="utf-8")
