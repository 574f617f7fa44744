"""Which methods a Python view answers, and routes of servers whose handlers are classes (Tornado, http.server).

Tornado's tables are pairs of a pattern and a handler's class. A handler of http.server has no table: what its
`do_GET`, and the methods of its own that this calls, compare with a path is a route.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from groundup.grammars import ancestors, captures, line_of, text_of
from groundup_factory.services.routes.paths import ANY, METHODS, Route, from_alternatives
from groundup_factory.services.routes.python_project import Module, RouteProject, arguments, called, decorators

_MOST_CLASSES = 40
_CHECKED = re.compile(r"request\.method(?:\.upper\(\))?\s*(?:==|!=|in|not in)\s*([^:\n]{1,120})")
_NAMED = re.compile(r"['\"](" + "|".join(METHODS) + r")['\"]")
_DECORATED = {"require_GET": ("GET",), "require_POST": ("POST",), "require_safe": ("GET", "HEAD")}

_ACTIONS = {
    "list": ("GET", False),
    "create": ("POST", False),
    "retrieve": ("GET", True),
    "update": ("PUT", True),
    "partial_update": ("PATCH", True),
    "destroy": ("DELETE", True),
}
_MIXINS = {
    "ListModelMixin": ("list",),
    "CreateModelMixin": ("create",),
    "RetrieveModelMixin": ("retrieve",),
    "UpdateModelMixin": ("update", "partial_update"),
    "DestroyModelMixin": ("destroy",),
    "ModelViewSet": tuple(_ACTIONS),
    "ReadOnlyModelViewSet": ("list", "retrieve"),
}
_GENERICS = {
    "ListAPIView": ("GET",),
    "CreateAPIView": ("POST",),
    "RetrieveAPIView": ("GET",),
    "UpdateAPIView": ("PUT", "PATCH"),
    "DestroyAPIView": ("DELETE",),
    "ListCreateAPIView": ("GET", "POST"),
    "RetrieveUpdateAPIView": ("GET", "PUT", "PATCH"),
    "RetrieveDestroyAPIView": ("GET", "DELETE"),
    "RetrieveUpdateDestroyAPIView": ("GET", "PUT", "PATCH", "DELETE"),
    "TokenObtainPairView": ("POST",),
    "TokenRefreshView": ("POST",),
    "TokenVerifyView": ("POST",),
    "TokenBlacklistView": ("POST",),
    "ObtainAuthToken": ("POST",),
    "TemplateView": ("GET",),
    "RedirectView": ("GET",),
    "ListView": ("GET",),
    "DetailView": ("GET",),
    "CreateView": ("GET", "POST"),
    "FormView": ("GET", "POST"),
    "UpdateView": ("GET", "POST"),
    "DeleteView": ("GET", "POST"),
}
_BARE_CLASSES = frozenset(
    {"View", "APIView", "GenericAPIView", "MethodView", "Resource", "HTTPEndpoint", "object"}
)


class ViewSetRoute:
    """One action of a view set: its method, whether it is about one object, and its own path below."""

    def __init__(self, method: str, detail: bool, path: str = "") -> None:
        self.method = method
        self.detail = detail
        self.path = path


def class_methods(project: RouteProject, module: Module, name: str) -> set[str]:
    """Return the methods that class *name* answers; `*` for one that the project does not define."""
    classes, foreign = lineage(project, module, name)
    methods = {word.upper() for _, node in classes for word, _ in _functions(node)} & set(METHODS)
    for base in foreign:
        methods |= set(_GENERICS.get(base, () if classes or base in _BARE_CLASSES else (ANY,)))
    allowed = _allowed(project, classes)
    return methods if allowed is None else methods & allowed


def function_methods(project: RouteProject, module: Module, name: str) -> set[str]:
    """Return the methods that Django's function *name* answers: by decorators, else by what it compares."""
    found = project.definition(module, name)
    if found is None or found[1].type != "function_definition":
        return {ANY}
    owner, node = found
    for decorator in decorators(node):
        last = (called(decorator) if decorator.type == "call" else text_of(decorator)).rpartition(".")[2]
        if last in _DECORATED:
            return set(_DECORATED[last])
        if last in ("api_view", "require_http_methods"):
            given = arguments(decorator).get(0, "http_method_names", "request_method_list")
            return {word.upper() for word in project.texts(owner, given)} or {"GET"}
    checks = " ".join(match.group(1) for match in _CHECKED.finditer(text_of(node)))
    return set(_NAMED.findall(checks)) or {ANY}


