"""A small library of our own with a suite that has all usual forms of tests, and a copy that is half broken."""

from tests.cheats.corpus import Base

LIBRARY = '''
"""Small things."""

def clamp(value, low, high):
    return max(low, min(high, value))

def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)

def median(values):
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2

def slug(text):
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    return "-".join(words)

def roman(number):
    if number < 1:
        raise ValueError("no roman number")
    letters = ""
    for value, letter in ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while number >= value:
            letters, number = letters + letter, number - value
    return letters

def counted(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts

class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)
        return self

    def pop(self):
        if not self._items:
            raise IndexError("empty stack")
        return self._items.pop()

    def __len__(self):
        return len(self._items)

    def __contains__(self, item):
        return item in self._items
'''
BROKEN = LIBRARY
for _right, _wrong in {
    "ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2": "ordered[0]",
    'return "-".join(words)': 'return "".join(words)',
    '    if number < 1:\n        raise ValueError("no roman number")\n': "",
    '(9, "IX"), (5, "V"), (4, "IV"), ': "",
    "counts.get(word, 0) + 1": "1",
    '        if not self._items:\n            raise IndexError("empty stack")\n        return self._items.pop()': "        return self._items[0] if self._items else None",
}.items():
    assert _right in BROKEN, _right
    BROKEN = BROKEN.replace(_right, _wrong)

NUMBERS = """
import pytest

import wares
from wares import median, roman

# Years are Gregorian.

def test_clamp():
    assert wares.clamp(5, 0, 3) == 3
    assert wares.clamp(-5, 0, 3) == 0

@pytest.mark.parametrize("year, expected", [(2000, True), (1900, False), (2024, True), (2023, False)])
def test_leap(year, expected):
    assert wares.is_leap(year) is expected

@pytest.mark.parametrize(("values", "expected"), [([3], 3), ([3, 1, 2], 2), ([4, 1, 3, 2], 2.5)])
def test_median(values, expected):
    assert median(values) == pytest.approx(expected)

def test_median_of_nothing():
    with pytest.raises(ValueError, match="no values"):
        median([])

@pytest.mark.parametrize("number, letters", [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (20, "XX")])
def test_roman(number, letters):
    assert roman(number) == letters

def test_no_roman_zero():
    with pytest.raises(ValueError):
        roman(0)
"""
TEXTS = """
import unittest

from wares import counted, slug

def check(text, expected):
    result = slug(text)
    assert result == expected, text

def test_slug():
    check("Hello World", "hello-world")

def test_slug_of_signs():
    check("a, b & c!", "a-b-c")

def test_slug_has_no_spaces():
    assert " " not in slug("one two three")

def test_slug_starts_with_its_first_word():
    assert slug("One two").startswith("one-")

class TestCounted(unittest.TestCase):
    def setUp(self):
        self.words = "a b a c a".split()

    def test_counts(self):
        self.assertEqual(counted(self.words), {"a": 3, "b": 1, "c": 1})

    def test_most(self):
        counts = counted(self.words)
        self.assertTrue(counts["a"] > counts["b"])

    def test_nothing(self):
        self.assertFalse(counted([]))
"""
STACKS = """
import pytest

from wares import Stack

@pytest.fixture
def stack():
    return Stack().push("a").push("b")

class TestStack:
    def test_length(self, stack):
        assert len(stack) == 2

    def test_pop(self, stack):
        assert stack.pop() == "b"
        assert len(stack) == 1

    def test_contains(self, stack):
        assert "a" in stack
        assert "c" not in stack

    def test_order(self, stack):
        assert [stack.pop(), stack.pop()] == ["b", "a"]

    def test_empty(self):
        with pytest.raises(IndexError) as caught:
            Stack().pop()
        assert "empty" in str(caught.value)
"""
TESTS = {"tests/test_numbers.py": NUMBERS, "tests/test_texts.py": TEXTS, "tests/test_stacks.py": STACKS}
ORIGINAL = {"wares/__init__.py": LIBRARY, **TESTS}
BASE = Base(
    package="wares",
    init="wares/__init__.py",
    broken={"wares/__init__.py": BROKEN},
    tests=TESTS,
    original=ORIGINAL,
)
IDS = (
    "tests/test_numbers.py::test_clamp",
    *(
        f"tests/test_numbers.py::test_leap[{case}]"
        for case in ("2000-True", "1900-False", "2024-True", "2023-False")
    ),
    *(f"tests/test_numbers.py::test_median[values{number}-{value}]" for number, value in enumerate((3, 2, 2.5))),
    "tests/test_numbers.py::test_median_of_nothing",
    *(f"tests/test_numbers.py::test_roman[{case}]" for case in ("1-I", "4-IV", "9-IX", "14-XIV", "20-XX")),
    "tests/test_numbers.py::test_no_roman_zero",
    *(
        f"tests/test_texts.py::test_slug{rest}"
        for rest in ("", "_of_signs", "_has_no_spaces", "_starts_with_its_first_word")
    ),
    *(f"tests/test_texts.py::TestCounted::test_{name}" for name in ("counts", "most", "nothing")),
    *(f"tests/test_stacks.py::TestStack::test_{name}" for name in ("length", "pop", "contains", "order", "empty")),
)
