"""The text of a source with the places of its syntax tree, and changes of it, in bytes."""

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from groundup.grading.library.literals import Vocabulary, words_in
from groundup.grading.library.variables import Function


class SourceEdit(NamedTuple):
    """A place in a source, in bytes, and what stands there instead."""

    start: int
    stop: int
    new: bytes


class SourceText:
    """A source with the places of its syntax tree's nodes."""

    def __init__(self, source: bytes, tree: ast.Module) -> None:
        self.source = source
        self.words = words_in(source)
        self._tree = tree
        self._lines = [0]
        for line in source.split(b"\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    def line(self, number: int) -> int:
        """Return where a line begins; the first one is 1."""
        return self._lines[number - 1]

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Return where *node* begins."""
        return self._lines[node.lineno - 1] + node.col_offset

    def stop(self, node: ast.expr | ast.stmt) -> int:
        """Return where *node* has ended."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def indentation(self, node: ast.stmt) -> bytes:
        """Return what stands before *node* on its line, as far as it is space."""
        start = self.start(node)
        before = self.source[self.source.rfind(b"\n", 0, start) + 1 : start]
        return before[: len(before) - len(before.lstrip())]

    def of(self, node: ast.expr | ast.stmt) -> bytes:
        """Return the source of *node*."""
        return self.source[self.start(node) : self.stop(node)]

    @cached_property
    def _texts(self) -> tuple[bytes, ...]:
        return tuple(self._texts_in(self._tree))

    def _texts_in(self, node: ast.AST) -> Iterator[bytes]:
        """Yield literals that can stand on one line."""
        for one in ast.walk(node):
            match one:
                case ast.Constant(value=str() | bytes()) if one.lineno == one.end_lineno:
                    yield self.of(one)

    def vocabulary(self, function: Function) -> Vocabulary:
        """Return what may stand in the texts that *function* expects."""
        near = tuple(self._texts_in(function))
        return Vocabulary(self.words, words_in(b" ".join(near)), near + self._texts)

    def numbers(self, function: Function) -> Sequence[int]:
        """Return the whole numbers that stand in *function*."""
        found = (one.value for one in ast.walk(function) if isinstance(one, ast.Constant))
        return [value for value in found if type(value) is int]

    def of_keyword(self, keyword: ast.keyword) -> bytes:
        """Return the source of an argument that is given by its name."""
        return f"{keyword.arg}=".encode() + self.of(keyword.value)
