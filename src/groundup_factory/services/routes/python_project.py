"""A Python project's modules for finding routes: names, imports, assignments, strings."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import captures, parse, text_of
from groundup.sources.files import SourceFile
from groundup_factory.services.routes.paths import too_deep

_DEPTH = 12
_STEPS = 100_000
_LONGEST = 1000


class Arguments(NamedTuple):
    """What a call is given."""

    positional: tuple[Node, ...]
    keywords: dict[str, Node]

    def get(self, place: int | None, *names: str) -> Node | None:
        """Return the argument at *place* or under one of *names*."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.positional[place] if place is not None and place < len(self.positional) else None


class Module:
    """One file."""

    def __init__(self, source: SourceFile) -> None:
        self.path = source.path
        pure = PurePosixPath(source.path).with_suffix("")
        self.is_package = pure.name == "__init__"
        self.name = ".".join(pure.parent.parts if self.is_package else pure.parts)
        root = parse("python", source.data).root_node
        self.root = parse("python", b"").root_node if too_deep(root) else root

    def nodes(self, kind: str) -> list[Node]:
        """Return all nodes of *kind*, in source order."""
        return [node for _, node in captures("python", f"({kind}) @found", self.root)]

    @cached_property
    def assignments(self) -> dict[str, list[Node]]:
        """Values of `name = value`, wherever they stand, by name."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes("assignment"):
            name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
            if name is not None and value is not None and name.type in ("identifier", "attribute"):
                found.setdefault(text_of(name), []).append(value)
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Local name -> (module, name in it); the name is "" for modules."""
        found: dict[str, tuple[str, str]] = {}
        for node in self.nodes("import_statement"):
            for name in node.children_by_field_name("name"):
                whole, alias = _aliased(name)
                found[alias or whole] = (whole, "")
        for node in self.nodes("import_from_statement"):
            origin = node.child_by_field_name("module_name")
            if origin is not None:
                for name in node.children_by_field_name("name"):
                    whole, alias = _aliased(name)
                    found[alias or whole] = (self._absolute(text_of(origin)), whole)
        return found

    def _absolute(self, origin: str) -> str:
        bare = origin.lstrip(".")
        dots = len(origin) - len(bare)
        if not dots:
            return bare
        parts = self.name.split(".") if self.name else []
        kept = parts[: len(parts) - (dots - 1 if self.is_package else dots)]
        return ".".join([*kept, *([bare] if bare else [])])


def _aliased(node: Node) -> tuple[str, str]:
    if node.type == "aliased_import":
        name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
        return (text_of(name) if name else "", text_of(alias) if alias else "")
    return text_of(node), ""


