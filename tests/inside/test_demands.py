"""What failed tests demanded can be read from the default print: comparisons of all kinds."""

from pathlib import Path

import pytest

from groundup.domain.verdicts import TestResult
from groundup.reports.causes import grouped
from groundup.reports.why import why_lines
from tests.inside.test_runner import _run

SUBMISSION = """
import re
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: int
    y: object = None


Pair = namedtuple("Pair", "first second")


class Plain:
    def __init__(self, name, size):
        self.name = name
        self.size = size

    def __eq__(self, other):
        return vars(self) == vars(other)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __eq__(self, other):
        return (self.a, self.b) == (other.a, other.b)


class Failure(Exception):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def give(value):
    return value


def fail(error):
    raise error


def parse(text):
    return {"type": "object", "properties": {"key1": {"type": "string"}, "key2": {"type": "integer"}}}


def is_valid(text):
    return not text


def call(target, *a, **k):
    return target(*a, **k)


def two(a, b=1):
    return a
"""

HEAD = """
import datetime, decimal, fractions, logging, math, re, sys, unittest, warnings
from collections import Counter, OrderedDict, defaultdict, deque
from unittest import mock
import pytest
import calc
from calc import Colour, Failure, Pair, Plain, Point, Slotted, call, fail, give, is_valid, parse, two
"""

LONG = "'" + "lorem ipsum " * 100 + "'"

