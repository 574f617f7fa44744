"""What a line may be changed to on trial."""

import ast
from pathlib import Path

from groundup_origins.inside.changes import CodeChange, changes_of
from groundup_origins.inside.functions import functions_of

HANDLES = """
def number(text):
    try:
        return int(text)
    except KeyError:
        return 0
"""
LIBRARY = """
def sized(words, longest):
    return cut(words, longest=longest)


def named(words):
    first = cut(words, longest=3)
    return cut(words[1:], longest=first + 1)


def matched(found, word):
    found.append(word)
    size = word
    return found, size
"""


def test_what_is_taken_from_elsewhere_stays_where_it_stands(tmp_path: Path) -> None:
    """What an argument gets in line 8 is tried in line 7, and changes of line 8 still find it there."""
    (tmp_path / "shop.py").write_text(LIBRARY)
    functions = functions_of(str(tmp_path / "shop.py"))
    places = [[getattr(node, "lineno", 0) for node in ast.walk(one.node)] for one in functions]

    changes = [change for one in functions for change in changes_of(one, [])]
    said = [(change.line, words) for change, words in zip(changes, _words(changes), strict=True)]

    assert (7, "first = cut(words, longest=first + 1)") in said
    assert [[getattr(node, "lineno", 0) for node in ast.walk(one.node)] for one in functions] == places


def test_an_except_that_is_changed_is_told_itself(tmp_path: Path) -> None:
    """Not the `try` above it."""
    (tmp_path / "shop.py").write_text(HANDLES)
    told = set()
    for change in changes_of(functions_of(str(tmp_path / "shop.py"))[0], []):
        change.swap()
        told.add((change.line, change.words()))
        change.swap()
    handlers = {words for line, words in told if line == HANDLES.splitlines().index("    except KeyError:") + 1}
    assert handlers
    assert all(words.startswith("except ") for words in handlers)


def test_a_list_may_have_to_be_new_and_a_function_around_a_value_may_be_lost(tmp_path: Path) -> None:
    """The second only where values are compared: a test that wants an exception gets one by many of them."""
    (tmp_path / "shop.py").write_text(LIBRARY)
    matched = functions_of(str(tmp_path / "shop.py"))[-1]

    told = [_words(changes_of(matched, pairs)) for pairs in ([], [("-2 B", "-2 kB")])]

    assert all("found = [*found, *[word]]" in words for words in told)
    assert ["size = abs(word)" in words for words in told] == [False, True]


def _words(changes: list[CodeChange]) -> list[str]:
    words = []
    for one in changes:
        one.swap()
        words.append(one.words())
        one.swap()
    return words
