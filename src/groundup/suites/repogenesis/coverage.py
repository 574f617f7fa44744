"""Which specified endpoints source code declares. Pure but for `declared_in`, which reads a folder.

A route counts when its method and its path are the endpoint's: parameters stand for parameters, literal parts for
themselves, whatever their names and a trailing slash. A rest parameter (`<path:id>`) at the end is a parameter; a
route that would merely catch the request (`/files/{id}` for `/files/search`, or `/{*}`) is another endpoint.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from groundup.sources.routes.extraction import read_routes
from groundup.sources.routes.paths import matches, serves
from groundup.sources.routes.records import ANY, Route
from groundup.suites.repogenesis.endpoints import Endpoint, path_shape

_REST = "/{*}"


def declared(endpoints: Iterable[Endpoint], routes: Collection[Route]) -> tuple[Endpoint, ...]:
    """Return those of *endpoints* that one of *routes* implements, in their order."""
    return tuple(endpoint for endpoint in endpoints if any(implements(route, endpoint) for route in routes))


def declared_in(endpoints: Iterable[Endpoint], submission: Path) -> tuple[Endpoint, ...]:
    """Return those of *endpoints* that the sources of *submission* declare, in their order."""
    return declared(endpoints, read_routes(submission))


def implements(route: Route, endpoint: Endpoint) -> bool:
    """Whether *route* is *endpoint*."""
    wanted = path_shape(endpoint.path)
    if not _answers(route, endpoint):
        return False
    own = route.path.removesuffix("/")
    as_parameter = own.removesuffix(_REST) + "/{}" if own.endswith(_REST) and own != _REST else own
    return matches(route.path, wanted) or matches(as_parameter, wanted)


def caught_by(endpoint: Endpoint, routes: Iterable[Route]) -> tuple[Route, ...]:
    """Return the routes on which a request for *endpoint* lands although they are not it."""
    return tuple(
        route
        for route in routes
        if _answers(route, endpoint)
        and not implements(route, endpoint)
        and serves(route.path, path_shape(endpoint.path))
    )


def _answers(route: Route, endpoint: Endpoint) -> bool:
    return route.method in (endpoint.method, ANY)
