"""Making a recipe, step by step; every decision is reported and noted in the recipe."""

from collections.abc import Mapping

from groundup.domain.errors import TaskError
from groundup.grading.bench import Bench
from groundup.grading.library.canary import own_tests
from groundup.grading.library.execution import Execution
from groundup.settings import Settings
from groundup.suites.nl2repobench.maker.candidates import open_index
from groundup.suites.nl2repobench.maker.differences import reason_of
from groundup.suites.nl2repobench.maker.draft import Making, Say, Wish, find_candidates, make_draft
from groundup.suites.nl2repobench.maker.proof import prove
from groundup.suites.nl2repobench.maker.sources_only import protect_what_tests_read
from groundup.suites.nl2repobench.maker.specification import read_specification
from groundup.suites.nl2repobench.maker.working import outcomes_of, run_and_repair
from groundup.suites.nl2repobench.originals import original_tree
from groundup.suites.nl2repobench.published import PublishedTask
from groundup.suites.nl2repobench.recipe import Recipe, Why

__all__ = ["UnfinishedError", "Wish", "build", "finish"]


class UnfinishedError(TaskError):
    """A recipe that a person must finish; it carries the draft."""

    def __init__(self, message: str, draft: Recipe) -> None:
        super().__init__(message)
        self.draft = draft


async def build(
    task: PublishedTask, declared: dict[str, int], wish: Wish, bench: Bench, settings: Settings, say: Say
) -> Recipe:
    """Return a frozen recipe of *task*. Raises `UnfinishedError` with the draft, or by who is to blame."""
    specification = read_specification(task.specification or "")
    say(
        f"specification: Python {specification.python or 'unknown'}, {len(specification.pins)} pins, "
        f"{len(specification.wishes)} wishes, {len(specification.tree)} paths"
    )
    async with open_index(settings) as registry:
        making = Making(task, declared, specification, wish, bench, registry, say)
        nearest = await _nearest(making, settings)
    say(f"took {nearest.source.label}")
    return await finish(nearest, bench, say, may_repair=True)


async def _nearest(making: Making, settings: Settings) -> Recipe:
    """Return the draft whose source passes most nearly as many tests as were published."""
    candidates = await find_candidates(making, settings)
    nearest: tuple[tuple[int, int], Recipe] | None = None
    for candidate in candidates:
        making.say(f"trying {candidate.label}")
        draft = None
        try:
            draft = await make_draft(making, candidate)
            draft, _, execution = await run_and_repair(draft, making.bench, making.say, may_repair=True)
        except TaskError as error:
            if candidate is candidates[-1] and nearest is None and draft is not None:
                raise UnfinishedError(str(error), draft) from error
            making.say(str(error)[:500])
            continue
        distance = _distance(execution, making.declared)
        if nearest is None or distance < nearest[0]:
            nearest = (distance, draft)
        if distance == (0, 0):
            break
    if nearest is None:
        raise TaskError(f"no candidate for {making.task.id} can be run; name another with --source")
    return nearest[1]


async def finish(draft: Recipe, bench: Bench, say: Say, *, may_repair: bool) -> Recipe:
    """Return *draft* locked, repaired, frozen, and shown to give nothing away. Raises `UnfinishedError`."""
    recipe = draft
    try:
        recipe, environment, execution = await run_and_repair(recipe, bench, say, may_repair=may_repair)
        original = await original_tree(recipe, bench)
        if may_repair:
            recipe = await protect_what_tests_read(recipe, original, execution, environment, bench, say)
            recipe = _with_reasons(recipe, execution, say)
        return await prove(recipe, bench, say)
    except TaskError as error:
        raise UnfinishedError(str(error), recipe) from error


def _distance(execution: Execution, declared: Mapping[str, int]) -> tuple[int, int]:
    """Return how far a run is from the nearest published count, and how many tests failed."""
    outcomes = outcomes_of(execution)
    failed = outcomes.count("failed") + outcomes.count("error")
    return min(abs(outcomes.count("passed") - count) for count in declared.values()), failed


def _with_reasons(recipe: Recipe, execution: Execution, say: Say) -> Recipe:
    """Return the draft with a reason for each failing test whose output shows one."""
    own = own_tests(execution.canaries, execution.report.results)
    reasons: dict[str, Why] = dict(recipe.reasons)
    for key, result in sorted(execution.report.results.items()):
        if key in own or result.outcome not in ("failed", "error") or str(key) in reasons:
            continue
        why = reason_of(result)
        say(f"fails: {key}: {result.message} -> {why.value if why else 'no reason known'}")
        if why is not None:
            reasons[str(key)] = why
    return recipe.model_copy(update={"reasons": reasons})
