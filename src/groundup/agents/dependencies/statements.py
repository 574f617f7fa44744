"""The import statements of a source file, as it writes them."""

from tree_sitter import Node

from groundup.sources.files import SourceFile
from groundup.sources.grammars import Grammar, ancestors, captures, parse, text_of
from groundup.sources.javascript_imports import grammar_of
from groundup.sources.records import Language

_QUERIES: dict[Language, str] = {
    "python": "(import_statement) @statement (import_from_statement) @statement",
    "rust": "(use_declaration) @statement (extern_crate_declaration) @statement",
    "csharp": "(using_directive) @statement",
    "javascript": """
(import_statement) @statement
(export_statement source: (string)) @statement
(call_expression function: (import)) @call
(call_expression function: (identifier) @function (#eq? @function "require")) @call
""",
}
_HOLDERS = {"lexical_declaration", "variable_declaration", "expression_statement", "return_statement"}
_LONGEST = 2000


def import_statements(file: SourceFile, language: Language) -> list[str]:
    """Return the statements in order, each once; nothing where the file cannot be parsed."""
    grammar: Grammar = grammar_of(file.suffix) if language == "javascript" else language
    found: dict[str, None] = {}
    for name, node in captures(grammar, _QUERIES[language], parse(grammar, file.data).root_node):
        if name != "function":
            text = text_of(_statement(node) if name == "call" else node)
            found.setdefault(text if len(text) <= _LONGEST else text_of(node)[:_LONGEST])
    return list(found)


def _statement(call: Node) -> Node:
    """Return the statement around a call of `require`, where it is a short one."""
    for node, _ in ancestors(call):
        if node.type in _HOLDERS:
            return node if node.end_byte - node.start_byte <= _LONGEST else call
    return call
