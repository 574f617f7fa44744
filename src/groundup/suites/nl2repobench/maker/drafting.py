"""A first draft of the recipe of a library for which nothing is published: source, environment and layout."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from groundup.grading.context import GradingContext
from groundup.registries.pypi.client import PyPIClient
from groundup.suites.nl2repobench.maker.attempts import Attempt, first_of_each
from groundup.suites.nl2repobench.maker.build import pretended, recorded
from groundup.suites.nl2repobench.maker.candidates import SourceCandidate
from groundup.suites.nl2repobench.maker.decisions import TaskDecision
from groundup.suites.nl2repobench.maker.finding_tests import places_of_tests
from groundup.suites.nl2repobench.maker.layout import read_layout
from groundup.suites.nl2repobench.maker.needs_of_tests import needs_of_tests
from groundup.suites.nl2repobench.maker.pinning import choose
from groundup.suites.nl2repobench.maker.project import OriginalProject
from groundup.suites.nl2repobench.maker.specification import Specification
from groundup.suites.nl2repobench.recipe import KeptSource, Recipe, RecipeSource, RepositorySource, Why


@dataclass(frozen=True)
class UnpublishedLibrary:
    """A library to make a recipe of, and where its original is."""

    task: str
    source: str
    """As `recipe build --source` takes it; of a bundle the path."""
    kept: str | None = None
    """The file of the bundle beside the recipe, where the original is kept in the set."""


async def draft_of(
    library: UnpublishedLibrary,
    candidate: SourceCandidate,
    project: OriginalProject,
    attempt: Attempt,
    context: GradingContext,
    registry: PyPIClient,
) -> tuple[Recipe, tuple[str, ...]]:
    """Return a draft, and which of its requirements are the tests' alone."""
    layer = await context.builder.source(candidate.request)
    tests, notes = read_layout(layer.path, project, (), places_of_tests(layer.path))
    own = [project.name or library.task, *tests.packages]
    needs = await asyncio.to_thread(needs_of_tests, layer.path, tests.protected)
    project = project.but(test_requires=first_of_each((*project.test_requires, *needs)))
    decision = TaskDecision(python=attempt.python, add=attempt.added(needs, tests.ini))
    wanted = await choose(Specification(python=attempt.python), project, own, registry, decision)
    source: RecipeSource | RepositorySource | KeptSource
    source = recorded(candidate, project, layer.built["tree"], notes)
    if isinstance(source, RepositorySource) and library.kept is not None:
        kept = source.model_dump(include={"name", "version", "commit", "tree_digest", "licence"})
        bundle = Path(source.repository)
        source = KeptSource(bundle=library.kept, **kept).within(bundle.parent)
    if tests.distribution is None:
        tests = tests.but(distribution=pretended(project, source))
    environment = wanted.environment().but(exclude_newer=attempt.day)
    draft = Recipe(
        task=library.task,
        notes="; ".join([*notes, *wanted.notes]),
        source=source,
        environment=environment,
        tests=tests,
        declared={},
        reasons={"*": Why.FAILS},
    )
    return draft, tuple(line for line in project.test_requires if line not in project.requires)