def view_set(project: RouteProject, module: Module, name: str) -> Iterator[ViewSetRoute]:
    """Yield what a router makes of the view set *name*."""
    classes, foreign = lineage(project, module, name)
    actions = {word for _, node in classes for word, _ in _functions(node)}
    actions |= {action for base in foreign for action in _MIXINS.get(base, ())}
    allowed = _allowed(project, classes)
    for action, (method, detail) in _ACTIONS.items():
        if action in actions and (allowed is None or method in allowed):
            yield ViewSetRoute(method, detail)
    for owner, node in classes:
        yield from _extra_actions(project, owner, node)


def lineage(project: RouteProject, module: Module, name: str) -> tuple[list[tuple[Module, Node]], list[str]]:
    """Return the class *name* with its bases that the project defines, and the last names of the others."""
    classes: list[tuple[Module, Node]] = []
    foreign: list[str] = []
    waiting = [(module, name)]
    while waiting and len(classes) + len(foreign) < _MOST_CLASSES:
        owner, wanted = waiting.pop(0)
        found = project.definition(owner, wanted)
        if found is None or found[1].type != "class_definition" or found in classes:
            foreign.append(wanted.rpartition(".")[2])
            continue
        classes.append(found)
        waiting += [(found[0], base) for base in _bases(found[1])]
    return classes, foreign


def _extra_actions(project: RouteProject, module: Module, node: Node) -> Iterator[ViewSetRoute]:
    for name, function in _functions(node):
        for decorator in decorators(function):
            if decorator.type == "call" and called(decorator).rpartition(".")[2] == "action":
                given = arguments(decorator)
                detail = given.get(0, "detail")
                path = project.text(module, given.get(None, "url_path")) or name
                methods = project.texts(module, given.get(1, "methods")) or ["get"]
                for method in methods:
                    yield ViewSetRoute(method.upper(), detail is not None and text_of(detail) == "True", path)


def _functions(node: Node) -> Iterator[tuple[str, Node]]:
    body = node.child_by_field_name("body")
    for child in body.named_children if body is not None else ():
        inner = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
        name = inner.child_by_field_name("name") if inner is not None else None
        if inner is not None and inner.type == "function_definition" and name is not None:
            yield text_of(name), inner


def _bases(node: Node) -> list[str]:
    given = node.child_by_field_name("superclasses")
    children = given.named_children if given is not None else []
    return [text_of(child) for child in children if child.type in ("identifier", "attribute")]


def _allowed(project: RouteProject, classes: list[tuple[Module, Node]]) -> set[str] | None:
    """Return the `http_method_names` that hold for a class; None where it has none."""
    for module, node in classes:
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None else ():
            inner = (
                child.named_children[0] if child.type == "expression_statement" and child.named_children else child
            )
            left = inner.child_by_field_name("left") if inner.type == "assignment" else None
            if left is not None and text_of(left) == "http_method_names":
                return {word.upper() for word in project.texts(module, inner.child_by_field_name("right"))}
    return None


_PLAIN_HANDLERS = frozenset({"BaseHTTPRequestHandler", "SimpleHTTPRequestHandler"})
_TORNADO_HANDLERS = frozenset({"RequestHandler", "StaticFileHandler", "WebSocketHandler"})
_TORNADO_ENTRIES = ("url", "URLSpec")
_MATCHING = ("match", "fullmatch", "compile")
_DO = "do_"
_MOST_CALLED = 50
_METHOD = re.compile(r"['\"](" + "|".join(METHODS) + r")['\"]")


def handler_routes(project: RouteProject) -> Iterator[Route]:
    """Yield the routes of all handlers' classes in *project*."""
    for module in project.modules:
        yield from _tornado(project, module)
        for node in module.nodes("class_definition"):
            name = node.child_by_field_name("name")
            if name is not None and _is_handler(project, module, text_of(name), _PLAIN_HANDLERS):
                yield from _Plain(project, module, text_of(name)).routes()


def _is_handler(project: RouteProject, module: Module, name: str, bases: frozenset[str]) -> bool:
    classes, foreign = lineage(project, module, name)
    return bool(classes) and not bases.isdisjoint(foreign)


def _tornado(project: RouteProject, module: Module) -> Iterator[Route]:
    """Yield what pairs `(r"/users/([0-9]+)", Users)` and calls `url(r"/users", Users)` declare."""
    entries = [(node.named_children, node) for node in module.nodes("tuple")]
    entries += [
        (list(arguments(call).positional), call)
        for call in module.nodes("call")
        if called(call).rpartition(".")[2] in _TORNADO_ENTRIES
    ]
    for parts, node in entries:
        if len(parts) < 2 or parts[1].type not in ("identifier", "attribute"):
            continue
        pattern, name = project.text(module, parts[0]), text_of(parts[1])
        if pattern is None or not pattern.startswith(("/", "^/")):
            continue
        if _is_handler(project, module, name, _TORNADO_HANDLERS):
            for method in sorted(class_methods(project, module, name)):
                for path in from_alternatives(pattern):
                    yield Route(method, path, "tornado", module.path, line_of(node))


