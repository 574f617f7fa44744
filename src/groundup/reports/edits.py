"""How one text differs from another without what is a test's own: tests of one function may share it. Pure."""

import ast
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from groundup.domain.verdicts import TestResult
from groundup.reports.kinds import compared

_WORDS = re.compile(r"\d+(?:\.\d+)?|[^\W_]+|\s+|[\W_]")
_PAIR = re.compile(r"line \d+: (?P<left>['\"].*['\"]) != (?P<right>['\"].*['\"])")
_SIDE = re.compile(r"(?P<side>left |right ) *(?P<text>['\"].*)")
_BREAK = re.compile(r"only the (?:left|right) one ends in a line break")
_MOST = 400
"""Words of texts that are compared."""
_ALIKE = 0.5
"""The share of the words that two texts have in common, below which they are other texts."""


class _Edit(NamedTuple):
    words: str
    kind: str


def split_by_edits(tests: Sequence[TestResult]) -> list[str]:
    """Return for each of *tests*, which examine one function, what tells its cause from those of the others.

    It is an edit that leads from the text that came to the expected one, which at least two of the tests share,
    the one that most of them share; else whether something is taken out, put in, or another; "" for tests whose
    texts have little in common, or that compare something else.
    """
    if len(tests) < 2:
        return [""] * len(tests)
    found = [frozenset(_edits(one.demand)) for one in tests]
    counts = Counter(edit for edits in found for edit in edits)
    told = []
    for edits in found:
        shared = sorted((edit for edit in edits if counts[edit] > 1), key=lambda edit: (-counts[edit], edit))
        told.append(shared[0].words if shared else " ".join(sorted({edit.kind for edit in edits})))
    return told


def _edits(demand: str) -> Iterator[_Edit]:
    """Yield what is taken out of and put into the left text to get the right one; numbers are all alike."""
    left = None
    for line in compared(demand).splitlines():
        if _BREAK.fullmatch(line):
            yield _Edit(line, line)
        elif pair := _PAIR.fullmatch(line):
            yield from _between(_text(pair["left"]), _text(pair["right"]))
        elif (side := _SIDE.fullmatch(line)) and side["side"] == "left ":
            left = _text(side["text"])
        elif side and left is not None:
            yield from _between(left, _text(side["text"]))
            left = None


def _text(literal: str) -> str | None:
    try:
        value = ast.literal_eval(literal)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, str) else None


def _between(left: str | None, right: str | None) -> Iterator[_Edit]:
    if left is None or right is None:
        return
    before, after = _WORDS.findall(left)[:_MOST], _WORDS.findall(right)[:_MOST]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            yield _Edit(f"-{_plain(before[a:b])} +{_plain(after[c:d])}", tag)


def _plain(words: Sequence[str]) -> str:
    return "".join("#" if word[0].isdigit() else word for word in words)
