"""What hidden tests in Java are called, and forms of them that must fail: read from sources, nothing is run."""

import secrets
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tree_sitter import Node

from groundup.domain.errors import TaskError
from groundup.grammars import captures, parse, text_of

_TESTS = frozenset({"Test", "ParameterizedTest", "RepeatedTest"})
_OFF = frozenset({"Disabled"})
_METHODS = "(method_declaration) @method"
_TYPES = frozenset({"class_declaration", "enum_declaration", "interface_declaration", "record_declaration"})
_IMPORT = b" import static org.junit.jupiter.api.Assertions.assertNotSame;"
_EXPECTATIONS = b'assertNotSame("%b", "%b");', b'if ("%b".equals("%b")) throw null;'
"""They fail where both words are one: by JUnit's assertions, and without them. Neither names a package: a class of
the submission that is called `java` or `org` would hide it, everywhere but in imports."""


def sources(folder: Path) -> dict[str, bytes]:
    """Return the Java sources below *folder* (`src/test`), by their place there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.java"))
        if path.is_file()
    }


def named_tests(texts: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return `package.Class#method` of each test that the sources declare, in their order."""
    return tuple(dict.fromkeys(name for name, _ in _named(texts)))


def ending_tests(texts: Mapping[str, bytes]) -> frozenset[str]:
    """Return the names of tests that pass only by coming to their end: those that nowhere return before it."""
    named = list(_named(texts))
    return frozenset(name for name, _ in named) - {name for name, method in named if _may_return(method)}


def with_ends(
    texts: Mapping[str, bytes], fails: Mapping[str, bool], at_start: Collection[str] = ()
) -> dict[str, bytes]:
    """Return the sources with one more expectation in each test of *fails*; where that says so, it cannot hold.

    It stands at the end, so that the test leaves behind what later ones need; *at_start*: there instead. Those
    that may pass get one, too: a submission that knows the suite by heart finds none of them as it knows it.
    """
    return {place: _with_ends(place, text, fails, at_start) for place, text in texts.items()}


def _with_ends(place: str, text: bytes, fails: Mapping[str, bool], at_start: Collection[str]) -> bytes:
    edits: list[tuple[int, bytes]] = []
    for name, method in _named({place: text}):
        body = method.child_by_field_name("body")
        if name not in fails or body is None:
            continue
        begin, end, expectation = body.start_byte + 1, body.end_byte - 1, _expectation(fails=fails[name])
        if name in at_start:
            edits.append((begin, expectation))
        else:
            # What follows an `if` can be reached in the eyes of the compiler, whatever stands in it.
            edits += [(begin, b" if (true) {"), (end, b"} " + expectation)]
    if edits:
        packages = [node for node in parse("java", text).root_node.children if node.type == "package_declaration"]
        edits.append((packages[0].end_byte if packages else 0, _IMPORT))
    for at, new in sorted(edits, reverse=True):
        text = text[:at] + new + text[at:]
    return text


def _expectation(*, fails: bool) -> bytes:
    word = secrets.token_hex(3).encode()
    return secrets.choice(_EXPECTATIONS) % (word, word if fails else secrets.token_hex(3).encode())


def _named(texts: Mapping[str, bytes]) -> Iterator[tuple[str, Node]]:
    for place, text in texts.items():
        tree = parse("java", text)
        if tree.root_node.has_error:
            raise TaskError(f"the hidden test {place} cannot be read as Java; mend it")
        package = _package(tree.root_node)
        for method in _test_methods(tree.root_node):
            name = method.child_by_field_name("name")
            if name is not None and not _annotations(method) & _OFF:
                yield f"{package}{_class(method)}#{text_of(name)}", method


def _may_return(method: Node) -> bool:
    """Whether a test may come back before its end; what lambdas and classes in it return is theirs."""
    body = method.child_by_field_name("body")
    if body is None:
        return True
    waiting = list(body.named_children)
    while waiting:
        node = waiting.pop()
        if node.type == "return_statement":
            return True
        if node.type not in _TYPES | {"lambda_expression", "class_body"}:
            waiting += node.named_children
    return False


def outer_classes(tests: Collection[str]) -> tuple[str, ...]:
    """Return the outermost classes of *tests*, in their order."""
    return tuple(dict.fromkeys(test.partition("#")[0].partition("$")[0] for test in tests))


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
