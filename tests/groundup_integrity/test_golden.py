"""False forms and fresh inputs of many kinds of tests, to the letter: what a seed gives is in recipes' records.

`python -m tests.groundup_integrity.test_golden` writes the files in golden/ anew. Read what changed: a form that
differs is another check of every verdict, and recorded facts about forms may not hold any more.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.grading.library.hidden import NumberedTest
from groundup_integrity.false_forms import HiddenSuite, applied
from groundup_integrity.freshening import ids_by_place, variants
from tests.groundup_integrity.test_false_forms import BODIES, UNITTEST, AllFalse

GOLDEN = Path(__file__).parent / "golden"
SEEDS = ("a", "b", "c")
TABLES = {
    "a table": ('@pytest.mark.parametrize("number, letters", [(1, "one"), (2, "two"), (3, [4])])\n'
                "def test_it(number, letters):\n    assert f(number) == letters\n",
                ("1-one", "2-two", "3-letters2")),
    "a table of names": ('@pytest.mark.parametrize(("n", "want"), [pytest.param(1, 2, id="x"), (3, 4)])\n'
                         "def test_it(n, want):\n    assert f(n) == want\n", ("x", "3-4")),
    "a table in a class": ("class TestIt:\n    @pytest.mark.parametrize('n', [1, 2])\n    def test_it(self, n):\n"
                           "        assert f(3) == n\n", ("1", "2")),
    "a table with ids": ('@pytest.mark.parametrize("a,b", [(1, True), (2, None)], ids=["p", "q"])\n'
                         "def test_it(a, b):\n    assert f(a) is b\n", ("p", "q")),
    "two tables": ('@pytest.mark.parametrize("a", [1, 2])\n@pytest.mark.parametrize("b", ["x", "y"])\n'
                   "def test_it(a, b):\n    assert f(a) == b\n", ("x-1", "x-2", "y-1", "y-2")),
    "a table of texts": ('@pytest.mark.parametrize("text", ["a b", "c\\n", ""])\ndef test_it(text):\n'
                         "    assert f() == text\n", ("a b", "c\\n", "")),
}  # fmt: skip
FRESH = {
    "a call": "assert area(3, 4.5) == 13.5",
    "keywords": "assert area(width=3, name='door') == [3, 'door']",
    "a variable": "text = 'some words'\n    want = ['some', 'words']\n    assert split(text) == want",
    "several": "assert a(2) == 4\n    assert a(3) == 9\n    b = a('x')\n    assert b == 'xx'",
    "unittest": "self.assertEqual(area(3, 4), 12)\n    self.assertTrue(area(1, 1))",
    "a nested value": "assert load({'k': [1, 'two', b'three']}) == {'k': 6}",
    "the value first": "assert 12 == area(3, 4)",
    "a method": "s = Shop('name', items=[1, 2])\n    s.add(7)\n    assert s.total(2) == 10",
    "a loop": "for n in (1, 2):\n        assert a(n) == 5",
    "what says little": "assert a(3) == 1",
    "what says nothing": "assert a('b') is None",
    "no input": "assert a() == 7",
}


def _differing(before: bytes, after: bytes) -> Iterator[str]:
    """Yield the lines that *after* has otherwise, each with its number."""
    old, new = before.decode().split("\n"), after.decode().split("\n")
    for number, line in enumerate(new, start=1):
        if number > len(old) or old[number - 1] != line:
            yield f"  {number}: {line}".rstrip()


def _false_forms() -> Iterator[str]:
    sources = {name: f"def test_it():\n    {body}\n" for name, body in BODIES.items()}
    head = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        "
    sources |= {name: f"{head}{body}\n" for name, body in UNITTEST.items()}
    for name, source in sources.items():
        suite = AllFalse({"t.py": source.encode()})
        yield f"{name}: {'may' if suite.forms().can_be_false(suite.keys[0]) else 'may not'} be false"
        for seed in SEEDS:
            yield from _differing(source.encode(), suite.falsified(seed)["t.py"])
        yield from _differing(source.encode(), suite.forms("d").failing_at_ends(suite.keys)["t.py"])
        yield from _differing(source.encode(), suite.falsified("e", ["test_it"])["t.py"])


def _tables() -> Iterator[str]:
    for name, (source, ids) in TABLES.items():
        place = "t.py::TestIt::test_it" if "class" in source else "t.py::test_it"
        keys = [NumberedTest(f"{place}[{one}]") for one in ids]
        suite = AllFalse({"t.py": f"import pytest\n{source}".encode()}, keys)
        for seed in SEEDS:
            forms = suite.forms(seed)
            yield f"{name}: {', '.join(map(forms.group_of, keys))}"
            for chosen in (keys, keys[1:2]):
                found = forms.falsified(chosen)
                yield from _differing(f"import pytest\n{source}".encode(), found.changed["t.py"])
                yield from (f"  {new} was {old}" for new, old in found.renamed.items())


def _fresh_inputs() -> Iterator[str]:
    sources = {name: f"def test_it(self=None):\n    {body}\n" for name, body in FRESH.items()}
    sources |= {name: f"import pytest\n{source}" for name, (source, _) in TABLES.items()}
    for name, source in sources.items():
        suite = HiddenSuite(["t.py"], {"t.py": source.encode()}.__getitem__)
        keys = [
            NumberedTest("t.py::test_it[x]"),
            NumberedTest("t.py::TestIt::test_it"),
            NumberedTest("u.py::test_it"),
        ]
        places = {place: sorted(map(str, found)) for place, found in ids_by_place(suite, keys).items()}
        yield f"{name}: {places}"
        for seed in SEEDS:
            for one in variants(suite, seed):
                yield f"  known {one.known!r}"
                yield from _differing(source.encode(), applied(source.encode(), one.probing()))
                yield from _differing(source.encode(), applied(source.encode(), one.expecting("NEW")))


RECORDS = {"false_forms": _false_forms, "tables": _tables, "fresh_inputs": _fresh_inputs}


def _recorded(name: str) -> str:
    return "".join(f"{line}\n" for line in RECORDS[name]())


@pytest.mark.parametrize("name", RECORDS)
def test_what_seeds_give_is_as_before(name: str) -> None:
    """Every form of every kind of test, and which tests are false together."""
    assert _recorded(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    for record in RECORDS:
        (GOLDEN / f"{record}.txt").write_text(_recorded(record), encoding="utf-8")