class RouteProject:
    """All modules, and how names lead from one to another."""

    def __init__(self, sources: Iterable[SourceFile]) -> None:
        self.modules: Sequence[Module] = [Module(source) for source in sources]
        self._by_suffix: dict[str, Module] = {}
        self._steps = _STEPS
        for module in sorted(self.modules, key=lambda one: one.name.count(".")):
            parts = module.name.split(".")
            for start in range(len(parts)):
                self._by_suffix.setdefault(".".join(parts[start:]), module)

    def module(self, name: str) -> Module | None:
        """Return the module that an import of *name* means; one in a folder of sources counts."""
        return self._by_suffix.get(name) if name else None

    @cached_property
    def _constants(self) -> dict[str, list[tuple[Module, Node]]]:
        found: dict[str, list[tuple[Module, Node]]] = {}
        for module in self.modules:
            for name, values in module.assignments.items():
                last = name.rpartition(".")[2]
                found.setdefault(last, []).extend((module, value) for value in values)
        return found

    @cached_property
    def _definitions(self) -> dict[str, list[tuple[Module, Node]]]:
        found: dict[str, list[tuple[Module, Node]]] = {}
        for module in self.modules:
            for kind in ("function_definition", "class_definition"):
                for node in module.nodes(kind):
                    name = node.child_by_field_name("name")
                    if name is not None:
                        found.setdefault(text_of(name), []).append((module, node))
        return found

    def definition(self, module: Module, name: str) -> tuple[Module, Node] | None:
        """Return the function or class that the dotted *name* means in *module*, or one of that name anywhere."""
        origin, last = self.follow(module, name)
        known = self._definitions.get(last, [])
        return next((item for item in known if item[0].name == origin), known[0] if known else None)

    def follow(self, module: Module, name: str, depth: int = 0) -> tuple[str, str]:
        """Return (module, name) where the dotted *name* is defined, through its imports."""
        first, _, rest = name.partition(".")
        if depth > _DEPTH or first not in module.imports or (not rest and name in module.assignments):
            return module.name, name
        origin, inner = module.imports[first]
        as_module = self.module(f"{origin}.{inner}" if inner else origin)
        if rest and as_module is not None:
            return self.follow(as_module, rest, depth + 1)
        target = self.module(origin)
        if target is None or target is module:
            return origin, ".".join(filter(None, (inner, rest)))
        return self.follow(target, ".".join(filter(None, (inner, rest))), depth + 1)

    def values(self, module: Module, name: str) -> list[tuple[Module, Node]]:
        """Return what is assigned to *name* as seen from *module*."""
        if name in module.assignments:
            return [(module, value) for value in module.assignments[name]]
        origin, last = self.follow(module, name)
        target = self.module(origin)
        if target is not None and last in target.assignments:
            return [(target, value) for value in target.assignments[last]]
        return self._constants.get(name.rpartition(".")[2], []) if "." in name else []

    def text(self, module: Module, node: Node | None, depth: int = 0) -> str | None:
        """Return the string that *node* makes; None when the source alone does not show it."""
        self._steps -= 1
        if node is None or depth > _DEPTH or self._steps < 0:
            return None
        text: str | None = None
        match node.type:
            case "string":
                text = self._string(module, node, depth)
            case "concatenated_string":
                text = self._joined(module, node.named_children, depth)
            case "parenthesized_expression":
                text = self._joined(module, node.named_children, depth)
            case "binary_operator":
                operator = node.child_by_field_name("operator")
                if operator is not None and operator.type == "+":
                    text = self._joined(module, (node.named_children[0], node.named_children[-1]), depth)
            case "identifier" | "attribute":
                values = self.values(module, text_of(node))[:20]
                texts = {self.text(owner, value, depth + 1) for owner, value in values}
                text = texts.pop() if len(texts) == 1 else None
            case "call":
                text = self._default(module, node, depth)
        return text if text is None or len(text) <= _LONGEST else None

    def texts(self, module: Module, node: Node | None) -> list[str]:
        """Return the strings in the list, tuple or set *node*; a string alone counts as one."""
        if node is None:
            return []
        if node.type in ("identifier", "attribute"):
            found = self.values(module, text_of(node))
            if len(found) == 1 and found[0][1].type in ("list", "tuple", "set"):
                return self.texts(*found[0])
        if node.type in ("list", "tuple", "set"):
            every = (self.text(module, item) for item in node.named_children)
            return [text for text in every if text is not None]
        text = self.text(module, node)
        return [] if text is None else [text]

    def _joined(self, module: Module, nodes: Iterable[Node], depth: int) -> str | None:
        parts = [self.text(module, node, depth + 1) for node in nodes]
        return None if None in parts else "".join(part for part in parts if part is not None)

    def _string(self, module: Module, node: Node, depth: int) -> str | None:
        whole = ""
        raw = text_of(node)[:3].lower().split("'")[0].split('"')[0]
        if "b" in raw:
            return None
        for child in node.named_children:
            if child.type == "string_content":
                whole += text_of(child).replace("{{", "{").replace("}}", "}") if "f" in raw else text_of(child)
            elif child.type == "interpolation":
                inner = child.child_by_field_name("expression")
                value = self.text(module, inner, depth + 1)
                if value is None:
                    return None
                whole += value
        return whole

    def _default(self, module: Module, node: Node, depth: int) -> str | None:
        """Return the fallback of `os.getenv("X", "/fallback")`: what holds where the variable is not set."""
        if called(node).rpartition(".")[2] not in ("getenv", "get"):
            return None
        given = arguments(node)
        return self.text(module, given.get(1, "default"), depth + 1)


def called(node: Node) -> str:
    """Return the dotted name that a call calls; "" when it is no name."""
    function = node.child_by_field_name("function")
    return text_of(function) if function is not None and function.type in ("identifier", "attribute") else ""


def arguments(node: Node) -> Arguments:
    """Return the arguments of a call."""
    given = node.child_by_field_name("arguments")
    positional: list[Node] = []
    keywords: dict[str, Node] = {}
    for child in given.named_children if given is not None and given.type == "argument_list" else ():
        if child.type == "keyword_argument":
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if name is not None and value is not None:
                keywords[text_of(name)] = value
        elif child.type != "comment":
            positional.append(child)
    return Arguments(tuple(positional), keywords)


def decorators(definition: Node) -> Iterator[Node]:
    """Yield the expressions that decorate a function or class."""
    parent = definition.parent
    if parent is not None and parent.type == "decorated_definition":
        for child in parent.children:
            if child.type == "decorator" and child.named_children:
                yield child.named_children[0]
