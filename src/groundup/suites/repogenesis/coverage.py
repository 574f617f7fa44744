"""API coverage: which specified endpoints the source declares, and which the running service implements.

A route counts when its method and its path are the endpoint's: parameters stand for parameters, literal parts for
themselves, whatever their names and a trailing slash. A rest parameter (`<path:id>`) at the end is a parameter; a
route that would merely catch the request (`/files/{id}` for `/files/search`, or `/{*}`) is another endpoint.

What the service answers decides. Where its answers are no evidence, because it answers unknown paths alike, the
routes that its source code declares do. The static grader has these alone; beside its score stand the published
harness's figure, as it gives it without Docker, and the older scripts'.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError, TaskError, reading_submission
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.grading.services.probing import Presence, Probed
from groundup.sources.routes.extraction import read_routes
from groundup.sources.routes.paths import ANY, Route, matches, serves
from groundup.suites.base import Graded, Grader
from groundup.suites.repogenesis.endpoints import Endpoint, path_shape
from groundup.suites.repogenesis.legacy_rules import legacy_coverage
from groundup.suites.repogenesis.official_rules import official_coverage
from groundup.suites.repogenesis.tasks import README, ServiceProblem

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
        kinds = (("missing", missing), ("always failing", self.failing), ("unclear", self.unclear))
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


NAME = "static"
VERSION = "1"
_RESERVATION_MB = 256
_LARGEST_README = 1024 * 1024


class StaticGrader(Grader):
    """Reads a submission's sources, and runs nothing."""

    name = NAME
    version = VERSION

    def __init__(self, problems: Mapping[str, ServiceProblem]) -> None:
        self._problems = problems

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return what reading sources takes."""
        return _RESERVATION_MB

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        problem = self._problem(task)
        return {"task": digest_of(problem.task), "readme": digest_of(problem.readme)}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Compare the sources with the specification."""
        with reading_submission("the source code"):
            return await asyncio.to_thread(self._grade, task, submission)

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 of all endpoints."""
        return Graded(verdict=_verdict(self._problem(task), task.data_version, (), {}, (reason,)))

    @override
    def check(self, task: Task) -> None:
        """Ask for the task's record."""
        self._problem(task)

    def _problem(self, task: Task) -> ServiceProblem:
        try:
            return self._problems[task.id]
        except KeyError as error:
            raise TaskError(
                f"{task.id} is not in this suite's data; run `groundup data pull repogenesis`"
            ) from error

    def _grade(self, task: Task, submission: Path) -> Graded:
        problem = self._problem(task)
        routes = read_routes(submission)
        found = declared(problem.task.endpoints, routes)
        scores: dict[str, Score] = {}
        if problem.readme is not None:
            official = official_coverage(problem.readme, submission)
            legacy = legacy_coverage(_own_readme(submission) or problem.readme, submission)
            scores = {
                "official_api_coverage": _share(len(official.found), len(official.extracted)),
                "legacy_api_coverage": _share(legacy.implemented, legacy.total),
            }
        missing = [one for one in problem.task.endpoints if one not in found]
        reasons: tuple[Reason, ...] = ()
        if missing:
            sentence = (
                f"{len(missing)} of {len(problem.task.endpoints)} endpoints are not declared, first {missing[0]}"
            )
            reasons = (Reason(stage=Stage.TEST, message=sentence[:400]),)
        verdict = _verdict(problem, task.data_version, found, scores, reasons)
        return Graded(verdict=verdict, logs={"endpoints.txt": _told(problem, routes)})


def _verdict(
    problem: ServiceProblem,
    data_version: str,
    found: tuple[Endpoint, ...],
    scores: dict[str, Score],
    reasons: tuple[Reason, ...],
) -> Verdict:
    score = _share(len(found), len(problem.task.endpoints))
    return Verdict(
        status=Status.GRADED,
        score=score,
        scores={"api_coverage": score, **scores},
        reasons=reasons,
        grader=GraderIdentity(name=NAME, version=VERSION, data_version=data_version, environment="none"),
    )


def _share(numerator: int, denominator: int) -> Score:
    return Score(numerator=numerator, denominator=denominator)


def _told(problem: ServiceProblem, routes: tuple[Route, ...]) -> bytes:
    """Return a line per endpoint and per further route: where it is declared, or what would catch its requests."""
    lines = []
    for endpoint in problem.task.endpoints:
        own = next((route for route in routes if implements(route, endpoint)), None)
        caught = next(iter(caught_by(endpoint, routes)), None)
        if own is not None:
            lines.append(f"declared    {endpoint}  {own.file}:{own.line}")
        else:
            lines.append(
                f"missing     {endpoint}" + (f"  caught by {caught.method} {caught.path}" if caught else "")
            )
    others = (one for one in routes if not any(implements(one, endpoint) for endpoint in problem.task.endpoints))
    lines += [f"further     {one.method} {one.path}  {one.file}:{one.line}" for one in others]
    return ("\n".join(lines)[:100_000] + "\n").encode("utf-8", "replace")


def _own_readme(submission: Path) -> str | None:
    """Return the submission's README, which the older scripts read before the task's."""
    path = submission / README
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_README:
        return None
    return path.read_text(encoding="utf-8", errors="ignore")
