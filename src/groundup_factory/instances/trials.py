"""Executing instances of DI-Bench's kind: originals must pass, empty submissions fail.

Where that is not so while one is made, a runner-up of its jobs is tried: sets and single instances go by one rule.
Knows nothing of how an instance is made (`making`).
"""

import asyncio
import contextlib
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from groundup.domain.errors import InfrastructureError, TaskError, UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.episodes.backends import backends
from groundup.grading.ci.records import HIDES
from groundup.grading.context import GradingContext
from groundup.registries.names import names_of
from groundup.settings import Settings, environment
from groundup.suites.base import Tables
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.execution_validity import Validity, read_validity
from groundup.suites.dibench.suite import DiBench
from groundup.suites.opening import open_suite
from groundup.trees.scratch import scratch_folder
from groundup_factory.instances.validity import Validation, validator_of

_MOST_JOBS = 3
"""Of a repository, which are executed one after another until one shows something."""
_VARYING = re.compile(r" \(step .*|\d+")
"""What differs between two jobs that end by one cause."""
M = TypeVar("M")


class FailedJob(Record):
    """A job that ran here and showed nothing of its dependencies."""

    title: str
    cause: str
    why: str
    shared: bool = False
    """Whether the repository's other jobs would end by the same cause."""

    def ends_as(self, other: "FailedJob") -> bool:
        """Whether both ended by one cause."""
        return self.cause == other.cause and _VARYING.sub("", self.why) == _VARYING.sub("", other.why)


class JobsFailedError(TaskError):
    """No job that was tried shows anything; its text is what the best one showed."""

    def __init__(self, failed: tuple[FailedJob, ...]) -> None:
        super().__init__(failed[0].why)
        self.failed = failed


class InstanceTrial:
    """The one instance that lies in a folder of data, ready to be executed and graded."""

    def __init__(self, suite: DiBench, validity: Path, context: Callable[[], GradingContext]) -> None:
        self.suite = suite
        self.context = context
        (self.task,) = suite.tasks()
        self._validity = validity

    async def execute(self, job: str, times: int, evidence: Path | None = None) -> FailedJob | None:
        """Execute its original and its masked repository; None: the original passes, and the other fails.

        Logs go to the folder *evidence*. Raises `InfrastructureError` for a fault of the machine.
        """
        found = await validator_of(self.suite, evidence).validate(self.task, times, self.context, again=False)
        if found.standing == "infrastructure":
            raise InfrastructureError(found.why)
        if found.standing == "valid":
            return None
        cause = _cause(read_validity(self._validity)[self.task.id])
        why = f"{found.standing}: {found.why}"
        return FailedJob(title=job, cause=cause, why=why, shared=HIDES in found.why)


@contextlib.asynccontextmanager
async def instance_trial(data: Path, validity: Path, settings: Settings) -> AsyncIterator[InstanceTrial]:
    """Yield the trial of the instance in *data*; how executions end is kept in the file *validity*."""
    names = names_of(settings.registry, settings.cache_dir, environment())
    suite = DiBench(read_dataset(data), names, validity, settings.ci_exclude_newer, settings.ci_timeout_s)
    async with _contexts(settings) as context:
        yield InstanceTrial(suite, validity, context)


@contextlib.asynccontextmanager
async def _contexts(settings: Settings) -> AsyncIterator[Callable[[], GradingContext]]:
    """Yield what returns tools for one execution, around a new folder."""
    numbers = itertools.count()
    with scratch_folder("validate") as scratch:
        async with backends(settings.sandbox, settings) as tools:

            def context() -> GradingContext:
                folder = scratch / str(next(numbers))
                folder.mkdir()
                return tools.context(folder, None)

            yield context


async def first_that_stands(
    made: M,
    failed: tuple[FailedJob, ...],
    execute: Callable[[M], Awaitable[FailedJob | None]],
    runner_up: Callable[[tuple[FailedJob, ...]], Awaitable[M]],
    say: Callable[[str], None],
) -> M:
    """Return *made* or, where its job shows nothing here, the first that does with a runner-up.

    What all jobs would end by ends after one, and so does what ended an earlier job. *failed* were tried before.
    *runner_up* raises `TaskError` where there is no job left that is nearly as good. Raises `JobsFailedError`.
    """
    while (end := await execute(made)) is not None:
        is_over = end.shared or any(end.ends_as(one) for one in failed)
        failed = (*failed, end)
        say(f"{end.title}: {end.why}")
        if is_over or len(failed) >= _MOST_JOBS:
            raise JobsFailedError(failed)
        try:
            made = await runner_up(failed)
        except TaskError as error:
            say(str(error))
            raise JobsFailedError(failed) from error
    return made


def _cause(found: Validity) -> str:
    """Return as what an instance that did not stand its executions is counted."""
    last = found.tries[-1] if found.tries else None
    if last is not None and last.subject == "nop" and last.passed:
        return "passes without its dependencies"
    if last is not None and last.passed is None:
        return "the test job cannot be run here"
    return f"original: {last.failure or 'fails'}" if last is not None else found.standing


async def validate(
    suite_name: str,
    wanted: Sequence[str],
    settings: Settings,
    *,
    times: int = 3,
    again: bool = False,
    progress: Callable[[Validation], None],
) -> list[Validation]:
    """Execute originals and empty submissions of the tasks or groups *wanted* (none: all), *times* each.

    *progress* is called with each result. What is known is found again only with *again*. Raises `UsageError`.
    """
    suite = open_suite(suite_name, settings)
    if not isinstance(suite, DiBench):
        raise UsageError(f"{suite_name} has nothing to validate; only suites that execute tasks of others have")
    validator = validator_of(suite)
    every = suite.by_name()
    groups = Tables.of(suite).groups()
    for part in wanted:
        if part not in every and part not in groups:
            raise UsageError(unknown("task", part, [*every, *groups]))
    chosen = sorted({task for part in wanted for task in groups.get(part, (part,))} or every)
    turn = asyncio.Semaphore(settings.jobs)
    async with _contexts(settings) as context:

        async def one(task: str) -> Validation:
            async with turn:
                found = await validator.validate(every[task], times, context, again=again)
            progress(found)
            return found

        return list(await asyncio.gather(*map(one, chosen)))
