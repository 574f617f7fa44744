"""Finding out whether an instance's execution tells anything, and keeping that beside the data.

The original must pass and the masked repository must fail, each time.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import InfrastructureError, TaskError, UsageError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.grading.ci.records import HIDES, OF_TIME, FailureKind
from groundup.grading.context import GradingContext
from groundup.grading.last_words import speaks_of_time
from groundup.sandbox.deadlines import Starvation, starvation_noted
from groundup.suites.base import Grader
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.execution_validity import (
    Standing,
    TryRecord,
    Validity,
    Which,
    instance_key,
    read_validity,
)
from groundup.suites.dibench.suite import DiBench
from groundup.suites.dibench.verdict_facts import BY_LINE, read_lines
from groundup.trees.writer import disk_errors

_BUSY = 0.15
"""From which part of the time on a machine that kept it from a job may have decided that the job was late."""
_HEAVY = 2 / 3
"""The same for a job that failed at something that does not speak of time."""
_LACKS = frozenset({FailureKind.PROGRAM, FailureKind.SYSTEM_PACKAGE, FailureKind.NEWER_SDK})
"""Failures of an original for want of something that this machine has not."""
_NOT_HERE = re.compile(r"cannot be run here \((?:[^()]*; )?(?:toolchain|sandbox): ")
"""A job that this machine has no toolchain or sandbox for; another one may have, or this one later."""
_CODED = re.compile(r"\berror (?:NU|MSB|CS|NETSDK)\d+")
"""An error that no time mends, whatever its kind."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|[\d.]+")
"""Addresses and durations, which differ from try to try."""
Reference = Callable[[Task, str, Path, GradingContext], Awaitable[None]]
"""Writes a subject's submission, as `Suite.reference` does."""
TryOnce = Callable[[Which, int], Awaitable[Verdict]]
"""Grades the original's or the empty submission once; the number tells tries apart."""


class Validation(Record):
    """Whether grading a task tells anything: its original passes and the empty submission does not, each time."""

    task: str
    standing: Standing
    why: str = ""
    tries: int = 0
    known: bool = Field(default=False, description="found earlier, for the task as it is now")


class ExecutionValidator:
    """Executes originals and masked repositories, and keeps what it finds in the file *path*."""

    def __init__(
        self,
        path: Path,
        problems: Mapping[str, InstanceProblem],
        grader: Grader,
        reference: Reference,
        evidence: Path | None = None,
    ) -> None:
        """Make the validator; the logs of each subject's last execution go to the folder *evidence*."""
        self._evidence = evidence
        self._path = path
        self._problems = problems
        self._grader = grader
        self._reference = reference

    async def validate(
        self, task: Task, times: int, context: Callable[[], GradingContext], *, again: bool
    ) -> Validation:
        """Execute the original and the masked repository, unless it is known how that ends."""
        problem = self._problems[task.id]
        if not again and (found := known_validity(self._path, problem)) is not None:
            return _shown(found, known=True)

        async def try_once(which: Which, number: int) -> Verdict:
            tools = context()
            submission = tools.scratch / "submission"
            submission.mkdir(parents=True)
            await self._reference(task, which, submission, tools)
            graded = await self._grader.grade(task, submission, tools)
            self._keep_logs(which, graded.logs)
            return graded.verdict

        found = await assess(problem, times, try_once)
        keep_validity(self._path, found)
        return _shown(found)

    def _keep_logs(self, which: Which, logs: Mapping[str, bytes]) -> None:
        if self._evidence is None:
            return
        with disk_errors(self._evidence):
            self._evidence.mkdir(parents=True, exist_ok=True)
            for name, content in logs.items():
                (self._evidence / f"{which}-{Path(name).name}").write_bytes(content)


def validator_of(suite: DiBench, evidence: Path | None = None) -> ExecutionValidator:
    """Return what executes originals and masked repositories of *suite*, and keeps logs in *evidence*.

    Raises `UsageError`.
    """
    if suite.validity is None:
        raise UsageError("there is no place for what is found; make the suite from settings")
    return ExecutionValidator(suite.validity, suite.problems, suite.execution_grader(), suite.reference, evidence)


def _shown(found: Validity, *, known: bool = False) -> Validation:
    return Validation(task=found.task, standing=found.standing, why=found.why, tries=len(found.tries), known=known)


def known_validity(path: Path, problem: InstanceProblem) -> Validity | None:
    """Return what was found of the problem as it is now; what a machine's fault was is found again."""
    one = read_validity(path).get(problem.id)
    if one is None or one.standing == "infrastructure" or one.instance != instance_key(problem):
        return None
    return one


def keep_validity(path: Path, found: Validity) -> None:
    """Append a line; a torn last one is ended first. Raises `InfrastructureError`."""
    line = found.model_dump_json().encode() + b"\n"
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            if file.tell() and path.read_bytes()[-1:] != b"\n":
                line = b"\n" + line
            file.write(line)


