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
_MADE_UP = {Existence.FAKE: "no registry has it", Existence.INTERNAL_MISSING: "the repository does not have it"}


def compared(found: InstanceAnswer, checked: Sequence[Checked] = ()) -> tuple[TestResult, ...]:
    """Return a result for each name that the original or the prediction declares, file by file.

    Each name counts: a missing one in recall, one too many in precision. The detail says what is declared where.
    """
    made_up = {(one.path, name_key(one.dependency)): one.existence for one in checked}
    return tuple(result for file in found.files for result in _of_file(file, made_up))


def _of_file(file: FileAnswer, made_up: Mapping[tuple[str, str], Existence]) -> Iterator[TestResult]:
    wanted = {name_key(one): one for one in file.expected}
    declared = {name_key(one): one for one in file.predicted or ()}
    for key in sorted(wanted.keys() | declared.keys()):
        original, own = wanted.get(key), declared.get(key)
        shown = f"{file.path}::{(original or own or wanted[key]).name or key}"
        if own is None:
            detail = f"missing: the original declares {_words(wanted[key])}"
            yield _result(shown, "missing", detail)
        elif original is None:
            why = _MADE_UP.get(made_up.get((file.path, key), Existence.FOUND), "the original does not declare it")
            detail = f"one too many: {why}; declared as {_words(own)}"
            yield _result(shown, f"one too many: {why}", detail)
        else:
            same = exact_key(original) == exact_key(own)
            detail = "" if same else f"another declaration: {_words(own)}; the original has {_words(original)}"
            yield _result(shown, "", detail)


def _result(shown: str, wrong: str, detail: str) -> TestResult:
    outcome: Literal["passed", "failed"] = "failed" if wrong else "passed"
    return TestResult(id=shown, outcome=outcome, expected=True, message=wrong, detail=detail, kind="dependency")


def _words(dependency: Dependency) -> str:
    text = " ".join(dependency.text.split()) or f"{dependency.name} {dependency.constraint}".strip()
    return f"`{text[:200]}`" + (f" in line {dependency.location.line}" if dependency.location else "")


def missed_reasons(results: Sequence[TestResult]) -> Iterator[Reason]:
    """Yield which dependencies are missing, and which are too many, with their files."""
    for message, words in (("missing", "missing"), ("one too many: the original does not declare it", "too many")):
        names = [" in ".join(reversed(one.id.split("::", 1))) for one in results if one.message == message]
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield Reason(
                stage=Stage.TEST, message=f"{len(names)} {words}: {', '.join(names[:_SHOWN])}{more}"[:240]
            )


class TextScore(NamedTuple):
    """Counts of declarations; what looking up added ones found, None where nobody looked; each name's result."""

    counts: InstanceScore
    existence: Counter[Existence] | None
    results: tuple[TestResult, ...]

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
