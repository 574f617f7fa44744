"""Tree-sitter grammars, loaded when first used, and queries whose captures come in source order; Python's own."""

import ast
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from groundup.domain.garbage import collecting_nothing
from groundup.domain.languages import DependencyLanguage

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query, Tree

Grammar = Literal[DependencyLanguage, "typescript", "tsx", "java", "json", "toml"]

_PACKAGES: dict[Grammar, tuple[str, str]] = {
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "csharp": ("tree_sitter_c_sharp", "language"),
}
"""Module and function of a grammar whose package is not simply called after it."""


@cache
def _language(grammar: Grammar) -> "Language":
    from tree_sitter import Language

    module, function = _PACKAGES.get(grammar, (f"tree_sitter_{grammar}", "language"))
    return Language(getattr(import_module(module), function)())


@cache
def _parser(grammar: Grammar) -> "Parser":
    from tree_sitter import Parser

    return Parser(_language(grammar))


@cache
def _query(grammar: Grammar, text: str) -> "Query":
    from tree_sitter import Query

    return Query(_language(grammar), text)


def parse(grammar: Grammar, source: bytes) -> "Tree":
    """Return the syntax tree of UTF-8 *source*; what is not understood becomes error nodes."""
    return _parser(grammar).parse(source)


def is_deeper(tree: "Tree", levels: int) -> bool:
    """Whether anything in *tree* lies more than *levels* deep. Does not call itself, however deep that is."""
    cursor = tree.walk()
    while cursor.depth <= levels:
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return False
    return True


def captures(grammar: Grammar, query: str, node: "Node") -> list[tuple[str, "Node"]]:
    """Return (capture name, node) of all matches below *node*, in source order."""
    from tree_sitter import QueryCursor

    found = QueryCursor(_query(grammar, query)).captures(node)
    pairs = [(name, item) for name, nodes in found.items() for item in nodes]
    return sorted(pairs, key=lambda pair: (pair[1].start_byte, -pair[1].end_byte))


def text_of(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def line_of(node: "Node") -> int:
    return node.start_point[0] + 1


def ancestors(node: "Node") -> Iterator[tuple["Node", "Node"]]:
    """Yield (ancestor, its child on the way to *node*), innermost first."""
    child, parent = node, node.parent
    while parent is not None:
        yield parent, child
        child, parent = parent, parent.parent


# Python warns of an unknown escape in what it reads, from 3.12 on for everyone to see; the sources are not ours.
warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")

_PYTHONS = threading.Lock()
"""Python 3.11 and 3.12 count the depth of a tree for all threads together, and fail when two build one."""
_TRIES = 3
"""Code of other packages reads Python without the lock; what fails for that reason does not fail again."""


@contextmanager
def _alone() -> Iterator[None]:
    # Garbage collection runs Python code, and so lets other threads in: without it a tree is built in one go.
    with _PYTHONS, collecting_nothing():
        yield


def python_tree(source: str | bytes) -> ast.Module:
    """Return the syntax tree of Python *source*, in any thread. Raises as `ast.parse`."""
    for _ in range(_TRIES):
        try:
            with _alone():
                return ast.parse(source)
        except (SystemError, RecursionError, MemoryError):  # the last one for 50,000 signs in a row
            time.sleep(0.01)
    raise RecursionError("Python's reader finds the source too deep")


_SHALLOW = 150
"""Nodes within nodes, of which code that calls itself for each has enough stack."""


def shallow_root(grammar: Grammar, source: str) -> "Node | None":
    """Return the syntax tree of *source*; None for what cannot be read, or is too deep to be walked by calls."""
    tree = parse(grammar, source.encode())
    return None if tree.root_node.has_error or is_deeper(tree, _SHALLOW) else tree.root_node


def shallow_python_tree(source: str) -> ast.Module | None:
    """Return the same of Python; None also for what `ast.unparse`, which calls itself, would find too deep."""
    try:
        module = python_tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    level: list[ast.AST] = [module]
    for _ in range(_SHALLOW):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return module
    return None


def python_value(source: str) -> object:
    """Return the value of a literal, in any thread. Raises as `ast.literal_eval`."""
    with _alone():
        expression = ast.parse(source.lstrip(" \t"), mode="eval")
    return ast.literal_eval(expression)
