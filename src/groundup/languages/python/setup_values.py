"""What a setup.py declares, without running it: the values of setup()'s arguments, through names and calls.

Finds places: lists, strings, single arguments of `append`, files that are read, and expressions that only running
the file would show. Decides nothing about kinds and edits nothing; `setup_py.py` does.

What the names of a setup.py are bound to, and the small questions asked of its expressions.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import libcst as cst
from libcst import matchers as m
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

from groundup import grammars
from groundup.languages.spelling import python_name
from groundup.manifests.editing import Span, Text

_FILES = (".txt", ".in", ".pip", ".toml", ".cfg", ".yml", ".yaml", ".json", ".lock")


@dataclass
class Bindings:
    """What names are bound to anywhere in a file, whatever the scope."""

    values: dict[str, list[cst.BaseExpression]] = field(default_factory=dict)
    appended: dict[str, list[cst.Call]] = field(default_factory=dict)
    keyed: dict[str, list[tuple[cst.BaseExpression, cst.BaseExpression]]] = field(default_factory=dict)
    functions: dict[str, list[cst.BaseExpression]] = field(default_factory=dict)
    bodies: dict[str, cst.FunctionDef] = field(default_factory=dict)
    calls: list[cst.Call] = field(default_factory=list)


_APPENDS = ("append", "insert", "add")


class _Binder(cst.CSTVisitor):
    """Collects what names are bound to anywhere in the file, whatever the scope."""

    def __init__(self) -> None:
        self.found = Bindings()
        self._functions: list[str] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802 - libcst names it
        self._functions.append(node.name.value)
        self.found.functions.setdefault(node.name.value, [])
        self.found.bodies[node.name.value] = node

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:  # noqa: N802 - libcst names it
        self._functions.pop()

    def visit_Return(self, node: cst.Return) -> None:  # noqa: N802 - libcst names it
        if self._functions and node.value is not None:
            self.found.functions[self._functions[-1]].append(node.value)

    def visit_Assign(self, node: cst.Assign) -> None:  # noqa: N802 - libcst names it
        for target in node.targets:
            self._bind(target.target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:  # noqa: N802 - libcst names it
        if node.value is not None:
            self._bind(node.target, node.value)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:  # noqa: N802 - libcst names it
        self._bind(node.target, node.value)

    def visit_WithItem(self, node: cst.WithItem) -> None:  # noqa: N802 - libcst names it
        if node.asname is not None and isinstance(node.asname.name, cst.Name):
            self._bind(node.asname.name, node.item)

    def visit_For(self, node: cst.For) -> None:  # noqa: N802 - libcst names it
        self._bind(node.target, node.iter)

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802 - libcst names it
        self.found.calls.append(node)
        method = called(node)
        if not isinstance(node.func, cst.Attribute) or not node.args:
            return
        owner = node.func.value
        if isinstance(owner, cst.Name) and method in _APPENDS:
            self.found.appended.setdefault(owner.value, []).append(node)
        elif method in _APPENDS:
            self._bind(owner, node)
        elif method in ("extend", "update"):
            self._bind(owner, node.args[-1].value)

    def _bind(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(target, cst.Name):
            self.found.values.setdefault(target.value, []).append(value)
        elif isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            index = target.slice[0].slice
            if isinstance(index, cst.Index):
                self.found.keyed.setdefault(target.value.value, []).append((index.value, value))


def bind(module: cst.Module) -> Bindings:
    """Return what the names of *module* are bound to."""
    binder = _Binder()
    module.visit(binder)
    return binder.found


def alternatives(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the expressions whose values together, or one of which, are the value of *node*."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.BitOr):
        return [node.left, node.right]
    if isinstance(node, cst.BooleanOperation):
        return [node.left, node.right]
    if isinstance(node, cst.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, cst.ListComp | cst.SetComp | cst.GeneratorExp) and not files_in(node):
        return [node.for_in.iter]
    return []


def called(node: cst.Call) -> str:
    """Return the last name of what is called."""
    if isinstance(node.func, cst.Attribute):
        return node.func.attr.value
    return node.func.value if isinstance(node.func, cst.Name) else ""


def literal(node: cst.BaseExpression) -> str | None:
    """Return the text of a string literal, joined ones included; None for everything else."""
    if isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def files_in(node: cst.CSTNode) -> list[str]:
    """Return the files of requirements that the literals of an expression name, with the folders before them.

    `{…}` stands for what a formatted string computes.
    """
    files: list[str] = []
    folders: list[str] = []
    for found in m.findall(node, m.SimpleString() | m.FormattedString()):
        text = formatted(found) if isinstance(found, cst.BaseExpression) else None
        if text is None or any(char in text for char in "<>=\n; "):
            continue
        if text.endswith(_FILES):
            files.append("/".join([*folders, text]))
            folders = []
        elif text.replace("_", "").replace("-", "").isalnum():
            folders.append(text)
    return files


class Mentions:
    """What expressions of one file mention, each looked through once: many ways may lead to one."""

    def __init__(self) -> None:
        self._files: dict[cst.CSTNode, list[str]] = {}
        self._names: dict[cst.CSTNode, list[str]] = {}
        self._literals: dict[cst.CSTNode, bool] = {}

    def files(self, node: cst.CSTNode) -> list[str]:
        if node not in self._files:
            self._files[node] = files_in(node)
        return self._files[node]

    def names(self, node: cst.CSTNode) -> list[str]:
        """Return the names in it, each once."""
        if node not in self._names:
            found = (one.value for one in m.findall(node, m.Name()) if isinstance(one, cst.Name))
            self._names[node] = list(dict.fromkeys(found))
        return self._names[node]

    def has_literals(self, node: cst.CSTNode) -> bool:
        """Whether there is a string in it."""
        if node not in self._literals:
            self._literals[node] = bool(m.findall(node, m.SimpleString()))
        return self._literals[node]


def formatted(node: cst.BaseExpression) -> str | None:
    """Return the text of a string with `{…}` for what it computes; None for what is no string."""
    if isinstance(node, cst.FormattedString):
        parts = [part.value if isinstance(part, cst.FormattedStringText) else "{…}" for part in node.parts]
        return "".join(parts)
    text = literal(node)
    return None if text is None else re.sub(r"%s|\{\w*\}", "{…}", text)


_WRAPPERS = frozenset({"list", "sorted", "set", "tuple", "frozenset", "map", "filter", "dedent", "deepcopy"})
_SPLITTERS = frozenset({"split", "splitlines", "strip", "rstrip", "lstrip", "format", "copy", "keys", "values"})
_DICTIONARIES = frozenset({"dict", "defaultdict", "deepcopy"})
_DEEPEST = 12
_MOST_STEPS = 100_000
_DEEPEST_CODE = 200
"""Nodes within nodes. libcst follows them on the machine's stack, and a deep file would end this process."""
_DOTS = re.compile(r"(?:\.\s*+\w++\s*+){200}")
_BRACKET = re.compile(r"[(\[{]|[)\]}]")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Member = tuple[str, cst.BaseExpression]
"""A literal key and its value."""


