"""What a line may be changed to on trial."""

import ast
from pathlib import Path

from groundup_origins.inside.changes import changes_of
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
"""


def test_what_is_taken_from_elsewhere_stays_where_it_stands(tmp_path: Path) -> None:
    """What an argument gets in line 8 is tried in line 7, and changes of line 8 still find it there."""
    (tmp_path / "shop.py").write_text(LIBRARY)
    functions = functions_of(str(tmp_path / "shop.py"))
    places = [[getattr(node, "lineno", 0) for node in ast.walk(one.node)] for one in functions]

    changes = [change for one in functions for change in changes_of(one, [])]
    said = []
    for change in changes:
        change.swap()
        said.append((change.line, change.words()))
        change.swap()

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
