"""Making a recipe of a library for which nothing is published: no specification, no count of tests.

What a count would show is looked for otherwise: test files of which no test was collected, parameter sets that are
empty, files that tests name and the source lacks. Tests that fail with the original are left out with their
reasons, up to a share.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

from groundup.domain.errors import TaskError
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe, Why
from groundup_factory.recipes.candidates import open_index
from groundup_factory.recipes.controls import prove
from groundup_factory.recipes.differences import with_reasons
from groundup_factory.recipes.drafting import (
    UnpublishedLibrary,
    attempts,
    draft_of,
    most_telling,
    passed_by,
)
from groundup_factory.recipes.layout import protect_what_tests_read
from groundup_factory.recipes.losses import (
    LEAST_TESTS,
    absent_modules,
    causes_of,
    compiled_parts,
    lacking_data,
    listed_causes,
    require_share,
    uncollected_functions,
)
from groundup_factory.recipes.originals import Original, originals_of
from groundup_factory.recipes.repairs import locked_with, noted, run_and_repair

LEFT_OUT = 0.2
"""The share of an original's tests that may not be expected, by default: skipped, failing, not collected."""
_OF_PYTEST = frozenset({"pytest", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli", "pygments"})

Say = Callable[[str], None]


class CompiledError(TaskError):
    """A library of which nothing works before it is compiled, with whatever interpreter."""


@dataclass(frozen=True)
class MakingRules:
    """What a person may set."""

    left_out: float = LEFT_OUT
    python: str | None = None
    rounds: int = 3
    """In which a model may mend the specification that it wrote."""


async def make_recipe(
    library: UnpublishedLibrary,
    rules: MakingRules,
    context: GradingContext,
    settings: Settings,
    say: Say,
    look: Callable[[Path, str], None],
) -> Recipe:
    """Return a frozen recipe of *library*. Raises `TaskError` with the sentence why it makes no task.

    *look* is called with its source, and the date of that where it is known; what it raises ends the making.
    """
    async with open_index(settings) as registry:
        originals = await originals_of(library.source, context, registry, settings, say)
        look(originals[0].root, originals[0].candidate.date)
        name = canonicalize_name(originals[0].project.name or library.task)
        if name in _OF_PYTEST:
            raise TaskError(
                f"pytest itself needs {name}, so its tests cannot run without it; take another library"
            )
        refused: list[TaskError] = []
        for original in originals:
            for attempt in attempts(original.root, rules.python, original.candidate.date, settings):
                try:
                    draft, needs = await draft_of(
                        library, original.candidate, original.project, attempt, context, registry
                    )
                    day = draft.environment.exclude_newer[:10]
                    say(f"{draft.source.label} with Python {draft.environment.python}, the index as of {day}")
                    draft = await locked_with(_with_written(draft, original), needs, say)
                    return await _made(draft, rules, context, say)
                except TaskError as error:
                    say(str(error).partition("\n")[0][:300])
                    refused.append(error)
                    if isinstance(error, CompiledError):
                        raise most_telling(refused) from error
            if passed_by(most_telling(refused)) >= LEAST_TESTS:
                break  # the same tests elsewhere would not tell more
    raise most_telling(refused)


def _with_written(draft: Recipe, original: Original) -> Recipe:
    """Return the draft with the modules of the library that a build writes and its repository lacks."""
    tests = draft.tests
    places = [PurePosixPath(root, *name.split(".")) for root in tests.import_roots for name in tests.packages]
    inside = {
        path: text
        for path, text in original.written.items()
        if any(PurePosixPath(path).is_relative_to(place) for place in places)
        and not any(PurePosixPath(path).is_relative_to(place) for place in tests.protected)
    }
    if not inside:
        return draft
    note = f"written by the build, from the source distribution: {', '.join(inside)}"
    return draft.but(tests=tests.but(generated={**inside, **tests.generated}), notes=noted(draft.notes, [note]))


async def _made(draft: Recipe, rules: MakingRules, context: GradingContext, say: Say) -> Recipe:
    recipe, environment, execution = await run_and_repair(draft, context, say, may_repair=True)
    original = await original_tree(recipe, context)
    lacking = lacking_data(execution.report, recipe.tests, original)
    uncollected = await asyncio.to_thread(uncollected_functions, execution.report, recipe.tests, original)
    results = execution.report.results
    passed = sum(result.outcome == "passed" for result in results.values())
    causes = causes_of(execution.report, uncollected)
    if not passed and (made_of := compiled_parts(original)):
        raise CompiledError(
            f"0 of {len(results) + len(uncollected)} tests pass{causes}; it is compiled ({made_of}), which this "
            "way does not do: its recipe wants a person"
        )
    if lacking:
        causes += f"; {len(lacking)} of them for data: {next(iter(lacking.values()))}"
    elif absent := await asyncio.to_thread(absent_modules, uncollected, recipe.tests, original):
        causes += f"; tests import {', '.join(absent[:3])}, which is not in this source"
    require_share(passed, len(results) + len(uncollected), causes, rules.left_out)
    recipe = await protect_what_tests_read(recipe, original, execution, environment, context, say)
    reasons_of_data = dict.fromkeys(lacking, Why.DATA)
    recipe = recipe.but(reasons={**recipe.reasons, **reasons_of_data})
    recipe = await prove(with_reasons(recipe, execution, say), context, say)
    reasons = Counter(one.why.value for one in recipe.excluded)
    reasons["not collected"] += len(uncollected)
    collected = len(recipe.expected) + len(recipe.excluded)
    require_share(len(recipe.expected), collected + len(uncollected), listed_causes(reasons), rules.left_out)
    return recipe
