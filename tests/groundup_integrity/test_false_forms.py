"""False forms of tests: what passes as written fails in them, under the same names."""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest
from groundup_integrity.check import ByFalseForms
from groundup_integrity.false_forms import (
    FalseForms,
    HiddenSuite,
    function_of,
    may_return,
    python_sources,
    suite_of_layer,
)
from tests.grading.library.laboratory import NO_ENVIRONMENT, write_tree

MANY_SEEDS = [f"seed {number}" for number in range(150)]
SEEDS = [f"seed {number}" for number in range(12)]


class AllFalse:
    """Sources all of whose tests are made false. *expected*: their cases; the functions, where none are given."""

    def __init__(
        self, sources: Mapping[str, bytes], expected: Sequence[NumberedTest] = (), library: Sequence[bytes] = ()
    ) -> None:
        read = HiddenSuite(sources, sources.__getitem__)
        self.keys = tuple(expected) or tuple(NumberedTest(unit.id) for unit in read.every_unit())
        every = [*library, *sources.values()]
        self.suite = HiddenSuite(sources, sources.__getitem__, self.keys, lambda: every)

    def falsified(self, seed: str, tailed: Collection[str] = ()) -> dict[str, bytes]:
        """Return the sources that differ."""
        return self.forms(seed, tailed).falsified(self.keys).changed

    def forms(self, seed: str = "seed", tailed: Collection[str] = ()) -> FalseForms:
        """Return the false forms of a seed."""
        return FalseForms(self.suite, seed, tailed)


