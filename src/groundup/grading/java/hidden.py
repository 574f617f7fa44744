"""What hidden tests in Java are called, and their falsified twins: read from sources, nothing is run.

A twin is the same suite under the same names with expectations that cannot hold: compared numbers and texts
differ, `assertTrue` is `assertFalse`, and each test ends by failing. What passes there too was not decided by the
test.
"""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from tree_sitter import Node

from groundup.domain.errors import TaskError
from groundup.grammars import captures, parse, text_of

_TESTS = frozenset({"Test", "ParameterizedTest", "RepeatedTest"})
_OFF = frozenset({"Disabled"})
_METHODS = "(method_declaration) @method"
_CALLS = "(method_invocation) @call"
_COMPARING = frozenset(
    {"assertEquals", "assertSame", "isEqualTo", "equalTo", "is", "statusCode"}
    | {"hasItem", "hasItems", "hasSize", "greaterThan", "greaterThanOrEqualTo", "containsString"}
)
_OPPOSITES = {
    "assertTrue": "assertFalse",
    "assertFalse": "assertTrue",
    "assertNull": "assertNotNull",
    "assertNotNull": "assertNull",
    "nullValue": "notNullValue",
    "notNullValue": "nullValue",
    "isTrue": "isFalse",
    "isFalse": "isTrue",
}
_LAST_WORDS = "return_statement", "throw_statement"
_IMPORT = re.compile(rb"import\s+static\s+([\w.]+)\.(\w+)\s*;")
_INTEGER = re.compile(r"\d{1,9}")
_TYPES = frozenset({"class_declaration", "enum_declaration", "interface_declaration", "record_declaration"})


def sources(folder: Path) -> dict[str, bytes]:
    """Return the Java sources below *folder* (`src/test`), by their place there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.java"))
        if path.is_file()
    }


def named_tests(texts: dict[str, bytes]) -> tuple[str, ...]:
    """Return `package.Class#method` of each test that the sources declare, in their order."""
    found: dict[str, None] = {}
    for place, text in texts.items():
        tree = parse("java", text)
        if tree.root_node.has_error:
            raise TaskError(f"the hidden test {place} cannot be read as Java; mend it")
        package = _package(tree.root_node)
        for method in _test_methods(tree.root_node):
            name = method.child_by_field_name("name")
            if name is not None and not _annotations(method) & _OFF:
                found[f"{package}{_class(method)}#{text_of(name)}"] = None
    return tuple(found)


def outer_classes(tests: tuple[str, ...]) -> tuple[str, ...]:
    """Return the outermost classes of *tests*, in their order."""
    return tuple(dict.fromkeys(test.partition("#")[0].partition("$")[0] for test in tests))


def falsified(text: bytes) -> bytes:
    """Return the twin of one source."""
    root = parse("java", text).root_node
    edits: dict[tuple[int, int], bytes] = {}
    for _, call in captures("java", _CALLS, root):
        edits.update(_false_call(call))
    for method in _test_methods(root):
        body = method.child_by_field_name("body")
        if body is not None and not _cannot_end(body):
            end = body.end_byte - 1
            edits[end, end] = (
                b' if (java.lang.System.nanoTime() != 0L) throw new java.lang.AssertionError("twin"); '
            )
    for (start, stop), new in sorted(edits.items(), reverse=True):
        text = text[:start] + new + text[stop:]
    return _IMPORT.sub(_with_opposite, text)


def _with_opposite(statement: re.Match[bytes]) -> bytes:
    """Import the opposite of what is imported by name, too."""
    opposite = _OPPOSITES.get(statement[2].decode())
    return statement[0] + (b"import static %b.%b;" % (statement[1], opposite.encode()) if opposite else b"")


def _false_call(call: Node) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield (place, text) of what makes an expectation wrong."""
    name, arguments = call.child_by_field_name("name"), call.child_by_field_name("arguments")
    if name is None or arguments is None:
        return
    if opposite := _OPPOSITES.get(text_of(name)):
        yield (name.start_byte, name.end_byte), opposite.encode()
    elif text_of(name) in _COMPARING and arguments.named_children:
        first = arguments.named_children[0]
        if first.type == "decimal_integer_literal" and _INTEGER.fullmatch(text_of(first)):
            yield (first.start_byte, first.end_byte), str(int(text_of(first)) + 1 + secrets.randbelow(90)).encode()
        elif (
            first.type == "string_literal"
            and text_of(first).endswith('"')
            and not text_of(first).startswith('"""')
        ):
            yield (first.end_byte - 1, first.end_byte), f'{secrets.token_hex(3)}"'.encode()


def _test_methods(root: Node) -> Iterator[Node]:
    for _, method in captures("java", _METHODS, root):
        if _annotations(method) & _TESTS:
            yield method


def _annotations(method: Node) -> set[str]:
    found = set()
    for child in method.children:
        if child.type == "modifiers":
            for item in child.children:
                name = item.child_by_field_name("name")
                if item.type in ("marker_annotation", "annotation") and name is not None:
                    found.add(text_of(name).rpartition(".")[2])
    return found


def _package(root: Node) -> str:
    for child in root.children:
        if child.type == "package_declaration":
            return text_of(child).removeprefix("package").strip().rstrip(";").strip() + "."
    return ""


def _class(method: Node) -> str:
    """Return the binary name of the class around *method*, without its package."""
    names = []
    node = method.parent
    while node is not None:
        name = node.child_by_field_name("name")
        if node.type in _TYPES and name is not None:
            names.append(text_of(name))
        node = node.parent
    return "$".join(reversed(names))


def _cannot_end(body: Node) -> bool:
    """Whether nothing may follow the last statement."""
    last = body.named_children[-1] if body.named_children else None
    return last is not None and last.type in _LAST_WORDS
