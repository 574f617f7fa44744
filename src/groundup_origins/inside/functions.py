"""The functions of a submission's file: where they stand, how they compile, and what they offer to a change.

`changes` and `missing` make variants of them. It stands in one process with untrusted code, needs the standard
library only, and works on Python 3.8 to 3.13.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_LARGEST = 512 * 1024
_NAMES = 6
"""Variables of a function that are tried in the place of one."""
_ALIKE = 4
"""Calls of one function, or values of one name, that a file offers."""


class Offers(NamedTuple):
    """What a function and its file offer to a change."""

    names: Sequence[str]
    """Arguments and variables of the function, the first ones."""
    own: frozenset[str]
    """All of them."""
    flags: Sequence[str]
    """Those that are true or false."""
    texts: Sequence[str]
    """Its short literals."""
    unused: Sequence[str]
    """Those that the function never uses."""
    fields: Mapping[str, Mapping[str, Any]]
    """Which keys and attributes things of a name have in the file, each as a tree."""
    conversions: Mapping[str, Mapping[str, Any]]
    """Which functions get nothing but a variable of a name in the file, or a part of one thing, each as a tree."""
    calls: Mapping[str, Mapping[str, Any]]
    """How each function and method is called in the file."""
    given: Mapping[str, Mapping[str, Any]]
    """What keys, attributes and arguments of a name get in the file."""
    shared: frozenset[str]
    """Names that the whole file knows."""
    defaults: Mapping[str, Mapping[str, Any]]
    """The arguments with a default of each function, method and class of the file, in their order."""
    required: Mapping[str, int]
    """How many arguments each of them must get."""
    unread: Sequence[Any]
    """Truths that the function's class keeps in an attribute and nothing in the file asks."""

    def knows(self, node: Any) -> bool:
        """Say whether the function has all variables of a tree."""
        return used_in(node) <= self.own | self.shared

    def conversions_of(self, node: Any) -> Mapping[str, Any]:
        """Return the functions that get such a variable, or another part of the same thing, elsewhere."""
        return self.conversions.get(_holder(node), {})

    def calls_like(self, call: Any) -> Sequence[Any]:
        """Return other calls of what a call calls."""
        same = ast.dump(call)
        return [one for text, one in self.calls.get(_called(call), {}).items() if text != same and self.knows(one)]

    def given_as(self, name: str) -> Sequence[Any]:
        """Return what a key, attribute or argument of a name gets elsewhere."""
        return [one for one in self.given.get(name, {}).values() if self.knows(one)]

    @staticmethod
    def field_of(node: Any) -> tuple[str, str]:
        """Return the name of a thing and the key or attribute of it that a node is; "" twice for others."""
        base = getattr(getattr(node, "value", None), "id", "")
        if base and isinstance(node, ast.Attribute):
            return base, node.attr
        key = getattr(node, "slice", None)
        key = (
            getattr(key, "value", None) if isinstance(getattr(key, "value", None), ast.AST) else key
        )  # Python 3.8
        text = getattr(key, "value", None)
        return (base, text) if base and isinstance(text, str) else ("", "")


