"""Making a recipe of a library for which nothing is published: no specification, no count of tests.

What a count would show is looked for otherwise: test files of which no test was collected, parameter sets that are
empty, files that tests name and the source lacks. Tests that fail with the original are left out with their
reasons, up to a share.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from groundup.domain.errors import TaskError
from groundup.grading.context import GradingContext
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup.suites.nl2repobench.maker.candidates import (
    SourceCandidate,
    of_commits,
    of_releases,
    open_index,
    parse_source,
    releases,
)
from groundup.suites.nl2repobench.maker.controls import prove
from groundup.suites.nl2repobench.maker.differences import with_reasons
from groundup.suites.nl2repobench.maker.drafting import UnpublishedLibrary, attempts, draft_of, most_telling
from groundup.suites.nl2repobench.maker.layout import protect_what_tests_read
from groundup.suites.nl2repobench.maker.losses import (
    absent_modules,
    causes_of,
    compiled_parts,
    lacking_data,
    listed_causes,
    require_share,
    uncollected_functions,
)
from groundup.suites.nl2repobench.maker.project import read_project
from groundup.suites.nl2repobench.maker.repairs import locked_with, run_and_repair
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe, RecipeSource, Why

LEFT_OUT = 0.2
"""The share of an original's tests that may not be expected, by default: skipped, failing, not collected."""
_OF_PYTEST = frozenset({"pytest", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli", "pygments"})

Say = Callable[[str], None]


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
        candidate = await _candidate(library, registry, settings)
        root = (await context.builder.source(candidate.request)).path
        look(root, candidate.date)
        project = await asyncio.to_thread(read_project, root)
        name = canonicalize_name(project.name or library.task)
        if name in _OF_PYTEST:
            raise TaskError(
                f"pytest itself needs {name}, so its tests cannot run without it; take another library"
            )
        drafts = [
            await draft_of(library, candidate, project, attempt, context, registry)
            for attempt in attempts(root, rules.python, candidate.date, settings)
        ]
    refused: list[TaskError] = []
    for draft, needs in drafts:
        day = draft.environment.exclude_newer[:10]
        say(f"{draft.source.label} with Python {draft.environment.python}, the index as of {day}")
        try:
            return await _made(await locked_with(draft, needs, say), rules, context, say)
        except TaskError as error:
            say(str(error).partition("\n")[0][:300])
            refused.append(error)
    raise most_telling(refused)


async def _candidate(library: UnpublishedLibrary, registry: PyPIClient, settings: Settings) -> SourceCandidate:
    kind, what, version = parse_source(library.source)
    now = datetime.now(UTC)
    if kind == "git":
        found = await of_commits(what, version, frozenset(), now, settings)
    else:
        found = await of_releases(
            [what], version or await newest_release(what, registry), frozenset(), now, registry
        )
    if not found:
        raise TaskError(
            f"the package index has no source distribution {what} {version or ''}; name its repository"
        )
    if not found[0].has_tests:
        raise TaskError(f"{found[0].label} holds no tests; name the library's Git repository instead")
    return found[0]


async def newest_release(name: str, registry: PyPIClient) -> str:
    """Return the newest release of *name* with a source distribution that nobody yanked."""
    known = [
        version
        for version, release in (await releases(registry, name)).items()
        if release.source is not None and not release.source.yanked
    ]
    final = [version for version in known if not Version(version).is_prerelease]
    if not known:
        raise TaskError(f"the package index has no source distribution of {name}; name its repository")
    return (final or known)[-1]


async def _made(draft: Recipe, rules: MakingRules, context: GradingContext, say: Say) -> Recipe:
    recipe, environment, execution = await run_and_repair(draft, context, say, may_repair=True)
    original = await original_tree(recipe, context)
    lacking = lacking_data(execution.report, recipe.tests, original)
    uncollected = await asyncio.to_thread(uncollected_functions, execution.report, recipe.tests, original)
    results = execution.report.results
    passed = sum(result.outcome == "passed" for result in results.values())
    causes = causes_of(execution.report, uncollected)
    if not passed and (made_of := compiled_parts(original)):
        causes += f"; it is compiled ({made_of}), which this way does not do: its recipe wants a person"
    elif lacking:
        said = f"{len(lacking)} of them for data: {next(iter(lacking.values()))}"
        causes += f"; {said}; name the library's Git repository instead"
        say(said)
    elif absent := await asyncio.to_thread(absent_modules, uncollected, recipe.tests, original):
        causes += f"; tests import {', '.join(absent[:3])}, which is not in this source; name the Git repository"
    elif uncollected and isinstance(recipe.source, RecipeSource):
        causes += "; a source distribution often lacks files of its tests, so try the Git repository"
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
