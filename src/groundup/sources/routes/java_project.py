"""A Java project's files for finding routes: imports, constants, annotations, strings."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from tree_sitter import Node

from groundup.grammars import ancestors, captures, parse, text_of
from groundup.sources.files import SourceFile
from groundup.sources.routes.paths import too_deep

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