class _Plain:
    """One handler of http.server."""

    def __init__(self, project: RouteProject, module: Module, name: str) -> None:
        self._project = project
        classes, _ = lineage(project, module, name)
        self._functions: dict[str, tuple[Module, Node]] = {}
        self._aliases: dict[str, str] = {}
        for owner, node in classes:
            self._read_body(owner, node)

    def routes(self) -> Iterator[Route]:
        """Yield what each `do_` method compares."""
        for method in METHODS:
            for owner, function in self._reached(_DO + method):
                for node, path in self._compared(owner, function):
                    if method in (_asked_methods(node, function) or (method,)):
                        yield Route(method, path, "http.server", owner.path, line_of(node))

    def _read_body(self, owner: Module, node: Node) -> None:
        body = node.child_by_field_name("body")
        for _, function in captures("python", "(function_definition) @found", body) if body else ():
            name = function.child_by_field_name("name")
            if name is not None:
                self._functions.setdefault(text_of(name), (owner, function))
        for _, assignment in captures("python", "(assignment) @found", body) if body else ():
            left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
            while right is not None and right.type == "assignment":  # do_GET = do_POST = answer
                right = right.child_by_field_name("right")
            if left is not None and right is not None and left.type == right.type == "identifier":
                self._aliases.setdefault(text_of(left), text_of(right))

    def _reached(self, name: str) -> Iterator[tuple[Module, Node]]:
        """Yield the method *name* and those of the class's own that it calls, directly or not."""
        waiting, seen = [self._aliases.get(name, name)], set[str]()
        while waiting and len(seen) < _MOST_CALLED:
            wanted = waiting.pop(0)
            found = self._functions.get(wanted)
            if found is None or wanted in seen:
                continue
            seen.add(wanted)
            yield found
            calls = (called(call) for _, call in captures("python", "(call) @found", found[1]))
            waiting += [word.removeprefix("self.") for word in calls if word.startswith("self.")]

    def _compared(self, owner: Module, function: Node) -> Iterator[tuple[Node, str]]:
        for _, node in captures("python", "(comparison_operator) @found", function):
            if not _is_negative(node):
                for side in node.named_children:
                    yield from ((node, text) for text in self._paths(owner, side))
        for _, node in captures("python", "[(case_pattern) (union_pattern)] @found", function):
            for side in node.named_children:
                yield from ((node, text) for text in self._paths(owner, side))
        for _, node in captures("python", "(call) @found", function):
            last = called(node).rpartition(".")[2] or text_of(node).partition("(")[0].rpartition(".")[2]
            text = self._project.text(owner, self._pattern(owner, node)) or ""
            if last == "startswith" and text.startswith("/") and len(text) > 1:
                yield node, text.rstrip("/") + "/{}" + self._ending(owner, node)
            elif last in _MATCHING and text.startswith(("/", "^/")):
                yield from ((node, path) for path in from_alternatives(text))

    def _pattern(self, owner: Module, call: Node) -> Node | None:
        """Return what *call* is given first, or the pattern that it is called on (`USER = re.compile(...)`)."""
        values = self._project.values(owner, called(call).rpartition(".")[0])
        compiled = [value for _, value in values if value.type == "call" and called(value).endswith("compile")]
        return arguments(compiled[0] if len(compiled) == 1 else call).get(0, "pattern")

    def _paths(self, owner: Module, node: Node) -> list[str]:
        return [text for text in self._project.texts(owner, node) if text.startswith("/")]

    def _ending(self, owner: Module, node: Node) -> str:
        """Return the "/done" of `path.startswith("/tasks/") and path.endswith("/done")`."""
        parent = node.parent
        for _, call in (
            captures("python", "(call) @found", parent) if parent and parent.type == "boolean_operator" else ()
        ):
            if called(call).rpartition(".")[2] == "endswith":
                text = self._project.text(owner, arguments(call).get(0)) or ""
                return text if text.startswith("/") else ""
        return ""


def _is_negative(comparison: Node) -> bool:
    return any(child.type in ("!=", "not in") for child in comparison.children)


def _asked_methods(node: Node, function: Node) -> set[str]:
    """Return the methods that the conditions around *node*, and beside it, name; none where no condition does."""
    named: set[str] = set()
    for parent, child in ancestors(node):
        if parent == function:
            break
        if parent.type == "boolean_operator":
            named |= set(_METHOD.findall(text_of(parent)))
        elif parent.type in ("if_statement", "elif_clause") and child == parent.child_by_field_name("consequence"):
            condition = parent.child_by_field_name("condition")
            named |= set(_METHOD.findall(text_of(condition))) if condition is not None else set()
    return named
