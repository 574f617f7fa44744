"""Every import of one JavaScript or TypeScript file, and how it is made."""

import re
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import Grammar, ancestors, captures, line_of, parse, text_of
from groundup.sources.names import words
from groundup.sources.records import Manner

_JAVASCRIPT = """
(import_statement source: (string) @static)
(export_statement source: (string) @static)
(call_expression function: (import) arguments: (arguments . (string) @dynamic))
(call_expression
  function: [(identifier) (member_expression)] @function arguments: (arguments . (string) @argument))
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(import_require_clause source: (string) @static)
"""
)
_REQUIRES = re.compile(
    r"(module\.)?require(\.resolve)?|__non_webpack_require__|(this\.)?_?require|jest\.(requireActual|mock)|vi\.(mock|importActual)|import\.meta\.resolve"
)
_FUNCTIONS = words(
    """
    function_declaration function_expression function arrow_function method_definition generator_function
    generator_function_declaration
    """
)


class ImportedSpecifier(NamedTuple):
    """One imported specifier, as written."""

    text: str
    line: int
    manners: frozenset[Manner]


def grammar_of(suffix: str) -> Grammar:
    """Return the grammar for a file name's suffix."""
    if suffix == ".tsx":
        return "tsx"
    return "typescript" if suffix in {".ts", ".mts", ".cts", ".vue", ".svelte"} else "javascript"


def javascript_imports(source: bytes, suffix: str) -> list[ImportedSpecifier]:
    """Return what UTF-8 *source* imports, in order. Never fails: what cannot be parsed is left out."""
    grammar = grammar_of(suffix)
    if not any(word in source for word in (b"require", b"import", b"export", b"from")):
        return []
    query = _JAVASCRIPT if grammar == "javascript" else _TYPESCRIPT
    found: list[ImportedSpecifier] = []
    function = ""
    for name, node in captures(grammar, query, parse(grammar, source).root_node):
        if name == "function":
            function = text_of(node) if node.end_byte - node.start_byte < 60 else ""
            continue
        if name == "argument" and not _REQUIRES.fullmatch(function):
            continue
        text = text_of(node)[1:-1]
        if text and "\n" not in text:
            found.append(ImportedSpecifier(text, line_of(node), _manners(name, node, function)))
    return found


def _manners(name: str, node: Node, function: str) -> frozenset[Manner]:
    manners: set[Manner] = set()
    if name == "static":
        statement = node.parent
        head = text_of(statement)[:40] if statement is not None else ""
        return (
            frozenset({Manner.TYPING})
            if re.match(r"(import|export)\s+type\b(?!\s*(from|,))", head)
            else frozenset()
        )
    if name == "dynamic":
        manners.add(Manner.LAZY)
    if function.startswith(("jest.", "vi.")):
        manners.add(Manner.TEST)
    for parent, child in ancestors(node):
        if parent.type == "try_statement" and child == parent.child_by_field_name("body"):
            if parent.child_by_field_name("handler") is not None:
                manners.add(Manner.GUARDED)
        elif parent.type == "catch_clause":
            manners.add(Manner.FALLBACK)
        elif parent.type in _FUNCTIONS and not _is_wrapper(parent):
            manners.add(Manner.LAZY)
        elif parent.type == "if_statement" and child != parent.child_by_field_name("condition"):
            manners.add(Manner.CONDITIONAL)
    return frozenset(manners)


def _is_wrapper(function: Node) -> bool:
    """Whether a function is called where it stands, as module wrappers are."""
    parent = function.parent
    while parent is not None and parent.type in {
        "parenthesized_expression",
        "unary_expression",
        "member_expression",
    }:
        parent = parent.parent
    return (
        parent is not None
        and parent.type in {"call_expression", "arguments"}
        and (
            parent.parent is not None
            and parent.parent.type in {"expression_statement", "call_expression", "unary_expression"}
        )
    )
