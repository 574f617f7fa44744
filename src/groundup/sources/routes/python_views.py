"""Which methods a Python view answers: functions by decorators and checks, classes by methods and bases."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from groundup.grammars import text_of
from groundup.sources.routes.paths import ANY, METHODS
from groundup.sources.routes.python_project import Module, RouteProject, arguments, called, decorators

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