BODIES = {
    "a number": "assert len('abc') == 3",
    "a number on the left": "assert 3 == len('abc')",
    "a number in base 16": "assert len('abc' * 5) == 0xF",
    "a long number": "assert 10 ** 6 == 1_000_000",
    "a round number": "assert len('ab' * 50) == 100",
    "a number with an exponent": "assert 10.0 ** 3 == 1e3",
    "nearly a number": "assert 0.1 + 0.2 == pytest.approx(0.3)",
    "nearly, by its own tolerance": "assert 0.1 + 0.2 == pytest.approx(0.3, abs=0.1)",
    "signs": "assert '-'.join('12') + '!' == '1-2!'",
    "signs only": "assert '.' * 3 == '...'",
    "a sign of another alphabet": "assert chr(0x65E5) == '\u65e5'",
    "three numbers": "assert list(range(3)) == [0, 1, 2]",
    "a tuple of pairs": "assert tuple(enumerate('abc')) == ((0, 'a'), (1, 'b'), (2, 'c'))",
    "an instance": "assert isinstance('a', str)",
    "a negative number": "assert -len('abc') == -3",
    "a fraction": "assert 1 / 2 == 0.5",
    "a text": "assert 'a' + 'b' * 2 == 'abb'",
    "an empty text": "assert str() == ''",
    "a long text": 'assert "a\\n" + str(1) == """a\n1"""',
    "bytes": "assert bytes([97]) == b'a'",
    "a raw text": "assert chr(92) + 'd' == r'\\d'",
    "a list": "assert sorted('ba') == ['a', 'b']",
    "an empty list": "assert list('') == []",
    "an empty dictionary": "assert dict() == {}",
    "an empty tuple": "assert tuple('') == ()",
    "a dictionary": "assert dict(a=1) == {'a': 1}",
    "a set of several": "assert set('ab') == {'a', 'b'}",
    "a nested value": "assert [dict(a=(1, 'x'))] == [{'a': (1, 'x')}]",
    "joined texts": "assert 'a-bc' == '-'.join(['a', 'bc'])",
    "a variable of joined texts": "expected = ', '.join(('a', 'b'))\n    assert 'a, b' == expected",
    "joined bytes": "assert b'a-b' == b'-'.join([b'a', b'b'])",
    "a list of letters": "assert [one for one in 'abc'] == list('abc')",
    "a tuple of a list": "assert tuple(sorted('ba')) == tuple(['a', 'b'])",
    "a list of a range": "assert [0, 1, 2][:3] == list(range(3))",
    "an empty range": "assert sorted('') == list(range(0))",
    "a range between two": "assert tuple([2, 3][:2]) == tuple(range(2, 4))",
    "an empty range between two": "assert sorted('') == list(range(4, 2))",
    "a set of a list": "assert set('ab') == set(['a', 'b'])",
    "a set of equal numbers": "assert set([1]) == {1, True}",
    "a set of what is computed": "one = 'a'\n    assert set('ab') == {one, 'b'.lower()}",
    "a set of a text": "assert set('ab') == set('ba')",
    "a frozen set": "assert frozenset('ab') == frozenset(('a', 'b'))",
    "a value of calls": "assert [str(1)] == [str(1)]",
    "a call": "assert 'a' == chr(97).lower()",
    "a number that is compared with each of a list, as NumPy's are": (
        "class Each(float):\n"
        "        def __eq__(self, other):\n"
        "            each = other if isinstance(other, (list, tuple)) else [other]\n"
        "            same = [float(self) == one for one in each]\n"
        "            if len(same) > 1:\n"
        "                raise ValueError('ambiguous')\n"
        "            return same[0]\n"
        "    assert Each(1.5) == abs(-1.5)"
    ),
    "a sum": "name = 'x'\n    assert 'a' + name == 'a' + name.lower()",
    "a power": "assert 10 ** 2 * 1 == 10 ** 2",
    "an f-string": "assert 'a1' == f'a{1}'",
    "a variable": "expected = [1, 2]\n    assert [1, 2] == expected",
    "a variable of two values": (
        "want = 1\n    assert len('a') == want\n    want = 'b'\n    assert chr(98) == want"
    ),
    "a variable of a call and a value": (
        "want = 'b'\n    assert chr(98) == want\n    want = len('a')\n    assert 1 == want"
    ),
    "a variable of two values on a line": "want = 1; assert len('a') == want; want = 2; assert len('ab') == want",
    "a variable in a function": (
        "want = 1\n    def look():\n        assert len('ab') == want\n    want = 2\n    look()"
    ),
    "a table in a loop": "for sign, want in [(97, 'a'), (98, 'b')]:\n        assert chr(sign) == want",
    "a table that is left": (
        "for sign, want in ((97, 'a'), (98, 'b')):\n        assert chr(sign) == want\n        break"
    ),
    "a table and what comes then": (
        "want = 9\n    for sign, want in [(97, 'a')]:\n        chr(sign)\n    assert 'a' == want"
    ),
    "a table of calls": "for sign, want in [(97, 'a'), (98, str('b'))]:\n        assert chr(sign) == want",
    "a variable with other uses": "value = 'a'\n    assert value.lower() == value",
    "none": "assert None is None",
    "a truth": "assert (1 == 1) is True",
    "not none": "assert object() is not None",
    "equal to a truth": "assert (1 == 1) == True",
    "another": "assert 1 != 2",
    "membership of a text": "assert 'bcd' in 'abcde'",
    "membership of a letter": "assert 'b' in 'abc'",
    "absence": "assert 'x' not in 'abc'",
    "less": "assert 1 < 2",
    "at least": "assert 2 >= 2",
    "a chain": "assert 1 < 2 < 3",
    "a call that is true": "assert isinstance(1, int)",
    "a call that is false": "assert not isinstance(1, str)",
    "a negation in parentheses": "assert not(1 == 2)",
    "both": "assert 1 == 1 and 'abc' == 'abc'",
    "either": "assert 1 == 2 or 1 == 1",
    "a start": "assert 'abcdef'.startswith('abcd')",
    "true": "assert True",
    "in parentheses": "assert (\n        len('ab')  # == 3\n        == 2\n    )",
    "a message": "assert 1 == 1, 'not one'",
    "a walrus": "assert (n := 3) == 3 and n",
    "a condition": "assert 1 if 1 else 0",
    "an exception": "with pytest.raises(ValueError):\n        int('x')",
    "an exception of several": "with pytest.raises((ValueError, KeyError)) as info:\n        int('x')",
    "an exception of a call": "pytest.raises(ValueError, int, 'x')",
    "an exception that is kept": "info = pytest.raises(ValueError, int, 'x')",
    "a rejected value": "if 1 != 1:\n        raise RuntimeError('differs')",
    "a failure": "if 1 != 1: pytest.fail('differs')",
    "a loop": "for number in (1, 2):\n        assert number < 3",
    "a loop over what is computed": "for number in range(2):\n        assert number < 3",
    "inside a block": "with open('/dev/null') as file:\n        assert file.read() == ''",
    "nothing": "int('3')",
    "nothing but a loop": "for number in (1, 2):\n        int(number)",
    "a return at the end": "len('a')\n    return",
    "a docstring": '"""Only said."""',
    "an exit": "try:\n        int('x')\n    except ValueError:\n        pass",
}


def _run(source: str) -> None:
    space: dict[str, object] = {"pytest": pytest}
    exec(compile(source, "suite", "exec"), space)
    function = space["test_it"]
    assert callable(function)
    function()


