"""Validating tasks on this machine: each original must pass, each empty submission must fail, several times."""

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.episodes.equipment import equipment
from groundup.grading.bench import Bench
from groundup.settings import Settings
from groundup.suites.base import Validation, open_suite


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
    validator = suite.validator()
    if validator is None:
        raise UsageError(f"{suite_name} has nothing to validate; only suites that execute tasks of others have")
    every = {task.id: task for task in suite.tasks()}
    groups = suite.groups()
    for part in wanted:
        if part not in every and part not in groups:
            raise UsageError(unknown("task", part, [*every, *groups]))
    chosen = sorted({task for part in wanted for task in groups.get(part, (part,))} or every)
    turn = asyncio.Semaphore(settings.jobs)
    numbers = itertools.count()

    async with equipment(settings.sandbox, settings) as tools:
        with tempfile.TemporaryDirectory(prefix="groundup-validate-", ignore_cleanup_errors=True) as folder:

            def bench() -> Bench:
                scratch = Path(folder) / str(next(numbers))
                scratch.mkdir()
                return tools.bench(scratch, None)

            async def one(task: str) -> Validation:
                async with turn:
                    found = await validator.validate(every[task], times, bench, again=again)
                progress(found)
                return found

            return list(await asyncio.gather(*map(one, chosen)))