# Each test's body, and what must be read: what it wanted, and what it got where that is a value of its own.
PYTEST: tuple[tuple[str, tuple[str, ...]], ...] = (
    # Nested dictionaries
    (
        "assert parse('') == {'type': 'object', 'properties': {'key1': {'type': 'string'}, 'key2': "
        "{'type': 'integer', 'description': 'Main Key 2'}}}",
        ("['properties']['key2']['description']", "only right", "'Main Key 2'"),
    ),
    (
        "assert give({'a': {'b': [1, 2, {'c': 3}]}}) == {'a': {'b': [1, 2, {'c': 4}]}}",
        ("['a']['b'][2]['c']: 3 != 4",),
    ),
    ("assert give({'a': 1, 'b': 2}) == {'a': 1}", ("['b']: only left: 2",)),
    ("assert give({1: 'x'}) == {1: 'y'}", ("[1]", "'x'", "'y'")),
    (
        "assert give({str(i): i for i in range(200)}) == {str(i): i + (i == 150) for i in range(200)}",
        ("['150']: 150 != 151",),
    ),
    ("assert give(OrderedDict(a=1)) == OrderedDict(a=2)", ("['a']: 1 != 2",)),
    ("assert give(defaultdict(list, a=[1])) == {'a': [2]}", ("['a'][0]: 1 != 2",)),
    ("assert give(Counter('aab')) == Counter('abb')", ("['a']: 2 != 1", "['b']: 1 != 2")),
    ("assert give({'a': None}) == {'a': {}}", ("['a']: None != {}",)),
    ("assert give({'t': 'x' * 900}) == {'t': 'x' * 450 + 'y' + 'x' * 449}", ("['t']", "450", "y")),
    ("assert give({'a': 1}) == [('a', 1)]", ("{'a': 1}", "[('a', 1)]")),
    (
        "assert give({'deep': {'er': {'est': {'k': (1, 2)}}}}) == {'deep': {'er': {'est': {'k': (1, 3)}}}}",
        ("['k'][1]: 2 != 3",),
    ),
    # Lists, tuples, other sequences
    ("assert give([1, 2, 3]) == [1, 2, 4]", ("[2]: 3 != 4",)),
    ("assert give([1, 2]) == [1, 2, 3]", ("[2]: only right: 3", ".length: 2 != 3")),
    ("assert give(list('abcd')) == list('abd')", ("[2]: only left: 'c'",)),
    ("assert give(list(range(1000))) == [*range(500), -1, *range(501, 1000)]", ("[500]: 500 != -1",)),
    ("assert give((1, (2, 3))) == (1, (2, 4))", ("[1][1]: 3 != 4",)),
    ("assert give([1]) == (1,)", ("[1]", "(1,)")),
    ("assert give(deque([1, 2])) == deque([1, 3])", ("[1]: 2 != 3",)),
    ("assert list(give(range(3))) == [0, 1, 3]", ("[2]: 2 != 3",)),
    (
        "assert give([{'id': 1, 'n': 'a'}, {'id': 2, 'n': 'b'}]) == [{'id': 1, 'n': 'a'}, {'id': 2, 'n': 'c'}]",
        ("[1]['n']", "'b'", "'c'"),
    ),
    ("assert give(['x' * 50] * 3) == ['x' * 50] * 2 + ['x' * 49 + 'y']", ("[2]", "xy'")),
    ("assert sorted(give(['b', 'a'])) == ['a', 'c']", ("[1]", "'b'", "'c'")),
    ("assert len(give([1, 2, 3])) == 4", ("assert 3 == 4", "len([1, 2, 3])")),
    ("assert give([1, 2, 3])[1] == 5", ("2 == 5",)),
    # Sets
    ("assert give({1, 2}) == {2, 3}", ("only left: 1", "only right: 3")),
    ("assert give({'a'}) == {'a', 'b', 'c'}", ("only right: 'b', 'c'",)),
    ("assert give(frozenset([1])) == frozenset([2])", ("only left: 1", "only right: 2")),
    ("assert give({1, 2}) <= {1}", ("{1, 2}", "{1}")),
    ("assert give({}.keys()) == {'k'}", ("only right: 'k'",)),
    # Texts
    ("assert give('spam') == 'eggs'", ("'spam'", "'eggs'")),
    ("assert give('a\\nb\\nc') == 'a\\nB\\nc'", ("line 2: 'b' != 'B'",)),
    ("assert give('a\\nc') == 'a\\nb\\nc'", ("line 2: only right: 'b'",)),
    ("assert give('a\\nb\\n') == 'a\\nb'", ("only the left one ends in a line break",)),
    ("assert give('a\\r\\nb') == 'a\\nb'", (r"a\r\nb", r"'a\nb'")),
    ("assert give({'k': ['x' * 90 + 'tail']}) == {'k': ['x' * 90 + 'end']}", ("['k'][0]", "tail", "end")),
    ("print('no such option', file=sys.stderr)\n    assert give(2) == 0", ("2", "0", "no such option")),
    ("assert give({'a': {'b': {1, 2}}}) == {'a': {'b': {2, 3}}}", ("only left: 1", "only right: 3")),
    ("assert give(b'ab\\x00' * 3) == b'ab\\x01' * 3", ("x00", "x01")),
    ("assert give('abc' * 40) in ['abc', 'x' * 80]", ("abcabc", "xxxx")),
    ("assert give([Point(1, [2])]) == [Point(1, [3])]", ("[0].y[0]: 2 != 3",)),
    ("assert [*give('abc')] == [*'abd']", ("[2]: 'c' != 'd'",)),
    ("assert give(1e-9) == 0.0", ("1e-09", "0.0")),
    ("assert not give([1, 2]), 'must be empty'", ("must be empty", "[1, 2]")),
    ("assert all(n < 3 for n in give([1, 5]))", ("all",)),
    ("assert give('x').startswith('y')", ("startswith", "'x'")),
    ("assert give('a ') == 'a'", ("'a '", "'a'")),
    ("assert give('tab\\t') == 'tab '", ("'tab\\t'", "'tab '")),
    (f"assert give({LONG}) == {LONG}[:700] + 'X' + {LONG}[701:]", ("differ from character 700", "X")),
    ("assert give('x' * 300 + 'a') == 'x' * 300 + 'b'", ("xa'", "xb'")),
    ("assert 'needle' in give('hay ' * 40)", ("'needle'", "hay hay")),
    ("assert 'bad' not in give('all bad here')", ("'bad'", "all bad here")),
    ("assert give('Hello').startswith('hello')", ("'hello'", "'Hello'")),
    ("assert give('Hello').lower() == 'HELLO'", ("'hello'", "'HELLO'")),
    ("assert repr(give(Plain('a', 1))).startswith('Plain(')", ("'Plain('", "Plain object")),
    # Bytes and numbers
    ("assert give(b'ab') == b'ac'", ("b'ab'", "b'ac'")),
    ("assert give(b'\\x00' * 900) == b'\\x00' * 899 + b'\\x01'", ("899", "\\x01")),
    ("assert give(b'ab') == 'ab'", ("b'ab'", "'ab'")),
    ("assert give(1) == 2", ("1 == 2",)),
    ("assert give(0.1 + 0.2) == 0.3", ("0.30000000000000004 == 0.3",)),
    ("assert give(1.0) == pytest.approx(1.1)", ("1.0 == 1.1", "1.1e-06")),
    ("assert give([1.0, 2.0]) == pytest.approx([1.0, 2.5])", ("[1]: 2.0 != 2.5",)),
    ("assert give({'a': 1.0}) == pytest.approx({'a': 2.0})", ("['a']: 1.0 != 2.0",)),
    ("assert give(3) > 5", ("3 > 5",)),
    ("assert 1 <= give(7) <= 5", ("7 <= 5",)),
    ("assert give(3) != 3", ("3 != 3",)),
    ("assert give(True) is False", ("True is False",)),
    ("assert give(None) is not None", ("None is not None",)),
    ("assert math.isclose(give(1.0), 2.0)", ("isclose", "(1.0, 2.0)")),
    ("assert give(decimal.Decimal('1.10')) == decimal.Decimal('1.2')", ("Decimal('1.10')", "Decimal('1.2')")),
    ("assert give(fractions.Fraction(1, 3)) == fractions.Fraction(1, 2)", ("Fraction(1, 3)", "Fraction(1, 2)")),
    ("assert give(1 + 2j) == 1 - 2j", ("(1+2j)", "(1-2j)")),
    ("assert give(float('nan')) == 1.0", ("nan == 1.0",)),
    ("assert give(10 ** 80) == 10 ** 80 + 1", ("0001",)),
    (
        "assert give(datetime.date(2020, 1, 2)) == datetime.date(2020, 2, 1)",
        ("date(2020, 1, 2)", "date(2020, 2, 1)"),
    ),
    # Objects
    ("assert give(Point(1, 2)) == Point(1, 3)", (".y: 2 != 3",)),
    ("assert give(Point(1, Point(2, 3))) == Point(1, Point(2, 4))", (".y.y: 3 != 4",)),
    ("assert give(Point(1, {'k': 1})) == Point(1, {'k': 2})", (".y['k']: 1 != 2",)),
    ("assert give(Pair(1, 2)) == Pair(1, 3)", (".second: 2 != 3",)),
    ("assert give(Plain('a', 1)) == Plain('b', 1)", (".name", "'a'", "'b'")),
    ("assert give(Slotted(1, 2)) == Slotted(1, 3)", (".b: 2 != 3",)),
    ("assert give(Colour.RED) == Colour.BLUE", ("RED", "BLUE")),
    ("assert give(Failure('m', 1)).code == 2", ("1 == 2", "code")),
    ("assert isinstance(give('1'), int)", ("isinstance('1', ", "int")),
    ("assert hasattr(give(Plain('a', 1)), 'colour')", ("'colour'",)),
    ("assert give(Point)(1).y == 5", ("None == 5",)),
    ("assert type(give(1)) is str", ("int", "str")),
    # Exceptions
    ("with pytest.raises(ValueError):\n        give(3)", ("DID NOT RAISE", "ValueError", "give(3)")),
    (
        "with pytest.raises(ValueError):\n        fail(KeyError('k'))",
        ("KeyError: 'k'", "pytest.raises(ValueError)"),
    ),
    (
        "with pytest.raises(ValueError, match='bad .* value'):\n        fail(ValueError('worse'))",
        ("bad .* value", "worse"),
    ),
    (
        "with pytest.raises(Failure) as caught:\n        fail(Failure('m', 4))\n    assert caught.value.code == 5",
        ("4 == 5", "code"),
    ),
    (
        "with pytest.raises(Failure) as e:\n        fail(Failure('m', 4))\n    assert str(e.value) == 'n'",
        ("'m'", "'n'"),
    ),
    ("with pytest.warns(UserWarning):\n        give(1)", ("DID NOT WARN", "UserWarning")),
    ("fail(Failure('first line\\nsecond line: wanted 3', 4))", ("first line", "second line: wanted 3")),
    ("two(1, c=3)", ("unexpected keyword argument 'c'", "def two(a, b=1)")),
    ("calc.three()", ("has no attribute 'three'",)),
    # Expressions
    ("assert is_valid('x')", ("is_valid('x')",)),
    ("assert not is_valid('')", ("is_valid('')",)),
    ("assert re.match(r'a+$', give('aab'))", ("'a+$'", "'aab'")),
    ("assert all(n > 1 for n in give([2, 1]))", ("all(n > 1 for n in give([2, 1]))",)),
    ("assert give(1) == 1 and give(2) == 3", ("2 == 3",)),
    ("for n, wanted in ((1, 1), (2, 5)):\n        assert give(n) == wanted", ("2 == 5", "n = 2")),
    ("assert give(1) == 2, 'one must be two'", ("one must be two", "1 == 2")),
    ("assert (\n        give([1, 2])\n        == [1, 3]\n    )", ("[1]: 2 != 3", "== [1, 3]")),
    ("pytest.fail('wanted: ' + give('x'))", ("wanted: x",)),
    # Calls of mocks
    ("m = mock.Mock(name='m')\n    call(m, 1)\n    m.assert_called_once_with(2)", ("m(2)", "m(1)")),
    ("m = mock.Mock(name='m')\n    m.assert_called()", ("'m'", "called")),
    (
        "m = mock.Mock(name='m')\n    call(m, 1)\n    assert m.call_args_list == [mock.call(1), mock.call(2)]",
        ("only right: call(2)",),
    ),
    ("m = mock.Mock(name='m')\n    call(m, 1)\n    assert m.call_count == 2", ("1 == 2", "call_count")),
    (
        "m = mock.Mock(name='m')\n    call(m, 1, k=2)\n    m.assert_has_calls([mock.call(1, k=3)])",
        ("call(1, k=3)", "call(1, k=2)"),
    ),
    (
        "m = mock.Mock(name='m')\n    call(m, 1)\n    assert m.call_args == mock.call(1, x=2)",
        ("call(1)", "call(1, x=2)"),
    ),
    ("m = mock.Mock(name='m')\n    call(m)\n    m.assert_not_called()", ("'m'", "not have been called")),
)
UNITTEST: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("self.assertEqual(give({'a': {'b': 1}}), {'a': {'b': 2}})", ("['a']['b']: 1 != 2",)),
    ("self.assertEqual(give([1, 2, 3]), [1, 2])", ("[2]: only left: 3",)),
    ("self.assertEqual(give('a\\nb'), 'a\\nc')", ("line 2: 'b' != 'c'",)),
    ("self.assertEqual(give('spam'), 'eggs')", ("'spam'", "'eggs'")),
    ("self.assertEqual(give({1}), {2})", ("only left: 1", "only right: 2")),
    ("self.assertEqual(give(1), 2, 'one is not two')", ("1 != 2", "one is not two")),
    ("self.assertEqual(give(Point(1, 2)), Point(1, 3))", (".y: 2 != 3",)),
    ("self.assertDictEqual(give({'a': 1}), {'a': 2})", ("['a']: 1 != 2",)),
    ("self.assertCountEqual(give([1, 1, 2]), [1, 2, 2])", ("First has 2, Second has 1:  1",)),
    ("self.assertTrue(is_valid('x'))", ("is_valid('x')",)),
    ("self.assertIs(give(1), None)", ("1 is not None",)),
    ("self.assertIsNone(give(3))", ("3 is not None",)),
    ("self.assertIn('k', give({'a': 1}))", ("'k' not found in {'a': 1}",)),
    ("self.assertAlmostEqual(give(1.0), 1.5, places=3)", ("1.0 != 1.5", "3 places")),
    ("self.assertGreater(give(1), 5)", ("1 not greater than 5",)),
    ("self.assertRegex(give('abc'), r'^b')", ("'^b' not found in 'abc'",)),
    ("self.assertIsInstance(give('1'), int)", ("'1' is not an instance of <class 'int'>",)),
    ("with self.assertRaises(ValueError):\n            give(1)", ("ValueError not raised", "give(1)")),
    (
        "with self.assertRaisesRegex(ValueError, 'bad'):\n            fail(ValueError('worse'))",
        ('"bad" does not match "worse"',),
    ),
    (
        "with self.assertRaises(ValueError):\n            fail(KeyError('k'))",
        ("KeyError: 'k'", "assertRaises(ValueError)"),
    ),
    ("with self.assertLogs('calc', 'INFO'):\n            give(1)", ("no logs of level INFO", "calc")),
    (
        "for n in (1, 2):\n            with self.subTest(n=n):\n                self.assertEqual(give(n), 1)",
        ("2 != 1", "n = 2"),
    ),
    (
        "self.assertEqual(\n            give([1, 2]),\n            [1, 3],\n        )",
        ("[1]: 2 != 3", "give([1, 2])"),
    ),
)


