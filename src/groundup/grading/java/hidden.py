"""What hidden tests in Java are called, and their falsified twins: read from sources, nothing is run.

A twin is the same suite under the same names with expectations that cannot hold: compared numbers and texts
differ, `assertTrue` is `assertFalse`, and each test ends by failing. What passes there too was not decided by the
test.

Both suites hold canaries: copies of tests, under names made of the suite's own words, that fail before they do
anything. Copies in the true suite are false and those in the twin true, and what makes a test fail stands in all
tests, with another constant: so neither a search for words nor the size of a class tells which suite it is.
"""

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])|_+")
_MOST_CANARIES = 8
_TRIES = 50
_PAST = 800_000_000_000
"""Of a moment that is past, in milliseconds; it is drawn from here to twice that, in the year 2020."""
_FUTURE = 4_000_000_000_000
_Edit = tuple[int, int, bytes]
"""Where it starts and stops, and what stands there then."""
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
    return tuple(dict.fromkeys(name for name, _ in _named(texts)))


def ending_tests(texts: dict[str, bytes]) -> frozenset[str]:
    """Return the names of tests that pass only by coming to their end, at which all fail in the twin."""
    named = list(_named(texts))
    return frozenset(name for name, _ in named) - {name for name, method in named if _may_return(method)}


def _named(texts: dict[str, bytes]) -> Iterator[tuple[str, Node]]:
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
    if body is None or _cannot_end(body):
        return True
    waiting = list(body.named_children)
    while waiting:
        node = waiting.pop()
        if node.type == "return_statement":
            return True
        if node.type not in _TYPES | {"lambda_expression", "class_body"}:
            waiting += node.named_children
    return False


def outer_classes(tests: tuple[str, ...]) -> tuple[str, ...]:
    """Return the outermost classes of *tests*, in their order."""
    return tuple(dict.fromkeys(test.partition("#")[0].partition("$")[0] for test in tests))


class Pair(NamedTuple):
    """A source and its twin, both with canaries. *canaries*: `package.Class#method` of those."""

    true: bytes
    twin: bytes
    canaries: tuple[str, ...] = ()


def paired(text: bytes) -> Pair:
    """Return the source *text* as both suites have it."""
    true, twin = _IMPORT.sub(_with_opposite, text), falsified(text, tails=False)
    methods = [list(_test_methods(parse("java", one).root_node)) for one in (true, twin)]
    words = [_WORD.findall(text_of(own)) for one in methods[0] if (own := one.child_by_field_name("name"))]
    taken = set(re.findall(r"\w+", text.decode("utf-8", "replace")))
    package = _package(parse("java", text).root_node)
    edits: tuple[list[_Edit], list[_Edit]] = ([], [])
    canaries = []
    for number, (honest, false) in enumerate(zip(*methods, strict=True)):
        edits[0].extend(_ended(honest, fails=False))
        edits[1].extend(_ended(false, fails=True))
        if number >= _MOST_CANARIES or _annotations(honest) & _TESTS != {"Test"}:
            continue
        name = _new_name(words, taken)
        # Each suite gets the other one's test as its canary, under the same name: so neither names nor texts show
        # which suite it is, and both canaries fail before they do anything.
        edits[0].append((honest.end_byte, honest.end_byte, _copy(twin, false, name, fails=True)))
        edits[1].append((false.end_byte, false.end_byte, _copy(true, honest, name, fails=False)))
        canaries.append(f"{package}{_class(honest)}#{name}")
    return Pair(_applied(true, edits[0]), _applied(twin, edits[1]), tuple(canaries))


def _applied(text: bytes, edits: Iterable[_Edit]) -> bytes:
    for start, stop, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def _copy(text: bytes, method: Node, new_name: str, *, fails: bool) -> bytes:
    """Return *method* of *text* under another name, failing before it does anything; *fails*: at its end, too."""
    name, body = method.child_by_field_name("name"), method.child_by_field_name("body")
    assert name is not None
    assert body is not None
    begun = body.start_byte + 1
    edits = [(name.start_byte, name.end_byte, new_name.encode()), (begun, begun, _failing(fails=True))]
    edits += [edit for edit in _ended(method, fails=fails) if edit[0] > begun]
    edits = [(start - method.start_byte, stop - method.start_byte, new) for start, stop, new in edits]
    return b"\n    " + _applied(text[method.start_byte : method.end_byte], edits)


def _ended(method: Node, *, fails: bool) -> Iterator[_Edit]:
    """Yield what stands at the begin of a test, where it never fails, and at its end."""
    body = method.child_by_field_name("body")
    if body is None:
        return
    yield body.start_byte + 1, body.start_byte + 1, _failing(fails=False)
    if not _cannot_end(body):
        yield body.end_byte - 1, body.end_byte - 1, _failing(fails=fails)


def _failing(*, fails: bool) -> bytes:
    """Return a statement that fails, or looks the same and does not for some decades."""
    # Decided by the clock, so that the compiler takes what follows for reachable, and both kinds have one form.
    moment = _PAST + secrets.randbelow(_PAST) if fails else _FUTURE + secrets.randbelow(_FUTURE)
    return b' if (java.lang.System.currentTimeMillis() > %dL) throw new java.lang.AssertionError("no"); ' % moment


def _new_name(words: Sequence[Sequence[str]], taken: set[str]) -> str:
    """Return a name that is not *taken* yet, of words that the suite's names have, and take it."""
    for _ in range(_TRIES):
        first, second = secrets.choice(words), secrets.choice(words)
        parts = [*first[: 1 + secrets.randbelow(len(first))], *second[secrets.randbelow(len(second)) :]]
        name = parts[0] + "".join(part[0].upper() + part[1:] for part in parts[1:])
        if name not in taken:
            break
    else:
        name = f"{words[0][0]}{secrets.token_hex(3)}"
    taken.add(name)
    return name


def falsified(text: bytes, *, tails: bool = True) -> bytes:
    """Return the twin of one source; *tails*: each test ends by failing, too."""
    root = parse("java", text).root_node
    edits: dict[tuple[int, int], bytes] = {}
    for _, call in captures("java", _CALLS, root):
        edits.update(_false_call(call))
    for method in _test_methods(root) if tails else ():
        body = method.child_by_field_name("body")
        if body is not None and not _cannot_end(body):
            end = body.end_byte - 1
            edits[end, end] = _failing(fails=True)
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
