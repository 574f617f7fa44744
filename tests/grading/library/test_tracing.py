"""How tests become traced ones: what is sent, what is removed, and what stays."""

import ast

import pytest

from groundup.grading.library.tracing import SentKind, TracedSuite
from groundup.grading.library.twin import HiddenSuite

PATH = "tests/test_it.py"


def _suite(source: str, opened: tuple[int, ...] = ()) -> TracedSuite:
    return TracedSuite(HiddenSuite({PATH: source.encode()}), opened)


def _traced(source: str, opened: tuple[int, ...] = (), seed: str = "") -> str:
    suite = _suite(source, opened)
    new = suite.sources(seed).get(PATH, source.encode()).decode()
    ast.parse(new)
    assert new.count("\n") == source.count("\n")
    return new


@pytest.mark.parametrize(
    ("statement", "new"),
    [
        ("assert f(1) == 'secret', 'secret'", "groundup_value(1, (f(1)))"),
        ("assert 'secret' == f(1)", "groundup_value(1, (f(1)))"),
        ("assert f(1) is None", "groundup_value(1, (f(1)))"),
        ("self.assertEqual(f(1), [1, {'a': -2}])", "groundup_value(1, (f(1)))"),
        ("self.assertIsNone(f(1))", "groundup_value(1, (f(1)))"),
        ("assert 'secret' in f(1)", "groundup_value(1, (f(1)))"),
        ("self.assertIn('secret', f(1))", "groundup_value(1, (f(1)))"),
        ("assert f(1) == g(2)", "groundup_pair(1, (f(1)), (g(2)))"),
        ("assert f(1) > 3", "groundup_truth(1, (f(1) > 3))"),
        ("assert not f(1)", "groundup_truth(1, (not f(1)))"),
        ("self.assertTrue(f(1) == 3)", "groundup_value(1, (f(1)))"),
        ("self.assertFalse(f(1))", "groundup_truth(1, not (f(1)))"),
        ("assert f(1) == 3 and g(2)", "assert groundup_value(1, (f(1))) and groundup_truth(2, (g(2)))"),
        ("with pytest.raises(ValueError): f(1)", "with groundup_raises(1): f(1)"),
        ("with pytest.raises(E, match='x') as e: f(1)", "with groundup_raises(1, match='x') as e: f(1)"),
        ("with self.assertRaises(a.E): f(1)", "with groundup_raises_in_case(1): f(1)"),
    ],
)
def test_expectations_are_removed(statement: str, new: str) -> None:
    """What can be compared outside leaves; the literal that it would be compared with is nowhere in the test."""
    assert _traced(f"def test_it(self):\n    {statement}\n") == f"def test_it(self):\n    {new}\n"


@pytest.mark.parametrize(
    "source",
    [
        "def test_it():\n    with raises(AssertionError, 2):\n        assert f(1) == 3\n",
        "def test_it():\n    try:\n        assert f(1) == 3\n    except AssertionError:\n        pass\n",
        "@pytest.fixture\ndef it():\n    assert f(1) == 3\n",
        "@pytest_asyncio.fixture(scope='module')\nasync def it():\n    assert f(1) == 3\n",
        "def test_it():\n    self.assertEqual(*both)\n",
    ],
)
def test_what_may_be_meant_otherwise_stays(source: str) -> None:
    """An assertion whose failure the test itself handles is not touched."""
    assert _traced(source) == source


def test_what_only_uses_a_fixture_is_traced() -> None:
    """A decorator of another name does not make a fixture of a test."""
    source = "@pytest.mark.usefixtures('it')\ndef test_it():\n    assert f(1) == 'secret'\n"

    assert "secret" not in _traced(source)


def test_lines_stay_where_they_are() -> None:
    """A test that looks at its own lines sees the same ones."""
    source = (
        'def test_it():\n    assert f(1,\n        2) == """a\nb""", (\n        "why")\n'
        "    expected = [\n        1,\n    ]\n    assert f(2) == expected\n"
    )

    assert _traced(source) == (
        "def test_it():\n    groundup_value(1, (f(1,\n        2))\n\n)\n"
        "    expected = (0\n\n)\n    groundup_value(2, (f(2)))\n"
    )


ROWS = "@pytest.mark.parametrize({})\ndef test_it(a, b):\n    assert f(a) == b\n"


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        (ROWS.format("'a, b', [(1, 'secret'), (2, 'secret')]"), True),
        (ROWS.format("('a', 'b'), [pytest.param(1, 'secret', id='x')]"), True),
        (ROWS.format("'b', ['secret']"), True),
        ("@pytest.mark.parametrize('b', [None, True])\ndef test_it(b):\n    assert f() is b\n", True),
        ("def test_it():\n    for a, b in [(1, 'secret')]:\n        assert f(a) == b\n", True),
        ("def test_it():\n    b = 'secret'\n    assert f(1) == b\n", True),
        (ROWS.format("'a, b', [(1, 'secret')]") + "    g(b)\n", False),
        (ROWS.format("'a, b', [(1, 'secret'), (2, E)]"), False),
        (ROWS.format("'a, b', rows"), False),
        ("def test_it():\n    b = 'secret'\n    b += f(2)\n    assert f(1) == b\n", False),
    ],
)
def test_literals_behind_names_are_removed(source: str, hidden: bool) -> None:
    """Parameters, loops and names that only say what is expected hold nothing; others keep both sides."""
    (site,) = _suite(source).sites.values()

    assert (site.kind is SentKind.VALUE) is hidden
    assert site.hides is hidden
    assert _traced(source).count("secret") == (0 if hidden else source.count("secret"))


def test_opened_places_keep_their_expectation() -> None:
    """Where a value alone does not show that it is right, both sides leave, and no literal is removed."""
    source = ROWS.format("'b', ['secret']") + "    assert 'part' in g()\n"

    assert "groundup_pair(1, (f(a)), (b))" in _traced(source, (1, 2))
    assert "groundup_truth(2, (('part') in (g())))" in _traced(source, (1, 2))
    assert "'secret'" in _traced(source, (1, 2))


def test_conditions_are_turned_by_the_seed() -> None:
    """Which answer a condition asks for differs from grading to grading; the record's form does not."""
    source = "def test_it():\n" + "".join(f"    assert f({number}) > 3\n" for number in range(30))

    assert _traced(source, seed="a") != _traced(source, seed="b")
    assert 0 < _traced(source, seed="a").count("not (") < 30
    assert _suite(source).form() == _suite(source).form()
    assert _suite(source).form() != _suite(source.replace("> 3", "> 4")).form()