def _printed(tmp_path: Path) -> dict[str, str]:
    """Return what the default print shows of each case, by the name of its test."""
    lines = [HEAD]
    lines += [f"def test_p{at}():\n    {body}\n" for at, (body, _) in enumerate(PYTEST)]
    lines += ["class TestCase(unittest.TestCase):"]
    lines += [f"    def test_u{at}(self):\n        {body}\n" for at, (body, _) in enumerate(UNITTEST)]
    demands = Path(__file__).parents[2] / "src/groundup/inside/demands.py"
    changes = {"trusted": [str(tmp_path / "tests")], "demands": str(demands)}
    ini = ["--tb=short"]
    report, _ = _run(tmp_path, {"calc.py": SUBMISSION, "tests/test_a.py": "\n".join(lines)}, extra=ini, **changes)
    printed = {}
    for test, said in report.results.items():
        one = TestResult(
            id=str(test), outcome=said.outcome, expected=True, message=said.message, demand=said.demand,
            detail=said.detail.replace(f"{tmp_path}/", "/workspace/"),
            calls=said.calls.replace(f"{tmp_path}/", "/workspace/"),
        )  # fmt: skip
        blocks = why_lines(grouped([one]), 36, 100)
        printed[str(test).rpartition("::")[2]] = "\n".join(line for block in blocks for line in block)
    return printed