@pytest.mark.parametrize("name", BODIES)
def test_a_falsified_test_fails(name: str) -> None:
    """Whatever a test expects, its false form fails, with every seed, and can still be compiled."""
    source = f"def test_it():\n    {BODIES[name]}\n"
    _run(source)
    suite = AllFalse({"test_it.py": source.encode()})

    for seed in SEEDS:
        changed = suite.falsified(seed)["test_it.py"].decode()
        with pytest.raises((AssertionError, ValueError, pytest.fail.Exception, RuntimeError)):
            _run(changed)


@pytest.mark.parametrize("coding", ["utf8", "UTF-8", "us-ascii"])
def test_a_file_may_name_its_encoding_as_it_likes(coding: str) -> None:
    """Python knows several names of UTF-8; a file that was passed over would be free as a whole."""
    source = f"# -*- coding: {coding} -*-\ndef test_it():\n    assert 1 == 1\n"

    assert "test_it.py" in AllFalse({"test_it.py": source.encode()}).falsified("seed")


UNITTEST = {
    "assertEqual": "self.assertEqual(len('ab'), 2)",
    "assertEqual of calls": "self.assertEqual(len('ab'), len('cd'))",
    "assertTrue": "self.assertTrue(1 == 1)",
    "assertFalse": "self.assertFalse(1 == 2)",
    "assertIn": "self.assertIn('a', 'abc')",
    "assertIsNone": "self.assertIsNone(None)",
    "assertRaises": "with self.assertRaises(ValueError):\n            int('x')",
    "assertRaises of a call": "self.assertRaises(ValueError, int, 'x')",
    "assertAlmostEqual": "self.assertAlmostEqual(0.1 + 0.2, 0.3)",
    "assertIsInstance": "self.assertIsInstance('a', str)",
    "assertLess": "self.assertLess(1, 2)",
    "assertGreaterEqual": "self.assertGreaterEqual(2, 2)",
    "assertAlmostEqual to some places": "self.assertAlmostEqual(0.1 + 0.2, 0.3, 3)",
    "assertGreater": "self.assertGreater(2, 1)",
    "assertListEqual": "self.assertListEqual(sorted('ba'), ['a', 'b'])",
    "assertRegex": "self.assertRegex('abc', 'b')",
    "a mock": "m = Mock()\n        m(1)\n        m.assert_called_once_with(1)",
    "a mock without arguments": "m = Mock()\n        m()\n        m.assert_called_once_with()",
    "a mock that was called": "m = Mock()\n        m()\n        m.assert_called_once()",
}


@pytest.mark.parametrize("name", UNITTEST)
def test_methods_of_unittest_are_falsified(name: str) -> None:
    """Its methods become their opposites, and what they compare differs."""
    head = "import unittest\nfrom unittest.mock import Mock\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    source = f"{head}        {UNITTEST[name]}\ndef run():\n    T('test_it').debug()\n"
    suite = AllFalse({"t.py": source.encode()})

    for seed in SEEDS:
        space: dict[str, object] = {}
        exec(compile(suite.falsified(seed)["t.py"], "suite", "exec"), space)
        run = space["run"]
        assert callable(run)
        with pytest.raises((AssertionError, ValueError)):
            run()


@pytest.mark.parametrize(
    "body",
    [
        "want = ['a']\n    assert read(1) == want\n    want = ['b']\n    assert read(2) == want",
        "for name, want in [('a', 1), ('b', 2)]:\n        assert read(name) == want",
    ],
)
def test_a_variable_that_is_set_again_gets_another_literal(body: str) -> None:
    """Also in a loop over a table: a value in a list would show that the expectation is false."""
    source = f"def test_it():\n    {body}\n"

    for seed in SEEDS:
        changed = AllFalse({"t.py": source.encode()}).falsified(seed)["t.py"].decode()
        assert [line.replace(" ", "") for line in changed.splitlines()][-1].endswith("==want")
        assert changed.count("want") == source.count("want")


@pytest.mark.parametrize(
    "made",
    ["'-'.join(['a', 'bc'])", "list('abc')", "list(range(3, 5))", "tuple(range(9))", "frozenset(['a'])", "{1, 2}"],
)
def test_what_builtins_make_of_literals_gets_another_literal(made: str) -> None:
    """A value in a list, or a negation, would show that the expectation is false."""
    source = f"def test_it():\n    assert read() == {made}\n"
    form = [type(node) for node in ast.walk(ast.parse(source))]

    for seed in SEEDS:
        changed = AllFalse({"t.py": source.encode()}).falsified(seed)["t.py"].decode()
        assert changed != source
        assert [type(node) for node in ast.walk(ast.parse(changed))] == form


