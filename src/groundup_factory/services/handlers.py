"""What the sources say of routes: names of parameters, fields that a handler reads, and its authors' descriptions.

Reads syntax trees of Python; executes nothing. What it finds is a first question to the running service, whose
answers decide.

OpenAPI documents among a repository's files, and the functions that they name, as connexion reads them.
"""

import ast
import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import JsonValue

from groundup.grammars import python_tree
from groundup.sources.files import SKIPPED_FOLDERS
from groundup.suites.repogenesis.endpoints import as_method, path_shape, with_braces
from groundup.trees.walking import read_own
from groundup.workflows.workflow import WorkflowError, read_yaml
from groundup_factory.services.operations import Kind, Operation, Parameter, read_openapi
from groundup_factory.services.routes.extraction import read_routes
from groundup_factory.services.routes.paths import ANY, Route
from groundup_factory.services.scenarios import named_kind
from groundup_factory.services.starting import python_files

_LARGEST = 512 * 1024
_MOST = 20
_CONTROLLERS = ("x-openapi-router-controller", "x-swagger-router-controller")


class NamedFunction(NamedTuple):
    """What a document says answers an operation."""

    method: str
    path: str
    module: str
    """With dots."""
    function: str


class WrittenDocument(NamedTuple):
    """An OpenAPI document in a file."""

    operations: tuple[Operation, ...]
    functions: tuple[NamedFunction, ...]


def written_documents(root: Path) -> Iterator[WrittenDocument]:
    """Yield the documents below *root*."""
    files = [path for ending in ("yml", "yaml", "json") for path in root.rglob(f"*.{ending}")]
    for path in sorted(files, key=lambda path: (len(path.parts), path))[: _MOST * 10]:
        if SKIPPED_FOLDERS.isdisjoint(path.relative_to(root).parts) and (document := _read(path)) is not None:
            prefix = _prefix(document)
            operations = tuple(
                one.but(path=prefix + one.path) if "basePath" not in document else one
                for one in read_openapi(document)
            )
            yield WrittenDocument(operations, tuple(_functions(document, prefix)))


def _read(path: Path) -> dict[str, JsonValue] | None:
    data = read_own(path, _LARGEST) or b""
    if not any(word in data for word in (b"openapi", b"swagger")) or b"paths" not in data:
        return None
    try:
        found = json.loads(data) if path.suffix == ".json" else read_yaml(data, path.name)
    except (ValueError, RecursionError, WorkflowError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("paths"), dict) else None


def _prefix(document: dict[str, JsonValue]) -> str:
    """Return the path before all others."""
    base, servers = document.get("basePath"), document.get("servers")
    if isinstance(base, str):
        return base.rstrip("/")
    first = servers[0] if isinstance(servers, list) and servers else None
    address = first.get("url") if isinstance(first, dict) else None
    with contextlib.suppress(ValueError):  # of an address that is none
        return urlsplit(address).path.rstrip("/") if isinstance(address, str) else ""
    return ""


def _functions(document: dict[str, JsonValue], prefix: str) -> Iterator[NamedFunction]:
    paths = document["paths"]
    assert isinstance(paths, dict)
    for path, item in paths.items():
        for word, described in item.items() if isinstance(item, dict) else ():
            method = as_method(word)
            name = described.get("operationId") if isinstance(described, dict) else None
            if method is None or not isinstance(name, str):
                continue
            given = [one.get(key) for one in (described, item) if isinstance(one, dict) for key in _CONTROLLERS]
            whole = ".".join([*[one for one in given if isinstance(one, str)][:1], name])
            module, _, function = whole.rpartition(".")
            yield NamedFunction(method, prefix + path, module, function)


Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
_QUERY = ("args", "query", "query_params", "GET")
_JSON = ("get_json", "json", "data", "loads")
_FORM = ("form", "POST", "values", "post")
_GUARD = re.compile(r"login|token|auth|jwt|protected|permission", re.IGNORECASE)
_BODILY = ("POST", "PUT", "PATCH")
_KINDS: Mapping[str, Kind] = {"int": "integer", "float": "number", "bool": "boolean", "list": "array"}
_ACTIONS: Mapping[tuple[str, bool], str] = {
    ("GET", False): "list",
    ("GET", True): "retrieve",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PATCH", True): "partial_update",
    ("DELETE", True): "destroy",
}
"""Method, and whether the path ends in a parameter -> what Django's view sets call it."""


class Handler(NamedTuple):
    """A function that answers a route."""

    file: str
    function: Function