def _demand(tmp_path: Path, test: str) -> str:
    demands = Path(__file__).parents[2] / "src/groundup/inside/demands.py"
    changes = {"trusted": [str(tmp_path / "tests")], "demands": str(demands)}
    report, _ = _run(tmp_path, {"calc.py": SUBMISSION, "tests/test_a.py": HEAD + test}, **changes)
    (said,) = report.results.values()
    return said.demand


def test_of_a_block_only_its_head_is_shown(tmp_path: Path) -> None:
    """It may go on for long, and nothing of it ran."""
    test = (
        "def test_a():\n    with fail(\n        ValueError('worse'),\n    ):\n        body = 1\n        more = 2\n"
    )
    demand = _demand(tmp_path, test)
    assert "> with fail(\n>     ValueError('worse'),\n> ):" in demand
    assert "body" not in demand


def test_both_values_of_a_long_part_are_shown(tmp_path: Path) -> None:
    """Each on a line of its own."""
    test = "def test_a():\n    assert give({'k': 10 ** 400}) == {'k': 10 ** 400 + 1}\n"
    assert [line[:12] for line in _demand(tmp_path, test).splitlines() if line.startswith("['k']")] == [
        "['k']: left ",
        "['k']: right",
    ]


SNAPSHOT = """
class Snapshot:
    def __init__(self, value): self.value = value
    def __eq__(self, other): return self.value == other
    def __repr__(self): return repr(self.value)
def test_a():
    assert {}
"""


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("give('a\\nb\\nc') == Snapshot('a\\nB\\nc')", "line 2: 'b' != 'B'"),
        ("Snapshot({'k': [1, 2]}) == give({'k': [1, 3]})", "['k'][1]: 2 != 3"),
        ("give((1, 2)) == Snapshot([1, 2])", "left  (1, 2)\nright [1, 2]"),
        ("give([1] * 999) == (1,) * 999", "differ from character 0 of 2997 and 2997\nleft  ...[1, 1,"),
    ],
)
def test_a_value_in_a_snapshot_is_taken_apart(tmp_path: Path, statement: str, told: str) -> None:
    """Which shows itself as what it holds; of other long values the part is told that differs."""
    assert told in _demand(tmp_path, SNAPSHOT.format(statement))


