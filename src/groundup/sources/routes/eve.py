"""Routes of Eve: resources of the DOMAIN, with the methods that settings allow."""

from collections.abc import Iterator

from tree_sitter import Node

from groundup.grammars import line_of, text_of
from groundup.sources.routes.paths import Route, join
from groundup.sources.routes.python_project import Module, RouteProject, arguments, called

_DOMAIN = "DOMAIN"
_DEPTH = 6


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
        path = "/" + join([*prefix, url.replace("<", "{").replace(">", "}")]).strip("/")
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
    if node is None or depth > _DEPTH:
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
