"""Hidden tests in Java: their names, and forms of them that must fail. Reads text and runs nothing."""

import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Node

from groundup.domain.errors import TaskError
from groundup.grammars import captures, parse, text_of

_MULTIPLIED = frozenset({"ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"})
"""Methods that make as many tests as they are run: Surefire counts each, and so does a report."""
_TESTS = frozenset({"Test"}) | _MULTIPLIED
_MULTIPLIED_CLASSES = frozenset({"ParameterizedClass", "ClassTemplate"})
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
    """Return `package.Class#method` of each test that the sources declare, in their order.

    Those of `varied_tests` are several when they run.
    """
    return tuple(dict.fromkeys(test.name for test in _named(texts)))


def varied_tests(texts: Mapping[str, bytes]) -> frozenset[str]:
    """Return the names that may stand for several tests, or for none: how many, only a run says."""
    named = list(_named(texts))
    names = [test.name for test in named]
    return frozenset(test.name for test in named if test.is_varied or names.count(test.name) > 1)


def ending_tests(texts: Mapping[str, bytes]) -> frozenset[str]:
    """Return the names of tests that pass only by coming to their end: those that nowhere return before it.

    What several classes inherit is left out: an expectation in it would be all theirs.
    """
    named = list(_named(texts))
    returning = {test.name for test in named if _may_return(test.method) or not _is_void(test.method)}
    return frozenset(test.name for test in named if test.is_own) - returning


def with_ends(
    texts: Mapping[str, bytes], fails: Mapping[str, bool], at_start: Collection[str] = ()
) -> dict[str, bytes]:
    """Return the sources with one more expectation in each test of *fails*; where that says so, it cannot hold.

    It stands at the end, so that the test leaves behind what later ones need; *at_start*: there instead. Those
    that may pass get one, too: a submission that knows the suite by heart finds none of them as it knows it.
    """
    named = list(_named(texts))
    return {
        place: _with_ends([test for test in named if test.place == place and test.is_own], text, fails, at_start)
        for place, text in texts.items()
    }


def _with_ends(
    named: Collection["_JavaTest"], text: bytes, fails: Mapping[str, bool], at_start: Collection[str]
) -> bytes:
    edits: list[tuple[int, bytes]] = []
    for test in named:
        name, method = test.name, test.method
        body = method.child_by_field_name("body")
        if name not in fails or body is None or not _is_void(method):
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


class _JavaTest(NamedTuple):
    """A test as JUnit runs it: in the class that declares it, or in one that inherits it."""

    name: str
    place: str
    method: Node
    is_own: bool
    """Whether no other class runs this method."""
    is_varied: bool
    """Whether it may run any number of times."""


def _named(texts: Mapping[str, bytes]) -> Iterator[_JavaTest]:
    """Yield the tests; abstract classes and interfaces have none of their own, who inherits from them does."""
    roots = {place: parse("java", text).root_node for place, text in texts.items()}
    if broken := next((place for place, root in roots.items() if root.has_error), None):
        raise TaskError(f"the hidden test {broken} cannot be read as Java; mend it")
    classes = {one.name: one for root in roots.values() for one in _classes(root)}
    for place, root in roots.items():
        for method in _test_methods(root):
            name = method.child_by_field_name("name")
            if name is None or _annotations(method) & _OFF:
                continue
            declared, word = f"{_package(root)}{_class(method)}", text_of(name)
            runs = [declared] if declared not in classes or classes[declared].runs else []
            runs += [one for one in classes if _inherits(classes, one, declared, word)]
            is_varied = bool(_annotations(method) & _MULTIPLIED)
            for one in runs:
                varied = is_varied or (one in classes and classes[one].is_varied)
                yield _JavaTest(f"{one}#{word}", place, method, runs == [declared], varied)


