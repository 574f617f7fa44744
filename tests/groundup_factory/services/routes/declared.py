"""Sources given as texts, and the routes found in them as texts."""

from collections.abc import Mapping
from textwrap import dedent

from groundup.sources.files import SourceFile
from groundup_factory.services.routes.extraction import routes_in


def routes(sources: Mapping[str, str]) -> list[str]:
    """Return `METHOD /path` of every route, sorted."""
    files = [SourceFile(name, dedent(text).encode()) for name, text in sources.items()]
    return sorted({f"{route.method} {route.path}" for route in routes_in(files)})