async def assess(problem: InstanceProblem, times: int, try_once: TryOnce) -> Validity:
    """Execute original and masked repository *times* each, until one disproves the instance.

    Where the machine was busy a try is repeated. What then fails in the same way fails for its own reasons; all
    else that time may have decided is the machine's, and pending.
    """
    tries: list[TryRecord] = []

    def found(standing: Standing, why: str = "") -> Validity:
        return Validity(
            task=problem.id,
            instance=instance_key(problem),
            language=problem.instance.language,
            standing=standing,
            why=why[:400],
            tries=tuple(tries),
        )

    async def tried(subject: Which, number: int) -> TryRecord:
        with starvation_noted() as starvation:
            verdict = await try_once(subject, number)
        tries.append(_record(subject, verdict, starvation))
        return tries[-1]

    for number in range(times):
        for subject in _SUBJECTS:
            whose = "the original" if subject == "oracle" else "the masked repository"
            try:
                last = await tried(subject, number)
                if _is_doubtful(last):
                    first, last = last, await tried(subject, number)
                    if _is_doubtful(last) and not _fails_as(last, first):
                        kept = f"the machine was busy and kept {last.starved:.0%} of the time from {whose}"
                        why = f"{last.reason[:300]}; {kept}: try again when it is quiet"
                        return found("infrastructure", why)
            except InfrastructureError as error:
                return found("infrastructure", str(error))
            except TaskError as error:
                return found("invalid", str(error))
            if (end := _end_of(last, whose, number)) is not None:
                return found(*end)
    return found("valid")


def _end_of(last: TryRecord, whose: str, number: int) -> tuple[Standing, str] | None:
    """Return how an instance stands after a try that disproves it, or that shows nothing; None: it goes on."""
    if last.failure == FailureKind.TIMEOUT:
        return "not executed", f"{whose} takes longer than ci_timeout_s; raise it and use --again: {last.reason}"
    if last.passed is None:
        standing: Standing = "infrastructure" if _NOT_HERE.search(last.reason) else "not executed"
        return standing, last.reason.removeprefix("not executed: ")
    if last.passed == (last.subject == "oracle"):
        return None
    if last.passed:
        return "invalid", f"the masked repository passes (try {number + 1})"
    return _end_of_original(last, number)


def _end_of_original(last: TryRecord, number: int) -> tuple[Standing, str]:
    """Return how an instance stands whose original failed: want of something here disproves nothing."""
    if last.failure == FailureKind.TOOLCHAIN:
        return "infrastructure", f"a toolchain of this machine does not work; mend it and try again: {last.reason}"
    if last.failure in _LACKS:
        return "not executed", f"the original wants what this machine has not: {last.reason}"
    if last.failure == FailureKind.NETWORK:
        return "not executed", f"the original wants the network, which no job has here: {last.reason}"
    if HIDES in last.reason:
        return "not executed", f"the original wants what the cut-off hides (see ci_exclude_newer): {last.reason}"
    return "invalid", f"the original fails (try {number + 1}): {last.reason}".rstrip(": ")


def _is_doubtful(last: TryRecord) -> bool:
    """Whether it may be the machine's doing that a try did not pass."""
    timed_out = last.failure == FailureKind.TIMEOUT
    if last.cut_short or timed_out:
        return last.cut_short or last.starved >= _BUSY
    if last.subject != "oracle" or last.failure not in OF_TIME or _CODED.search(last.reason):
        return False
    return last.starved >= (_BUSY if _mentions_time(last) else _HEAVY)


def _fails_as(last: TryRecord, first: TryRecord) -> bool:
    """Whether a try failed as the one before it, at something that is no matter of a busy machine.

    A job whose time was up had all of it, unless it was cut short: its clock stands still while others keep it
    waiting. A test's own clock does not.
    """
    if last.cut_short or (last.failure, _NUMBERS.sub("", last.reason)) != (
        first.failure, _NUMBERS.sub("", first.reason)
    ):  # fmt: skip
        return False
    return last.failure == FailureKind.TIMEOUT or last.starved < _HEAVY or not _mentions_time(last)


def _mentions_time(last: TryRecord) -> bool:
    """Whether what went wrong speaks of time; the name of the step, such as `pytest --timeout 60`, may."""
    return speaks_of_time(last.reason.rpartition(" (step ")[0] or last.reason)


def _record(subject: Which, verdict: Verdict, starvation: Starvation) -> TryRecord:
    value = verdict.score.value if verdict.score else None
    failure = verdict.facts.get("failure")
    return TryRecord(
        subject=subject,
        passed=None if value is None else value == 1.0,
        failure=str(failure) if failure else None,
        reason=verdict.reasons[0].message if verdict.reasons else "",
        passed_tests=count if isinstance(count := verdict.facts.get("tests passed"), int) else None,
        lines=read_lines(verdict.facts.get(BY_LINE)),
        seconds=verdict.timings_s.get("all"),
        starved=round(starvation.share, 3),
        cut_short=starvation.gave_up and verdict.by_time,
    )


_SUBJECTS: tuple[Which, ...] = ("oracle", "nop")
