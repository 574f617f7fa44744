"""The static grader: API coverage from source code alone. Nothing is installed, started or tested.

The score is what the sources declare; beside it stand the published harness's figure, as it gives it without
Docker, and the older scripts'.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError, reading_submission
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.sources.routes.extraction import read_routes
from groundup.sources.routes.paths import Route
from groundup.suites.base import Graded, Grader
from groundup.suites.repogenesis.coverage import caught_by, declared, implements
from groundup.suites.repogenesis.data import README, ServiceProblem
from groundup.suites.repogenesis.endpoints import Endpoint
from groundup.suites.repogenesis.legacy_rules import legacy_coverage
from groundup.suites.repogenesis.official_rules import official_coverage

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
