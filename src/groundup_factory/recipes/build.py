"""Making a recipe, step by step from a draft; every decision is reported and noted in the recipe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from groundup.domain.errors import TaskError, UsageError
from groundup.domain.records import plainly
from groundup.environments.requests import GitSource, PythonEnvironment, SourceRequest
from groundup.grading.context import GradingContext
from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import Distribution
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup.suites.nl2repobench.decisions import TaskDecision
from groundup.suites.nl2repobench.published import PublishedTask, original_tree
from groundup.suites.nl2repobench.recipe import KeptSource, PublishedRun, Recipe, RecipeSource, RepositorySource
from groundup_factory.recipes.candidates import (
    SourceCandidate,
    of_commits,
    of_releases,
    open_index,
    parse_source,
)
from groundup_factory.recipes.controls import prove
from groundup_factory.recipes.differences import with_reasons
from groundup_factory.recipes.layout import protect_what_tests_read, read_layout
from groundup_factory.recipes.pinning import Specification, choose, newest_pin, read_specification
from groundup_factory.recipes.project import OriginalProject, read_project
from groundup_factory.recipes.repairs import outcomes_of, run_and_repair

MOST_TRIED = 6
"""Candidates whose tests are run, while none passes as many as were published."""

_DECLARATIONS = ("pyproject.toml", "setup.cfg", "setup.py")
"""A tree without any of them is not a distribution, and nothing of it is installed."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Making:
    """What is the same for all candidates of one task."""

    task: PublishedTask
    declared: Mapping[str, int]
    specification: Specification
    decision: TaskDecision
    context: GradingContext
    registry: PyPIClient
    say: Say


async def find_candidates(making: Making, settings: Settings) -> list[SourceCandidate]:
    """Return the sources to try, best first. Raises `UsageError` when there is none."""
    tree = making.specification.tree
    until = await newest_pin(making.specification, making.registry)
    kind, what, version = parse_source(making.decision.source or f"sdist:{making.task.id}")
    making.say(f"looking for the original in {what}")
    if kind == "sdist":
        found = await of_releases([what], version, tree, until, making.registry)
    else:
        found = await of_commits(what, version, tree, until, settings)
    if not found:
        raise UsageError(
            f"no source of {what} was found; name one with --source sdist:NAME or --source git:REPOSITORY"
        )
    for candidate in found[:MOST_TRIED]:
        tests = "with tests" if candidate.has_tests else "without tests"
        making.say(
            f"candidate {candidate.label} ({candidate.date[:10]}): {candidate.match:.0%} of the tree, {tests}"
        )
    return found[:MOST_TRIED]


async def make_draft(making: Making, candidate: SourceCandidate) -> Recipe:
    """Return a draft: source, environment and layout, from the files alone."""
    task = making.task
    if isinstance(candidate.request, GitSource):
        request = candidate.request.but(without=making.decision.without)
        candidate = candidate.but(request=request)
    layer = await making.context.builder.source(candidate.request)
    project = read_project(layer.path)
    tests, notes = read_layout(layer.path, project, task.commands, task.test_files)
    own = [project.name or task.id, *tests.packages]
    wanted = await choose(making.specification, project, own, making.registry, making.decision)
    notes += wanted.notes
    source = recorded(candidate, project, layer.built["tree"], notes)
    for note in notes:
        making.say(note)
    if tests.distribution is None and any((layer.path / name).is_file() for name in _DECLARATIONS):
        tests = tests.but(distribution=pretended(project, source))
    draft = Recipe(
        task=task.id,
        notes="; ".join(notes),
        source=source,
        environment=wanted.environment(),
        tests=tests,
        declared=dict(making.declared),
        published=PublishedRun(commands=task.commands, test_files=task.test_files),
    )
    return applied(making.decision, draft)


def applied(decision: TaskDecision, draft: Recipe) -> Recipe:
    """Return *draft* with what was decided in place of what was guessed. Raises `TaskError`."""
    source = draft.source.but(version=decision.version or draft.source.version)
    environment = draft.environment.but(complete=decision.complete or draft.environment.complete)
    tests = draft.tests.model_dump() | decision.tests
    if decision.version and tests["distribution"]:
        tests["distribution"]["version"] = decision.version
    changed = {
        **draft.model_dump(exclude={"source", "environment"}),
        "source": source,
        "environment": environment,
        "tests": tests,
        "edits": decision.edits,
        "reasons": {**draft.reasons, **decision.reasons},
        "differences": decision.differences,
    }
    try:
        return Recipe.model_validate(changed)
    except ValidationError as error:
        raise TaskError(
            f"decisions.toml: {draft.task}: {plainly(error.errors()[0])}; mend the decision"
        ) from error


