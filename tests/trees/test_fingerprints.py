"""Prints of code: a copy is known again however it is named and formatted, and other code is not."""

import ast
import calendar
import inspect
import re
import textwrap

import pytest

from groundup.trees.fingerprints import Fingerprint, _words, packed, prints_of, unpacked

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


def made(**files: range) -> Fingerprint:
    """Return a fingerprint with these prints."""
    return Fingerprint(task="demo", files={name: packed(prints) for name, prints in files.items()})


@pytest.mark.parametrize(
    ("of", "common", "is_copy"),
    [(100, 12, True), (100, 11, False), (101, 12, False), (12, 12, True), (11, 11, False), (1000, 119, False)],
)
def test_a_copy_has_an_eighth_of_the_prints_and_a_dozen(of: int, common: int, *, is_copy: bool) -> None:
    """Less of either is an accident."""
    found = made(a=range(of)).likeness({"x": frozenset(range(of - common, of + 50))})
    assert found.is_copy is is_copy
    assert found == (common / of, common, ("x",))


def test_the_places_that_have_most_come_first() -> None:
    """Ten at most, none with less than a tenth of the first one's; equal ones by name, a shared print once."""
    original = made(a=range(60), b=range(50, 100))
    found = original.likeness(
        {"few": frozenset({1}), "none": frozenset({7000}), "most": frozenset(range(20)), "two": frozenset({1, 2}),
         "half": frozenset(range(50, 60))}
    )  # fmt: skip
    assert found == (0.3, 30, ("most", "half", "two"))
    many = original.likeness({f"f{number:02}": frozenset({number}) for number in range(11, -1, -1)})
    assert many == (0.12, 12, tuple(f"f{number:02}" for number in range(10)))
    assert Fingerprint(task="demo", files={}).likeness({"a": frozenset({1})}) == (0.0, 0, ())
    assert original.likeness({}) == (0.0, 0, ())


def test_a_file_is_there_from_six_tenths_on() -> None:
    """The one of which most is there, the later one of two; of small ones nothing is told."""
    original = made(a=range(20), b=range(100, 120), small=range(200, 211))
    for prints, name in (
        (range(12), "a"),
        (range(11), None),
        ([*range(13), *range(100, 112)], "a"),
        ([*range(12), *range(100, 113)], "b"),
        ([*range(12), *range(100, 112)], "b"),
        (range(200, 211), None),
        ((), None),
    ):
        assert original.nearly(frozenset(prints)) == name


@pytest.mark.parametrize(
    ("code", "same"),
    [
        (b"'a  b'", b'rb"a b"'),
        (b'"""a\n  b"""', b"'a b'"),
        (b"f('x', [y])  # say", b"g 'x' [z]"),
        (b"\xc3 = _x", b"a = b"),
        (b"'it\\'s'", b'"it\\\'s"'),
    ],
)
def test_words_that_say_nothing_of_where_code_is_from_are_one(code: bytes, same: bytes) -> None:
    """Quotes, prefixes, blanks, brackets, comments and plain names."""
    assert [*_words(code)] == [*_words(same)]


def test_words_that_tell_code_apart_stay() -> None:
    """Attributes, words of the language, strings, numbers and signs."""
    code = b"if a.b.if_ >= 0x1F: return x['k'] + \"un\nlambda: None"
    assert b" ".join(_words(code)).split() == (
        b'if i . b . if_ > = 0x1F : return i [ k ] + "un lambda : None'.split()
    )
