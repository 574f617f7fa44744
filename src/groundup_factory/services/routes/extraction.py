"""All routes of a folder, or of files already read. Numbers and sizes are bounded: sources may be hostile."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from groundup.sources.files import LARGEST, SKIPPED_FOLDERS, SourceFile, as_utf8
from groundup_factory.services.routes.configured import django_routes, eve_routes
from groundup_factory.services.routes.paths import Route
from groundup_factory.services.routes.python_project import RouteProject
from groundup_factory.services.routes.python_routers import router_routes
from groundup_factory.services.routes.python_views import handler_routes

_MOST_FILES = 5_000
_MOST_BYTES = 8_000_000
_TEST_FOLDERS = frozenset({"test", "tests", "target", "build", "dist"})
_TEST_FILE = re.compile(r"(test_.*|.*_test|conftest)\.py")


def read_routes(root: Path) -> tuple[Route, ...]:
    """Read the routes that the sources below *root* declare; tests declare none, nor do unreadable files."""
    sources: list[SourceFile] = []
    size = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS | _TEST_FOLDERS)
        for name in sorted(names):
            if not name.endswith(".py") or _TEST_FILE.fullmatch(name):
                continue
            path = Path(folder) / name
            data = _read(path)
            size += len(data)
            if len(sources) >= _MOST_FILES or size > _MOST_BYTES:
                return routes_in(sources)
            sources.append(SourceFile(path.relative_to(root).as_posix(), as_utf8(data)))
    return routes_in(sources)


def routes_in(sources: Iterable[SourceFile]) -> tuple[Route, ...]:
    """Return the routes that *sources* in Python declare, sorted, each once."""
    project = RouteProject(sources)
    found = {
        *router_routes(project),
        *django_routes(project),
        *eve_routes(project),
        *handler_routes(project),
    }
    return tuple(sorted(found, key=lambda route: (route.path, route.method, route.file, route.line)))


def _read(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return b""
        return path.read_bytes()
    except OSError:
        return b""