def test_what_only_one_list_has_is_named_by_its_place(tmp_path: Path) -> None:
    """Once, and nothing is said of places that neither has."""
    demand = _demand(tmp_path, "def test_a():\n    assert give([1, 2, 3, 4]) == [1, 2, 4]\n")
    assert ".length: 4 != 3\n[2]: only left: 3" in demand
    assert demand.count("only") == 1


CALLING = """
class Boat:
    def __init__(self, name, size=1):
        self.name = name
        self.size = size

    def load(self, what):
        return what

    def each(self, callback):
        callback(self.name)


def fleet(boats):
    return list(boats)
"""
CALLS = {
    "self.assertEqual(self.boat.load(1), 2)": "def load(",
    "seen = mock.Mock()\n        boat = Boat('a')\n        boat.each(seen)\n"
    "        other = Boat('z')\n        self.assertEqual(seen.mock_calls, [])": "def each(",
    "with self.assertRaises(ValueError):\n            fleet([1])": "def fleet(",
    "self.assertEqual(Boat('a', length=2).load(1), 1)": "def __init__(self, name, size=1)",
    "self.assertEqual(Boat('a').gone(), 1)": "class Boat:",
    "self.assertEqual(self.boat.crew, 1)": "class Boat:",
    "with self.assertRaises(TypeError) as caught:\n            fleet(1)\n"
    "        self.assertEqual(str(caught.exception), 'no')": "def fleet(",
    "one = [1]\n        self.assertEqual(one, [2])": "",
}


