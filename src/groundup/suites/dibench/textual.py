"""The textual graders: what the prediction declares against what the original declared. See docs/dibench.md.

The main score of `strict` is F1 by names: no reading of source code tells which versions somebody once wrote down,
and the published headline is by names too. Exact counts stand beside it.

`official` has the published counts, faults included, so that published scores can be compared. The published code
skips instances without a prediction, and fails as a whole on those whose original it cannot read; here the latter
are graded with an undefined score. Its look-ups by name go through the same registries as the strict grader's, so
a name that no registry can be asked about is counted apart, unlike in the published code.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import reading_submission
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.languages import canonical_name
from groundup.registries.names import NameLookup, Names, ecosystem_of
from groundup.suites.base import Graded, Grader
from groundup.suites.dibench.answers import USUAL, Edited, answer, new_dependencies, original, submitted
from groundup.suites.dibench.dataset import InstanceProblem, Read, as_lines
from groundup.suites.dibench.extra import require_extra
from groundup.suites.dibench.metrics import DependencyCounts, InstanceScore, score_instance
from groundup.suites.dibench.missed import compared, missed_reasons
from groundup.suites.dibench.patches import PatchError
from groundup.suites.dibench.published import (
    PublishedFailureError,
    Reader,
    is_project,
    official_comparison,
    official_names,
)
from groundup.suites.dibench.registry_check import Checked, EditedRepository, Existence, check, tally
from groundup.suites.dibench.sizes import sized, source_size
from groundup.suites.dibench.verdict_facts import counts_of, facts_of, scores_of

_RESERVATION_MB = 128
_REASONS = 4


class TextualGrader(Grader):
    """Reads build files; nothing is installed or run."""

    fixed_points = False  # what is declared and wrong counts, too

    def __init__(self, problems: Mapping[str, InstanceProblem], names: Names) -> None:
        self._problems = problems
        self._names = names

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return a bound for reading a repository's build files."""
        return _RESERVATION_MB

    @override
    def check(self, task: Task) -> None:
        """Raise `MissingExtraError` where this suite's own packages are not installed."""
        require_extra()

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return the instance with its answer, the masked build files, and who is asked for names."""
        problem = self._problems[task.id]
        masked = [problem.read(path) for path in problem.instance.build_files]
        return {"instance": problem.instance.digest, "masked": digest_of(masked), **self._names.identity()}

    @override
    def write_data(self, task: Task, destination: Path) -> bool:
        """Write the instance, others that share its id and so its name, and its masked repository."""
        problem = self._problems[task.id]
        name = problem.instance.instance_id
        for one in self._problems.values():
            if one.instance.instance_id == name:
                with (destination / f"{one.subset}.jsonl").open("ab") as file:
                    file.write(as_lines([one.instance]))
        folder = destination / f"dibench-{problem.subset}-{problem.instance.language}" / name
        folder.parent.mkdir()
        problem.copy_to(folder)
        return True

    def _name_of(self, task: Task) -> GraderIdentity:
        return GraderIdentity(
            name=self.name, version=self.version, data_version=task.data_version, environment="none"
        )


class DIBenchStrictGrader(TextualGrader):
    """Counts right, wrong and missing dependencies, and looks up what was added."""

    name = "strict"
    version = "3"

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Compare and look up."""
        started = time.monotonic()
        problem = self._problems[task.id]
        with reading_submission("the submission"):
            edited = await asyncio.to_thread(submitted, problem, submission)
            found, broken = await asyncio.to_thread(answer, problem, edited)
        score = score_instance(await asyncio.to_thread(sized, found, problem))
        looking = time.monotonic()
        async with self._names.asking() as asking:
            checked = await check(new_dependencies(found), EditedRepository(problem, edited.read), asking)
        timings = {"compare": looking - started, "look up": time.monotonic() - looking}
        compared_names = compared(found, checked, broken)
        reasons = (*_unreadable_files(broken), *missed_reasons(compared_names, _REASONS))[:_REASONS]
        graded = self._graded(task, score, checked, reasons, edited, timings)
        return graded.but(tests=tuple(one.as_result() for one in compared_names))

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Everything that should be declared is missing."""
        graded = self._graded(task, self.missing(task.id), (), (reason,), None, {})
        names = compared(answer(self._problems[task.id], None)[0])
        return graded.but(tests=tuple(one.as_result() for one in names))

    def missing(self, task: str) -> InstanceScore:
        """Return the counts of a prediction that is not there. Raises `TaskError`."""
        problem = self._problems[task]
        return score_instance(answer(problem, None)[0])

    def _graded(
        self,
        task: Task,
        score: InstanceScore,
        checked: tuple[Checked, ...],
        reasons: tuple[Reason, ...],
        edited: Edited | None,
        timings: Mapping[str, float],
    ) -> Graded:
        existence = tally(checked)
        facts = facts_of(score, existence)
        if edited is not None:
            facts |= {"other files": edited.ignored, "unreadable files": sum(_is_broken(one) for one in reasons)}
        verdict = Verdict(
            status=Status.GRADED,
            score=score.total.name_only.f1,
            scores=scores_of(score, existence),
            facts=facts,
            counts=counts_of(score),
            reasons=reasons,
            timings_s={name: round(value, 4) for name, value in timings.items()},
            grader=self._name_of(task),
            cacheable=not existence[Existence.UNVERIFIABLE],  # somebody may be there to ask the next time
        )
        return Graded(verdict=verdict, logs={"dependencies.txt": _log(checked)} if checked else {})


def _is_broken(reason: Reason) -> bool:
    return reason.stage is Stage.INSTALL


def _unreadable_files(broken: Mapping[str, str]) -> Iterator[Reason]:
    for why in broken.values():
        yield Reason(stage=Stage.INSTALL, message=why[:400])


def _log(checked: tuple[Checked, ...]) -> bytes:
    rows = [
        f"{item.existence}\t{item.path}\t{item.dependency.name}\t{item.dependency.constraint}" for item in checked
    ]
    return ("\n".join(rows) + "\n").encode(errors="backslashreplace")


class DIBenchOfficialGrader(TextualGrader):
    """Counts as the published code does."""

    name = "official"
    version = "1"

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
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
        size = source_size(problem.folder(), problem.instance.language)
        score = InstanceScore(
            id=problem.id,
            language=problem.instance.language,
            subset=problem.subset,
            expected=names.true_positives + names.false_negatives,
            lines=size.lines,
            tokens=size.tokens,
            total=total,
        )
        facts = facts_of(score, existence)
        facts["readable"] = comparison is not None
        verdict = Verdict(
            status=Status.GRADED,
            score=names.f1 if comparison is not None else Score(numerator=0, denominator=0),
            scores=scores_of(score, existence),
            facts=facts,
            counts=counts_of(score),
            reasons=reasons,
            grader=self._name_of(task),
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
    """Look up by name whatever the published code sees, wherever it comes from."""
    language = problem.instance.language
    repository = EditedRepository(problem, problem.read)
    found: Counter[Existence] = Counter()
    for path, items in official_names(language, list(problem.instance.build_files), read).items():
        found[Existence.UNVERIFIABLE] += len(items[USUAL:])  # for an hour, registries would be asked for 36,000
        for item in items[:USUAL]:
            if is_project(item):
                inside = repository.has(path, item.name)
                found[Existence.FOUND if inside else Existence.FAKE] += 1
                continue
            listing = await asking.look_up(ecosystem_of(language), canonical_name(language, item.name))
            known = Existence.UNVERIFIABLE if listing is None else Existence.FOUND
            found[Existence.FAKE if listing is not None and not listing.exists else known] += 1
    return found
