"""Making a recipe, step by step; every decision is said and noted in the recipe."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from groundup.domain.errors import TaskError, UsageError
from groundup.domain.records import Record
from groundup.environments.requests import GitSource, PythonEnvironment, SourceRequest
from groundup.grading.bench import Bench
from groundup.grading.library.canary import own_tests
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.grading.library.hidden import Distribution
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup.suites.nl2repobench.freezing import freeze, locked
from groundup.suites.nl2repobench.maker.absence import LeakedFile, find_answers
from groundup.suites.nl2repobench.maker.candidates import (
    SourceCandidate,
    of_commits,
    of_releases,
    open_index,
    parse_source,
)
from groundup.suites.nl2repobench.maker.controls import run_controls
from groundup.suites.nl2repobench.maker.differences import explained, reason_of, unexplained
from groundup.suites.nl2repobench.maker.layout import read_layout
from groundup.suites.nl2repobench.maker.pinning import choose, lock_without, newest_pin
from groundup.suites.nl2repobench.maker.project import OriginalProject, read_project
from groundup.suites.nl2repobench.maker.repairs import repaired
from groundup.suites.nl2repobench.maker.sources_only import protect_what_tests_read
from groundup.suites.nl2repobench.maker.specification import Specification, read_specification
from groundup.suites.nl2repobench.originals import original_tree
from groundup.suites.nl2repobench.published import PublishedTask
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe, RecipeSource, RepositorySource, Why

MOST_TRIED = 6
"""Candidates whose tests are run, while none passes as many as were published."""
MOST_ROUNDS = 6
"""Of running the original and repairing what it lacks."""

Say = Callable[[str], None]


class Wish(Record):
    """What a person decided before; the rest is found."""

    source: str | None = None
    python: str | None = None


class UnfinishedError(TaskError):
    """A recipe that needs a person: the draft is at hand."""

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
        until = await newest_pin(specification, registry)
        candidates = await _candidates(task.id, specification, wish.source, until, registry, settings, say)
        nearest: tuple[tuple[int, int], Recipe] | None = None
        for number, candidate in enumerate(candidates[:MOST_TRIED]):
            say(f"trying {candidate.label}")
            draft = None
            try:
                draft = await make_draft(
                    task, declared, specification, candidate, wish.python, bench, registry, say
                )
                draft, _, execution = await _working(draft, bench, say, may_repair=True)
            except TaskError as error:
                if number + 1 == len(candidates) and nearest is None and draft is not None:
                    raise UnfinishedError(str(error), draft) from error
                say(str(error)[:500])
                continue
            distance = _distance(execution, declared)
            if nearest is None or distance < nearest[0]:
                nearest = (distance, draft)
            if distance == (0, 0):
                break
    if nearest is None:
        raise TaskError(f"no candidate for {task.id} can be run; name another with --source")
    say(f"took {nearest[1].source.label}")
    return await finish(nearest[1], bench, say, may_repair=True)


async def make_draft(
    task: PublishedTask,
    declared: dict[str, int],
    specification: Specification,
    candidate: SourceCandidate,
    python: str | None,
    bench: Bench,
    registry: PyPIClient,
    say: Say,
) -> Recipe:
    """Return a draft: source, environment and layout, as far as files tell."""
    layer = await bench.builder.source(candidate.request)
    project = read_project(layer.path)
    tests, notes = read_layout(layer.path, project, task.commands, task.test_files)
    own = [project.name or task.id, *tests.packages]
    wanted = await choose(specification, project, own, registry, python)
    notes += wanted.notes
    source = _recorded(candidate, project, layer.built["tree"], notes)
    for note in notes:
        say(note)
    if tests.distribution is None and project.name is not None:
        tests = tests.model_copy(update={"distribution": _pretended(project, source.version)})
    return Recipe(
        task=task.id,
        notes="; ".join(notes),
        source=source,
        environment=wanted.environment(),
        tests=tests,
        declared=declared,
        published=PublishedRun(commands=task.commands, test_files=task.test_files),
    )


async def finish(draft: Recipe, bench: Bench, say: Say, *, may_repair: bool) -> Recipe:
    """Return *draft* locked, repaired, frozen, and shown to give nothing away. Raises `UnfinishedError`."""
    recipe = draft
    try:
        recipe, environment, execution = await _working(recipe, bench, say, may_repair=may_repair)
        original = await original_tree(recipe, bench)
        if may_repair:
            recipe = await protect_what_tests_read(recipe, original, execution, environment, bench, say)
            recipe = _with_reasons(recipe, execution, say)
        return await prove(recipe, bench, say)
    except TaskError as error:
        raise UnfinishedError(str(error), recipe) from error


async def prove(recipe: Recipe, bench: Bench, say: Say) -> Recipe:
    """Return *recipe* frozen, with its controls and what explains its counts. Raises `TaskError`."""
    frozen = await freeze(recipe, bench)
    say(f"frozen: {len(frozen.expected)} expected, {len(frozen.excluded)} excluded, declared {frozen.declared}")
    environment = await bench.builder.python(frozen.environment.request())
    original = await original_tree(frozen, bench)
    controls = await run_controls(frozen, original, environment, bench, say)
    answers = find_answers(original, frozen.tests, environment)
    for answer in answers:
        say(f"answer at hand: {answer.place} is like {answer.source} ({answer.likeness:.0%})")
    assert frozen.frozen is not None
    measured = frozen.frozen.model_copy(update={"controls": controls})
    notes = _noted(frozen.notes, [_told(answers)] if answers else [])
    frozen = frozen.model_copy(update={"frozen": measured, "notes": notes})
    frozen = frozen.model_copy(update={"differences": explained(frozen)})
    for version, tests in unexplained(frozen).items():
        say(f"no reason is known for {tests:+d} tests of {version}; give one under [[differences]]")
    return frozen


async def _working(
    recipe: Recipe, bench: Bench, say: Say, *, may_repair: bool
) -> tuple[Recipe, PythonEnvironment, Execution]:
    """Lock, build and run the original, repairing what it lacks until nothing more can be done."""
    for _ in range(MOST_ROUNDS):
        if not recipe.environment.lock:
            recipe = await _locked(recipe, say)
        environment = await bench.builder.python(recipe.environment.request())
        original = await original_tree(recipe, bench)
        execution = await run_hidden_tests(original, original, recipe.tests, environment, bench)
        outcomes = _outcomes(execution)
        say(f"the original passes {outcomes.count('passed')} of {len(outcomes)}")
        steps = repaired(recipe, execution, original, environment) if may_repair else []
        if not steps:
            return recipe, environment, execution
        for changed, note in steps:
            say(note)
            recipe = changed.model_copy(update={"notes": _noted(recipe.notes, [note])})
    return recipe, environment, execution


async def _locked(recipe: Recipe, say: Say) -> Recipe:
    """Lock; the library itself is left out when something else asks for it, and then found first."""
    try:
        recipe = await locked(recipe)
    except TaskError:
        if recipe.environment.complete or not all("==" in line for line in recipe.environment.wants):
            raise
        note = "the pins contradict each other: locked as they stand, without what they need besides"
        say(note)
        environment = recipe.environment.model_copy(update={"complete": True})
        recipe = await locked(
            recipe.model_copy(update={"environment": environment, "notes": _noted(recipe.notes, [note])})
        )
    lock, note = lock_without(recipe.environment.lock, [recipe.source.name])
    if note:
        say(note)
        environment = recipe.environment.model_copy(update={"lock": lock})
        recipe = recipe.model_copy(
            update={"environment": environment, "notes": _noted(recipe.notes, [note])},
        )
    return recipe


async def _candidates(
    name: str,
    specification: Specification,
    wished: str | None,
    until: datetime,
    registry: PyPIClient,
    settings: Settings,
    say: Say,
) -> list[SourceCandidate]:
    kind, what, version = parse_source(wished or f"sdist:{name}")
    if kind == "sdist":
        found = await of_releases([what], version, specification.tree, until, registry)
    else:
        found = await of_commits(what, version, specification.tree, until, settings)
    for candidate in found[:MOST_TRIED]:
        tests = "with tests" if candidate.has_tests else "without tests"
        say(f"candidate {candidate.label} ({candidate.date[:10]}): {candidate.match:.0%} of the tree, {tests}")
    if not found:
        raise UsageError(
            f"no source of {what} was found; name one with --source sdist:NAME or --source git:REPOSITORY"
        )
    return found


def _distance(execution: Execution, declared: Mapping[str, int]) -> tuple[int, int]:
    """Return how far a run is from the nearest published count, and how many tests failed."""
    outcomes = _outcomes(execution)
    failed = outcomes.count("failed") + outcomes.count("error")
    return min(abs(outcomes.count("passed") - count) for count in declared.values()), failed


def _outcomes(execution: Execution) -> list[str]:
    own = own_tests(execution.canaries, execution.report.results)
    return [said.outcome for key, said in execution.report.results.items() if key not in own]


def _recorded(
    candidate: SourceCandidate, project: OriginalProject, tree: str, notes: list[str]
) -> RecipeSource | RepositorySource:
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
        licence=licence,
    )


def _pretended(project: OriginalProject, version: str) -> Distribution:
    assert project.name is not None
    return Distribution(
        name=project.name, version=version, entry_points=project.entry_points, headers=project.headers
    )


def _with_reasons(recipe: Recipe, execution: Execution, say: Say) -> Recipe:
    """Return the draft with a reason for each failing test that tells one itself."""
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


def _told(answers: Sequence[LeakedFile]) -> str:
    listed = ", ".join(f"{answer.place} ({answer.likeness:.0%} of {answer.source})" for answer in answers[:5])
    return f"the environment holds files like the original's: {listed}"


def _noted(notes: str, more: Sequence[str]) -> str:
    kept = [note for note in more if note not in notes]
    return "; ".join([*([notes] if notes else []), *kept])
