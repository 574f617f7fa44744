"""What a prediction missed and made up, name by name, and what of it stands beside the outcome of a CI job."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from groundup.domain.errors import reading_submission
from groundup.domain.verdicts import Reason, Stage, TestResult
from groundup.manifests.records import Dependency
from groundup.registries.names import Names
from groundup.suites.dibench.answers import Edited, answer, new_dependencies
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.metrics import (
    FileAnswer,
    InstanceAnswer,
    InstanceScore,
    exact_key,
    name_key,
    score_instance,
)
from groundup.suites.dibench.registry_check import Checked, EditedRepository, Existence, check, tally
from groundup.suites.dibench.sizes import sized

_SHOWN = 6
_LONGEST = 300
MISSING = "missing"
OTHERWISE = "declared otherwise"
_TOO_MANY = {
    Existence.FAKE: "no registry has it",
    Existence.INTERNAL_MISSING: "the repository does not have it",
    Existence.FOUND: "the original does not declare it",
}
_ORDER = (*_TOO_MANY.values(), MISSING, OTHERWISE)


class NameFound(NamedTuple):
    """A name that the original or the prediction declares in one file, and what is wrong with it."""

    path: str
    name: str
    wrong: str
    """One of `_ORDER`; empty: both declare it alike."""
    line: int | None = None
    """Where it stands: in the original's file what is missing, in the prediction's all else."""
    detail: str = ""

    def as_result(self) -> TestResult:
        """Return it as a test: passed where both declare the name, for each name counts.

        A missing one counts in recall, one too many in precision.
        """
        lost = self.wrong not in ("", OTHERWISE)
        outcome: Literal["passed", "failed"] = "failed" if lost else "passed"
        message = f"one too many: {self.wrong}" if lost and self.wrong != MISSING else self.wrong
        name = f"{self.path}::{self.name}"
        return TestResult(
            id=name, outcome=outcome, expected=True, message=message, detail=self.detail, kind="dependency"
        )


def compared(found: InstanceAnswer, checked: Sequence[Checked] = ()) -> tuple[NameFound, ...]:
    """Return each name that the original or the prediction declares, file by file."""
    made_up = {(one.path, name_key(one.dependency)): one.existence for one in checked}
    return tuple(result for file in found.files for result in _of_file(file, made_up))


def _of_file(file: FileAnswer, made_up: Mapping[tuple[str, str], Existence]) -> Iterator[NameFound]:
    wanted = {name_key(one): one for one in file.expected}
    declared = {name_key(one): one for one in file.predicted or ()}
    for key in sorted(wanted.keys() | declared.keys()):
        original, own = wanted.get(key), declared.get(key)
        found = NameFound(file.path, (original or own or wanted[key]).name or key, "")
        if own is None:
            detail = f"missing: the original declares {_words(wanted[key])}"
            yield found._replace(wrong=MISSING, line=_line(wanted[key]), detail=detail)
        elif original is None:
            existence = made_up.get((file.path, key), Existence.FOUND)
            why = _TOO_MANY.get(existence, _TOO_MANY[Existence.FOUND])
            detail = f"one too many: {why}; declared as {_words(own)}"
            yield found._replace(wrong=why, line=_line(own), detail=detail)
        elif exact_key(original) != exact_key(own):
            detail = f"declared otherwise: {_words(own)}; the original has {_words(original)}"
            yield found._replace(wrong=OTHERWISE, line=_line(own), detail=detail)
        else:
            yield found


def _line(dependency: Dependency) -> int | None:
    return dependency.location.line if dependency.location else None


def _words(dependency: Dependency) -> str:
    text = " ".join(dependency.text.split()) or f"{dependency.name} {dependency.constraint}".strip()
    line = _line(dependency)
    return f"`{text[:200]}`" + (f" in line {line}" if line else "")


def missed_reasons(found: Sequence[NameFound], stage: Stage = Stage.TEST) -> Iterator[Reason]:
    """Yield which names are made up, too many, missing or declared otherwise, each with file and line.

    Lines of what is missing are the original's.
    """
    for wrong in _ORDER:
        places = [
            f"{one.name} in {one.path}" + (f":{one.line}" if one.line else "")
            for one in found
            if one.wrong == wrong
        ]
        if places:
            more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
            said = wrong if wrong in (MISSING, OTHERWISE) else f"too many, {wrong}"
            text = f"{len(places)} {said}: {', '.join(places[:_SHOWN])}{more}"
            yield Reason(stage=stage, message=text[:_LONGEST])


class TextScore(NamedTuple):
    """Counts of declarations; what the look-up of added ones found, None without one; each name."""

    counts: InstanceScore
    existence: Counter[Existence] | None
    names: tuple[NameFound, ...]

    @property
    def is_looked_up(self) -> bool:
        """Whether no name was out of reach: somebody may be there to ask the next time."""
        return self.existence is None or not self.existence[Existence.UNVERIFIABLE]


async def text_score(problem: InstanceProblem, edited: Edited, names: Names | None) -> TextScore:
    """Compare what *edited* declares with the original. Raises `SubmissionError`."""
    with reading_submission("the submission"):
        found = await asyncio.to_thread(lambda: answer(problem, edited)[0])
        counts = await asyncio.to_thread(lambda: score_instance(sized(found, problem)))
    if names is None:
        return TextScore(counts, None, compared(found))
    async with names.asking() as asking:
        checked = await check(new_dependencies(found), EditedRepository(problem, edited.read), asking)
    return TextScore(counts, tally(checked), compared(found, checked))


def nothing_declared(problem: InstanceProblem) -> TextScore:
    """Return the score of what could not be taken in."""
    found = answer(problem, None)[0]
    return TextScore(score_instance(found), None, compared(found))
