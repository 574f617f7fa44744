"""Running the original with its own tests, and repairing a draft until the run lacks nothing more."""

from collections.abc import Callable, Sequence

from groundup.domain.errors import TaskError
from groundup.environments.requests import PythonEnvironment
from groundup.grading.bench import Bench
from groundup.grading.library.canary import own_tests
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.suites.nl2repobench.freezing import locked
from groundup.suites.nl2repobench.maker.pinning import lock_without
from groundup.suites.nl2repobench.maker.repairs import repaired
from groundup.suites.nl2repobench.originals import original_tree
from groundup.suites.nl2repobench.recipe import Recipe

MOST_ROUNDS = 6
"""Of running the original and repairing what it lacks."""


async def run_and_repair(
    recipe: Recipe, bench: Bench, say: Callable[[str], None], *, may_repair: bool
) -> tuple[Recipe, PythonEnvironment, Execution]:
    """Lock, build and run the original, repairing what it lacks until nothing more can be done."""
    for _ in range(MOST_ROUNDS):
        if not recipe.environment.lock:
            recipe = await _locked(recipe, say)
        environment = await bench.builder.python(recipe.environment.request())
        original = await original_tree(recipe, bench)
        execution = await run_hidden_tests(original, original, recipe.tests, environment, bench)
        outcomes = outcomes_of(execution)
        say(f"the original passes {outcomes.count('passed')} of {len(outcomes)}")
        steps = repaired(recipe, execution, original, environment) if may_repair else []
        if not steps:
            return recipe, environment, execution
        for changed, note in steps:
            say(note)
            recipe = changed.model_copy(update={"notes": noted(recipe.notes, [note])})
    return recipe, environment, execution


def outcomes_of(execution: Execution) -> list[str]:
    """Return the outcomes of the hidden tests, without those that groundup added."""
    own = own_tests(execution.canaries, execution.report.results)
    return [result.outcome for key, result in execution.report.results.items() if key not in own]


def noted(notes: str, more: Sequence[str]) -> str:
    """Return *notes* with what is new in *more*."""
    kept = [note for note in more if note not in notes]
    return "; ".join([*([notes] if notes else []), *kept])


async def _locked(recipe: Recipe, say: Callable[[str], None]) -> Recipe:
    """Lock; the library itself is left out when something else asks for it, and then found first."""
    try:
        recipe = await locked(recipe)
    except TaskError:
        if recipe.environment.complete or not all("==" in line for line in recipe.environment.wants):
            raise
        note = "the pins contradict each other: locked as they stand, without what they require"
        say(note)
        environment = recipe.environment.model_copy(update={"complete": True})
        recipe = await locked(
            recipe.model_copy(update={"environment": environment, "notes": noted(recipe.notes, [note])})
        )
    lock, note = lock_without(recipe.environment.lock, [recipe.source.name])
    if note:
        say(note)
        environment = recipe.environment.model_copy(update={"lock": lock})
        recipe = recipe.model_copy(
            update={"environment": environment, "notes": noted(recipe.notes, [note])},
        )
    return recipe
