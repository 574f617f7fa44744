"""Whether an instance's execution tells anything: its original passes and its masked repository fails, each time.

Results lie in one file beside the data, a line for each instance, the last one counts. A line holds for the very
instance that it was made with, by digest. Finding out is `groundup_factory`'s.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.grading.ci.records import OriginalTests
from groundup.settings import Settings
from groundup.suites.dibench.dataset import InstanceProblem

FILE = "dibench-validity.jsonl"
Which = Literal["oracle", "nop"]
Standing = Literal["valid", "invalid", "not executed", "infrastructure"]
Originals = Mapping[str, OriginalTests]
"""How many tests pass with the original, by task."""


class TryRecord(Record):
    """One execution."""

    subject: Which
    passed: bool | None
    """None: it was not executed."""
    failure: str | None = None
    reason: str = ""
    passed_tests: int | None = None
    """None: its output does not say."""
    lines: dict[str, tuple[int, ...]] = {}
    """By step and runner, how many passed by each line."""
    seconds: float | None = None
    starved: float = 0.0
    """The part of its time that the machine kept from it."""
    cut_short: bool = False
    """Whether it was stopped before it had its time, because the machine kept it waiting for too long."""


class Validity(Record):
    """What was found of one instance."""

    task: str
    instance: str
    language: str
    standing: Standing
    why: str = ""
    tries: tuple[TryRecord, ...] = ()


def instance_key(problem: InstanceProblem) -> str:
    """Return the digest of what is executed: the instance, and its masked build files."""
    masked = [problem.read(path) for path in problem.instance.build_files]
    return digest_of({"instance": problem.instance.digest, "masked": masked})


def validity_file(settings: Settings) -> Path:
    """Return where results lie."""
    return settings.data / FILE


def read_validity(path: Path | None) -> dict[str, Validity]:
    """Return the last line of each task; lines that cannot be read are none."""
    found: dict[str, Validity] = {}
    if path is None or not path.is_file():
        return found
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            one = Validity.model_validate_json(line)
        except ValidationError:
            continue
        found[one.task] = one
    return found


def valid_ids(path: Path | None, problems: Iterable[InstanceProblem]) -> set[str]:
    """Return the ids of problems that were found valid as they are now."""
    return {problem.id for problem, _ in _found_valid(path, problems)}


def known_originals(path: Path | None, problems: Iterable[InstanceProblem]) -> dict[str, OriginalTests]:
    """Return how many tests passed at least in the tries of each original."""
    found = {}
    for problem, one in _found_valid(path, problems):
        tries = [each for each in one.tries if each.subject == "oracle" and each.passed]
        counts = [each.passed_tests for each in tries if each.passed_tests is not None]
        passed = min(counts) if counts and len(counts) == len(tries) else None
        found[problem.id] = OriginalTests(passed=passed, lines=_least([each.lines for each in tries]))
    return found


def _least(tries: Sequence[Mapping[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    """Return the lines that every try has, with the fewest that passed."""
    names = set.intersection(*map(set, tries)) if tries else set()
    return {name: tuple(map(min, zip(*(each[name] for each in tries), strict=False))) for name in sorted(names)}


def _found_valid(
    path: Path | None, problems: Iterable[InstanceProblem]
) -> Iterator[tuple[InstanceProblem, Validity]]:
    """Yield each of *problems* that was found valid as it is now, with what was found."""
    known = read_validity(path)
    for problem in problems:
        one = known.get(problem.id)
        if one is None or one.standing != "valid":
            continue
        try:
            if one.instance == instance_key(problem):
                yield problem, one
        except TaskError:
            continue