class Function:
    """A function or an assignment of a module or a class, with the classes around it."""

    def __init__(self, node: Any, classes: Sequence[str]) -> None:
        self.node = node
        self.classes = tuple(classes)
        self.is_assignment = not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        decorators = getattr(node, "decorator_list", [])
        self.first: int = min([node.lineno, *(one.lineno for one in decorators)])
        self.last: int = node.end_lineno
        self.names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and self.is_assignment}
        self.beside: dict[str, Any] = {}
        """What its file offers to each of its functions."""
        self.unread: Mapping[str, Sequence[Any]] = {}
        """By class: truths that it keeps and nothing in the file asks."""
        self.made: list[Any] = []
        self.made_for: Any = None
        """For which test these changes were made."""
        self._first_defaults = self._constant_defaults()

    def statement_at(self, line: int) -> range:
        """Return the lines of the innermost statement that has a line, of one with a body those above it."""
        best = range(line, line + 1)
        size = self.last - self.first + 2
        for one in ast.walk(self.node):
            if isinstance(one, ast.stmt) and one is not self.node:
                body = getattr(one, "body", None)
                end = max(body[0].lineno - 1, one.lineno) if body else one.end_lineno or one.lineno
                if one.lineno <= line <= end and end - one.lineno < size:
                    best, size = range(one.lineno, end + 1), end - one.lineno
        return best

    def offers(self) -> Offers:
        """Return what a change may use."""
        node = self.node
        own = names_in(node)
        return Offers(
            names=own[:_NAMES],
            own=frozenset(own),
            flags=_flags_in(node),
            texts=_texts_in(node),
            unused=_unused_in(node),
            unread=self.unread.get(self.classes[-1], ()) if self.classes else (),
            **self.beside,
        )

    def forgets(self) -> bool:
        """Say whether it makes or takes something that it never uses, so that a statement may be missing.

        Methods and decorated functions may have to take what they do not use.
        """
        if self.is_assignment:
            return False
        unused = {*_unused_in(self.node)}
        made = (one.targets[0] for one in ast.walk(self.node) if isinstance(one, ast.Assign))
        is_free = not self.classes and not self.node.decorator_list and len(self.node.body) > 1
        taken = {one.arg for one in ast.walk(self.node.args) if isinstance(one, ast.arg)} if is_free else set()
        return any(isinstance(one, ast.Name) and one.id in unused for one in made) or bool(unused & taken)

    def _constant_defaults(self) -> dict[str, Any]:
        return {name: one.value for name, one in _defaults_of(self.node) if isinstance(one, ast.Constant)}

    def defaults(self) -> dict[str, Any]:
        """Return by argument the defaults that are not what they were first."""
        first = self._first_defaults
        return {name: one for name, one in self._constant_defaults().items() if repr(one) != repr(first[name])}

    def lines_of_defaults(self) -> list[int]:
        """Return where constant defaults of arguments stand."""
        return [one.lineno for _, one in _defaults_of(self.node) if isinstance(one, ast.Constant)]

    def alone(self, path: str) -> types.CodeType:
        """Compile an assignment as it is now, without the classes around it."""
        module = ast.Module(body=[self.node], type_ignores=[])
        return compile(ast.fix_missing_locations(module), path, "exec", dont_inherit=True)

    def codes(self, path: str, flags: int) -> list[types.CodeType]:
        """Compile the function as it is now, where it stands, and return its code and that of inner ones."""
        node = self.node
        for name in reversed(self.classes):
            node = ast.ClassDef(name=name, bases=[], keywords=[], body=[node], decorator_list=[])
            vars(node)["type_params"] = []  # Python 3.12 wants it
            ast.copy_location(node, self.node)
        module = ast.Module(body=[node], type_ignores=[])
        ast.fix_missing_locations(module)
        found = [compile(module, path, "exec", flags, dont_inherit=True)]
        for code in found:  # which grows
            found += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        return found


def functions_of(path: str) -> list[Function]:
    """Return the outermost functions of a file, and the assignments of its modules and classes."""
    with open(path, "rb") as file:  # noqa: PTH123 - tests replace much, and this the least
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        return []
    tree = ast.parse(text)
    found = [*_outermost(tree.body, ())]
    beside = {
        "fields": _fields_in(tree),
        "conversions": _conversions_in(tree),
        "calls": _calls_in(tree),
        "given": _given_in(tree),
        "shared": _shared_in(tree),
        "defaults": {name: dict(_defaults_of(node)) for name, node in _definitions_in(tree)},
        "required": {name: _required_of(node) for name, node in _definitions_in(tree)},
    }
    unread = _unread_in(tree)
    for one in found:
        one.beside, one.unread = beside, unread
    return found


def _fields_in(tree: Any) -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for node in ast.walk(tree):
        base, field = Offers.field_of(node)
        if base not in ("", "self", "cls"):
            found.setdefault(base, {}).setdefault(field, node)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):  # as in `"a" in body`
            key = ast.Subscript(value=node.comparators[0], slice=node.left, ctx=ast.Load())
            base, field = Offers.field_of(key)
            if base:
                found.setdefault(base, {}).setdefault(field, key)
    return found