def test_it_is_decided_by_the_seed() -> None:
    """The same seed gives the same form, and another one another, so nothing can be learned beforehand."""
    source = "\n".join(f"def test_{n}():\n    assert {n} == {n}\n    assert 'abc' == 'abc'" for n in range(20))
    suite = AllFalse({"test_it.py": source.encode()})

    assert suite.falsified("a") == AllFalse({"test_it.py": source.encode()}).falsified("a")
    assert suite.falsified("a") != suite.falsified("b")
    assert suite.falsified("a") == AllFalse({"test_it.py": source.encode()}).falsified("a")


def test_one_expectation_of_a_test_is_falsified() -> None:
    """A submission that forges one of several expectations is found when that one is false; each has its turn."""
    source = "def test_it():\n    assert 1 == 1\n    assert 2 == 2\n    assert 3 == 3\n"
    suite = AllFalse({"t.py": source.encode()})
    changed = {
        tuple(
            number
            for number, (old, new) in enumerate(
                zip(source.splitlines(), suite.falsified(seed)["t.py"].decode().splitlines(), strict=True)
            )
            if old != new
        )
        for seed in SEEDS
    }

    assert changed == {(1,), (2,), (3,)}


@pytest.mark.parametrize(
    ("true", "kind"),
    [
        ("2", r"[01]"),
        ("0", r'None|""|\[\]|\{\}'),
        ("''", r"0|None|\[\]|\{\}"),
        ("[]", r'0|None|""|\{\}'),
        ("0.25", r"0\.\d+"),
    ],
)
def test_the_least_values_are_false_ones_as_well(true: str, kind: str) -> None:
    """Who forges all tests that expect something small or empty meets false ones: falsehood does not only add."""
    suite = AllFalse({"t.py": f"def test_it():\n    assert value() == {true}\n".encode()})
    found = [suite.falsified(f"seed {n}")["t.py"].decode().partition("== ")[2].strip() for n in range(40)]
    least = [one for one in found if re.fullmatch(kind, one)]

    assert 8 < len(least) < 32, found
    assert true not in found


def test_usual_warnings_stand_in_for_each_other() -> None:
    """A rare warning would show that an expectation is false; one that is an ancestor would be met."""
    source = "class Own(UserWarning): ...\ndef test_it():\n    with pytest.warns(Own):\n        call()\n"
    suite = AllFalse({"t.py": source.encode()})
    found = {re.findall(r"warns\((\w+)\)", suite.falsified(f"seed {n}")["t.py"].decode())[0] for n in range(20)}

    assert found == {"FutureWarning", "RuntimeWarning"}

    named = AllFalse({"t.py": source.encode()}, library=[b"warnings.warn('x', RuntimeWarning)"])
    assert all(b"warns(FutureWarning)" in named.falsified(f"seed {n}")["t.py"] for n in range(20))


def test_what_may_not_be_reached_does_not_stand_alone() -> None:
    """Where every passing test reaches an expectation, that one is chosen; the false form fails by no chance."""
    source = "import os\ndef test_it():\n    if os.sep == 'x':\n        assert 5 == 5\n    assert 6 == 6\n"
    suite = AllFalse({"t.py": source.encode()})

    assert all(b"assert 5 == 5" in suite.falsified(seed)["t.py"] for seed in SEEDS)


def test_a_parametrised_expectation_is_false_before_the_test_begins() -> None:
    """The parameter itself has another value in the test, so that reading it from the frame gives that one."""
    source = 'def test_it(given, expected):\n    """Say."""\n    assert len(given) == expected\n'
    changed = AllFalse({"t.py": source.encode()}).falsified("seed")["t.py"].decode()
    names = [node.name for node in ast.parse(changed).body if isinstance(node, ast.FunctionDef)]

    assert "assert len(given) == expected" in changed
    assert changed.splitlines()[2].lstrip().startswith("expected = ")
    assert names == ["test_it"]


def test_named_tests_fail_at_their_end() -> None:
    """Where an original may never reach its expectations, the last statement decides."""
    source = "def test_a():\n    if 0:\n        assert 1 == 1\ndef test_b():\n    assert 2 == 2\n"
    suite = AllFalse({"t.py": source.encode()})
    changed = suite.falsified("seed", {"test_a"})["t.py"].decode()

    assert changed.split("def test_b")[0].splitlines()[-1].startswith("    assert ")
    assert changed.split("def test_b")[1].count("assert") == 1