class Sources:
    """The Python files of a repository, and the routes that they or an OpenAPI document declare."""

    def __init__(self, root: Path, program: frozenset[str] = frozenset()) -> None:
        """Read the routes below *root*; those of the files of a *program*, where it has any."""
        self._root = root
        self.trees: dict[str, ast.Module] = {}
        self.told: tuple[Operation, ...] = ()
        """What an OpenAPI document among the files says."""
        declared = [one for one in read_routes(root) if one.file.endswith(".py")]
        declared = [one for one in declared if one.file in program] or declared
        self.routes: tuple[Route, ...] = (*declared, *self._of_documents())
        for file in sorted({one.file for one in self.routes}):
            self._tree(file)

    def handler(self, route: Route) -> Handler | None:
        """Return the function that answers *route*; None where the source does not show it."""
        tree = self._tree(route.file)
        if tree is None:
            return None
        around = [node for node in ast.walk(tree) if isinstance(node, Function) and _holds(node, route.line)]
        if around:
            return Handler(route.file, min(around, key=lambda node: (node.end_lineno or 0) - node.lineno))
        decorated = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef) and _holds(one, route.line)]
        named = [one for name in _names_at(tree, route) for one in self._defined(name, route.file)]
        for found in (*((route.file, one) for one in decorated), *named):
            function = _answering(found[1], route)
            if function is not None:
                return Handler(found[0], function)
        return None

    def _tree(self, file: str) -> ast.Module | None:
        if file not in self.trees:
            try:
                self.trees[file] = python_tree((self._root / file).read_bytes())
            except (SyntaxError, ValueError, RecursionError, OSError):
                return None
        return self.trees[file]

    @cached_property
    def _definitions(self) -> Mapping[str, list[tuple[str, Definition]]]:
        """Name -> where functions and classes of that name stand."""
        found: dict[str, list[tuple[str, Definition]]] = {}
        for file, _ in python_files(self._root):
            tree = self._tree(file)
            for node in ast.walk(tree) if tree is not None else ():
                if isinstance(node, Function | ast.ClassDef):
                    found.setdefault(node.name, []).append((file, node))
        return found

    def _defined(self, name: str, file: str) -> Sequence[tuple[str, Definition]]:
        """Return what is called *name* in *file*, else the only such thing elsewhere."""
        every = self._definitions.get(name, ())
        own = [one for one in every if one[0] == file]
        return own or (every if len(every) == 1 else ())

    def _of_documents(self) -> Iterator[Route]:
        """Yield the routes of OpenAPI documents that name the functions which answer, as connexion's do."""
        for document in written_documents(self._root):
            found = []
            for one in document.functions:
                ending = one.module.replace(".", "/") + ".py"
                for file, node in self._definitions.get(one.function, ()):
                    if one.module and isinstance(node, Function) and f"/{file}".endswith(f"/{ending}"):
                        found.append(Route(one.method, path_shape(one.path), "openapi", file, node.lineno))
                        break
            yield from found
            self.told = self.told or (document.operations if found else ())

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
        read = list(_FieldsRead(handler.function).found())
        read += _fields_parsed(handler.function, self._tree(handler.file))
        query = _nested([(around, one) for where, around, one in read if where == "query"])
        sent = [where for where, _, _ in read if where != "query"]
        body = _nested([(around, one) for where, around, one in read if where != "query"])
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


def _holds(node: Definition, line: int) -> bool:
    first = min((one.lineno for one in node.decorator_list), default=node.lineno)
    last = node.lineno if isinstance(node, ast.ClassDef) else node.end_lineno or node.lineno
    return first <= line <= last and (bool(node.decorator_list) or line == node.lineno)


def _names_at(tree: ast.Module, route: Route) -> Iterator[str]:
    """Yield the names that are given with the path of *route*, and of what is assigned to those."""
    line = route.line
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.lineno == line and any(map(_text, node.args))
    ]

    def distance(call: ast.Call) -> tuple[bool, int, int]:
        paths = [path_shape(with_braces(text)).strip("/") for node in call.args if (text := _text(node))]
        fits = any(path and path_shape(route.path).endswith(path) for path in paths)
        return not fits, call.end_lineno or 0, call.end_col_offset or 0

    if calls:
        call = min(calls, key=distance)
        given: list[ast.AST] = [*call.args, *(one.value for one in call.keywords)]
    else:
        given = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Name | ast.Attribute) and node.lineno <= line <= (node.end_lineno or 0)
        ]
    names = list(dict.fromkeys(name for node in given for name in _names_in(node)))
    yield from names
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names:
            yield from _names_in(node.value)


