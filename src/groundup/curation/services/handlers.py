"""What the sources say of routes: names of parameters, fields that a handler reads, and its authors' descriptions.

Reads syntax trees of Python; executes nothing. What it finds is a first question to the running service, whose
answers decide.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from groundup.curation.services.operations import Kind, Operation, Parameter
from groundup.curation.services.samples import named_kind
from groundup.sources.routes.extraction import read_routes
from groundup.sources.routes.paths import ANY, Route
from groundup.suites.repogenesis.endpoints import path_shape, with_braces

Function = ast.FunctionDef | ast.AsyncFunctionDef
_QUERY = ("args", "query", "query_params", "GET")
_JSON = ("get_json", "json", "data", "loads")
_FORM = ("form", "POST", "values", "post")
_GUARD = re.compile(r"login|token|auth|jwt|protected|permission", re.IGNORECASE)
_BODILY = ("POST", "PUT", "PATCH")
_KINDS: Mapping[str, Kind] = {"int": "integer", "float": "number", "bool": "boolean", "list": "array"}


class Handler(NamedTuple):
    """A function that answers a route."""

    file: str
    function: Function


class Sources:
    """The Python files of a repository that declare routes."""

    def __init__(self, root: Path) -> None:
        """Read the routes below *root*."""
        self.routes: tuple[Route, ...] = tuple(one for one in read_routes(root) if one.file.endswith(".py"))
        self.trees: dict[str, ast.Module] = {}
        for file in sorted({one.file for one in self.routes}):
            try:
                self.trees[file] = ast.parse((root / file).read_bytes())
            except (SyntaxError, ValueError):
                continue

    def handler(self, route: Route) -> Handler | None:
        """Return the function that answers *route*; None where the source does not show it."""
        tree = self.trees.get(route.file)
        if tree is None:
            return None
        around = [node for node in ast.walk(tree) if isinstance(node, Function) and _holds(node, route.line)]
        if around:
            return Handler(route.file, min(around, key=lambda node: (node.end_lineno or 0) - node.lineno))
        named = _named_handlers(tree, route)
        return next((Handler(route.file, one) for one in named), None)

    def operations(self) -> tuple[Operation, ...]:
        """Return the operations that the routes are, each once."""
        found: dict[tuple[str, str], Operation] = {}
        for route in self.routes:
            if "{*}" in route.path:
                continue
            for method in ("GET", "POST") if route.method == ANY else (route.method,):
                one = self._operation(route, method)
                before = found.get(one.shape)  # of two programs in one repository the one that shows more
                if before is None or len(before.body or ()) < len(one.body or ()):
                    found[one.shape] = one
        return tuple(found.values())

    def _operation(self, route: Route, method: str) -> Operation:
        handler = self.handler(route)
        path = self._named_path(route)
        names = re.findall(r"\{(\w+)\}", path)
        whole = self._whole_numbers(route)
        in_path = tuple(
            Parameter(name=name, kind="integer" if name in whole else "string", required=True) for name in names
        )
        if handler is None:
            return Operation(method=method, path=path, in_path=in_path)
        read = list(_fields_read(handler.function))
        query = _distinct(one for where, one in read if where == "query")
        sent = [where for where, _ in read if where != "query"]
        body = _distinct(one for where, one in read if where != "query")
        takes = method in _BODILY
        return Operation(
            method=method,
            path=path,
            told=ast.get_docstring(handler.function) or "",
            in_path=in_path,
            in_query=query,
            body=body if takes else None,
            sends="form" if sent and all(where == "form" for where in sent) else "json",
            secured=any(_GUARD.search(ast.unparse(one)) for one in handler.function.decorator_list),
        )

    def _literals(self, route: Route) -> Iterator[str]:
        """Yield the strings on the route's line that may be its path."""
        tree = self.trees.get(route.file)
        for node in ast.walk(tree) if tree is not None else ():
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if node.lineno - 1 <= route.line <= (node.end_lineno or 0) + 1:
                yield node.value

    def _named_path(self, route: Route) -> str:
        """Return the path of *route* with the names that its parameters have in the source."""
        shape = path_shape(route.path)
        for text in self._literals(route):
            named = with_braces(text)
            bare = path_shape(named)
            if "{}" in bare and shape.endswith(bare.lstrip("/")):
                head = shape[: len(shape) - len(bare.lstrip("/"))].rstrip("/")
                named = f"{_numbered(head)}/{named.lstrip('/')}"
                return named if not route.path.endswith("/") or named.endswith("/") else f"{named}/"
        return _numbered(route.path)

    def _whole_numbers(self, route: Route) -> set[str]:
        return {name for text in self._literals(route) for name in re.findall(r"<int:(\w+)>", text)}


