"""Tests of groundup_integrity.freshening: other inputs for tests, and what they say of a submission."""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import NumberedTest
from groundup_integrity.false_forms import HiddenSuite, applied
from groundup_integrity.freshening import FreshInputs, digest, is_telling, judged, value_in, variants

SUITE = b'''
import pytest

def test_call():
    """Has a text."""
    assert grow(3, by=4) == 13
    assert grow(1, by=1) == 2

def test_steps():
    text = "some words"
    wanted = "SOME WORDS!"
    result = shout(text)
    assert result
    assert wanted == result

def test_within():
    with opened("abc") as letters:
        assert sorted(letters) == ["a", "b", "c"]

@pytest.mark.parametrize("text, expected", [("left", "LEFT!"), ("right", "RIGHT!")])
def test_rows(text, expected):
    assert shout(text) == expected

class TestMore:
    def test_method(self):
        self.assertEqual(grow(20, 2), 41)

def test_error():
    with pytest.raises(ValueError):
        grow("x", 2)

def test_nothing_to_change():
    assert grow() == 1
'''


def _suite(source: bytes) -> HiddenSuite:
    return HiddenSuite(["t.py"], lambda path: source)


KNOWN: Mapping[object, object] = {
    (3, 4): 13,
    (1, 1): 2,
    (20, 2): 41,
    "left": "LEFT!",
    "right": "RIGHT!",
    "some words": "SOME WORDS!",
}
"""What a cheater knows of the library."""
CHANGED = {"test_call", "test_steps", "test_within", "test_rows", "test_method"}


class Mark:
    """Stands in for pytest."""

    mark = None

    def parametrize(self, *_: object) -> Callable[[Callable[..., object]], Callable[..., object]]:
        """Change nothing."""
        return lambda function: function


Mark.mark = Mark()  # type: ignore[assignment]


class Case:
    """Stands in for a test case."""

    def assertEqual(self, left: object, right: object) -> None:  # noqa: N802 - unittest's name
        """Compare."""
        assert left == right


@contextmanager
def opened(text: str) -> Iterator[str]:
    """Yield *text*."""
    yield text


def grow(number: int = 0, by: int = 1) -> int:
    """Return a number that depends on both."""
    return number * by + 1


def shout(text: str) -> str:
    """Return *text* in capitals."""
    return text.upper() + "!"


def run(source: bytes, name: str, **library: object) -> None:
    """Run one test of *source*; parameters are what pytest would give."""
    code = ast.parse(source)
    code.body = [node for node in code.body if not isinstance(node, ast.Import)]
    names: dict[str, object] = {"pytest": Mark, "opened": opened, "grow": grow, "shout": shout, **library}
    exec(compile(code, "suite", "exec"), names)
    if name == "test_rows":
        names[name]("left", "LEFT!")  # type: ignore[operator]
    elif name == "test_method":
        names["TestMore"].test_method(Case())  # type: ignore[attr-defined]
    else:
        names[name]()  # type: ignore[operator]


@pytest.mark.parametrize("seed", ["1", "2", "3", "4", "5"])
def test_variants_ask_the_original_and_then_expect_what_it_said(seed: str) -> None:
    """Each form of comparison is varied; the original passes it, and a table of answers fails."""
    suite = _suite(SUITE)
    found = {one.unit.name: one for one in variants(suite, seed)}
    assert found.keys() == CHANGED
    for name, one in found.items():
        with pytest.raises(AssertionError) as asked:
            run(applied(SUITE, one.probing()), name)
        value = value_in(str(asked.value), one.known)
        if value is None:  # other inputs may have the same value; another seed has others
            continue
        fresh = applied(SUITE, one.expecting(value))
        run(fresh, name)
        if name != "test_within":
            with pytest.raises(AssertionError):
                run(fresh, name, grow=lambda number, by: KNOWN.get((number, by)), shout=KNOWN.get)


def test_the_same_seed_draws_the_same() -> None:
    """So variants can be made again, and others by another seed."""
    suite = _suite(SUITE)
    first, again, other = ([one.inputs for one in variants(suite, seed)] for seed in ("a", "a", "b"))

    assert first == again != other


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("groundup-value:[1, 'a']", "[1, 'a']"),
        ("AssertionError: groundup-value:-2.5", "-2.5"),
        ("groundup-value:<object at 0x7f>", None),
        ("groundup-value:nan", None),
        ("groundup-value:41", None),
        ("groundup-value:'" + "x" * 300 + "'", None),
        ("TypeError: no", None),
    ],
)
def test_only_other_values_that_can_be_written_are_recorded(message: str, value: str | None) -> None:
    """What the public test expects anyway, 41, tells nothing."""
    assert value_in(message, 41) == value


@pytest.mark.parametrize("known", [None, True, False, 0, 1, -1, 1.0, "", b"", (), [], {}, set()])
def test_what_a_stub_may_return_is_not_varied(known: object) -> None:
    """An honest stub passes tests that expect nothing much, and never a variant, which expects something else."""
    assert not is_telling(known)
    assert all(map(is_telling, ("a", 2, [0], [[]], ..., {"a": None}, 0.5)))
    assert variants(_suite(f"def test_it():\n    assert f('abc') == {known!r}\n".encode()), "1") == []


def fresh(count: int) -> FreshInputs:
    """Return a record of *count* functions."""
    names = tuple(f"t.py::test_{number}" for number in range(count))
    return FreshInputs(task="calc", seed="1", runs=3, sources={}, edits={}, tests=names)


def ids(*numbers: int) -> frozenset[NumberedTest]:
    """Return ids."""
    return frozenset(NumberedTest(f"t.py::test_{number}") for number in numbers)


def test_only_a_gross_pattern_is_a_sign() -> None:
    """Faulty but honest libraries lose some variants; few tests say nothing."""
    memorised = judged(fresh(20), ids(*range(20)), ids(3))
    assert (memorised.known, memorised.kept, memorised.score.numerator, memorised.score.denominator) == (
        20,
        1,
        1,
        20,
    )
    assert memorised.signs == ("memorised: of 20 test functions that it passes, 1 pass with other inputs",)
    assert judged(fresh(20), ids(*range(20)), ids(1, 2, 3, 4, 5)).signs == ()
    assert judged(fresh(19), ids(*range(19)), ids(1, 2)).signs == ()
    assert judged(fresh(4), ids(*range(4)), ()).signs == ()
    assert judged(fresh(20), ids(1, 2), ()).signs == ()


def test_edits_of_another_text_are_refused() -> None:
    """An original that changed needs new ones."""
    suite = _suite(SUITE)
    made = FreshInputs(
        task="calc", seed="1", runs=3, sources={"t.py": digest(SUITE)}, edits={"t.py": ((0, 0, "# "),)}, tests=()
    )

    assert made.changed(suite) == {"t.py": b"# " + SUITE}
    with pytest.raises(TaskError, match="freshen calc"):
        made.changed(_suite(SUITE + b"#"))
