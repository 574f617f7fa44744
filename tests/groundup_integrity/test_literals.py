"""Other literals in place of the tests' own."""

import ast
import re
import warnings
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup_integrity.literals import has_unknown_escape, is_least, other_literal

_PIECES = st.lists(st.sampled_from(["\\" + one for one in "abfnrtvxNuU0123456789'\"\\qsd.{"] + list("abcx 019{}")))
_PREFIXES = st.sampled_from(["", "b", "r", "rb", "u", "B"])


@given(_PREFIXES, st.sampled_from(["'", '"', "'''"]), _PIECES)
def test_unknown_escapes_are_those_that_python_warns_of(prefix: str, quote: str, pieces: list[str]) -> None:
    """Octal numbers over 0o377 count as unknown with every Python; it warns of them from 3.12 on."""
    source = f"({prefix}{quote}{''.join(pieces)}{quote})"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            ast.parse(source, mode="eval")
        except (SyntaxError, ValueError):
            return

    is_large = "r" not in prefix and re.search(r"\\[4-7][0-7]{2}", source) is not None
    assert has_unknown_escape(source) == (bool(warned) or is_large)


@pytest.mark.parametrize("source", ["True", "False", "None", "7", "1.5", "2j", "'a'", "b'a'", "''"])
def test_another_literal_never_equals_the_own_one(source: str) -> None:
    """Or the false form of an honest test would pass; True and False stand for one another."""
    value = ast.literal_eval(source)
    for seed in range(20):
        assert ast.literal_eval(other_literal(source.encode(), value, Random(seed)).decode()) != value


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("0xff", "0x[0-9a-f]+"),
        ("0XAB", "0X[0-9A-F]+"),
        ("0x000f", "0x00[0-9a-f]{2}"),
        ("0b101", "0b[01]+"),
        ("1_000_000", "[0-9]+(_000)+"),
        ("300", "[1-9][0-9]*00"),
        ("1.1", r"[0-9]+[.][0-9]"),
        ("2.0", r"[0-9]+[.]0"),
        ("1e-08", "[1-9.]+e-0[78]"),
        ("1e3", "[0-9]+[.]0"),
        ("0.25", r"[0-9]+[.][0-9]{1,2}"),
        ("'12:30'", "'[0-9]{2}:[0-9]{2}'"),
        ("'...'", r"'[^A-Za-z0-9]{3}'"),
        ('"\u65e5\u672c"', '"[\u6500-\u6800]{2}"'),
    ],
)
def test_another_literal_is_written_alike(source: str, form: str) -> None:
    """The notation of a number, its decimals and its zeros, and the signs of a text show nothing."""
    value = ast.literal_eval(source)
    for seed in range(60):
        other = other_literal(source.encode(), value, Random(seed)).decode()
        assert re.fullmatch(form, other), other
        assert ast.literal_eval(other) != value


@pytest.mark.parametrize(("value", "unit"), [(20, 10), (300, 100), (4500, 100), (1_000_000, 1_000_000), (77, 1)])
def test_another_number_is_of_like_size(value: int, unit: int) -> None:
    """Farther off than a library that counts a few wrong would be, and not so far that its size shows it."""
    for seed in range(200):
        other = int(other_literal(str(value).encode(), value, Random(seed)))
        assert 0 <= other <= value + value // 3 + 9 * unit
        assert abs(other - value) * 3 >= value - 3 * unit


@pytest.mark.parametrize(
    ("text", "least"),
    [
        *((text, True) for text in ("0", "0.0", "None", "''", "b''", "[]", "()", "{}")),
        *((text, False) for text in ("False", "True", "1", "-1", "'0'", "[0]", "(0,)", "{0: 0}", "{0}", "name")),
    ],
)
def test_the_least_of_a_kind(text: str, *, least: bool) -> None:
    """Zero, nothing and what is empty; a truth value has only one other and is none of them."""
    assert is_least(ast.parse(text, mode="eval").body) is least
