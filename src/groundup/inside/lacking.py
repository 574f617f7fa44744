"""Names that hidden tests use and a submission lacks, and calls that its signatures do not take: all at once.

A test tells one of them in each round, for it ends there. The trusted runner asks here when its tests have ended:
their text is read, and names are looked up without running anything of the submission. It stands in one process
with untrusted code, needs the standard library only, and works on Python 3.7 to 3.13. What it says is for people.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import linecache
import os
import sys
import time
import types
from collections.abc import Iterator, Sequence
from typing import Any

MOST = 60
"""Lines of one file."""
CHARS = 300
_BUDGET_S = 3.0
"""Processor time of all files."""


class Lacking:
    """Looks for what tests use of *packages*, whose code lies below *roots*; *demands*: that module."""

    def __init__(self, demands: Any, packages: Sequence[str], roots: Sequence[str], tests: Sequence[str]) -> None:
        self._demands = demands
        self._packages = tuple(packages)
        self._roots = tuple(root.rstrip("/") + "/" for root in roots)
        self._tests = tuple(tests)
        self._began = time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)

    def of(self, file: str) -> list[str]:
        """Return what the tests of *file* use and the submission does not have as it is used; [] where unknown."""
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
            return list(dict.fromkeys(line[:CHARS] for line in self._found(tree)))[:MOST]
        except Exception:  # noqa: BLE001 - a hostile object may raise anything when it is looked at
            return []

    def _found(self, tree: ast.Module) -> Iterator[str]:
        names: dict[str, Any] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level and self._is_ours(node.module or ""):
                yield from self._imported_from(node, names)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if self._is_ours(alias.name):
                        if self._is_absent(alias.name):
                            yield "module " + alias.name
                        bound = alias.asname or alias.name.partition(".")[0]
                        names[bound] = _module(alias.name if alias.asname else bound)
        for scope in _functions(tree):
            if time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) - self._began > _BUDGET_S:
                return
            yield from self._used_in(scope, names)

    def _is_ours(self, module: str) -> bool:
        return any(module == name or module.startswith(name + ".") for name in self._packages)

    def _is_absent(self, name: str) -> bool:
        """Whether no file of the submission is the module *name*."""
        path = name.replace(".", "/")
        ends = ("", ".py", ".pyi", ".so")
        return name not in sys.modules and not any(
            os.path.exists(root + path + end)  # noqa: PTH110 - once for each import of a file
            for root in self._roots
            for end in ends
        )

    def _imported_from(self, node: ast.ImportFrom, names: dict[str, Any]) -> Iterator[str]:
        module = _module(node.module or "")
        if node.module not in sys.modules:
            if not self._is_absent(str(node.module)):
                return  # it is there, with an error perhaps: nothing is known of its names
            yield f"module {node.module}"
            return
        for alias in node.names:
            if alias.name == "*":
                names.update(vars(module))
            elif alias.name in vars(module):
                names[alias.asname or alias.name] = vars(module)[alias.name]
            elif _module(node.module + "." + alias.name) is not None:
                names[alias.asname or alias.name] = _module(node.module + "." + alias.name)
            elif "__getattr__" not in vars(module):
                yield f"{node.module}.{alias.name}"

    def _used_in(self, scope: Any, names: dict[str, Any]) -> Iterator[str]:
        """Yield what one function lacks: attributes of modules, classes and objects, and calls that do not fit."""
        known = _Meaning(self._demands, names, self._demands._assigned(scope, scope.end_lineno + 1), set())
        parameters = {one.arg for one in [*scope.args.args, *scope.args.kwonlyargs]}
        guarded = {id(inner) for node in ast.walk(scope) if _expects(node) for inner in ast.walk(node)}
        stored = {node.attr for node in ast.walk(scope) if isinstance(node, ast.Attribute) and _is_stored(node)}
        for node in ast.walk(scope):
            if id(node) in guarded:
                continue
            if isinstance(node, ast.Attribute) and not _is_stored(node) and node.attr not in stored:
                owner = known.meant(node.value)
                if not _shadowed(node, parameters) and self._lacks(owner, node.attr):
                    yield _named(owner) + "." + node.attr
            elif isinstance(node, ast.Call) and not _shadowed(node.func, parameters):
                line = self._misfit(node, known)
                if line:
                    yield line

    def _lacks(self, owner: Any, name: str) -> bool:
        if isinstance(owner, types.ModuleType):
            lies = str(vars(owner).get("__file__") or "").startswith(self._roots)
            return (
                lies
                and name not in vars(owner)
                and "__getattr__" not in vars(owner)
                and _module(owner.__name__ + "." + name) is None
            )
        kind = owner.kind if isinstance(owner, self._demands._Instance) else owner
        if not isinstance(kind, type) or not self._is_ours(kind.__module__) or name.startswith("__"):
            return False
        mro = type.__dict__["__mro__"].__get__(kind)
        if any("__getattr__" in vars(one) or "__getattribute__" in vars(one) for one in mro if one is not object):
            return False
        if any(not self._is_ours(one.__module__) for one in mro if one is not object) and kind is not owner:
            return False  # what a base class of somebody else sets on its objects is not known
        if type(kind) is not type and "__getattr__" in dir(type(kind)):
            return False
        return not any(name in vars(one) or name in _set_on_objects(one) for one in mro)

    def _misfit(self, call: ast.Call, known: _Meaning) -> str:
        """Return a call beside the definition that does not take it."""
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            return ""
        found = known.meant(call.func)
        bound = 0
        if isinstance(call.func, ast.Attribute) and isinstance(found, types.FunctionType):
            owner = known.meant(call.func.value)
            bound = 1 if isinstance(owner, self._demands._Instance) else 0
        if isinstance(found, classmethod):
            found, bound = found.__func__, 1
        elif isinstance(found, staticmethod):
            found = found.__func__
        elif isinstance(found, type):
            if type(found) is not type or "__new__" in vars(found) or dataclasses.is_dataclass(found):
                return ""
            found, bound = (
                next((vars(one)["__init__"] for one in found.__mro__ if "__init__" in vars(one)), None),
                1,
            )
        code = getattr(found, "__code__", None) if isinstance(found, types.FunctionType) else None
        if code is None or "__wrapped__" in vars(found) or not code.co_filename.startswith(self._roots):
            return ""
        if code.co_filename.startswith(self._tests) or (
            code.co_flags & 0x0C and not call.keywords and not call.args
        ):
            return ""
        try:
            inspect.signature(found).bind(
                *[None] * (bound + len(call.args)), **{str(one.arg): None for one in call.keywords}
            )
        except TypeError as problem:
            place = f"{code.co_filename}:{code.co_firstlineno}"
            text = f"{found.__name__}{inspect.signature(found)}"
            return "call {}({}) of {} at {}: {}".format(
                self._demands._cut(_written(call.func), 60),
                ", ".join(map(_written, call.args)) if len(call.args) < 4 else "...",
                text,
                place,
                problem,
            )
        return ""


class _Meaning:
    """What expressions of a test mean, by the names that its file imports and by assignments."""

    def __init__(self, demands: Any, names: dict[str, Any], assigned: Any, busy: set[str]) -> None:
        self._demands, self._names, self._assigned, self._busy = demands, names, assigned, busy

    def meant(self, node: ast.AST) -> Any:
        """Return a module, a class, a function, or an object of a class that was not made; None: not known."""
        if isinstance(node, ast.Name):
            if node.id in self._assigned:
                if node.id in self._busy:
                    return None
                self._busy.add(node.id)
                try:
                    found = self.meant(self._assigned[node.id])
                finally:
                    self._busy.discard(node.id)
                return found if isinstance(found, (self._demands._Instance, type, types.ModuleType)) else None
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.meant(node.value)
            if isinstance(owner, (types.ModuleType, type, self._demands._Instance)):
                return self._demands._attribute(owner, node.attr)
            return None
        if isinstance(node, ast.Call):
            called = self.meant(node.func)
            return self._demands._Instance(called) if isinstance(called, type) and type(called) is type else None
        return None


def _module(name: str) -> Any:
    found = sys.modules.get(name)
    if isinstance(found, types.ModuleType):
        return found
    above, _, last = name.rpartition(".")
    owner = sys.modules.get(above) if above else None
    for folder in getattr(owner, "__path__", ()) if owner is not None else ():
        if any(os.path.exists(os.path.join(str(folder), last + end)) for end in ("", ".py", ".pyi")):  # noqa: PTH110, PTH118
            return types.ModuleType(name)  # it is there, and nothing imported it
    return None


def _functions(tree: ast.Module) -> Iterator[Any]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and hasattr(node, "end_lineno"):
            yield node


def _expects(node: ast.AST) -> bool:
    """Whether code below *node* may fail by intention."""
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return any("raises" in ast.dump(item.context_expr).lower() for item in node.items)
    if isinstance(node, ast.Call):
        return "raises" in ast.dump(node.func).lower() or getattr(node.func, "id", "") in ("hasattr", "getattr")
    return isinstance(node, ast.Try)


def _is_stored(node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _shadowed(node: ast.AST, parameters: set[str]) -> bool:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id in parameters


def _set_on_objects(kind: type) -> set[str]:
    """Return what methods of a class name: any of it may be set on its objects."""
    found = {*getattr(kind, "__annotations__", ()), *vars(kind).get("__slots__", ())}
    for one in list(vars(kind).values()):
        function = getattr(one, "__func__", one)
        function = function.fget if isinstance(function, property) else function
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType):
            found.update(code.co_names)
            found.update(
                inner for part in code.co_consts if isinstance(part, types.CodeType) for inner in part.co_names
            )
            if any(name in ("setattr", "__dict__", "vars") for name in code.co_names):
                return _Anything()
    return found


class _Anything(set):  # type: ignore[type-arg]
    """A set that holds every name."""

    def __contains__(self, name: object) -> bool:
        return True


def _named(owner: Any) -> str:
    kind = getattr(owner, "kind", owner)
    return str(getattr(kind, "__qualname__", None) or getattr(kind, "__name__", "?"))


def _written(node: ast.AST) -> str:
    if hasattr(ast, "unparse"):
        return str(ast.unparse(node))[:80]
    return getattr(node, "attr", None) or getattr(node, "id", None) or "..."
