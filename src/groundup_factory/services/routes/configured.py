"""Routes that configuration declares: URL configurations of Django and REST framework, and Eve's DOMAIN."""

from collections.abc import Iterator

from tree_sitter import Node

from groundup.grammars import captures, line_of, text_of
from groundup_factory.services.routes.paths import (
    ANY,
    METHODS,
    Holder,
    Route,
    from_angles,
    from_regex,
    holders,
    join,
)
from groundup_factory.services.routes.python_project import Module, RouteProject, arguments, called
from groundup_factory.services.routes.python_views import class_methods, function_methods, view_set

_PATTERNS = "urlpatterns"
_DEPTH = 8
_MOST = 5000
_ROUTERS = ("DefaultRouter", "SimpleRouter")


def django_routes(project: RouteProject) -> Iterator[Route]:
    """Yield the routes that the root URL configurations of *project* lead to."""
    reader = _Reader(project)
    for module in reader.roots():
        yield from reader.configuration(module, _PATTERNS, "", 0)


class _Reader:
    def __init__(self, project: RouteProject) -> None:
        self._project = project
        self._left = _MOST
        """Entries that are still read; configurations may include each other many times."""

    def roots(self) -> list[Module]:
        """Return the configuration that the settings name, else those that no other includes."""
        with_patterns = [one for one in self._project.modules if _PATTERNS in one.assignments]
        for module in self._project.modules:
            for value in module.assignments.get("ROOT_URLCONF", []):
                named = self._project.module(self._project.text(module, value) or "")
                if named in with_patterns and named is not None:
                    return [named]
        included = {
            self._project.module(self._project.text(module, _included_target(call)) or "")
            for module in with_patterns
            for call in module.nodes("call")
            if called(call).rpartition(".")[2] == "include"
        }
        return [module for module in with_patterns if module not in included]

    def configuration(self, module: Module, name: str, prefix: str, depth: int) -> Iterator[Route]:
        """Yield what the list *name* of *module* declares, augmented assignments included."""
        if depth > _DEPTH:
            return
        for value in (*module.assignments.get(name, []), *_augmented(module, name)):
            yield from self._list(module, value, prefix, depth)

    def _list(self, module: Module, value: Node, prefix: str, depth: int) -> Iterator[Route]:
        around = holders(value, ("call", "attribute"), _is_path_call)
        for _, node in captures("python", "[(call) (attribute)] @found", value):
            self._left -= 1
            if self._left < 0:
                return
            above = _path_calls_around(node, around)
            if node.type == "attribute":
                attribute = node.child_by_field_name("attribute")
                if attribute is not None and text_of(attribute) == "urls" and not above:
                    yield from self._router(module, node, prefix)
            elif _is_path_call(node, None):
                parts = [self._part(module, one) for one in reversed(above)]
                yield from self._entry(module, node, join([prefix, *parts]) if above else prefix, depth)

    def _part(self, module: Module, call: Node) -> str:
        text = self._project.text(module, arguments(call).get(0, "route", "regex")) or ""
        return from_angles(text) if called(call).rpartition(".")[2] == "path" else from_regex(text)

    def _entry(self, module: Module, call: Node, prefix: str, depth: int) -> Iterator[Route]:
        target = arguments(call).get(1, "view")
        part = self._part(module, call)
        whole = join([prefix, part]) if part else join([prefix])
        if target is None:
            return
        if target.type == "call" and called(target).rpartition(".")[2] == "include":
            yield from self._included(module, target, whole, depth)
        elif target.type == "attribute" and text_of(target).endswith(".urls"):
            yield from self._router(module, target, whole)
        else:
            for method in sorted(self._methods(module, target)):
                yield Route(method, "/" + whole.lstrip("/"), "django", module.path, line_of(call))

    def _included(self, module: Module, call: Node, prefix: str, depth: int) -> Iterator[Route]:
        target = _included_target(call)
        if target is None:
            return
        text = self._project.text(module, target) if target.type != "attribute" else None
        named = self._project.module(text or "")
        if named is not None:
            yield from self.configuration(named, _PATTERNS, prefix, depth + 1)
        elif target.type == "identifier":
            origin, last = self._project.follow(module, text_of(target))
            owner = self._project.module(origin)
            if owner is not None and last in owner.assignments:
                yield from self.configuration(owner, last, prefix, depth + 1)
        elif target.type == "attribute":
            yield from self._router(module, target, prefix)

    def _router(self, module: Module, urls: Node, prefix: str) -> Iterator[Route]:
        receiver = urls.child_by_field_name("object")
        name = text_of(receiver) if receiver is not None else ""
        origin, last = self._project.follow(module, name)
        owner = self._project.module(origin) or module
        slash = self._slash(owner, last)
        if slash is None:
            return
        for one in self._project.modules:
            for call in one.nodes("call"):
                if called(call).endswith(".register"):
                    registered = called(call).removesuffix(".register")
                    if self._project.follow(one, registered) == (owner.name, last):
                        yield from self._registered(one, call, prefix, slash)

    def _slash(self, module: Module, name: str) -> str | None:
        """Return what a router ends its paths in; None for what is no router."""
        for value in module.assignments.get(name, []):
            if value.type == "call" and called(value).rpartition(".")[2] in _ROUTERS:
                given = arguments(value).get(None, "trailing_slash")
                return "" if given is not None and text_of(given) == "False" else "/"
        return None

    def _registered(self, module: Module, call: Node, prefix: str, slash: str) -> Iterator[Route]:
        given = arguments(call)
        name, views = self._project.text(module, given.get(0, "prefix")), given.get(1, "viewset")
        if name is None or views is None:
            return
        for one in view_set(self._project, module, text_of(views)):
            parts = [prefix, from_regex(name), *(["{}"] if one.detail else []), from_regex(one.path)]
            path = join(["/", *parts]).rstrip("/") + slash
            yield Route(one.method, path, "django", module.path, line_of(call))

    def _methods(self, module: Module, target: Node, depth: int = 0) -> set[str]:
        if target.type != "call":
            return function_methods(self._project, module, text_of(target))
        name = called(target)
        given = arguments(target)
        if name.endswith(".as_view") or name == "as_view":
            actions = given.get(0, "actions")
            if actions is not None and actions.type == "dictionary":
                keys = (pair.child_by_field_name("key") for pair in actions.named_children if pair.type == "pair")
                return {(self._project.text(module, key) or "").upper() for key in keys} & set(METHODS)
            return class_methods(self._project, module, name.removesuffix(".as_view"))
        inner = given.get(0)
        if inner is None or depth > _DEPTH or inner.type not in ("call", "identifier", "attribute"):
            return {ANY}
        return self._methods(module, inner, depth + 1)  # a view in a wrapper, such as csrf_exempt(view)


