"""Freezing a recipe that works, proving that it gives nothing away, and checking later that all is as it was."""

from collections.abc import Callable, Iterator, Sequence

from groundup.grading.bench import Bench
from groundup.suites.nl2repobench.freezing import freeze, locked
from groundup.suites.nl2repobench.maker.absence import LeakedFile, find_answers
from groundup.suites.nl2repobench.maker.controls import run_controls
from groundup.suites.nl2repobench.maker.differences import explained, unexplained
from groundup.suites.nl2repobench.maker.pinning import lock_without
from groundup.suites.nl2repobench.maker.working import noted
from groundup.suites.nl2repobench.originals import original_tree
from groundup.suites.nl2repobench.recipe import Recipe

_SHOWN = 10


async def prove(recipe: Recipe, bench: Bench, say: Callable[[str], None]) -> Recipe:
    """Return *recipe* frozen, with its controls and what explains its counts. Raises `TaskError`."""
    frozen = await freeze(recipe, bench)
    say(f"frozen: {len(frozen.expected)} expected, {len(frozen.excluded)} excluded, declared {frozen.declared}")
    environment = await bench.builder.python(frozen.environment.request())
    original = await original_tree(frozen, bench)
    controls = await run_controls(frozen, original, environment, bench, say)
    answers = find_answers(original, frozen.tests, environment)
    for answer in answers:
        say(f"answer within reach: {answer.place} is like {answer.source} ({answer.likeness:.0%})")
    assert frozen.frozen is not None
    measured = frozen.frozen.model_copy(update={"controls": controls})
    notes = noted(frozen.notes, [_sentence(answers)] if answers else [])
    frozen = frozen.model_copy(update={"frozen": measured, "notes": notes})
    frozen = frozen.model_copy(update={"differences": explained(frozen)})
    for version, tests in unexplained(frozen).items():
        say(f"no reason is known for {tests:+d} tests of {version}; give one under [[differences]]")
    return frozen


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
    was, now = ({one.id: one.why.value for one in recipe.excluded} for recipe in (before, after))
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


def _sentence(answers: Sequence[LeakedFile]) -> str:
    listed = ", ".join(f"{answer.place} ({answer.likeness:.0%} of {answer.source})" for answer in answers[:5])
    return f"the environment holds files like the original's: {listed}"
