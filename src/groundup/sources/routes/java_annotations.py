"""Routes by annotation: Spring, Micronaut, and JAX-RS as Quarkus has it."""

from collections.abc import Iterator

from tree_sitter import Node

from groundup.grammars import captures, line_of, text_of
from groundup.sources.routes.java_project import JavaFile, JavaProject, annotations, methods_of
from groundup.sources.routes.paths import ANY, METHODS, Route, from_braces, join

_SPRING = {f"{method.capitalize()}Mapping": method for method in METHODS}
_MICRONAUT = {method.capitalize(): method for method in METHODS}
_JAX_RS_PACKAGES = ("javax.ws.rs", "jakarta.ws.rs")
_CLIENTS = frozenset({"FeignClient", "RegisterRestClient", "Client", "HttpExchange"})
_PATHS = ("value", "path", "uri", "uris")


def annotated_routes(project: JavaProject, prefixes: dict[str, str]) -> Iterator[Route]:
    """Yield annotated routes; *prefixes* are those that configuration files state, by framework."""
    application = _application_path(project)
    for file in project.files:
        for declaration in file.types():
            on_class = dict(annotations(declaration))
            if not _CLIENTS & on_class.keys():
                yield from _spring(project, file, declaration, on_class, prefixes.get("spring", ""))
                if file.imports_from("io.micronaut"):
                    yield from _micronaut(project, file, declaration, on_class, prefixes.get("micronaut", ""))
                if file.imports_from(*_JAX_RS_PACKAGES):
                    prefix = join([prefixes.get("quarkus", ""), application])
                    yield from _jax_rs(project, file, declaration, on_class, prefix)
        if file.imports_from("org.springframework"):
            yield from _spring_functions(project, file, prefixes.get("spring", ""))


def _paths(project: JavaProject, elements: dict[str, Node]) -> list[str]:
    """Return the paths of an annotation: [""] without any, none where they are unknown."""
    given = next((elements[name] for name in _PATHS if name in elements), None)
    return [""] if given is None else project.texts(given)


def _spring(
    project: JavaProject, file: JavaFile, declaration: Node, on_class: dict[str, dict[str, Node]], prefix: str
) -> Iterator[Route]:
    above = _paths(project, on_class.get("RequestMapping", {}))
    for method in methods_of(declaration):
        for name, elements in annotations(method):
            if name in _SPRING:
                verbs = [_SPRING[name]]
            elif name == "RequestMapping":
                verbs = [word for word in METHODS if word in _words(elements.get("method"))] or [ANY]
            else:
                continue
            for outer in above:
                for inner in _paths(project, elements):
                    path = from_braces(join([prefix, outer, inner]))
                    for verb in verbs:
                        yield Route(verb, "/" + path.lstrip("/"), "spring", file.path, line_of(method))


def _words(node: Node | None) -> list[str]:
    """Return the last names in `{RequestMethod.GET, POST}`."""
    if node is None:
        return []
    items = node.named_children if node.type == "element_value_array_initializer" else [node]
    return [text_of(item).rpartition(".")[2] for item in items]


def _spring_functions(project: JavaProject, file: JavaFile, prefix: str) -> Iterator[Route]:
    """Yield `route().GET("/x", ...)` and `route(GET("/x"), ...)`."""
    if not file.imports_from(
        "org.springframework.web.reactive.function", "org.springframework.web.servlet.function"
    ):
        return
    for _, call in captures("java", "(method_invocation) @found", file.root):
        name, given = call.child_by_field_name("name"), call.child_by_field_name("arguments")
        if name is not None and given is not None and text_of(name) in METHODS and given.named_children:
            path = project.text(given.named_children[0])
            if path is not None:
                yield Route(text_of(name), from_braces(join([prefix, path])), "spring", file.path, line_of(call))


def _micronaut(
    project: JavaProject, file: JavaFile, declaration: Node, on_class: dict[str, dict[str, Node]], prefix: str
) -> Iterator[Route]:
    if "Controller" not in on_class:
        return
    for method in methods_of(declaration):
        for name, elements in annotations(method):
            if name not in _MICRONAUT:
                continue
            for outer in _paths(project, on_class["Controller"]):
                for inner in _paths(project, elements):
                    path = from_braces(join([prefix, outer, inner]))
                    yield Route(_MICRONAUT[name], "/" + path.lstrip("/"), "micronaut", file.path, line_of(method))


def _jax_rs(
    project: JavaProject, file: JavaFile, declaration: Node, on_class: dict[str, dict[str, Node]], prefix: str
) -> Iterator[Route]:
    if "Path" not in on_class:
        return
    for method in methods_of(declaration):
        on_method = dict(annotations(method))
        for verb in METHODS:
            if verb in on_method:
                for outer in _paths(project, on_class["Path"]):
                    for inner in _paths(project, on_method.get("Path", {})):
                        path = from_braces(join([prefix, outer, inner]))
                        yield Route(verb, "/" + path.lstrip("/"), "jax-rs", file.path, line_of(method))


def _application_path(project: JavaProject) -> str:
    for file in project.files:
        if file.imports_from(*_JAX_RS_PACKAGES):
            for declaration in file.types():
                for name, elements in annotations(declaration):
                    if name == "ApplicationPath":
                        return next(iter(_paths(project, elements)), "")
    return ""
