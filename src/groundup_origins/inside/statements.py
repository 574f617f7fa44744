"""The statements of a file, and what each reads, calls, gives a value and changes: by names alone.

`blame` asks. It stands in one process with untrusted code, needs the standard library only, and works on Python
3.9 to 3.13.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import Any

_STORES = (
    "append", "add", "update", "pop", "remove", "insert", "setdefault", "extend", "clear", "discard", "create",
    "save", "delete", "execute", "put", "write", "set",
    "sort", "reverse",
)  # fmt: skip
"""How names of methods begin that change something."""
_GETS = ("get", "pop", "setdefault", "getlist")
_TABLE = re.compile(r"\b(?:INTO|UPDATE|FROM|TABLE)\s+(?:IF NOT EXISTS\s+)?(\w+)", re.IGNORECASE)
_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
_BLOCKS = ("body", "orelse", "finalbody", "handlers")
_EMPTY = ("dict", "list", "set", "deque", "count")
"""What makes something empty, as classes do."""
_COMPUTES = (
    ast.Call, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.IfExp, ast.comprehension,
)  # fmt: skip
_ROUTES = ("get", "post", "put", "patch", "delete", "head", "options", "route", "api_route")
"""How decorators are called that let a function answer requests."""
_EXITS = (ast.Raise, ast.Return, ast.Continue, ast.Break)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


class Statements:
    """Those of a file."""

    def __init__(self, text: str) -> None:
        self.first: dict[int, Any] = {}
        """By the line where they begin."""
        self.at: dict[int, Any] = {}
        """By each of their lines, the innermost one."""
        self.parts: dict[int, Any] = {}
        """Values of keys in a statement of several lines, as statements, by their lines."""
        self.above: dict[Any, Any] = {}
        """The statement around one in its function; None for none."""
        self.function: dict[Any, Any] = {}
        """That of each; None in modules and classes."""
        self.functions: dict[str, list[Any]] = {}
        self.shared: dict[str, list[Any]] = {}
        """Those of the module and of classes by the name that they give a value."""
        tree = ast.parse(text)
        self._walk(tree, None, None)
        self.names = {getattr(one, "id", "") or getattr(one, "attr", "") for one in ast.walk(tree)}
        """All that are used."""
        for one in [*self.first.values()]:
            for _, value in given(one):
                if value.lineno not in self.first:
                    self.parts.setdefault(value.lineno, ast.copy_location(ast.Expr(value), value))

    def _walk(self, node: Any, above: Any, function: Any) -> None:
        for field in _BLOCKS:
            for one in getattr(node, field, None) or ():
                if not isinstance(one, (ast.stmt, ast.ExceptHandler)):
                    continue
                self.above[one], self.function[one] = above, function
                self.first.setdefault(one.lineno, one)
                self.at.update(dict.fromkeys(range(one.lineno, (one.end_lineno or one.lineno) + 1), one))
                if isinstance(one, FUNCTIONS):
                    self.functions.setdefault(one.name, []).append(one)
                elif function is None:
                    for name in stored(one):
                        self.shared.setdefault(name, []).append(one)
                self._walk(
                    one,
                    None if isinstance(one, FUNCTIONS) else one,
                    one if isinstance(one, FUNCTIONS) else function,
                )

    def unregistered(self) -> list[Any]:
        """Return the functions of the module that no decorator hands on, where others are handed on so."""
        own = [one for some in self.functions.values() for one in some if self.function[one] is None]
        bare = [one for one in own if not one.decorator_list and self.above[one] is None]
        return bare if len(bare) < len(own) else []

    def node(self, line: int) -> Any:
        """Return the statement that begins at a line, or the part of one."""
        return self.parts.get(line) or self.first[line]

    def whole(self, line: int) -> int:
        """Return where the statement begins that has the part at a line."""
        return int(self.at[line].lineno) if line in self.parts else line

    def around(self, line: int) -> Any:
        """Return the function of what begins at a line; None in modules and classes."""
        return self.function[self.first[self.whole(line)]]

    def giving(self, line: int, key: str) -> int:
        """Return the line where the statement that begins at one gives a key its value."""
        return next((int(value.lineno) for name, value in given(self.first[line]) if name == key), line)

    def begins_empty(self, name: str) -> bool:
        """Say whether the module makes something empty of this name, such as a list."""
        held = [one for one in self.shared.get(name, ()) if isinstance(one, (ast.Assign, ast.AnnAssign))]
        return bool(held) and all(one.value is not None and is_empty(one.value) for one in held)

    def declaring(self, field: str) -> Iterator[int]:
        """Yield lines of the module and of classes that declare a field, or have it as a key."""
        for one in self.shared.get(field, ()):
            yield one.lineno
        for line, one in self.first.items():
            if self.function[one] is None and any(name == field for name, _ in given(one)):
                yield self.giving(line, field)


def _parts(statement: Any) -> Iterator[Any]:
    """Yield the parts of a statement without those of statements below it."""
    for field, held in ast.iter_fields(statement):
        for one in held if isinstance(held, list) else [held]:
            if isinstance(one, ast.AST) and field not in _BLOCKS:
                yield from ast.walk(one)


def given(statement: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys to which a statement gives a value in a dict or a call, with the value."""
    for one in () if isinstance(statement, DEFINITIONS) else _parts(statement):
        if isinstance(one, ast.Dict):
            for key, value in zip(one.keys, one.values):  # noqa: B905 - Python 3.8
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(one, ast.Call):
            yield from ((keyword.arg, keyword.value) for keyword in one.keywords if keyword.arg)


