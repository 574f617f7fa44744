"""Making a frozen recipe's measured parts anew, and saying what is not as it was."""

from collections.abc import Callable, Iterator

from groundup.grading.bench import Bench
from groundup.suites.nl2repobench.freezing import locked
from groundup.suites.nl2repobench.maker.build import prove
from groundup.suites.nl2repobench.maker.differences import unexplained
from groundup.suites.nl2repobench.maker.pinning import lock_without
from groundup.suites.nl2repobench.recipe import Recipe

_SHOWN = 10


async def check(recipe: Recipe, bench: Bench, say: Callable[[str], None]) -> tuple[Recipe, list[str]]:
    """Return *recipe* made anew from its own decisions, and what changed in sentences. Raises `TaskError`."""
    fresh = await locked(recipe)
    lock, _ = lock_without(fresh.environment.lock, [recipe.source.name])
    environment = fresh.environment.model_copy(update={"lock": lock})
    again = await prove(recipe.model_copy(update={"environment": environment}), bench, say)
    return again, list(changes(recipe, again))


def changes(before: Recipe, after: Recipe) -> Iterator[str]:
    """Yield what differs between two recipes of one task, and what neither explains."""
    yield from _sets("pin", set(before.environment.lock), set(after.environment.lock))
    for pin in sorted(before.environment.lock.keys() & after.environment.lock.keys()):
        gone = set(before.environment.lock[pin]) - set(after.environment.lock[pin])
        if gone:
            yield f"hashes of {pin} changed"
    if before.environment.python_micro != after.environment.python_micro:
        yield f"Python {before.environment.python_micro} became {after.environment.python_micro}"
    yield from _sets("expected test", set(map(str, before.expected)), set(map(str, after.expected)))
    told = ({one.id: one.why.value for one in recipe.excluded} for recipe in (before, after))
    was, now = told
    yield from _sets("excluded test", set(was), set(now))
    for name in sorted(was.keys() & now.keys()):
        if was[name] != now[name]:
            yield f"{name} is excluded for {now[name]}, was for {was[name]}"
    if before.frozen is not None and after.frozen is not None:
        old, new = before.frozen.controls, after.frozen.controls
        if old and old != new:
            yield f"controls were {old} and are {new}"
        if before.frozen.original_lines != after.frozen.original_lines:
            yield f"the original had {before.frozen.original_lines} lines and has {after.frozen.original_lines}"
    for version, tests in unexplained(after).items():
        yield f"no reason is known for {tests:+d} tests of the count of {version}"


def _sets(what: str, before: set[str], after: set[str]) -> Iterator[str]:
    for sign, names in (("gone", before - after), ("new", after - before)):
        listed = sorted(names)
        yield from (f"{sign} {what}: {name}" for name in listed[:_SHOWN])
        if len(listed) > _SHOWN:
            yield f"and {len(listed) - _SHOWN} more {what}s {sign}"