def recorded(
    candidate: SourceCandidate, project: OriginalProject, tree: str, notes: list[str]
) -> RecipeSource | RepositorySource:
    """Return what a recipe says of the source of *candidate*, whose tree has the digest *tree*."""
    licence = project.licence or "unknown"
    if isinstance(candidate.request, SourceRequest):
        request = candidate.request
        return RecipeSource(name=request.name, version=request.version, sha256=request.sha256, licence=licence)
    assert isinstance(candidate.request, GitSource)
    version = project.version or (candidate.tag or "").lstrip("vV") or "0"
    if project.version is None:
        notes.append(f"version {version} pretended, from the nearest tag")
    return RepositorySource(
        name=project.name or candidate.request.repository.rpartition("/")[2],
        version=version,
        repository=candidate.request.repository,
        commit=candidate.request.commit,
        tree_digest=tree,
        without=candidate.request.without,
        licence=licence,
    )


def pretended(project: OriginalProject, source: RecipeSource | RepositorySource | KeptSource) -> Distribution:
    """Return what an installation would leave; a name that only running `setup.py` tells is the source's."""
    return Distribution(
        name=project.name or source.name,
        version=source.version,
        entry_points=project.entry_points,
        headers=project.headers,
    )


class UnfinishedError(TaskError):
    """A recipe that a person must finish; it carries the draft."""

    def __init__(self, message: str, draft: Recipe) -> None:
        super().__init__(message)
        self.draft = draft


async def build(
    task: PublishedTask,
    declared: dict[str, int],
    decision: TaskDecision,
    context: GradingContext,
    settings: Settings,
    say: Say,
) -> Recipe:
    """Return a frozen recipe of *task*. Raises `UnfinishedError` with the draft, or by who is to blame."""
    if decision.blocked:
        say(f"known to stop: {decision.blocked}")
    specification = read_specification(task.specification or "")
    say(
        f"specification: Python {specification.python or 'unknown'}, {len(specification.pins)} pins, "
        f"{len(specification.wishes)} wishes, {len(specification.tree)} paths"
    )
    async with open_index(settings) as registry:
        making = Making(task, declared, specification, decision, context, registry, say)
        nearest = await _nearest(making, settings)
    say(f"took {nearest[0].source.label}")
    return await _proven(nearest, context, say, may_repair=True)


_Ran = tuple[Recipe, PythonEnvironment, Execution]
"""A draft that works, and a run of its original."""


async def _nearest(making: Making, settings: Settings) -> _Ran:
    """Return the draft whose source passes most nearly as many tests as were published."""
    candidates = await find_candidates(making, settings)
    nearest: tuple[tuple[int, int], _Ran] | None = None
    for candidate in candidates:
        making.say(f"trying {candidate.label}")
        draft = None
        try:
            draft = await make_draft(making, candidate)
            ran = await run_and_repair(draft, making.context, making.say, may_repair=True)
        except TaskError as error:
            if candidate is candidates[-1] and nearest is None and draft is not None:
                raise UnfinishedError(str(error), draft) from error
            making.say(str(error)[:500])
            continue
        distance = _distance(ran[2], making.declared)
        if nearest is None or distance < nearest[0]:
            nearest = (distance, ran)
        if distance == (0, 0):
            break
    if nearest is None:
        raise TaskError(f"no candidate for {making.task.id} can be run; name another with --source")
    return nearest[1]


async def finish(draft: Recipe, context: GradingContext, say: Say, *, may_repair: bool) -> Recipe:
    """Return *draft* locked, repaired, frozen, and shown to give nothing away. Raises `UnfinishedError`."""
    try:
        ran = await run_and_repair(draft, context, say, may_repair=may_repair)
    except TaskError as error:
        raise UnfinishedError(str(error), draft) from error
    return await _proven(ran, context, say, may_repair=may_repair)


async def _proven(ran: _Ran, context: GradingContext, say: Say, *, may_repair: bool) -> Recipe:
    recipe, environment, execution = ran
    try:
        if may_repair:
            original = await original_tree(recipe, context)
            recipe = await protect_what_tests_read(recipe, original, execution, environment, context, say)
            recipe = with_reasons(recipe, execution, say)
        return await prove(recipe, context, say)
    except TaskError as error:
        raise UnfinishedError(str(error), recipe) from error


def _distance(execution: Execution, declared: Mapping[str, int]) -> tuple[int, int]:
    """Return how far a run is from the nearest published count, and how many tests failed."""
    outcomes = outcomes_of(execution)
    failed = outcomes.count("failed") + outcomes.count("error")
    return min(abs(outcomes.count("passed") - count) for count in declared.values()), failed
