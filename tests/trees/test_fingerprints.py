"""Prints of code: a copy is known again however it is named and formatted, and other code is not."""

import ast
import calendar
import inspect
import re
import textwrap

import pytest

from groundup.trees.fingerprints import Fingerprint, packed, prints_of, unpacked

ORIGINAL = inspect.getsource(textwrap)
OTHER = inspect.getsource(calendar)
FINGERPRINT = Fingerprint.of("demo", {"textwrap.py": ORIGINAL.encode()})


def renamed(code: str) -> str:
    """Return *code* with other names for functions, variables and arguments."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.copy_location(ast.Name(f"{node.id}_x", node.ctx), node)

        def visit_arg(self, node: ast.arg) -> ast.arg:
            return ast.copy_location(ast.arg(f"{node.arg}_x"), node)

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            node.name += "_x"
            return self.generic_visit(node)

    return ast.unparse(Renaming().visit(ast.parse(code)))


@pytest.mark.parametrize(
    ("change", "least"),
    [
        (lambda code: code, 1.0),
        (lambda code: re.sub(r"(?m)^(\s*)#.*$", r"\1# other words", code).replace("\n", "\n\n"), 1.0),
        (lambda code: ast.unparse(ast.parse(code)), 0.9),
        (renamed, 0.7),
        (
            lambda code: (
                "import os\n" + code[: len(code) // 2] + "\ndef more(): return 1\n" + code[len(code) // 2 :]
            ),
            0.9,
        ),
    ],
    ids=["equal", "comments", "reformatted", "renamed", "edited"],
)
def test_a_copy_is_known_again(change: object, least: float) -> None:
    """Comments, blank lines, quotes, line lengths, names and small edits hide no copy."""
    assert callable(change)
    likeness = FINGERPRINT.likeness({"elsewhere/x.py": prints_of(change(ORIGINAL).encode())})
    assert likeness.is_copy
    assert likeness.share >= least
    assert likeness.places == ("elsewhere/x.py",)


def test_other_code_is_no_copy() -> None:
    """Code that somebody else wrote shares next to nothing."""
    likeness = FINGERPRINT.likeness({"calendar.py": prints_of(OTHER.encode())})
    assert likeness.share < 0.1
    assert not likeness.is_copy
    assert FINGERPRINT.nearly(prints_of(OTHER.encode())) is None


def test_a_copy_in_pieces_is_a_copy() -> None:
    """It does not matter over how many files an original is spread, or what stands beside it."""
    half = ORIGINAL.index("    def _split_chunks")
    pieces = {"a": prints_of(ORIGINAL[:half].encode()), "b": prints_of((OTHER + ORIGINAL[half:]).encode())}
    assert FINGERPRINT.likeness(pieces).share > 0.9
    assert FINGERPRINT.nearly(pieces["a"] | pieces["b"]) == "textwrap.py"


def test_prints_are_the_same_everywhere() -> None:
    """They are kept in files, so they may never change without a word; and they hold nothing of the text."""
    assert unpacked(packed([7, 2**32 - 1])) == {7, 2**32 - 1}
    code = b"def f(a, b):\n    return [a.x for a in b if a.y == 'k' and a.z != 3.0]\n" * 3
    assert sorted(prints_of(code)) == PINNED
    assert "def" not in FINGERPRINT.model_dump_json()
    assert Fingerprint.model_validate_json(FINGERPRINT.model_dump_json()) == FINGERPRINT


PINNED = [2179496750, 2571415915, 2746079390, 3468893326]