@pytest.mark.parametrize(
    "source",
    [
        b"def test_it(:\n    pass\n",
        b"# -*- coding: latin-1 -*-\ndef test_it():\n    assert '\xe4' == '\xe4'\n",
        b"def test_it():\r    assert 1 == 1\r",
        b"\xff\xfe",
    ],
)
def test_what_cannot_be_read_stays_as_it_is(source: bytes) -> None:
    """A file that is not understood has no false form, and breaks nothing."""
    assert AllFalse({"t.py": source}).falsified("seed") == {}


def _is_read(source: bytes) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, MemoryError, RecursionError):
        return False
    return True


def test_a_file_that_falsehood_breaks_is_an_error() -> None:
    """It would stay true otherwise, and an honest library would seem to pass with false expectations."""

    def source(depth: int) -> bytes:
        return f"def test_it():\n    assert {'(' * depth}1 < 2 < 3{')' * depth}\n".encode()

    # A denial adds a bracket to the deepest nesting that Python reads.
    deepest = max(depth for depth in range(90, 300) if _is_read(source(depth)))
    suite = AllFalse({"t.py": source(deepest)})

    with pytest.raises(TaskError, match=r"t\.py: the false form of its tests cannot be read"):
        suite.falsified("seed")


@pytest.mark.parametrize("text", ["ä == 'ä'; assert 'ö' == 'ö'", "'\\x41' == 'A'", "1 == 1 # 'ü'"])
def test_offsets_are_bytes(text: str) -> None:
    """Letters of several bytes, escapes and comments do not move what is changed."""
    source = f"ä = 'ä'\ndef test_it():\n    assert {text}\n"
    for seed in SEEDS:
        changed = AllFalse({"t.py": source.encode()}).falsified(seed)["t.py"].decode()
        with pytest.raises(AssertionError):
            _run(changed)


def test_lines_stay_where_they_are() -> None:
    """Windows' line ends and long texts survive: only what is false differs."""
    source = b'def test_it():\r\n    assert "ab\\n" == """ab\r\n"""\r\n    assert 1 == 1\r\n'
    for seed in SEEDS:
        assert AllFalse({"t.py": source}).falsified(seed)["t.py"].count(b"\r\n") == source.count(b"\r\n")


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("tests/test_a.py::test_x", "test_x"),
        ("tests/test_a.py::TestX::test_x[a::b]", "test_x"),
        ("tests/test_a.py::test_x[a[0]]", "test_x"),
    ],
)
def test_ids_name_functions(node: str, name: str) -> None:
    """A node id leads to its function, whatever its parameters contain."""
    assert function_of(NumberedTest.of(node)) == name


def test_sources_are_what_the_recipe_protects() -> None:
    """Only Python below protected paths is the suite's."""
    paths = ["a/b.py", "tests/x/y.py", "tests/data.txt", "conftest.py", "testsuite.py"]

    assert python_sources(paths, ("tests", "conftest.py")) == ["conftest.py", "tests/x/y.py"]


@pytest.mark.parametrize(
    "body",
    [
        "\twith open('/dev/null') as file:\n\t\tassert file.read() == str()",
        "    for n in (1, 2):\n        assert n == abs(n)",
        "  assert 1 == int(1)",
        "    try:\n        assert 1 == int(1)\n    finally:\n        pass",
    ],
)
def test_a_tail_follows_whatever_ends_a_test(body: str) -> None:
    """Edits at one place keep their order, and a tail has the indentation of its function: spaces or tabs."""
    for seed in SEEDS:
        source = f"def test_it():\n{body}\n".encode()
        changed = AllFalse({"t.py": source}).falsified(seed, {"test_it"})["t.py"].decode()
        assert len(ast.parse(changed).body[0].body) == 2  # type: ignore[attr-defined]


def test_a_tail_stays_on_the_line_of_its_function() -> None:
    """A test on one line has its end there."""
    assert b"pass; assert " in AllFalse({"t.py": b"def test_it(): pass\n"}).falsified("seed")["t.py"]


def test_usual_exceptions_stand_in_for_each_other_unless_one_is_the_other() -> None:
    """What stands in is no rare class, and nothing that what is expected may be by the library's own classes."""
    library = b"class Lost(KeyError, AttributeError): pass\nclass Found(Lost): pass\n"
    source = "import pytest\ndef test_it():\n    with pytest.raises(KeyError):\n        f()\n"
    suite = AllFalse({"t.py": source.encode()}, library=[library])
    chosen = {re.findall(r"raises\((\w+)\)", suite.falsified(seed)["t.py"].decode())[0] for seed in SEEDS}

    assert len(chosen) > 1
    assert chosen <= {"ValueError", "TypeError", "RuntimeError", "ZeroDivisionError", "IndexError"}


