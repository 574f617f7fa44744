"""The official textual grader: the published counts, faults included, so that published scores can be compared.

The published code skips instances without a prediction, and fails as a whole on those whose original it cannot
read; here the latter are graded with an undefined score. Its look-ups by name are done through the same registries
as the strict grader's, so a name that no registry can be asked about is counted apart, unlike in
the published code.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.bench import Bench
from groundup.registries.names import NameLookup, Names, ecosystem_of
from groundup.suites.base import Graded, Grader
from groundup.suites.dibench.answers import Read, original, submitted
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.metrics import DependencyCounts, InstanceScore
from groundup.suites.dibench.patches import PatchError
from groundup.suites.dibench.published import (
    PublishedFailureError,
    Reader,
    is_project,
    official_comparison,
    official_names,
)
from groundup.suites.dibench.registry_check import EditedRepository, Existence
from groundup.suites.dibench.sizes import source_lines
from groundup.suites.dibench.verdict_facts import facts_of, scores_of

VERSION = "1"
_RESERVATION_MB = 128


class DIBenchOfficialGrader(Grader):
    """Counts as the published code does."""

    name = "official"
    version = VERSION

    def __init__(self, problems: Mapping[str, InstanceProblem], names: Names) -> None:
        self._problems = problems
        self._names = names

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return a bound for reading a repository's build files."""
        return _RESERVATION_MB

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return the instance with its answer, the masked build files, and who is asked for names."""
        problem = self._problems[task.id]
        masked = [problem.read(path) for path in problem.instance.build_files]
        return {"instance": problem.instance.digest, "masked": digest_of(masked), **self._names.identity()}

    @override
    async def grade(self, task: Task, submission: Path, bench: Bench) -> Graded:
        """Compare and look up."""
        problem = self._problems[task.id]
        try:
            edited = await asyncio.to_thread(submitted, problem, submission)
            # A patch that does not fit somewhere fits nowhere, for the published code.
            read = _raising(edited.read) if not edited.broken else _unreadable
        except PatchError:
            read = _unreadable
        return await self._compared(task, read)

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return what the published code says when the prediction cannot be applied."""
        problem = self._problems[task.id]
        try:
            comparison = self._comparison(problem, _unreadable)
        except PublishedFailureError as error:
            return self._verdict(task, None, None, (_failure(error), reason))
        return self._verdict(task, comparison, Counter(), (reason,))

    async def _compared(self, task: Task, read: Reader) -> Graded:
        problem = self._problems[task.id]
        try:
            comparison = await asyncio.to_thread(self._comparison, problem, read)
        except PublishedFailureError as error:
            return self._verdict(task, None, None, (_failure(error),))
        async with self._names.asking() as asking:
            existence = await _looked_up(problem, read, asking)
        return self._verdict(task, comparison, existence, ())

    def _comparison(self, problem: InstanceProblem, read: Reader) -> DependencyCounts:
        instance = problem.instance
        wanted = _raising(original(problem))
        found = official_comparison(instance.language, list(instance.build_files), wanted, read)
        assert found is not None  # only a missing prediction has none, and that is never graded
        return found

    def _verdict(
        self,
        task: Task,
        comparison: DependencyCounts | None,
        existence: Counter[Existence] | None,
        reasons: tuple[Reason, ...],
    ) -> Graded:
        problem = self._problems[task.id]
        total = comparison or DependencyCounts()
        names = total.name_only
        score = InstanceScore(
            id=problem.id,
            language=problem.instance.language,
            subset=problem.subset,
            expected=names.true_positives + names.false_negatives,
            lines=source_lines(problem.folder(), problem.instance.language),
            total=total,
        )
        facts = facts_of(score, existence)
        facts["readable"] = comparison is not None
        verdict = Verdict(
            status=Status.GRADED,
            score=names.f1 if comparison is not None else Score(numerator=0, denominator=0),
            scores=scores_of(score, existence),
            facts=facts,
            reasons=reasons,
            grader=GraderIdentity(
                name=self.name,
                version=self.version,
                data_version=task.data_version,
                environment="none",
            ),
            cacheable=existence is None or not existence[Existence.UNVERIFIABLE],
        )
        return Graded(verdict=verdict)


def _failure(error: PublishedFailureError) -> Reason:
    return Reason(stage=Stage.COLLECTION, message=f"no published score: {error}"[:400])


def _raising(read: Read) -> Reader:
    def raising(path: str) -> bytes:
        data = read(path)
        if data is None:
            raise FileNotFoundError(path)
        return data

    return raising


def _unreadable(path: str) -> bytes:
    raise FileNotFoundError(path)


async def _looked_up(problem: InstanceProblem, read: Reader, asking: NameLookup) -> Counter[Existence]:
    """Look up by name whatever the published code sees, where it comes from or not."""
    language = problem.instance.language
    repository = EditedRepository(problem, problem.read)
    found: Counter[Existence] = Counter()
    for path, items in official_names(language, list(problem.instance.build_files), read).items():
        for item in items:
            if is_project(item):
                inside = repository.has(path, item.name)
                found[Existence.FOUND if inside else Existence.FAKE] += 1
                continue
            listing = await asking.look_up(ecosystem_of(language), _asked(language, item.name))
            known = Existence.UNVERIFIABLE if listing is None else Existence.FOUND
            found[Existence.FAKE if listing is not None and not listing.exists else known] += 1
    return found


def _asked(language: str, name: str) -> str:
    """Return the spelling that snapshots keep: the registry's own."""
    from packaging.utils import canonicalize_name

    if language == "python":
        return canonicalize_name(name)
    return name.lower() if language == "csharp" else name
