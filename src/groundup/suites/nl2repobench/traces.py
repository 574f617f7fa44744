"""The golden traces of originals, a file beside each recipe that has one. See docs/grading.md."""

import asyncio
from collections.abc import Iterator
from functools import cache

from groundup.grading.bench import Bench
from groundup.grading.library.passes import suite_of
from groundup.grading.library.trace import TraceRecord, record_trace
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe, shipped_beside

SUFFIX = ".trace.json"


async def made_trace(recipe: Recipe, bench: Bench) -> TraceRecord:
    """Run the traced original of *recipe* several times and return what it sends. Raises as the builder does."""
    environment = await bench.builder.python(recipe.environment.request())
    original = await original_tree(recipe, bench)
    suite = await asyncio.to_thread(suite_of, original, recipe.tests, recipe.expected)
    return await record_trace(original, recipe.tests, environment, bench, suite, recipe.expected)


@cache
def shipped_trace(task: str) -> TraceRecord | None:
    """Return the trace that lies beside the recipe of *task*; None: there is none. Raises `TaskError`."""
    remedy = f"record it again with `groundup recipe trace {task}`"
    return shipped_beside(TraceRecord, task, SUFFIX, what="trace", remedy=remedy)


def trace_changes(before: TraceRecord, after: TraceRecord) -> Iterator[str]:
    """Yield what differs between two traces of one original."""
    if before.form != after.form:
        yield "the trace was recorded for other tests; record it again with `groundup recipe trace`"
    names = before.tests.keys() | after.tests.keys()
    differing = sorted(name for name in names if before.tests.get(name) != after.tests.get(name))
    if differing:
        yield f"the trace of {len(differing)} tests changed, first {differing[0]}"