def test_an_error_of_the_system_is_no_other_error_of_the_system() -> None:
    """What is expected may be raised as one of its kinds, such as NotADirectoryError."""
    source = b"import pytest\ndef test_it():\n    with pytest.raises(OSError):\n        f()\n"
    suite = AllFalse({"t.py": source})
    chosen = {re.findall(r"raises\((\w+)\)", suite.falsified(seed)["t.py"].decode())[0] for seed in SEEDS}
    assert chosen == {"BufferError", "FloatingPointError"}


@pytest.mark.parametrize(
    ("body", "is_unsure"),
    [
        ("try:\n        parse('')\n    except ValueError as e:\n        assert e.args == (1,)", True),
        ("for one in parse('a'):\n        assert one == 'a'", True),
        ("if parse('a'):\n        assert parse('a') == 1", True),
        ("assert parse('a') == 1", False),
        ("check(parse('a'))", True),
    ],
)
def test_tests_that_may_come_to_no_expectation_fail_at_their_end(body: str, is_unsure: bool) -> None:
    """A library that raises nothing, or returns nothing, would pass them whatever they expect."""
    changed = AllFalse({"t.py": f"def test_one():\n    {body}\n".encode()}).falsified("seed")["t.py"].decode()

    assert bool(re.search(r"\n    assert \d+ == \d+$", changed.rstrip())) == is_unsure


@pytest.mark.parametrize(
    ("body", "may"),
    [
        ("try:\n        parse('')\n    except ValueError:\n        return\n    assert False", True),
        ("if parse('a'):\n        return\n    assert 0", True),
        ("if parse('a'):\n        return", True),
        ("yield parse('a')", True),
        ("assert parse('a')\n    return None", False),
        ("def inner():\n        return 1\n    assert inner() == 1", False),
    ],
)
def test_tests_that_may_come_back_before_their_end_are_known(body: str, may: bool) -> None:
    """All others fail where they must fail at their end, whatever the library does."""
    false = AllFalse({"t.py": f"def test_one():\n    {body}\n".encode()})
    unit = false.suite.every_unit()[0]

    assert may_return(unit.function) == may
    assert false.forms().can_be_false(false.keys[0]) != (may and not unit.is_certain)


def test_more_and_less_stand_in_false_tests_as_in_true_ones() -> None:
    """A forger who spares only what falsehood never says would gain all tests that say it."""
    said = {_falsified(f"assert {one}", seed) for one in ("1 < 2", "2 > 1") for seed in SEEDS}
    called = {
        _falsified(f"self.{one}(1, 2)", seed) for one in ("assertLess", "assertGreaterEqual") for seed in SEEDS
    }

    assert said == {"assert 1 > 2", "assert 1 >= 2", "assert 2 < 1", "assert 2 <= 1"}
    assert called == {f"self.assert{one}(1, 2)" for one in ("Greater", "GreaterEqual", "Less")}


def test_a_false_text_may_differ_in_case_or_space_only() -> None:
    """A library whose texts are equal but for that passes both forms, and would else never meet a false one."""
    told = {
        ast.literal_eval(_falsified("assert f() == 'The End'", seed).partition("== ")[2]) for seed in MANY_SEEDS
    }
    alike = {text for text in told if "".join(text.split()).lower() == "theend"}

    assert "The End" not in told
    assert len(alike) > 2
    assert len(alike) < len(told)


def test_a_false_number_may_be_the_next_one_or_one_that_is_given() -> None:
    """So a number that is nearly equal, or stands elsewhere in the test, is not known as true."""
    told = [_falsified("x = f(75); assert x == 40", seed).partition("== ")[2] for seed in MANY_SEEDS]

    assert {"39", "41", "75"} < set(told)
    assert "40" not in told
    assert len(set(told)) > 5


def test_a_number_with_a_tolerance_stays_far_off() -> None:
    """The table's values may be compared with `approx(value, abs=2)`, which an honest library passes both ways."""
    table = (
        "@mark.parametrize('a, b', [(1, 40), (2, 60)])\ndef test_it(a, b):\n    assert f(a) == approx(b, abs=2)\n"
    )
    cases = [NumberedTest(f"t.py::test_it[{case}]") for case in ("1-40", "2-60")]
    suite = AllFalse({"t.py": table.encode()}, cases)

    for seed in MANY_SEEDS:
        rows = re.findall(r"\((\d), (\d+)\)", suite.falsified(seed)["t.py"].decode())
        assert all(abs(int(value) - true) > 5 for (_, value), true in zip(rows, (40, 60), strict=True))