def _included_target(call: Node) -> Node | None:
    """Return what `include` takes in: alone, or the first of a pair with the application's name."""
    target = arguments(call).get(0, "arg")
    return (
        target.named_children[0]
        if target is not None and target.type == "tuple" and target.named_children
        else target
    )


def _augmented(module: Module, name: str) -> Iterator[Node]:
    for node in module.nodes("augmented_assignment"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and text_of(left) == name:
            yield right


def _is_path_call(node: Node, _: Node | None) -> bool:
    return node.type == "call" and called(node).rpartition(".")[2] in ("path", "re_path", "url")


def _path_calls_around(node: Node, around: dict[int, Holder]) -> list[Node]:
    """Return the calls of `path` and the like that *node* stands in, innermost first."""
    calls: list[Node] = []
    while node.id in around and len(calls) < _DEPTH:
        node = around[node.id].node
        calls.append(node)
    return calls


_DOMAIN = "DOMAIN"
_EVE_DEPTH = 6


def eve_routes(project: RouteProject) -> Iterator[Route]:
    """Yield collection and item routes of every resource; nothing where no Eve is made."""
    made = [
        (module, call)
        for module in project.modules
        for call in module.nodes("call")
        if called(call).rpartition(".")[2] == "Eve"
    ]
    if not made:
        return
    for module, call in made:
        settings = _dictionary(project, module, arguments(call).get(None, "settings"))
        if settings is not None and _DOMAIN in settings:
            yield from _resources(project, settings)
            return
    for module in project.modules:
        if _DOMAIN in module.assignments:
            named = {name: (module, values[-1]) for name, values in module.assignments.items()}
            yield from _resources(project, named)


Settings = dict[str, tuple[Module, Node]]


def _resources(project: RouteProject, settings: Settings) -> Iterator[Route]:
    domain = _dictionary(project, *settings[_DOMAIN])
    prefix = [_setting(project, settings, name) for name in ("URL_PREFIX", "API_VERSION")]
    for name, (module, node) in (domain or {}).items():
        resource = _dictionary(project, module, node) or {}
        url = _setting(project, resource, "url") or name
        path = "/" + join([*prefix, from_angles(url)]).strip("/")
        collection = _methods(project, resource, "resource_methods") or _methods(
            project, settings, "RESOURCE_METHODS"
        )
        item = _methods(project, resource, "item_methods") or _methods(project, settings, "ITEM_METHODS")
        for method in collection or ["GET"]:
            yield Route(method, path, "eve", module.path, line_of(node))
        for method in item or ["GET"]:
            yield Route(method, path + "/{}", "eve", module.path, line_of(node))


def _setting(project: RouteProject, settings: Settings, name: str) -> str:
    return (project.text(*settings[name]) or "") if name in settings else ""


def _methods(project: RouteProject, settings: Settings, name: str) -> list[str]:
    return [word.upper() for word in project.texts(*settings[name])] if name in settings else []


def _dictionary(project: RouteProject, module: Module, node: Node | None, depth: int = 0) -> Settings | None:
    """Read a dictionary, also by name or from `dict(...)`."""
    if node is None or depth > _EVE_DEPTH:
        return None
    if node.type in ("identifier", "attribute"):
        found = project.values(module, text_of(node))
        return _dictionary(project, *found[-1], depth + 1) if found else None
    if node.type == "call" and called(node) == "dict":
        return {name: (module, value) for name, value in arguments(node).keywords.items()}
    if node.type != "dictionary":
        return None
    read: Settings = {}
    for pair in node.named_children:
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        name = project.text(module, key)
        if name is not None and value is not None:
            read[name] = (module, value)
    return read
