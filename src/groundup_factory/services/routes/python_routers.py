"""Routes of Flask, FastAPI, aiohttp and their likes: decorators and calls on applications and routers.

A router's routes count where an application takes the router in, with every prefix on the way. A router that
no application takes in serves nothing, unless some call takes in routers that only a run can show.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import ancestors, line_of, text_of
from groundup_factory.services.routes.paths import ANY, METHODS, Route, from_angles, from_braces, join
from groundup_factory.services.routes.python_project import (
    Arguments,
    Module,
    RouteProject,
    arguments,
    called,
    decorators,
)
from groundup_factory.services.routes.python_views import class_methods

_APPLICATIONS = {
    "Flask": "flask",
    "Quart": "flask",
    "Bottle": "flask",
    "FastAPI": "fastapi",
    "Starlette": "fastapi",
    "Application": "aiohttp",
    "Eve": "eve",
}
_ROUTERS = {
    "Blueprint": "flask",
    "APIRouter": "fastapi",
    "RouteTableDef": "aiohttp",
    "Namespace": "flask",
    "Api": "flask",
}
_VERBS = {method.lower(): method for method in METHODS}
_ATTACHING = {
    "include_router": ("router", "prefix"),
    "register_blueprint": ("blueprint", "url_prefix"),
    "add_namespace": ("ns", "path"),
    "add_routes": ("routes", ""),
}
_MOUNTING = {"mount": ("path", "app"), "add_subapp": ("prefix", "subapp")}
_MOST = 5000
_MOST_PREFIXES = 20

Owner = tuple[str, str]
"""Module and name of an application or router."""


class _Kind(NamedTuple):
    framework: str
    is_router: bool
    prefix: str


class _Attachment(NamedTuple):
    parent: Owner
    child: Owner | None
    """None: the source alone does not show which."""
    prefix: str | None
    replaces: bool
    """Whether the prefix stands instead of the router's own, as with Flask's blueprints."""


class _Declared(NamedTuple):
    owner: Owner
    methods: tuple[str, ...]
    path: str
    framework: str
    file: str
    line: int


def router_routes(project: RouteProject) -> Iterator[Route]:
    """Yield the routes that applications of *project* serve."""
    return _Reader(project).routes()


class _Reader:
    def __init__(self, project: RouteProject) -> None:
        self._project = project
        self._kinds: dict[Owner, _Kind] = {}
        self._attachments: list[_Attachment] = []
        self._declared: list[_Declared] = []
        self._known_prefixes: dict[Owner, list[str]] = {}
        for module in project.modules:
            self._read_kinds(module)
        for module in project.modules:
            self._read_calls(module)
            self._read_decorators(module)

    def routes(self) -> Iterator[Route]:
        for one in self._declared[:_MOST]:
            for prefix in self._prefixes(one.owner):
                path = join([prefix, one.path]) if one.path else prefix or "/"
                read = from_angles(path) if one.framework == "flask" else from_braces(path)
                for method in one.methods:
                    yield Route(method, read, one.framework, one.file, one.line)

    def _read_kinds(self, module: Module) -> None:
        for name, values in module.assignments.items():
            for value in values:
                call = value if value.type == "call" else None
                last = called(call).rpartition(".")[2] if call is not None else ""
                framework = _APPLICATIONS.get(last) or _ROUTERS.get(last)
                if call is not None and framework is not None:
                    prefix = self._own_prefix(module, last, arguments(call))
                    self._kinds[(module.name, name)] = _Kind(framework, last in _ROUTERS, prefix)
                    self._read_construction(module, (module.name, name), last, arguments(call))

    def _own_prefix(self, module: Module, kind: str, given: Arguments) -> str:
        if kind == "Namespace":
            path = self._project.text(module, given.get(None, "path"))
            return path if path is not None else "/" + (self._project.text(module, given.get(0, "name")) or "")
        return self._project.text(module, given.get(None, "url_prefix", "prefix")) or ""

    def _read_construction(self, module: Module, owner: Owner, kind: str, given: Arguments) -> None:
        """Flask-RESTful's Api is taken in by the application that it is given."""
        if kind == "Api":
            app = given.get(0, "app")
            parent = (module.name, "") if app is None else self._owner(module, text_of(app))
            self._attachments.append(_Attachment(parent, owner, None, replaces=False))

    def _read_calls(self, module: Module) -> None:
        for call in module.nodes("call"):
            function = call.child_by_field_name("function")
            if function is None or function.type != "attribute":
                continue
            receiver, name = function.child_by_field_name("object"), function.child_by_field_name("attribute")
            if receiver is None or name is None:
                continue
            given = arguments(call)
            owner = self._owner(module, text_of(receiver).removesuffix(".router"))
            self._read_attachment(module, owner, text_of(name), given)
            self._read_addition(module, owner, text_of(name), given, line_of(call))
            if text_of(name) == "add_route" and len(given.positional) == 2:
                self._read_resource(module, receiver, given, call)
            if text_of(receiver) == "web" and not _is_decorator(call):
                self._declared_verb(module, _enclosing_owner(self, module, call), text_of(name), given, call)

    def _read_attachment(self, module: Module, owner: Owner, name: str, given: Arguments) -> None:
        if name in _ATTACHING:
            keyword, prefix = _ATTACHING[name]
            child, path = given.get(0, keyword), given.get(1 if name == "add_namespace" else None, prefix)
        elif name in _MOUNTING:
            path, child = given.get(0, _MOUNTING[name][0]), given.get(1, _MOUNTING[name][1])
        else:
            return
        if child is None or child.type in ("list", "tuple"):
            return
        found = self._owner(module, text_of(child)) if child.type in ("identifier", "attribute") else None
        known = found if found in self._kinds else None
        text = self._project.text(module, path)
        replaces = name in ("register_blueprint", "add_namespace") and text is not None
        self._attachments.append(_Attachment(owner, known, text, replaces))

    def _read_addition(self, module: Module, owner: Owner, name: str, given: Arguments, line: int) -> None:
        project, first = self._project, given.get(0, "path", "rule")
        if name in ("add_url_rule", "add_api_route"):
            view = given.get(2, "view_func") if name == "add_url_rule" else given.get(1, "endpoint")
            methods = self._methods(module, given, view)
            self._declare(module, owner, methods, project.text(module, first), line)
        elif name == "add_resource" and given.positional:
            answered = tuple(sorted(class_methods(project, module, text_of(given.positional[0]))))
            for node in given.positional[1:]:
                self._declare(module, owner, answered, project.text(module, node), line)
        elif name == "add_route" and len(given.positional) > 2:  # aiohttp's, on a router
            word = project.text(module, given.positional[0]) or ""
            path = project.text(module, given.positional[1])
            if word.upper() in (*METHODS, ANY):
                self._declare(module, owner, (word.upper(),), path, line)
        elif name.startswith("add_") and name.removeprefix("add_") in _VERBS:
            self._declare(module, owner, (_VERBS[name.removeprefix("add_")],), project.text(module, first), line)
        elif name == "add_view" and len(given.positional) > 1:
            answered = tuple(sorted(class_methods(project, module, text_of(given.positional[1]))))
            self._declare(module, owner, answered, project.text(module, first), line)

    def _read_resource(self, module: Module, receiver: Node, given: Arguments, call: Node) -> None:
        """Read aiohttp's `router.add_resource("/users/{id}").add_route("GET", handler)`, also by way of a name."""
        values = [
            value for value in module.assignments.get(text_of(receiver), []) if value.start_byte < call.start_byte
        ]
        resource: Node | None = values[-1] if values else receiver
        while resource is not None and resource.type == "call" and _called_last(resource) == "add":
            resource = arguments(resource).get(0)  # aiohttp_cors: cors.add(router.add_resource(...))
        if resource is None or resource.type != "call" or _called_last(resource) != "add_resource":
            return
        word = (self._project.text(module, given.positional[0]) or "").upper()
        function = resource.child_by_field_name("function")
        router = function.child_by_field_name("object") if function is not None else None
        if router is not None and word in (*METHODS, ANY):
            owner = self._owner(module, text_of(router).removesuffix(".router"))
            path = self._project.text(module, arguments(resource).get(0, "path"))
            self._declare(module, owner, (word,), path, line_of(call))

    def _read_decorators(self, module: Module) -> None:
        for kind in ("function_definition", "class_definition"):
            for definition in module.nodes(kind):
                for decorator in decorators(definition):
                    if decorator.type == "call" and "." in called(decorator):
                        self._read_decorator(module, definition, decorator)

    def _read_decorator(self, module: Module, definition: Node, call: Node) -> None:
        receiver, _, name = called(call).rpartition(".")
        given = arguments(call)
        owner = self._owner(module, receiver)
        if name in _VERBS:
            self._declared_verb(module, owner, name, given, call)
            return
        if name not in ("route", "api_route", "view"):
            return
        path = self._project.text(module, given.get(0, "rule", "path"))
        if definition.type == "class_definition":
            class_name = definition.child_by_field_name("name")
            answered = class_methods(self._project, module, text_of(class_name) if class_name else "")
            self._declare(module, owner, tuple(sorted(answered)), path, line_of(call))
        else:
            self._declare(module, owner, self._methods(module, given, None), path, line_of(call))

    def _declared_verb(self, module: Module, owner: Owner, name: str, given: Arguments, call: Node) -> None:
        if name in _VERBS:
            path = self._project.text(module, given.get(0, "path", "rule"))
            self._declare(module, owner, (_VERBS[name],), path, line_of(call))
        elif name == "view" and len(given.positional) > 1:
            answered = class_methods(self._project, module, text_of(given.positional[1]))
            path = self._project.text(module, given.positional[0])
            self._declare(module, owner, tuple(sorted(answered)), path, line_of(call))

    def _methods(self, module: Module, given: Arguments, view: Node | None) -> tuple[str, ...]:
        named = self._project.texts(module, given.get(None, "methods", "method"))
        if named:
            return tuple(sorted({word.upper() for word in named}))
        if view is not None and view.type == "identifier":  # view = Users.as_view("users")
            view = next((value for _, value in self._project.values(module, text_of(view))), view)
        if view is not None and view.type == "call" and called(view).endswith(".as_view"):
            return tuple(sorted(class_methods(self._project, module, called(view).removesuffix(".as_view"))))
        return ("GET",)

    def _declare(
        self, module: Module, owner: Owner, methods: tuple[str, ...], path: str | None, line: int
    ) -> None:
        if path is None or (path and not path.startswith("/")):
            return
        kind = self._kinds.get(owner)
        if kind is None and not path:
            return
        framework = kind.framework if kind else self._guessed(module)
        self._declared.append(_Declared(owner, methods, path, framework, module.path, line))

    def _guessed(self, module: Module) -> str:
        """Return whose application is handed in, by what the file or else the project imports."""
        for one in (module, *self._project.modules):
            origins = {origin.partition(".")[0] for origin, _ in one.imports.values()}
            for name in ("flask", "fastapi", "aiohttp"):
                if name in origins:
                    return name
        return "python"

    def _owner(self, module: Module, name: str) -> Owner:
        if (module.name, name) in self._kinds:
            return module.name, name
        return self._project.follow(module, name)

    def _prefixes(self, owner: Owner) -> list[str]:
        """Return every prefix under which *owner* is served; none for a router that no call takes in."""
        if owner not in self._known_prefixes:
            self._known_prefixes[owner] = []  # what takes itself in, on whatever way, adds nothing
            self._known_prefixes[owner] = self._found_prefixes(owner)
        return self._known_prefixes[owner]

    def _found_prefixes(self, owner: Owner) -> list[str]:
        kind = self._kinds.get(owner, _Kind("", is_router=False, prefix=""))
        attached = [one for one in self._attachments if one.child == owner]
        if not attached and kind.is_router:
            attached = [one for one in self._attachments if one.child is None and one.parent != owner]
        if not attached and not kind.is_router:
            return [kind.prefix]
        found: dict[str, None] = {}
        for one in attached:
            own = "" if one.replaces else kind.prefix
            for above in self._prefixes(one.parent):
                found[join([above, one.prefix or "", own]).rstrip("/")] = None
        return list(found)[:_MOST_PREFIXES]


def _called_last(call: Node) -> str:
    """Return the last name of what *call* calls, whatever it is called on."""
    function = call.child_by_field_name("function")
    return text_of(function).rpartition(".")[2] if function is not None else ""


def _is_decorator(call: Node) -> bool:
    return call.parent is not None and call.parent.type == "decorator"


def _enclosing_owner(reader: _Reader, module: Module, call: Node) -> Owner:
    """Return whose `add_routes([...])` *call* stands in."""
    for parent, _ in ancestors(call):
        if parent.type == "call" and called(parent).endswith(".add_routes"):
            return reader._owner(module, called(parent).removesuffix(".add_routes").removesuffix(".router"))
    return module.name, ""