@functools.cache
def loaded(statement: Any) -> frozenset[str]:
    """Return the variables that a statement reads."""
    return frozenset(
        one.id for one in _parts(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    )


@functools.cache
def stored(statement: Any) -> frozenset[str]:
    """Return the variables that a statement sets, or changes by a part or a method of them."""
    found = set()
    for one in _parts(statement):
        held = one
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr.startswith(_STORES):
            held = one.func.value
        elif not isinstance(getattr(one, "ctx", None), (ast.Store, ast.Del)):
            continue
        while isinstance(held, (ast.Attribute, ast.Subscript, ast.Starred)):
            held = held.value
        if isinstance(held, ast.Name):
            found.add(held.id)
    return frozenset(found)


@functools.cache
def changes(statement: Any) -> bool:
    """Say whether a statement may change what is stored, and not just a variable of its function."""
    for one in _parts(statement):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            is_read = one.func.attr == "pop" and not isinstance(statement, ast.Expr)
            if one.func.attr.startswith(_STORES) and not is_read:
                return True
        elif isinstance(one, (ast.Subscript, ast.Attribute)) and not isinstance(one.ctx, ast.Load):
            return True
    return False


@functools.cache
def named(statement: Any) -> frozenset[str]:
    """Return all names in a statement, of variables and attributes: what it may call."""
    parts = [*_parts(statement)]
    return frozenset(
        [one.id for one in parts if isinstance(one, ast.Name)]
        + [one.attr for one in parts if isinstance(one, ast.Attribute)]
    )


@functools.cache
def keys(statement: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys, attributes and tables that a statement reads, and those that it writes."""
    parts = [*_parts(statement)]
    methods = {one.func for one in parts if isinstance(one, ast.Call)}
    read: set[str] = set()
    written = {name for name, _ in given(statement)}
    for one in parts:
        into = read if isinstance(getattr(one, "ctx", None), ast.Load) else written
        if isinstance(one, ast.Subscript):
            part = getattr(one.slice, "value", one.slice)  # an index of its own in Python 3.8
            name = getattr(part, "value", part)
            into.update([name] if isinstance(name, str) else ())
        elif isinstance(one, ast.Attribute) and one not in methods:
            into.add(one.attr)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _GETS:
            name = getattr(one.args[0], "value", None) if one.args else None
            read.update([name] if isinstance(name, str) else ())
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            (written if _WRITES.search(one.value) else read).update(_TABLE.findall(one.value))
    return frozenset(read), frozenset(written)


@functools.cache
def constants(statement: Any) -> frozenset[str]:
    """Return the constants in a statement, as Python writes them."""
    return frozenset(repr(one.value) for one in _parts(statement) if isinstance(one, ast.Constant))


@functools.cache
def text_of(statement: Any) -> str:
    """Return all that a statement has, those below it included, as a text."""
    return ast.dump(statement)


@functools.cache
def computing(statement: Any) -> int:
    """Return how many parts of a statement compute something."""
    return sum(isinstance(one, _COMPUTES) for one in _parts(statement))


def is_route(function: Any) -> bool:
    """Say whether a function answers requests, by its decorators."""
    return any(
        isinstance(one, ast.Call) and getattr(one.func, "attr", "") in _ROUTES for one in function.decorator_list
    )


def is_guard(statement: Any) -> bool:
    """Say whether a statement is a condition that keeps what stands below it from running."""
    return isinstance(statement, ast.If) and isinstance(statement.body[-1], _EXITS)


def is_empty(value: Any) -> bool:
    """Say whether an expression only makes something empty, such as a list or a lock."""
    called = value.func if isinstance(value, ast.Call) and not value.args and not value.keywords else None
    name = getattr(called, "attr", "") or getattr(called, "id", "")
    return bool(name in _EMPTY or name[:1].isupper()) or not any(
        isinstance(part, (ast.Constant, ast.Name)) for part in ast.walk(value)
    )