@dataclass(frozen=True)
class FoundPlace:
    """One place that a value leads to."""

    shape: Literal["list", "bare", "pool", "text", "argument", "file", "opaque"]
    span: Span
    """Of the list with brackets (`bare`: a tuple without), the string, the call of `append`, or the rest."""
    items: tuple["Item", ...] = ()
    files: tuple[str, ...] = ()
    literals: bool = False
    """Whether an opaque expression holds string literals, which may name dependencies."""


@dataclass(frozen=True)
class Item:
    """One element: its text, with `{…}` for what is computed, or None where it is unknown."""

    text: str | None
    span: Span
    reference: bool = False
    """Whether it stands for other values (`*base`) and declares nothing itself."""


@dataclass(frozen=True)
class SetupCall:
    """Where a keyword argument can be added to the call of setup()."""

    keywords: frozenset[str]
    insertion: int
    """Offset after the last argument, or after its comma."""
    comma: bool
    indent: str


class SetupModule:
    """A parsed setup.py."""

    def __init__(self, source: Text) -> None:
        self.source = source
        # Bytes that are not UTF-8 can only stand in comments and strings: one placeholder for each keeps offsets.
        text = source.text.encode("utf-8", "replace").decode("utf-8")
        if _is_deep(text):
            raise source.error("is nested too deeply to be read as Python")
        try:
            self._wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        except cst.ParserSyntaxError as error:
            reason = f"is not valid Python: {error.message.partition(chr(10))[0]}; mend the file"
            raise source.error(reason, source.offset_of(error.raw_line, 0)) from error
        except RecursionError as error:
            raise source.error("is nested too deeply to be read as Python") from error
        self._module = self._wrapper.module
        self._spans: Mapping[cst.CSTNode, CodeSpan] | None = None
        self._offsets = None if text.isascii() else _character_offsets(text)
        self._bindings = bind(self._module)
        self._mentions = Mentions()
        self._steps = 0

    def span(self, node: cst.CSTNode) -> Span:
        """Return where *node* stands, parentheses around it not included."""
        if self._spans is None:
            self._spans = self._wrapper.resolve(ByteSpanPositionProvider)
        where = self._spans[node]
        start, end = where.start, where.start + where.length
        return Span(start, end) if self._offsets is None else Span(self._offsets[start], self._offsets[end])

    def _step(self) -> None:
        """Count a step from a name to a value; names that are bound to each other have paths without end."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise self.source.error("binds names to each other in too many ways to be read; declare plain lists")

    def arguments(self) -> Iterator[Member]:
        """Yield the keyword arguments of every `setup(...)` call, those of `**spread` dictionaries among them."""
        for call in self._bindings.calls:
            if called(call) == "setup":
                for argument in call.args:
                    if argument.keyword is not None:
                        yield argument.keyword.value, argument.value
                    elif argument.star == "**":
                        yield from self.members(argument.value)

    def setup_call(self) -> SetupCall | None:
        """Return the only call of setup() with arguments, or None."""
        calls = [call for call in self._bindings.calls if called(call) == "setup" and call.args]
        if len(calls) != 1:
            return None
        last = calls[0].args[-1]
        comma = isinstance(last.comma, cst.Comma)
        end = self.span(last).end
        if comma:
            end = self.source.text.index(",", end) + 1
        keywords = frozenset(item.keyword.value for item in calls[0].args if item.keyword is not None)
        return SetupCall(keywords, end, comma, self.source.indent_at(self.span(last.value).start))

    def extras_dictionary(self) -> tuple[Span, list[Span]] | None:
        """Return the span between the braces of the extras' dictionary and those of its elements, if it is one."""
        for name, value in self.arguments():
            known = self._bindings.values.get(value.value, []) if isinstance(value, cst.Name) else [value]
            if name == "extras_require" and len(known) == 1 and isinstance(known[0], cst.Dict):
                start, end = self.span(known[0])
                return Span(start + 1, end - 1), [self.span(item) for item in known[0].elements]
        return None

    def members(self, node: cst.BaseExpression, depth: int = 0) -> Iterator[Member]:
        """Yield the keys and values of a dictionary, as far as keys are literal."""
        self._step()
        if depth > _DEEPEST:
            return
        if isinstance(node, cst.Dict):
            for element in node.elements:
                yield from self._element(element, depth)
        elif isinstance(node, cst.Call) and called(node) in _DICTIONARIES:
            for argument in node.args:
                if argument.keyword is not None:
                    yield argument.keyword.value, argument.value
                else:
                    yield from self.members(argument.value, depth + 1)
        elif isinstance(node, cst.Name):
            for value in self._bindings.values.get(node.value, ()):
                yield from self.members(value, depth + 1)
            for key_node, value in self._bindings.keyed.get(node.value, ()):
                if (key := literal(key_node)) is not None:
                    yield key, value

    def _element(self, element: cst.BaseDictElement, depth: int) -> Iterator[Member]:
        if isinstance(element, cst.StarredDictElement):
            yield from self.members(element.value, depth + 1)
        elif isinstance(element, cst.DictElement) and (key := literal(element.key)) is not None:
            yield key, element.value

    def is_readable_dictionary(self, node: cst.BaseExpression) -> bool:
        """Whether all keys of a dictionary are literal, as far as its definition shows."""
        if isinstance(node, cst.Name):
            values = self._bindings.values.get(node.value, [])
            return bool(values) and all(self.is_readable_dictionary(item) for item in values if item is not node)
        if isinstance(node, cst.Dict):
            return all(
                isinstance(item, cst.DictElement) and literal(item.key) is not None for item in node.elements
            )
        return isinstance(node, cst.Call) and called(node) == "dict"

    def places(self, node: cst.BaseExpression) -> list[FoundPlace]:
        """Return the places that the value of *node* leads to, each once."""
        found: dict[tuple[str, Span], FoundPlace] = {}
        for place in self._follow(node, frozenset(), 0):
            found.setdefault((place.shape, place.span), place)
        return list(found.values())

    def _follow(self, node: cst.BaseExpression, seen: frozenset[str], depth: int) -> Iterator[FoundPlace]:
        self._step()
        if depth > _DEEPEST:
            yield self._opaque(node)
        elif isinstance(node, cst.List | cst.Tuple | cst.Set):
            yield from self._sequence(node, seen, depth)
        elif (text := literal(node)) is not None:
            yield FoundPlace("text", self.span(node), (Item(text, self.span(node)),))
        elif isinstance(node, cst.Name):
            yield from self._name(node, seen, depth)
        elif isinstance(node, cst.Dict):
            yield from self._each([value for _, value in self.members(node)], seen, depth)
        elif parts := alternatives(node):
            yield from self._each(parts, seen, depth)
        elif isinstance(node, cst.Call):
            yield from self._call(node, seen, depth)
        elif isinstance(node, cst.Subscript):
            yield from self._subscript(node, seen, depth)
        else:
            yield self._opaque(node)

    def _each(self, nodes: Iterable[cst.BaseExpression], seen: frozenset[str], depth: int) -> Iterator[FoundPlace]:
        for node in nodes:
            yield from self._follow(node, seen, depth + 1)

    def _sequence(
        self, node: cst.List | cst.Tuple | cst.Set, seen: frozenset[str], depth: int
    ) -> Iterator[FoundPlace]:
        items = []
        for element in node.elements:
            span = self.span(element)
            if isinstance(element, cst.StarredElement):
                items.append(Item(None, span, reference=True))
                yield from self._follow(element.value, seen, depth + 1)
                continue
            text = self._text(element.value)
            if isinstance(element.value, cst.Subscript) and text is not None:
                yield from self._pools(element.value.value)
            files = self._files_behind(element.value) if text is None else []
            items.append(Item(text, span, reference=bool(files)))
            if files:
                yield FoundPlace("file", span, files=tuple(files))
        bare = isinstance(node, cst.Tuple) and not node.lpar
        yield FoundPlace("bare" if bare else "list", self._bracketed(node), tuple(items))

    def _bracketed(self, node: cst.List | cst.Tuple | cst.Set) -> Span:
        """Return the span with brackets; a tuple's own span leaves its parentheses out."""
        start, end = self.span(node)
        if isinstance(node, cst.Tuple) and node.lpar:
            start = self.source.text.rindex("(", 0, start)
            end = self.source.text.index(")", end) + 1
        return Span(start, end)

    def _name(self, node: cst.Name, seen: frozenset[str], depth: int) -> Iterator[FoundPlace]:
        name = node.value
        values = self._bindings.values.get(name, [])
        if name in seen or name == "None":
            return
        seen = seen | {name}
        yield from self._each(values, seen, depth)
        yield from map(self._appended, self._bindings.appended.get(name, ()))
        if not values:
            yield self._opaque(node)

    def _appended(self, call: cst.Call) -> FoundPlace:
        argument = call.args[-1].value
        text = self._text(argument)
        found = FoundPlace("argument", self.span(call), (Item(text, self.span(argument)),))
        return found if text is not None else self._opaque(argument)

    def _call(self, node: cst.Call, seen: frozenset[str], depth: int) -> Iterator[FoundPlace]:
        name = called(node)
        if self._mentions.files(node):
            yield self._opaque(node)
        elif name in _WRAPPERS and node.args:
            yield from self._follow(node.args[-1].value, seen, depth + 1)
        elif isinstance(node.func, cst.Attribute) and name in _SPLITTERS:
            yield from self._follow(node.func.value, seen, depth + 1)
        elif isinstance(node.func, cst.Attribute) and name in _APPENDS and node.args:
            yield self._appended(node)
        elif name in self._bindings.functions and isinstance(node.func, cst.Name) and name not in seen:
            yield from self._own_function(node, name, seen, depth)
        else:
            yield self._opaque(node)

    def _own_function(self, node: cst.Call, name: str, seen: frozenset[str], depth: int) -> Iterator[FoundPlace]:
        """Follow a function of the file: what it returns, the file it reads, or the list that it picks from."""
        arguments = [literal(argument.value) for argument in node.args]
        texts = [text for text in arguments if text is not None]
        body = self._bindings.bodies[name]
        files = [file.replace("{…}", texts[0]) for file in self._mentions.files(body)] if len(texts) == 1 else []
        if files:
            yield FoundPlace("file", self.span(node), files=tuple(files))
        elif texts and len(texts) == len(arguments):
            pool = self._pool(body)
            items = [
                Item(pool.get(_name_in(text)), self.span(argument))
                for text, argument in zip(texts, node.args, strict=True)
            ]
            picked = any(item.text for item in items)
            yield FoundPlace("list", self._arguments(node), tuple(items)) if picked else self._opaque(node)
            yield from self._pools(body) if picked else ()
        elif arguments or not self._bindings.functions[name]:
            yield self._opaque(node)
        else:
            yield from self._each(self._bindings.functions[name], seen | {name}, depth)

    def _arguments(self, node: cst.Call) -> Span:
        """Return the span of a call's arguments with the parentheses around them."""
        start = self.span(node.func).end
        return Span(self.source.text.index("(", start), self.span(node).end)

    def _pool_lists(self, node: cst.CSTNode, depth: int = 0) -> Iterator[cst.List | cst.Tuple]:
        """Yield the lists of nothing but strings that the names in *node* lead to."""
        for name in self._mentions.names(node):
            for value in self._bindings.values.get(name, ()):
                self._step()
                if isinstance(value, cst.List | cst.Tuple):
                    if value.elements and all(literal(item.value) is not None for item in value.elements):
                        yield value
                elif depth < 2 and value is not node:
                    yield from self._pool_lists(value, depth + 1)

    def _pool(self, node: cst.CSTNode) -> dict[str, str]:
        """Return the requirements that *node* can pick from, by normalised name."""
        texts = [literal(item.value) or "" for found in self._pool_lists(node) for item in found.elements]
        return {_name_in(text): text for text in reversed(texts) if _name_in(text)}

    def _pools(self, node: cst.CSTNode) -> Iterator[FoundPlace]:
        for found in self._pool_lists(node):
            items = tuple(Item(literal(item.value), self.span(item)) for item in found.elements)
            yield FoundPlace("pool", self._bracketed(found), items)

    def _subscript(self, node: cst.Subscript, seen: frozenset[str], depth: int) -> Iterator[FoundPlace]:
        index = node.slice[0].slice
        if isinstance(index, cst.Slice):
            yield from self._follow(node.value, seen, depth + 1)
            return
        key = _key(node)
        mark = f"{self._module.code_for_node(node.value)}[{key}]"
        values = [value for name, value in self.members(node.value) if name == key]
        if key is None or not values:
            yield self._opaque(node)
        elif mark not in seen:
            yield from self._each(values, seen | {mark}, depth)

    def _text(self, node: cst.BaseExpression, depth: int = 0) -> str | None:
        """Return the text of an element, with `{…}` for what is computed; None where it starts with that."""
        text = literal(node)
        if text is not None:
            return text
        self._step()
        if depth > _DEEPEST:
            return None
        if isinstance(node, cst.FormattedString):
            return formatted(node)
        if isinstance(node, cst.Subscript):
            return self._pool(node.value).get(_name_in(_key(node) or ""))
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.Modulo):
            left = self._text(node.left, depth + 1)
            right = self._text(node.right, depth + 1) if isinstance(node.operator, cst.Add) else ""
            return None if left is None else left + ("{…}" if right is None else right)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and called(node) == "format":
            return self._text(node.func.value, depth + 1)
        if isinstance(node, cst.Name):
            values = self._bindings.values.get(node.value, [])
            return self._text(values[0], depth + 1) if len(values) == 1 else None
        return None

    def _opaque(self, node: cst.BaseExpression) -> FoundPlace:
        files = tuple(self._files_behind(node))
        span = self.span(node)
        if files:
            return FoundPlace("file", span, files=files)
        return FoundPlace("opaque", span, literals=self._mentions.has_literals(node))

    def _files_behind(self, node: cst.CSTNode, depth: int = 0) -> list[str]:
        """Return the files that an expression, or the function or the names it uses, reads."""
        files = [*self._mentions.files(node)]
        if not files and depth < 4:
            for name in self._mentions.names(node):
                for value in self._bindings.values.get(name, ()):
                    self._step()
                    if value is not node:
                        files += self._files_behind(value, depth + 1)
        return list(dict.fromkeys(files))


