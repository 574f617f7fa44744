"""The strict textual grader: what the prediction declares against what the original declared. See docs/dibench.md.

The main score is F1 by names: no reading of source code tells which versions somebody once wrote down, and the
published headline is by names too. Exact counts stand beside it.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Stage, Status, Verdict
from groundup.grading.bench import Bench
from groundup.registries.names import Names
from groundup.suites.base import Graded, Grader
from groundup.suites.dibench.answers import Edited, answer, new_dependencies, submitted
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.metrics import InstanceScore, score_instance
from groundup.suites.dibench.registry_check import Checked, EditedRepository, Existence, check, tally
from groundup.suites.dibench.sizes import source_lines
from groundup.suites.dibench.verdict_facts import facts_of, scores_of

VERSION = "1"
_RESERVATION_MB = 128
_SHOWN = 6


class DIBenchStrictGrader(Grader):
    """Counts right, wrong and missing dependencies, and looks up what was added."""

    name = "strict"
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
        started = time.monotonic()
        problem = self._problems[task.id]
        edited = await asyncio.to_thread(submitted, problem, submission)
        found, broken = await asyncio.to_thread(answer, problem, edited)
        lines = await asyncio.to_thread(source_lines, problem.folder(), problem.instance.language)
        score = score_instance(found.model_copy(update={"lines": lines}))
        compared = time.monotonic()
        async with self._names.asking() as asking:
            checked = await check(new_dependencies(found), EditedRepository(problem, edited.read), asking)
        timings = {"compare": compared - started, "look up": time.monotonic() - compared}
        return self._graded(task, score, checked, _reasons(broken, checked), edited, timings)

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Everything that should be declared is missing."""
        return self._graded(task, self.missing(task.id), (), (reason,), None, {})

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
            reasons=reasons,
            timings_s={name: round(value, 4) for name, value in timings.items()},
            grader=GraderIdentity(
                name=self.name,
                version=self.version,
                data_version=task.data_version,
                environment="none",
            ),
            cacheable=not existence[Existence.UNVERIFIABLE],  # somebody may be there to ask the next time
        )
        return Graded(verdict=verdict, logs={"dependencies.txt": _log(checked)} if checked else {})


def _is_broken(reason: Reason) -> bool:
    return reason.stage is Stage.INSTALL


def _reasons(broken: Mapping[str, str], checked: tuple[Checked, ...]) -> tuple[Reason, ...]:
    broken = {path: why if why.startswith(path) else f"{path}: {why}" for path, why in broken.items()}
    told = [Reason(stage=Stage.INSTALL, message=why[:400]) for why in broken.values()]
    wrong = {Existence.FAKE: "no registry has", Existence.INTERNAL_MISSING: "the repository does not have"}
    for kind, words in wrong.items():
        names = [item.dependency.name for item in checked if item.existence is kind]
        if names:
            listed = ", ".join(names[:_SHOWN]) + (
                f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            )
            told.append(Reason(stage=Stage.TEST, message=f"{words} {listed}"[:400]))
    return tuple(told[:4])


def _log(checked: tuple[Checked, ...]) -> bytes:
    rows = [
        f"{item.existence}\t{item.path}\t{item.dependency.name}\t{item.dependency.constraint}" for item in checked
    ]
    return ("\n".join(rows) + "\n").encode(errors="backslashreplace")
