"""API coverage: which specified endpoints the source declares, and which the running service implements.

A route counts when its method and its path are the endpoint's: parameters stand for parameters, literal parts for
themselves, whatever their names and a trailing slash. A rest parameter (`<path:id>`) at the end is a parameter; a
route that would merely catch the request (`/files/{id}` for `/files/search`, or `/{*}`) is another endpoint.

What the service answers decides. Where its answers are no evidence, because it answers unknown paths alike, the
routes that its source code declares do.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from groundup.domain.errors import SubmissionError, reading_submission
from groundup.domain.records import Record
from groundup.grading.services.probing import Presence, Probed
from groundup.sources.routes.extraction import read_routes
from groundup.sources.routes.paths import ANY, Route, matches, serves
from groundup.suites.repogenesis.data import ServiceProblem
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


class Coverage(Record):
    """Specified endpoints, as `METHOD /path`, by what is known of them."""

    specified: tuple[str, ...]
    implemented: tuple[str, ...] = ()
    by_source: tuple[str, ...] = ()
    """Those of `implemented` for which the source code had to decide."""
    unclear: tuple[str, ...] = ()
    """Not known to be implemented."""
    failing: tuple[str, ...] = ()
    """They are there, and fail whatever is asked: not implemented."""

    def shortfall(self) -> str:
        """Return in words what is not implemented and why; "" where all is."""
        missing = [one for one in self.specified if one not in (*self.implemented, *self.unclear, *self.failing)]
        kinds = (("are missing", missing), ("always fail", self.failing), ("are unclear", self.unclear))
        parts = [f"{len(ones)} {words}, first {ones[0]}" for words, ones in kinds if ones]
        return (
            f"endpoints: {'; '.join(parts)}; {len(self.implemented)} of {len(self.specified)} count"
            if parts
            else ""
        )

    def as_text(self) -> bytes:
        """Return a line per endpoint, for people."""
        return "".join(f"{self._word(one):<11} {one}\n" for one in self.specified).encode()

    def _word(self, endpoint: str) -> str:
        if endpoint in self.by_source:
            return "by source"
        if endpoint in self.implemented:
            return "implemented"
        if endpoint in self.failing:
            return "failing"
        return "unclear" if endpoint in self.unclear else "missing"


def covered(problem: ServiceProblem, submission: Path, probed: Sequence[Probed]) -> Coverage:
    """Combine what the service answered with what its source code declares."""
    present = {str(one.route) for one in probed if one.presence is Presence.PRESENT}
    unclear = {str(one.route) for one in probed if one.presence is Presence.UNCLEAR}
    failing = {str(one.route) for one in probed if one.presence is Presence.FAILING}
    # The sources decide only where the service's answers are no evidence.
    declared = declared_endpoints(problem, submission) & unclear if unclear else frozenset()
    specified = tuple(str(endpoint) for endpoint in problem.task.endpoints)
    return Coverage(
        specified=specified,
        implemented=tuple(one for one in specified if one in present | declared),
        by_source=tuple(one for one in specified if one in declared),
        unclear=tuple(one for one in specified if one in unclear - declared),
        failing=tuple(one for one in specified if one in failing),
    )


def declared_endpoints(problem: ServiceProblem, submission: Path) -> frozenset[str]:
    """Return the specified endpoints that routes in the source code serve; none where it cannot be read."""
    try:
        with reading_submission("the source code"):
            return frozenset(map(str, declared_in(problem.task.endpoints, submission)))
    except SubmissionError:
        return frozenset()