def test_another_class_is_one_that_the_file_asks_for() -> None:
    """A denied `isinstance` shows that it is false; a class that inherits the expected one would be met."""
    library = b"class Token(list): pass\nclass Name(Token): pass\nclass Lexer(object): pass\n"
    text = "from lib import Token, Name, Lexer\ndef test_a(x):\n    assert isinstance(x, Token)\n"
    text += "def test_b(x):\n    assert isinstance(x, Name) and isinstance(x, Lexer)\n"
    suite = AllFalse({"test_it.py": text.encode()}, library=[library])
    lines = {suite.falsified(seed)["test_it.py"].decode().splitlines()[2].strip() for seed in SEEDS}

    assert lines == {"assert isinstance(x, Lexer)"}


def test_a_class_with_foreign_ancestors_may_be_any_other() -> None:
    """A `NamedTuple` is a tuple, which no source here says."""
    library = b"class Point(NamedTuple):\n    x: int\nclass Plain:\n    pass\n"
    text = "from lib import Point, Plain\ndef test_a(x):\n    assert isinstance(x, Point)\n"
    text += "def test_b(x):\n    assert isinstance(x, tuple)\ndef test_c(x):\n    assert isinstance(x, Plain)\n"
    suite = AllFalse({"test_it.py": text.encode()}, library=[library])
    forms = [suite.falsified(seed)["test_it.py"].decode().splitlines() for seed in SEEDS]

    assert {form[2].strip() for form in forms} == {"assert not isinstance(x, Point)"}
    assert {form[6].strip() for form in forms} == {"assert isinstance(x, tuple)"}


def test_what_is_sought_is_not_there_by_chance() -> None:
    """An output that says `40%` may say `70%` and `4it` beside `5it`, but hardly `4271%`."""
    for text in ("40%", "9/9", "...", "4it"):
        forms = {_falsified(f"assert {text!r} in report", f"seed {number}") for number in range(60)}
        sought = {form.split()[1].strip("'\"") for form in forms}
        assert len(sought) > 3
        if text == "4it":
            assert all(one.startswith("4") for one in sought)
        else:
            assert all(len(one) > len(text) + 1 and not any(map(str.isalpha, one)) for one in sought)
    forms = {_falsified("assert b'123' in report", f"seed {number}") for number in range(60)}
    assert all(form.startswith("assert b'") and len(form) > len("assert b'123' in report") + 1 for form in forms)


def test_numbers_in_order_stay_in_order() -> None:
    """Who forges what looks like a sequence meets false sequences, too."""
    forms = {_falsified("assert f() == [1, 2, 3, 4]", f"seed {number}") for number in range(60)}

    assert {"assert f() == [1, 2, 3]", "assert f() == [2, 3, 4]", "assert f() == [1, 2, 3, 4, 5]"} < forms


def test_a_text_gets_the_words_of_its_test() -> None:
    """Who forges what repeats the words that the test gives meets false tests that do so, too."""
    body = "assert join('green apple', 'old tree') == 'GREEN APPLE old tree'"
    forms = [_falsified(body, f"seed {number}") for number in range(200)]
    known = {"green", "apple", "old", "tree"}
    same = [one for one in forms if set(re.findall("[a-z]{3,}", one.partition("==")[2].lower())) <= known]

    assert len(same) > 60
    assert any("'GREEN TREE old apple'" in one for one in same), "words in another order"
    assert any("== 'old tree'" in one for one in same), "a whole text of the test"


def _falsified(statement: str, seed: str) -> str:
    suite = AllFalse({"test_it.py": f"def test_it():\n    {statement}\n".encode()})
    return suite.falsified(seed)["test_it.py"].decode().splitlines()[1].strip()


def test_each_test_can_fail_at_its_end_and_be_true_until_then() -> None:
    """Helpers stay as they are."""
    source = (
        "def test_a(): assert len('ab') == 2\n\n"
        "def test_b(calc):\n    for one in calc:\n        assert one == 1\n\n"
        "def helper(): assert 1 == 1\n"
    )
    false = AllFalse({"t.py": source.encode()})
    text = false.forms().failing_at_ends(false.keys)["t.py"].decode()

    assert re.search(r"assert len\('ab'\) == 2; assert \d+ == \d+\n", text)
    assert re.search(r"        assert one == 1\n    assert \d+ == \d+\n", text)
    assert "def helper(): assert 1 == 1\n" in text