def test_what_a_failing_statement_calls_is_named(tmp_path: Path) -> None:
    """Through what `setUp` made, by an earlier statement about the same object, in a block that should raise."""
    lines = ["import unittest", "from unittest import mock", "from calc import Boat, fleet", ""]
    lines += ["class TestCase(unittest.TestCase):", "    def setUp(self):", "        self.boat = Boat('b')", ""]
    lines += [f"    def test_{at}(self):\n        {body}\n" for at, body in enumerate(CALLS)]
    demands = Path(__file__).parents[2] / "src/groundup/inside/demands.py"
    changes = {"trusted": [str(tmp_path / "tests")], "demands": str(demands)}
    report, _ = _run(tmp_path, {"calc.py": CALLING, "tests/test_a.py": "\n".join(lines)}, **changes)
    said = {str(test).rpartition("test_")[2]: one.calls for test, one in report.results.items()}
    for at, (body, wanted) in enumerate(CALLS.items()):
        assert (wanted in said[str(at)]) if wanted else said[str(at)] == "", (body, said[str(at)])


def test_what_is_demanded_can_be_read(tmp_path: Path) -> None:
    """From the default print of each of more than a hundred failures, nine in ten of them with both values."""
    printed = _printed(tmp_path)
    cases = [*((f"test_p{at}", *case) for at, case in enumerate(PYTEST)),
             *((f"test_u{at}", *case) for at, case in enumerate(UNITTEST))]  # fmt: skip
    unread = {
        name: (body, [one for one in wanted if one not in printed.get(name, "")], printed.get(name, ""))
        for name, body, wanted in cases
        if not all(one in printed.get(name, "") for one in wanted)
    }
    assert len(cases) >= 100
    assert not unread, "\n\n".join(
        f"{name}: {body}\nlacks {lacks}\n{text}" for name, (body, lacks, text) in unread.items()
    )