def _names_in(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name | ast.Attribute):
            yield one.id if isinstance(one, ast.Name) else one.attr


def _answering(found: Definition, route: Route) -> Function | None:
    """Return the function itself, or the method of a class that answers *route*."""
    if not isinstance(found, ast.ClassDef):
        return found
    own = {one.name.lower(): one for one in found.body if isinstance(one, Function)}
    action = _ACTIONS.get((route.method, route.path.rstrip("/").endswith("}")), "")
    return own.get(route.method.lower()) or own.get(action)


Where = Literal["query", "json", "form"]
Field = tuple[str, ...]
"""The names of a field and of those that it stands in, the outermost first."""


class _Read(NamedTuple):
    """A part of a request, or a field of it."""

    part: Where
    field: Field = ()


class _FieldsRead:
    """What a function reads of a request, and from which part of it."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._held: dict[str, list[tuple[int, _Read]]] = {}
        nodes = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.NamedExpr)]
        for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            read = self._read(node.value)
            if isinstance(target, ast.Name) and read is not None:
                self._held.setdefault(target.id, []).append((node.lineno, read))

    def found(self) -> Iterator[tuple[Where, Field, Parameter]]:
        """Yield each field that is read, with those around it."""
        for node in ast.walk(self._function):
            read, required = self._access(node)
            if read is not None and read.field:
                name = read.field[-1]
                kind = _kind_of(name, node, self._function)
                yield read.part, read.field[:-1], Parameter(name=name, kind=kind, required=required)

    def _read(self, node: ast.AST) -> _Read | None:
        """Return what *node* is of a request; None: nothing."""
        if isinstance(node, ast.Await | ast.NamedExpr):
            return self._read(node.value)
        if isinstance(node, ast.BoolOp):
            return self._read(node.values[0])
        if isinstance(node, ast.Name):
            before = [read for line, read in self._held.get(node.id, ()) if line < node.lineno]
            return before[-1] if before else None
        part = _part(node)
        return _Read(part) if part is not None else self._access(node)[0]

    def _access(self, node: ast.AST) -> tuple[_Read | None, bool]:
        """Return the field that *node* reads, and whether it must be there."""
        inner: ast.AST | None = None
        name, required = None, True
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            inner, name = node.value, _text(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in ("get", "getlist", "pop"):
                inner, name, required = node.func.value, _text(node.args[0]), False
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            inner, name = node.comparators[0], _text(node.left)
        around = self._read(inner) if inner is not None and name is not None else None
        return (None, False) if around is None else (_Read(around.part, (*around.field, name or "")), required)


def _fields_parsed(function: Function, tree: ast.Module | None) -> Iterator[tuple[Where, Field, Parameter]]:
    """Yield the arguments of parsers of Flask-RESTful whose `parse_args` the *function* calls."""
    parsers = {
        ast.unparse(node.func.value).rpartition(".")[2]
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parse_args"
    }
    for node in ast.walk(tree) if tree is not None and parsers else ():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        name = _text(node.args[0])
        if node.func.attr == "add_argument" and ast.unparse(node.func.value) in parsers and name is not None:
            given = {one.arg: ast.unparse(one.value) for one in node.keywords}
            kind = _KINDS.get(given.get("type", ""), named_kind(name) if "type" not in given else "string")
            place: Where = "query" if "args" in given.get("location", "") else "json"
            yield place, (), Parameter(name=name, kind=kind, required=given.get("required") == "True")


def _part(node: ast.AST) -> Where | None:
    """Return which part of a request *node* is; None: none."""
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


def _nested(found: Sequence[tuple[Field, Parameter]]) -> tuple[Parameter, ...]:
    """Return each field once; one in which others stand is an object."""
    kept: dict[str, Parameter] = {}
    within: dict[str, list[tuple[Field, Parameter]]] = {}
    for around, one in found:
        if around:
            within.setdefault(around[0], []).append((around[1:], one))
        else:
            before = kept.get(one.name)
            kept[one.name] = one if before is None else before.but(required=before.required or one.required)
    for name, inner in within.items():
        outer = kept.get(name, Parameter(name=name, required=any(one.required for _, one in inner)))
        kept[name] = outer.but(kind="object", fields=_nested(inner))
    return tuple(kept.values())


def merged(told: Sequence[Operation], read: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations of a served document, and behind them those that only the sources show."""
    known = {one.shape for one in told}
    return (*told, *(one for one in read if one.shape not in known))