def _conversions_in(tree: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the functions that get nothing else somewhere in a file, by what that is."""
    found: dict[str, dict[str, Any]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            holder = _holder(node.args[0])
            if holder and not node.keywords and not hasattr(builtins, node.func.id):
                found.setdefault(holder, {}).setdefault(node.func.id, node.func)
    return found


def _holder(node: Any) -> str:
    """Return a variable, or that of which a node is a part; "" for others."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return ast.dump(node.value)
    return str(getattr(node, "id", ""))


def _calls_in(tree: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the calls of a file by what is called, of a method by its name alone."""
    found: dict[str, dict[str, Any]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) and (node.args or node.keywords):
            _keep(found, _called(node), node)
    return found


def _called(call: Any) -> str:
    """Return the name of what is called."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _given_in(tree: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return what keys, attributes and named arguments get in a file, but for literals."""
    found: dict[str, dict[str, Any]] = {}
    for node in ast.walk(tree):
        pairs: Any = ()
        if isinstance(node, ast.Dict):
            pairs = [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values)]  # noqa: B905
        elif isinstance(node, ast.keyword):
            pairs = [(node.arg, node.value)]
        elif isinstance(node, ast.Assign):
            pairs = [(Offers.field_of(one)[1], node.value) for one in node.targets]
        for name, value in pairs:
            if isinstance(name, str) and name and not isinstance(value, ast.Constant):
                _keep(found, name, value)
    return found


def _keep(found: dict[str, dict[str, Any]], name: str, node: Any) -> None:
    some = found.setdefault(name, {})
    if len(some) < _ALIKE:
        some.setdefault(ast.dump(node), node)


def _shared_in(tree: Any) -> frozenset[str]:
    """Return the names that a module defines and imports, and Python's own."""
    names = {*dir(builtins)}
    for node in ast.walk(ast.Module(body=[_header(one) for one in tree.body], type_ignores=[])):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
    return frozenset(names)


def _header(node: Any) -> Any:
    """Return a definition without what is in it; others as they are."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return ast.ClassDef(name=node.name, bases=[], keywords=[], body=[], decorator_list=[])
    return node


def used_in(node: Any) -> frozenset[str]:
    """Return the variables of a tree that it does not make itself."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    made = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    made |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    return frozenset(one.id for one in names if one.id not in made)


def _outermost(body: Sequence[Any], classes: tuple[str, ...]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _outermost(node.body, (*classes, node.name))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(node, classes)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(isinstance(one, ast.Name) for one in targets):
                yield Function(node, classes)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _outermost(node.body, classes)
            yield from _outermost(getattr(node, "orelse", []), classes)


def names_in(node: Any) -> list[str]:
    """Return the arguments and variables of a function."""
    names: dict[str, None] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.arg):
            names.setdefault(one.arg)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            names.setdefault(one.id)
    return [*names]


def _defaults_of(node: Any) -> list[tuple[str, Any]]:
    """Return the arguments of a function that have a default, each with the node of that; of others none."""
    given = getattr(node, "args", None)
    if given is None:
        return []
    plain = [*given.posonlyargs, *given.args]
    pairs = [*zip(plain[len(plain) - len(given.defaults) :], given.defaults)]  # noqa: B905 - Python 3.8
    pairs += zip(given.kwonlyargs, given.kw_defaults)  # noqa: B905
    return [(name.arg, one) for name, one in pairs if one is not None]


def _definitions_in(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield the functions and methods of a file by name, of a class its `__init__`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((node.name, one) for one in node.body if getattr(one, "name", "") == "__init__")


def _required_of(node: Any) -> int:
    """Return how many arguments without a default a function has, but for the object of a method."""
    plain = [*node.args.posonlyargs, *node.args.args]
    return len(plain) - len(node.args.defaults) - (bool(plain) and plain[0].arg in ("self", "cls"))


def _unread_in(tree: Any) -> Mapping[str, Sequence[Any]]:
    """Return by class the attributes to which it gives a truth and that nothing in the file reads."""
    read = {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)}
    found: dict[str, dict[str, Any]] = {}
    for holder in (one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)):
        for node in ast.walk(holder):
            if isinstance(node, ast.Assign) and isinstance(getattr(node.value, "value", None), bool):
                for one in node.targets:
                    base, field = Offers.field_of(one)
                    if base == "self" and field not in read and isinstance(one, ast.Attribute):
                        flag = ast.Attribute(value=one.value, attr=one.attr, ctx=ast.Load())
                        found.setdefault(holder.name, {}).setdefault(one.attr, ast.copy_location(flag, one))
    return {name: [*flags.values()] for name, flags in found.items()}


def _flags_in(node: Any) -> list[str]:
    """Return the arguments of a function with a truth as their default, and its variables that hold one."""
    names: dict[str, None] = {
        name: None for name, one in _defaults_of(node) if isinstance(getattr(one, "value", None), bool)
    }
    for one in ast.walk(node):
        if isinstance(one, ast.Assign) and isinstance(one.value, (ast.Compare, ast.BoolOp)):
            names.update((target.id, None) for target in one.targets if isinstance(target, ast.Name))
    return [*names][:_NAMES]


def _unused_in(node: Any) -> list[str]:
    """Return the arguments and variables of a function that it never uses."""
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Store))
    used = {one.id for one in names} | {"self", "cls"}
    return [one for one in names_in(node) if one not in used and not one.startswith("_")][:_NAMES]


def _texts_in(node: Any) -> list[str]:
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return [*dict.fromkeys(one for one in texts if one.isidentifier())]