def _numbered(path: str) -> str:
    """Return *path* with a name for each `{}`."""
    parts = path.split("{}")
    if len(parts) == 2:
        return "{id}".join(parts)
    return "".join(f"{part}{{id{at}}}" if at < len(parts) else part for at, part in enumerate(parts, start=1))


def _holds(node: Function, line: int) -> bool:
    first = min((one.lineno for one in node.decorator_list), default=node.lineno)
    return first <= line <= (node.end_lineno or node.lineno) and (bool(node.decorator_list) or line == node.lineno)


def _named_handlers(tree: ast.Module, route: Route) -> Iterator[Function]:
    """Yield functions that a call on the route's line names, or the method of the class that it names."""
    names = {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute) and node.lineno <= route.line <= (node.end_lineno or 0)
    }
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name in names:
            yield node
        if isinstance(node, ast.ClassDef) and (
            node.name in names or node.lineno <= route.line <= (node.end_lineno or 0)
        ):
            yield from (
                one for one in node.body if isinstance(one, Function) and one.name.lower() == route.method.lower()
            )


Where = Literal["query", "json", "form"]


def _fields_read(function: Function) -> Iterator[tuple[Where, Parameter]]:
    """Yield what *function* reads of a request, and from which part of it."""
    holders = dict(_holders(function))
    for node in ast.walk(function):
        place, name, required = _access(node, holders)
        if place is not None and name is not None:
            yield place, Parameter(name=name, kind=_kind_of(name, node, function), required=required)


def _holders(function: Function) -> Iterator[tuple[str, Where]]:
    """Yield local names that hold a part of the request."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            place = _part(node.value)
            if place is not None:
                yield node.targets[0].id, place


def _part(node: ast.AST) -> Where | None:
    """Return which part of a request *node* is; None: none."""
    if isinstance(node, ast.Await | ast.NamedExpr):
        return _part(node.value)
    if isinstance(node, ast.BoolOp):
        return _part(node.values[0])
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "loads":
            return "json"
        return _part(called)
    if isinstance(node, ast.Attribute) and "request" in ast.unparse(node.value).lower():
        if node.attr in _QUERY:
            return "query"
        return "json" if node.attr in _JSON else "form" if node.attr in _FORM else None
    return None


def _access(node: ast.AST, holders: Mapping[str, Where]) -> tuple[Where | None, str | None, bool]:
    """Return the part, the field and whether it must be there, where *node* reads one."""

    def place(inner: ast.AST) -> Where | None:
        return holders.get(inner.id) if isinstance(inner, ast.Name) else _part(inner)

    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return place(node.value), _text(node.slice), True
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("get", "getlist")
    ):
        return place(node.func.value), _text(node.args[0]) if node.args else None, False
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return place(node.comparators[0]), _text(node.left), True
    return None, None, False


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _kind_of(name: str, node: ast.AST, function: Function) -> Kind:
    """Return the kind that a field seems to have: as it is converted, else by its name."""
    if isinstance(node, ast.Call):
        stated = next((one.value for one in node.keywords if one.arg == "type"), None)
        if isinstance(stated, ast.Name) and stated.id in _KINDS:
            return _KINDS[stated.id]
    for call in ast.walk(function):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if call.func.id in _KINDS and call.args and call.args[0] is node:
            return _KINDS[call.func.id]
    return named_kind(name)


def _distinct(found: Iterable[Parameter]) -> tuple[Parameter, ...]:
    kept: dict[str, Parameter] = {}
    for one in found:
        before = kept.get(one.name)
        kept[one.name] = one if before is None else before.but(required=before.required or one.required)
    return tuple(kept.values())


def merged(told: Sequence[Operation], read: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations of a served document, and behind them those that only the sources show."""
    known = {one.shape for one in told}
    return (*told, *(one for one in read if one.shape not in known))