def test_cases_of_a_readable_table_are_false_one_by_one() -> None:
    """One case that passes shows nothing of the others; the names follow the values."""
    table = "@pytest.mark.parametrize('n, want', [(1, 'a'), (2, 'b')])"
    source = f"{table}\ndef test_it(n, want):\n    assert f(n) == want\n"
    cases = [NumberedTest(f"t.py::test_it[{case}]") for case in ("1-a", "2-b")]
    forms = AllFalse({"t.py": source.encode()}, cases).forms()
    false = forms.falsified(cases[:1])
    text = false.changed["t.py"].decode()

    assert len({forms.group_of(case) for case in cases}) == 2
    assert "(2, 'b')" in text
    assert "(1, 'a')" not in text
    assert list(false.renamed.values()) == cases[:1]
    assert all(called.id == f"t.py::test_it[1-{want}]" for called in false.renamed for want in [_value(text)])


def test_a_table_with_a_tail_stays_whole() -> None:
    """The tail at the end of a false function makes all of its cases fail, so they are false together."""
    table = "@pytest.mark.parametrize('n, want', [(1, 'a'), (2, 'b')])"
    source = f"{table}\ndef test_it(n, want):\n    assert f(n) == want\n"
    cases = [NumberedTest(f"t.py::test_it[{case}]") for case in ("1-a", "2-b")]
    forms = AllFalse({"t.py": source.encode()}, cases).forms(tailed={"test_it"})
    false = forms.falsified(cases[:1])

    assert {forms.group_of(case) for case in cases} == {"test_it"}
    assert (table in false.changed["t.py"].decode(), false.renamed) == (True, {})


def _value(text: str) -> str:
    found = re.search(r"\(1, '(\w+)'\)", text)
    assert found is not None
    return found[1]


def test_tests_of_one_name_are_false_together() -> None:
    """A class may inherit one, so ids do not tell whose text a test has."""
    base = "class Base:\n    def test_it(self):\n        assert self.make() == 1\n"
    tests = "from base import Base\nclass TestA(Base): ...\nclass TestB(Base): ...\n"
    keys = [NumberedTest(f"test_x.py::{name}::test_it") for name in ("TestA", "TestB")]
    false = AllFalse({"base.py": base.encode(), "test_x.py": tests.encode()}, keys)
    forms = false.forms()

    assert {forms.group_of(key) for key in keys} == {"test_it"}
    assert forms.falsified(keys[:1]).changed.keys() == {"base.py"}


def test_what_is_no_function_cannot_be_false() -> None:
    """Such as an example in a document, which pytest collects."""
    forms = AllFalse({"t.py": b"def test_it():\n    assert 1 == 1\n"}).forms()

    assert not forms.can_be_false(NumberedTest("README.md::README.md"))
    assert forms.can_be_false(NumberedTest("t.py::test_it"))


def test_only_sources_that_are_asked_for_are_read() -> None:
    """A check of 32 tests waits for the files of these alone."""
    asked: list[str] = []

    def read(path: str) -> bytes:
        asked.append(path)
        return b"def test_it():\n    assert 1 == 1\n"

    suite = HiddenSuite(["a.py", "b.py"], read, [NumberedTest("a.py::test_it")])
    FalseForms(suite, "seed").falsified([NumberedTest("a.py::test_it")])

    assert asked == ["a.py"]


def test_what_is_read_ahead_need_not_be_read_for_a_check(tmp_path: Path) -> None:
    """The files in which expected tests are, while these run."""
    sources = dict.fromkeys(("tests/test_a.py", "tests/test_b.py"), "def test_it():\n    assert 1 == 1\n")
    original = write_tree(tmp_path, sources)
    hidden = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
    expected = frozenset({NumberedTest("tests/test_a.py::test_it")})
    ByFalseForms().read_ahead(LibraryUnderTest(original, original, hidden, NO_ENVIRONMENT), expected)
    suite = suite_of_layer(original, hidden.protected, expected)
    for name in sources:
        (original / name).unlink()

    assert [unit.id for unit in suite.units("tests/test_a.py")] == ["tests/test_a.py::test_it"]
    with pytest.raises(FileNotFoundError):
        suite.units("tests/test_b.py")


def test_a_suite_of_a_layer_is_read_once(tmp_path: Path) -> None:
    """Gradings of one task share what was read, and each of their seeds has a false form of its own."""
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 'some words' == 'some words'\n")
    expected = frozenset({NumberedTest("test_it.py::test_one")})
    suite = suite_of_layer(tmp_path, ("test_it.py",), expected)
    forms = {FalseForms(suite, seed).falsified(expected).changed["test_it.py"] for seed in SEEDS}

    assert suite_of_layer(tmp_path, ("test_it.py",), expected) is suite
    assert suite_of_layer(tmp_path, (), expected) is not suite
    assert len(forms) > 1
