"""The golden traces of originals, a file beside each recipe that has one. See docs/grading.md."""

import asyncio
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from pydantic import ValidationError

from groundup.domain.errors import TaskError
from groundup.grading.bench import Bench
from groundup.grading.library.passes import suite_of
from groundup.grading.library.trace import TraceRecord, record_trace
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe

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
    place = files("groundup.suites.nl2repobench") / "recipes" / f"{task}{SUFFIX}"
    if not place.is_file():
        return None
    try:
        return TraceRecord.model_validate_json(place.read_text(encoding="utf-8"))
    except ValidationError as error:
        why = f"{place.name} is no trace ({error.error_count()} errors)"
        raise TaskError(f"{why}; record it again with `groundup recipe trace {task}`") from error


def trace_changes(before: TraceRecord, after: TraceRecord) -> Iterator[str]:
    """Yield what differs between two traces of one original."""
    if before.form != after.form:
        yield "the trace was recorded for other tests; record it again with `groundup recipe trace`"
    names = before.tests.keys() | after.tests.keys()
    differing = sorted(name for name in names if before.tests.get(name) != after.tests.get(name))
    if differing:
        yield f"the trace of {len(differing)} tests changed, first {differing[0]}"