def heirs(texts: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """Return for each class that JUnit does not run itself the outermost classes that inherit from it."""
    classes = {one.name: one for text in texts.values() for one in _classes(parse("java", text).root_node)}
    return {
        name: tuple(dict.fromkeys(
            other.partition("$")[0] for other in classes if classes[other].runs and _leads(classes, other, name)
        ))
        for name, one in classes.items()
        if not one.runs
    }  # fmt: skip


class _JavaClass(NamedTuple):
    """A class or interface of the hidden tests."""

    name: str
    parents: tuple[str, ...]
    """The last parts of what it extends and implements, the class first."""
    runs: bool
    """Whether JUnit runs it where it, or the class around it, is asked for: nested ones say so."""
    is_varied: bool
    """Whether it may run any number of times."""
    methods: frozenset[str]


def _classes(root: Node) -> Iterator[_JavaClass]:
    for _, node in captures("java", "[(class_declaration) (interface_declaration)] @class", root):
        body = node.child_by_field_name("body")
        if body is None:
            continue
        own = [one.child_by_field_name("name") for one in body.children if one.type == "method_declaration"]
        around = [node, *_around(node)]
        is_abstract = node.type == "interface_declaration" or "abstract" in _modifiers(node)
        # A class inside an abstract one runs with those that inherit from that one.
        is_nested = all("Nested" in _annotations(one) for one in around[:-1])
        yield _JavaClass(
            name=f"{_package(root)}{_class(body)}",
            parents=_parents(node),
            runs=not is_abstract and is_nested,
            is_varied=any(
                _annotations(one) & _MULTIPLIED_CLASSES or "abstract" in _modifiers(one) for one in around
            ),
            methods=frozenset(text_of(one) for one in own if one is not None),
        )


def _around(node: Node) -> list[Node]:
    """Return the types around *node*, from the inside out."""
    found = []
    while node.parent is not None:
        node = node.parent
        if node.type in _TYPES:
            found.append(node)
    return found


def _modifiers(node: Node) -> list[str]:
    return [text_of(one) for child in node.children if child.type == "modifiers" for one in child.children]


_GENERICS = re.compile(r"<[^<>]*>")
_ABOVE = ("superclass", "super_interfaces", "extends_interfaces")


def _parents(node: Node) -> tuple[str, ...]:
    found = []
    for child in node.children:
        if child.type in _ABOVE:
            text = text_of(child).partition(" ")[2]
            while (plain := _GENERICS.sub("", text)) != text:
                text = plain
            found += [one.strip().rpartition(".")[2] for one in text.split(",")]
    return tuple(found)


def _inherits(classes: Mapping[str, _JavaClass], child: str, above: str, method: str) -> bool:
    """Whether the class *child* is run and runs *method* of *above*, which it does not override."""
    return classes[child].runs and child != above and _leads(classes, child, above, method)


def _leads(classes: Mapping[str, _JavaClass], child: str, above: str, method: str | None = None) -> bool:
    """Whether *child* inherits from *above*, with nothing between that has *method*."""
    waiting, seen = [child], {child}
    while waiting:
        at = waiting.pop()
        if at == above:
            return True
        if method is None or method not in classes[at].methods:
            for parent in classes[at].parents:
                found = next((one for one in classes if re.split(r"[.$]", one)[-1] == parent), None)
                if found is not None and found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return False


def _is_void(method: Node) -> bool:
    """Whether a test returns nothing; a factory returns its tests."""
    kind = method.child_by_field_name("type")
    return kind is not None and text_of(kind) == "void"


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


def outer_classes(tests: Collection[str], inherited: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the outermost classes that run *tests*, in their order; *inherited*: as `heirs` says."""
    outer = dict.fromkeys(test.partition("#")[0].partition("$")[0] for test in tests)
    return tuple(dict.fromkeys(one for name in outer for one in inherited.get(name, (name,))))


def _test_methods(root: Node) -> Iterator[Node]:
    for _, method in captures("java", _METHODS, root):
        if _annotations(method) & _TESTS and method.child_by_field_name("body") is not None:
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
