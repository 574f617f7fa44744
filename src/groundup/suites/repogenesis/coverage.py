"""API coverage: endpoints that the running service implements, or that the published harness finds in the sources.

Strict grading asks the service. An endpoint that is answered as unknown paths are is unclear, and does not count.

The static grader runs nothing. It gives the published harness's figure, as that does without Docker, and beside it
the older scripts'.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError, reading_submission
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.grading.services.probing import Presence, Probed
from groundup.suites.base import Graded, Grader
from groundup.suites.repogenesis.legacy_rules import legacy_coverage
from groundup.suites.repogenesis.official_rules import OfficialCoverage, extract, official_coverage
from groundup.suites.repogenesis.tasks import README, ServiceProblem


class Coverage(Record):
    """Specified endpoints, as `METHOD /path`, by what is known of them."""

    specified: tuple[str, ...]
    implemented: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    """Not known to be implemented: the service answers them as it answers unknown paths."""
    failing: tuple[str, ...] = ()
    """They are there, and fail whatever is asked: not implemented."""
    silent: tuple[str, ...] = ()
    """Not known to be implemented: they were not answered in time."""

    def shortfall(self) -> str:
        """Return in words what is not implemented and why; "" where all is."""
        known = {*self.implemented, *self.unclear, *self.failing, *self.silent}
        missing = [one for one in self.specified if one not in known]
        kinds = (
            ("missing", missing),
            ("always failing", self.failing),
            ("without an answer", self.silent),
            ("unclear", self.unclear),
        )
        parts = [f"{len(ones)} {words}, first {ones[0]}" for words, ones in kinds if ones]
        if self.unclear:
            parts[-1] += " (no answer differs from those of unknown paths)"
        return (
            f"endpoints: {'; '.join(parts)}; {len(self.implemented)} of {len(self.specified)} count"
            if parts
            else ""
        )

    def as_text(self) -> bytes:
        """Return a line per endpoint, for people."""
        return "".join(f"{self._word(one):<11} {one}\n" for one in self.specified).encode()

    def _word(self, endpoint: str) -> str:
        if endpoint in self.implemented:
            return "implemented"
        if endpoint in self.failing:
            return "failing"
        if endpoint in self.silent:
            return "silent"
        return "unclear" if endpoint in self.unclear else "missing"


def covered(problem: ServiceProblem, probed: Sequence[Probed]) -> Coverage:
    """Return what the service answered for each specified endpoint."""
    seen = {str(one.route): one.presence for one in probed}
    specified = tuple(str(endpoint) for endpoint in problem.task.endpoints)

    def those(presence: Presence) -> tuple[str, ...]:
        return tuple(one for one in specified if seen.get(one) is presence)

    return Coverage(
        specified=specified,
        implemented=those(Presence.PRESENT),
        unclear=those(Presence.UNCLEAR),
        failing=those(Presence.FAILING),
        silent=those(Presence.SILENT),
    )


NAME = "static"
VERSION = "2"
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
        problem = self._problems.get(task.id)
        return {"readme": None if problem is None else digest_of(problem.readme)}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Look for the README's endpoints in the sources."""
        with reading_submission("the source code"):
            return await asyncio.to_thread(self._grade, task, submission)

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 of the endpoints that the published harness extracts."""
        score = Score(numerator=0, denominator=len(extract(self._readme(task))))
        return Graded(verdict=_verdict(task, score, {}, (reason,)))

    @override
    def check(self, task: Task) -> None:
        """Ask for the README, whose endpoints are looked for."""
        self._readme(task)

    def _readme(self, task: Task) -> str:
        problem = self._problems.get(task.id)
        if problem is None or problem.readme is None:
            raise TaskError(
                f"this machine has no data of {task.id}; fetch it with `groundup data pull repogenesis`"
            )
        return problem.readme

    def _grade(self, task: Task, submission: Path) -> Graded:
        readme = self._readme(task)
        coverage = official_coverage(readme, submission)
        legacy = legacy_coverage(_own_readme(submission) or readme, submission)
        missing = [one for one in coverage.extracted if one not in coverage.found]
        reasons: tuple[Reason, ...] = ()
        if missing:
            lost = f"{len(missing)} of {len(coverage.extracted)} endpoints"
            sentence = f"{lost} are not found in the sources, first {missing[0]}"
            reasons = (Reason(stage=Stage.TEST, message=printable(sentence)[:400]),)
        verdict = _verdict(
            task,
            Score(numerator=len(coverage.found), denominator=len(coverage.extracted)),
            {"legacy_api_coverage": Score(numerator=legacy.implemented, denominator=legacy.total)},
            reasons,
        )
        return Graded(verdict=verdict, logs={"endpoints.txt": _as_text(coverage)})


def _verdict(task: Task, score: Score, scores: dict[str, Score], reasons: tuple[Reason, ...]) -> Verdict:
    return Verdict(
        status=Status.GRADED,
        score=score,
        scores={"api_coverage": score, **scores},
        reasons=reasons,
        grader=GraderIdentity(name=NAME, version=VERSION, data_version=task.data_version, environment="none"),
    )


def _as_text(coverage: OfficialCoverage) -> bytes:
    """Return a line per endpoint, for people."""
    lines = (f"{'found' if one in coverage.found else 'missing':<7} {one}\n" for one in coverage.extracted)
    return "".join(lines)[:100_000].encode("utf-8", "replace")


def _own_readme(submission: Path) -> str | None:
    """Return the submission's README, which the older scripts read before the task's."""
    path = submission / README
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_README:
        return None
    return path.read_text(encoding="utf-8", errors="ignore")