def _key(node: cst.Subscript) -> str | None:
    index = node.slice[0].slice
    return literal(index.value) if isinstance(index, cst.Index) else None


def _name_in(text: str) -> str:
    """Return the normalised name that a requirement starts with, or an empty string."""
    match = _NAME.match(text)
    return python_name(match[0]) if match else ""


def _character_offsets(text: str) -> Sequence[int]:
    """Return, for each offset into the UTF-8 bytes of *text*, the offset of the character."""
    offsets: list[int] = []
    for i, char in enumerate(text):
        offsets += [i] * len(char.encode())
    return [*offsets, len(text)]


def _is_deep(text: str) -> bool:
    """Whether *text* is nested more deeply than the limit. Tree-sitter's own stack does not grow with it.

    What libcst nests and tree-sitter does not is counted: `elif`, and the dots of an import.
    """
    if text.count("elif") > _DEEPEST_CODE or _DOTS.search(text):
        return True
    tree = grammars.parse("python", text.encode())
    return grammars.is_deeper(tree, _DEEPEST_CODE) or (tree.root_node.has_error and _looks_deep(text))


def _looks_deep(text: str) -> bool:
    """Whether code that cannot be parsed may be deep: by brackets, chains over many lines, and long lines."""
    depth = deepest = 0
    for found in _BRACKET.finditer(text):
        depth = depth + 1 if found[0] in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    chains = text.count("\\\n")
    longest = max(map(len, text.splitlines()), default=0)
    return deepest > _DEEPEST_CODE // 2 or chains > _DEEPEST_CODE or longest > 2_000
