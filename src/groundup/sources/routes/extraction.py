"""All routes of a folder, or of files already read. Numbers and sizes are bounded: sources may be hostile."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from groundup.sources.files import LARGEST, SKIPPED_FOLDERS, SourceFile, as_utf8
from groundup.sources.routes.configured import django_routes, eve_routes
from groundup.sources.routes.java_routes import JavaProject, annotated_routes, called_routes
from groundup.sources.routes.paths import Route
from groundup.sources.routes.python_project import RouteProject
from groundup.sources.routes.python_routers import router_routes
from groundup.sources.routes.python_views import handler_routes

_MOST_FILES = 5_000
_MOST_BYTES = 8_000_000
_TEST_FOLDERS = frozenset({"test", "tests", "target", "build", "dist"})
_TEST_FILE = re.compile(r"(test_.*|.*_test|conftest)\.py|.*Tests?\.java")
_CONFIGURATION = re.compile(r"application(-[\w-]+)?\.(properties|ya?ml)")
_PREFIX_KEYS = {
    "spring": ("server.servlet.context-path", "spring.mvc.servlet.path", "spring.webflux.base-path"),
    "micronaut": ("micronaut.server.context-path",),
    "quarkus": (
        "quarkus.http.root-path",
        "quarkus.rest.path",
        "quarkus.resteasy-reactive.path",
        "quarkus.resteasy.path",
    ),
}


def read_routes(root: Path) -> tuple[Route, ...]:
    """Read the routes that the sources below *root* declare; tests declare none, nor do unreadable files."""
    sources: list[SourceFile] = []
    configurations: dict[str, bytes] = {}
    size = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS | _TEST_FOLDERS)
        for name in sorted(names):
            is_configuration = _CONFIGURATION.fullmatch(name) is not None
            if not is_configuration and (not name.endswith((".py", ".java")) or _TEST_FILE.fullmatch(name)):
                continue
            path = Path(folder) / name
            data = _read(path)
            size += len(data)
            if len(sources) >= _MOST_FILES or size > _MOST_BYTES:
                return routes_in(sources, configurations)
            relative = path.relative_to(root).as_posix()
            if is_configuration:
                configurations[relative] = data
            else:
                sources.append(SourceFile(relative, as_utf8(data)))
    return routes_in(sources, configurations)


def routes_in(
    sources: Iterable[SourceFile], configurations: Mapping[str, bytes] | None = None
) -> tuple[Route, ...]:
    """Return the routes that *sources* declare, sorted, each once; *configurations* are `application.*` files."""
    every = list(sources)
    python = RouteProject(source for source in every if source.suffix == ".py")
    java = JavaProject(source for source in every if source.suffix == ".java")
    prefixes = _prefixes(configurations or {})
    found = {
        *router_routes(python),
        *django_routes(python),
        *eve_routes(python),
        *handler_routes(python),
        *annotated_routes(java, prefixes),
        *called_routes(java, prefixes),
    }
    return tuple(sorted(found, key=lambda route: (route.path, route.method, route.file, route.line)))


def _read(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return b""
        return path.read_bytes()
    except OSError:
        return b""


def _prefixes(configurations: Mapping[str, bytes]) -> dict[str, str]:
    """Return the paths that configuration puts before all routes, by framework."""
    stated: dict[str, str] = {}
    for name in sorted(configurations, key=lambda one: (one.count("/"), one)):
        text = as_utf8(configurations[name]).decode("utf-8", "replace")
        read = _properties(text) if PurePosixPath(name).suffix == ".properties" else _yaml(text)
        for key, value in read.items():
            stated.setdefault(key, value)
    return {
        framework: "/".join(stated[key].strip("/") for key in keys if stated.get(key, "").strip("/"))
        for framework, keys in _PREFIX_KEYS.items()
    }


def _properties(text: str) -> dict[str, str]:
    pairs = re.findall(r"(?m)^[ \t]*([\w.-]+)[ \t]*[=:][ \t]*(\S*)", text)
    return {key: value for key, value in pairs if value.startswith("/")}


def _yaml(text: str) -> dict[str, str]:
    """Read nested mappings of plain values, as prefixes are stated; `${X:/default}` is its default."""
    stack: list[tuple[int, str]] = []
    read: dict[str, str] = {}
    for match in re.finditer(r"(?m)^([ ]*)([\w.-]+):[ \t]*(?:['\"]?(?:\$\{\w+:)?(/[^\s'\"#}]*))?", text):
        indent = len(match.group(1))
        while stack and stack[-1][0] >= indent:
            stack.pop()
        stack.append((indent, match.group(2)))
        if match.group(3) and len(stack) < 20:
            read[".".join(key for _, key in stack)] = match.group(3)
    return read
