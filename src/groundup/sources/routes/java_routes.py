"""Routes of Java services: by annotation (Spring, Micronaut, JAX-RS) and by call (Javalin, Spark).

A Java project's files for finding routes: imports, constants, annotations, strings.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import ancestors, captures, line_of, parse, text_of
from groundup.sources.files import SourceFile
from groundup.sources.routes.paths import (
    ANY,
    METHODS,
    Holder,
    Route,
    from_braces,
    from_colons,
    from_javalin,
    holders,
    join,
    too_deep,
)

_DEPTH = 12
_STEPS = 100_000
_LONGEST = 1000
_TYPES = ("class_declaration", "interface_declaration", "record_declaration", "enum_declaration")


class JavaFile:
    """One file."""

    def __init__(self, source: SourceFile) -> None:
        self.path = source.path
        root = parse("java", source.data).root_node
        self.root = parse("java", b"").root_node if too_deep(root) else root

    def nodes(self, kind: str) -> list[Node]:
        """Return all nodes of *kind*, in source order."""
        return [node for _, node in captures("java", f"({kind}) @found", self.root)]

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """What is imported, dotted."""
        texts = (text_of(node).removeprefix("import").strip(" ;\t\n") for node in self.nodes("import_declaration"))
        return tuple(text.removeprefix("static").strip() for text in texts)

    def imports_from(self, *packages: str) -> bool:
        """Whether anything of one of *packages* is imported."""
        return any(name.startswith(packages) for name in self.imports)

    def types(self) -> Iterator[Node]:
        """Yield classes, interfaces and records."""
        for kind in _TYPES:
            yield from self.nodes(kind)


class JavaProject:
    """All files and their string constants."""

    def __init__(self, sources: Iterable[SourceFile]) -> None:
        self.files: Sequence[JavaFile] = [JavaFile(source) for source in sources]
        self._steps = _STEPS

    @cached_property
    def _constants(self) -> dict[str, list[Node]]:
        """Initial values of fields, by name and by `Type.name`."""
        found: dict[str, list[Node]] = {}
        for file in self.files:
            for _, node in captures("java", "(field_declaration (variable_declarator) @found)", file.root):
                name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
                if name is not None and value is not None:
                    found.setdefault(text_of(name), []).append(value)
                    found.setdefault(f"{enclosing_type(node)}.{text_of(name)}", []).append(value)
        return found

    def text(self, node: Node | None, depth: int = 0) -> str | None:
        """Return the string that *node* makes; None when the source alone does not show it."""
        self._steps -= 1
        if node is None or depth > _DEPTH or self._steps < 0:
            return None
        text = self._text(node, depth + 1)
        return text if text is None or len(text) <= _LONGEST else None

    def _text(self, node: Node, depth: int) -> str | None:
        match node.type:
            case "string_literal":
                return "".join(text_of(child) for child in node.named_children)
            case "parenthesized_expression":
                return self.text(node.named_children[0], depth) if node.named_children else None
            case "binary_expression":
                operator = node.child_by_field_name("operator")
                sides = [node.child_by_field_name(side) for side in ("left", "right")]
                parts = [self.text(side, depth) for side in sides]
                if operator is None or operator.type != "+" or None in parts:
                    return None
                return "".join(part for part in parts if part is not None)
            case "identifier" | "field_access":
                name = text_of(node)
                own = f"{enclosing_type(node)}.{name}"
                values = self._constants.get(own) or self._constants.get(".".join(name.split(".")[-2:]), [])
                texts = {self.text(value, depth) for value in values[:20]}
                return texts.pop() if len(texts) == 1 else None
        return None

    def texts(self, node: Node | None) -> list[str]:
        """Return the strings of one value or of an array of them; unknown ones are left out."""
        if node is None:
            return []
        items = node.named_children if node.type == "element_value_array_initializer" else [node]
        return [text for text in map(self.text, items) if text is not None]


def enclosing_type(node: Node) -> str:
    """Return the name of the innermost class around *node*."""
    for parent, _ in ancestors(node):
        if parent.type in _TYPES:
            name = parent.child_by_field_name("name")
            return text_of(name) if name is not None else ""
    return ""


def annotations(declaration: Node) -> Iterator[tuple[str, dict[str, Node]]]:
    """Yield simple names and elements of the annotations on a class or method; a lone value is `value`."""
    for modifiers in declaration.children:
        if modifiers.type != "modifiers":
            continue
        for node in modifiers.named_children:
            name = node.child_by_field_name("name")
            if node.type in ("annotation", "marker_annotation") and name is not None:
                yield text_of(name).rpartition(".")[2], _elements(node.child_by_field_name("arguments"))


def _elements(given: Node | None) -> dict[str, Node]:
    elements: dict[str, Node] = {}
    for child in given.named_children if given is not None else ():
        if child.type == "element_value_pair":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and value is not None:
                elements[text_of(key)] = value
        elif not child.type.endswith("comment"):
            elements["value"] = child
    return elements


def methods_of(declaration: Node) -> Iterator[Node]:
    """Yield the methods that stand directly in a class."""
    body = declaration.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        if child.type == "method_declaration":
            yield child


_SPRING = {f"{method.capitalize()}Mapping": method for method in METHODS}
_MICRONAUT = {method.capitalize(): method for method in METHODS}
_JAX_RS_PACKAGES = ("javax.ws.rs", "jakarta.ws.rs")
_CLIENTS = frozenset({"FeignClient", "RegisterRestClient", "Client", "HttpExchange"})
_PATHS = ("value", "path", "uri", "uris")


def annotated_routes(project: JavaProject, prefixes: dict[str, str]) -> Iterator[Route]:
    """Yield annotated routes; *prefixes* are those that configuration files state, by framework."""
    application = _application_path(project)
    for file in project.files:
        for declaration in file.types():
            on_class = dict(annotations(declaration))
            if not _CLIENTS & on_class.keys():
                yield from _spring(project, file, declaration, on_class, prefixes.get("spring", ""))
                if file.imports_from("io.micronaut"):
                    yield from _micronaut(project, file, declaration, on_class, prefixes.get("micronaut", ""))
                if file.imports_from(*_JAX_RS_PACKAGES):
                    prefix = join([prefixes.get("quarkus", ""), application])
                    yield from _jax_rs(project, file, declaration, on_class, prefix)
        if file.imports_from("org.springframework"):
            yield from _spring_functions(project, file, prefixes.get("spring", ""))


def _paths(project: JavaProject, elements: dict[str, Node]) -> list[str]:
    """Return the paths of an annotation: [""] without any, none where they are unknown."""
    given = next((elements[name] for name in _PATHS if name in elements), None)
    return [""] if given is None else project.texts(given)


def _spring(
    project: JavaProject, file: JavaFile, declaration: Node, on_class: dict[str, dict[str, Node]], prefix: str
) -> Iterator[Route]:
    above = _paths(project, on_class.get("RequestMapping", {}))
    for method in methods_of(declaration):
        for name, elements in annotations(method):
            if name in _SPRING:
                verbs = [_SPRING[name]]
            elif name == "RequestMapping":
                verbs = [word for word in METHODS if word in _words(elements.get("method"))] or [ANY]
            else:
                continue
            for outer in above:
                for inner in _paths(project, elements):
                    path = from_braces(join([prefix, outer, inner]))
                    for verb in verbs:
                        yield Route(verb, "/" + path.lstrip("/"), "spring", file.path, line_of(method))


def _words(node: Node | None) -> list[str]:
    """Return the last names in `{RequestMethod.GET, POST}`."""
    if node is None:
        return []
    items = node.named_children if node.type == "element_value_array_initializer" else [node]
    return [text_of(item).rpartition(".")[2] for item in items]


def _spring_functions(project: JavaProject, file: JavaFile, prefix: str) -> Iterator[Route]:
    """Yield `route().GET("/x", ...)` and `route(GET("/x"), ...)`."""
    if not file.imports_from(
        "org.springframework.web.reactive.function", "org.springframework.web.servlet.function"
    ):
        return
    for _, call in captures("java", "(method_invocation) @found", file.root):
        name, given = call.child_by_field_name("name"), call.child_by_field_name("arguments")
        if name is not None and given is not None and text_of(name) in METHODS and given.named_children:
            path = project.text(given.named_children[0])
            if path is not None:
                yield Route(text_of(name), from_braces(join([prefix, path])), "spring", file.path, line_of(call))


def _micronaut(
    project: JavaProject, file: JavaFile, declaration: Node, on_class: dict[str, dict[str, Node]], prefix: str
) -> Iterator[Route]:
    if "Controller" not in on_class:
        return
    for method in methods_of(declaration):
        for name, elements in annotations(method):
            if name not in _MICRONAUT:
                continue
            for outer in _paths(project, on_class["Controller"]):
                for inner in _paths(project, elements):
                    path = from_braces(join([prefix, outer, inner]))
                    yield Route(_MICRONAUT[name], "/" + path.lstrip("/"), "micronaut", file.path, line_of(method))


def _jax_rs(
    project: JavaProject, file: JavaFile, declaration: Node, on_class: dict[str, dict[str, Node]], prefix: str
) -> Iterator[Route]:
    if "Path" not in on_class:
        return
    for method in methods_of(declaration):
        on_method = dict(annotations(method))
        for verb in METHODS:
            if verb in on_method:
                for outer in _paths(project, on_class["Path"]):
                    for inner in _paths(project, on_method.get("Path", {})):
                        path = from_braces(join([prefix, outer, inner]))
                        yield Route(verb, "/" + path.lstrip("/"), "jax-rs", file.path, line_of(method))


def _application_path(project: JavaProject) -> str:
    for file in project.files:
        if file.imports_from(*_JAX_RS_PACKAGES):
            for declaration in file.types():
                for name, elements in annotations(declaration):
                    if name == "ApplicationPath":
                        return next(iter(_paths(project, elements)), "")
    return ""


_VERBS = {method.lower(): method for method in METHODS}
_CRUD = (("GET", False), ("POST", False), ("GET", True), ("PATCH", True), ("DELETE", True))
_HELD = ("argument_list", "method_invocation", "method_reference", "method_declaration")
_MOST_PREFIXES = 20
_MOST_PARTS = 20
_MOST = 5000


class _Call(NamedTuple):
    file: JavaFile
    node: Node
    receiver: str
    name: str
    given: tuple[Node, ...]


def called_routes(project: JavaProject, prefixes: dict[str, str]) -> Iterator[Route]:
    """Yield the routes of Javalin and Spark; *prefixes* are those that configuration states, by framework."""
    for framework, package in (("javalin", "io.javalin"), ("spark", "spark.")):
        files = [file for file in project.files if file.imports_from(package)]
        if files:
            yield from _Reader(project, framework, files, prefixes.get(framework, "")).routes()


class _Reader:
    def __init__(self, project: JavaProject, framework: str, files: list[JavaFile], prefix: str) -> None:
        self._project = project
        self._framework = framework
        self._calls = [call for file in files for call in _calls(file)]
        self._around: dict[int, Holder] = {}
        for file in files:
            self._around |= holders(file.root, _HELD, _holds)
        self._prefix = prefix or (self._context_path(files) if framework == "javalin" else "")
        self._mentions = self._method_mentions(files)
        self._known_prefixes: dict[str, list[str]] = {}
        self._made = 0

    def routes(self) -> Iterator[Route]:
        for call in self._calls:
            for verb, own in self._declared(call):
                for above in self._prefixes(call.node):
                    self._made += 1
                    if self._made > _MOST:
                        return
                    path = join([self._prefix, above, own])
                    read = from_javalin(path) if self._framework == "javalin" else from_colons(path)
                    yield Route(verb, "/" + read.lstrip("/"), self._framework, call.file.path, line_of(call.node))

    def _declared(self, call: _Call) -> Iterator[tuple[str, str]]:
        """Yield method and own path of what *call* declares."""
        if call.name in _VERBS:
            yield from self._by_verb(call)
        elif call.name in ("addHandler", "addHttpHandler", "addRoute") and len(call.given) > 2:
            verb, path = text_of(call.given[0]).rpartition(".")[2].strip('"').upper(), self._text(call.given[1])
            if verb in METHODS and path is not None:
                yield verb, path
        elif call.name == "crud" and self._framework == "javalin" and len(call.given) > 1:
            path = self._text(call.given[0])
            if path is not None:
                collection = path.rstrip("/").rpartition("/")[0]
                yield from ((verb, path if detail else collection) for verb, detail in _CRUD)

    def _by_verb(self, call: _Call) -> Iterator[tuple[str, str]]:
        first = self._text(call.given[0]) if call.given else None
        if first is None:
            # Javalin's builder: get(handler) inside path(...)
            bare = call.receiver in ("", "ApiBuilder") and len(call.given) == 1 and self._framework == "javalin"
            if bare and self._is_enclosed(call.node):
                yield _VERBS[call.name], ""
        elif len(call.given) > 1 and (first.startswith("/") or call.receiver in ("", "ApiBuilder", "Spark")):
            yield _VERBS[call.name], first

    def _prefixes(self, node: Node) -> list[str]:
        """Return every path that encloses *node*: of calls around it, and around mentions of its method."""
        parts: list[str] = []
        method = ""
        while node.id in self._around and len(parts) < _MOST_PARTS:
            node, parent = self._around[node.id]
            if node.type == "method_declaration":
                name = node.child_by_field_name("name")
                method = text_of(name) if name is not None else ""
                break
            if parent is not None and _is_enclosing(parent):
                parts.append(self._text(node.named_children[0]) or "")
        own = join(reversed(parts)) if parts else ""
        return [join([prefix, own]) if own else prefix for prefix in self._prefixes_of_method(method) or [""]]

    def _prefixes_of_method(self, method: str) -> list[str]:
        if method not in self._known_prefixes:
            self._known_prefixes[method] = []  # a method that mentions itself adds nothing
            found: dict[str, None] = {}
            for mention in self._mentions.get(method, []):
                found.update(dict.fromkeys(self._prefixes(mention)))
            self._known_prefixes[method] = list(found)[:_MOST_PREFIXES]
        return self._known_prefixes[method]

    def _method_mentions(self, files: list[JavaFile]) -> dict[str, list[Node]]:
        """Return where each method is called or referred to from inside an enclosing path."""
        found: dict[str, list[Node]] = {}
        for call in self._calls:
            if call.name not in _VERBS and not call.name.startswith("add") and self._is_enclosed(call.node):
                found.setdefault(call.name, []).append(call.node)
        for file in files:
            for node in file.nodes("method_reference"):
                if self._is_enclosed(node) and node.children:
                    found.setdefault(text_of(node.children[-1]), []).append(node)
        return found

    def _is_enclosed(self, node: Node) -> bool:
        """Whether *node* is what an enclosing path holds, not a handler that is called when a request comes."""
        held = self._around.get(node.id)
        return held is not None and held.parent is not None and _is_enclosing(held.parent)

    def _text(self, node: Node | None) -> str | None:
        return self._project.text(node)

    def _context_path(self, files: list[JavaFile]) -> str:
        for file in files:
            for node in file.nodes("assignment_expression"):
                left = node.child_by_field_name("left")
                if left is not None and text_of(left).endswith(".contextPath"):
                    return self._text(node.child_by_field_name("right")) or ""
        return ""


def _calls(file: JavaFile) -> Iterator[_Call]:
    for _, node in captures("java", "(method_invocation) @found", file.root):
        name, given = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        receiver = node.child_by_field_name("object")
        if name is not None and given is not None:
            passed = tuple(child for child in given.named_children if not child.type.endswith("comment"))
            yield _Call(file, node, text_of(receiver) if receiver is not None else "", text_of(name), passed)


def _holds(node: Node, parent: Node | None) -> bool:
    """Whether *node* is the arguments of some call, or a method."""
    is_arguments = node.type == "argument_list" and parent is not None and parent.type == "method_invocation"
    return is_arguments or node.type == "method_declaration"


def _is_enclosing(call: Node) -> bool:
    name, given = call.child_by_field_name("name"), call.child_by_field_name("arguments")
    return (
        call.type == "method_invocation"
        and name is not None
        and text_of(name) == "path"
        and given is not None
        and len(given.named_children) > 1
    )
