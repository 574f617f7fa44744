"""Sizes of a repository and counts of its tests, as the scripts before the harness save them, and a little more.

Files, lines and tokens are counted as published. Functions, classes and complexity are counted by syntax tree;
complexity is the sum over functions of one plus their decisions.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tree_sitter import Node

from groundup.domain.records import Record
from groundup.grammars import Grammar, captures, parse, text_of
from groundup.languages import LANGUAGES
from groundup.sources.routes.java_project import annotations

Language = Literal["python", "java"]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LARGEST = 4_000_000

_COUNTED: dict[Language, dict[str, str]] = {
    "python": {
        "functions": "(function_definition) @found",
        "classes": "(class_definition) @found",
        "decisions": "[(if_statement) (elif_clause) (for_statement) (while_statement) (except_clause) "
        "(conditional_expression) (boolean_operator) (case_clause) (if_clause) (for_in_clause) "
        "(assert_statement)] @found",
    },
    "java": {
        "functions": "[(method_declaration) (constructor_declaration)] @found",
        "classes": "[(class_declaration) (interface_declaration) (record_declaration) (enum_declaration)] @found",
        "decisions": "[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) "
        "(catch_clause) (ternary_expression) (switch_label)] @found",
    },
}
_JAVA_JUNCTIONS = re.compile(r"&&|\|\|")
_NEWER_JAVA = "[(record_declaration) (switch_rule) (instanceof_expression pattern: (_)) (yield_statement)] @found"


class CodeMetrics(Record):
    """What a repository holds in one language."""

    files: int = 0
    loc: int = 0
    tokens: int = 0
    functions: int = 0
    classes: int = 0
    complexity: int = 0


def code_metrics(root: Path, language: Language) -> CodeMetrics:
    """Count all files of *language* below *root*, tests and copied dependencies included, as published."""
    files = loc = tokens = functions = classes = complexity = 0
    for path in _files(root, LANGUAGES[language].suffixes[0]):
        files += 1
        text = _text(path)
        loc += len(text.splitlines())
        tokens += len(_TOKEN.findall(text))
        found = _syntax(language, text)
        functions += found["functions"]
        classes += found["classes"]
        complexity += found["functions"] + found["decisions"]
    return CodeMetrics(
        files=files, loc=loc, tokens=tokens, functions=functions, classes=classes, complexity=complexity
    )


def count_tests(folder: Path, language: Language) -> int:
    """Return how many tests the scripts find by reading: the denominator where fewer are reported."""
    counted = _python_tests if language == "python" else _java_tests
    paths = _files(folder, LANGUAGES[language].suffixes[0])
    return sum(counted(path.name, _text(path)) for path in paths)


def legacy_denominator(parsed: int, reported: int) -> int:
    """Return the larger of the tests found by reading and those reported."""
    return max(parsed, reported)


def _syntax(language: Language, text: str) -> dict[str, int]:
    grammar: Grammar = language
    root = parse(grammar, text.encode("utf-8", "replace")).root_node
    counts = {what: len(captures(grammar, query, root)) for what, query in _COUNTED[language].items()}
    if language == "java":
        operators = captures("java", "(binary_expression operator: _ @found)", root)
        counts["decisions"] += sum(_JAVA_JUNCTIONS.fullmatch(text_of(node)) is not None for _, node in operators)
    return counts


def _python_tests(name: str, text: str) -> int:
    """Count `def test_...` in a file that parses, whether pytest collects it or not; coroutines are left out."""
    if not (name.startswith("test_") or name.endswith("_test.py")):
        return 0
    root = parse("python", text.encode("utf-8", "replace")).root_node
    if root.has_error:
        return 0
    functions = (node for _, node in captures("python", "(function_definition) @found", root))
    return sum(_name(node).startswith("test_") and node.children[0].type != "async" for node in functions)


def _java_tests(_: str, text: str) -> int:
    """Count test methods; where the scripts' parser gives up, every `@Test`, also that of `@TestMethodOrder`."""
    root = parse("java", text.encode("utf-8", "replace")).root_node
    blocks = any(text_of(node).startswith('"""') for _, node in captures("java", "(string_literal) @found", root))
    if root.has_error or blocks or captures("java", _NEWER_JAVA, root):
        return text.count("@Test") or len(re.findall(r"public\s+void\s+test\w+", text))
    classes = (node for _, node in captures("java", "[(class_declaration) (interface_declaration)] @found", root))
    return sum(_is_java_test(method, holder) for holder in classes for method in _methods(holder))


def _is_java_test(method: Node, holder: Node) -> bool:
    names = [name for name, _ in annotations(method)]
    if any(name == "Test" or "ParameterizedTest" in name for name in names):
        return True
    above = holder.child_by_field_name("superclass")
    in_test_class = _name(holder).endswith("Test") or (above is not None and "TestCase" in text_of(above))
    return _name(method).startswith("test") and in_test_class and holder.type == "class_declaration"


def _methods(holder: Node) -> Iterator[Node]:
    body = holder.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        if child.type == "method_declaration":
            yield child


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return text_of(name) if name is not None else ""


def _files(root: Path, suffix: str) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if name.endswith(suffix) and path.is_file() and not path.is_symlink():
                yield path


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="ignore") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""
