"""Tree-sitter grammars, loaded when first used, and queries whose captures come in source order."""

from collections.abc import Iterator
from functools import cache
from typing import Literal

from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

Grammar = Literal["python", "rust", "javascript", "typescript", "tsx", "csharp", "java"]


@cache
def _language(grammar: Grammar) -> Language:
    if grammar == "python":
        import tree_sitter_python

        return Language(tree_sitter_python.language())
    if grammar == "rust":
        import tree_sitter_rust

        return Language(tree_sitter_rust.language())
    if grammar == "javascript":
        import tree_sitter_javascript

        return Language(tree_sitter_javascript.language())
    if grammar == "csharp":
        import tree_sitter_c_sharp

        return Language(tree_sitter_c_sharp.language())
    if grammar == "java":
        import tree_sitter_java

        return Language(tree_sitter_java.language())
    import tree_sitter_typescript

    if grammar == "tsx":
        return Language(tree_sitter_typescript.language_tsx())
    return Language(tree_sitter_typescript.language_typescript())


@cache
def _parser(grammar: Grammar) -> Parser:
    return Parser(_language(grammar))


@cache
def _query(grammar: Grammar, text: str) -> Query:
    return Query(_language(grammar), text)


def parse(grammar: Grammar, source: bytes) -> Tree:
    """Return the syntax tree of UTF-8 *source*; what is not understood becomes error nodes."""
    return _parser(grammar).parse(source)


def captures(grammar: Grammar, query: str, node: Node) -> list[tuple[str, Node]]:
    """Return (capture name, node) of all matches below *node*, in source order."""
    found = QueryCursor(_query(grammar, query)).captures(node)
    pairs = [(name, item) for name, nodes in found.items() for item in nodes]
    return sorted(pairs, key=lambda pair: (pair[1].start_byte, -pair[1].end_byte))


def text_of(node: Node) -> str:
    """Return the source of *node*."""
    return (node.text or b"").decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """Return the line of *node*'s start, from 1."""
    return node.start_point[0] + 1


def ancestors(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield (ancestor, its child on the way to *node*), innermost first."""
    child, parent = node, node.parent
    while parent is not None:
        yield parent, child
        child, parent = parent, parent.parent
