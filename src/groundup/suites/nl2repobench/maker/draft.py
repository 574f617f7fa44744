"""The draft of a recipe: which source it takes, what is installed beside it, and how it is laid out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.environments.requests import GitSource, SourceRequest
from groundup.grading.bench import Bench
from groundup.grading.library.hidden import Distribution
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup.suites.nl2repobench.maker.candidates import SourceCandidate, of_commits, of_releases, parse_source
from groundup.suites.nl2repobench.maker.layout import read_layout
from groundup.suites.nl2repobench.maker.pinning import choose, newest_pin
from groundup.suites.nl2repobench.maker.project import OriginalProject, read_project
from groundup.suites.nl2repobench.maker.specification import Specification
from groundup.suites.nl2repobench.published import PublishedTask
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe, RecipeSource, RepositorySource

MOST_TRIED = 6
"""Candidates whose tests are run, while none passes as many as were published."""

Say = Callable[[str], None]


class Wish(Record):
    """What a person decided before; the rest is found."""

    source: str | None = None
    python: str | None = None


@dataclass(frozen=True)
class Making:
    """What is the same for all candidates of one task."""

    task: PublishedTask
    declared: Mapping[str, int]
    specification: Specification
    wish: Wish
    bench: Bench
    registry: PyPIClient
    say: Say


async def find_candidates(making: Making, settings: Settings) -> list[SourceCandidate]:
    """Return the sources to try, best first. Raises `UsageError` when there is none."""
    tree = making.specification.tree
    until = await newest_pin(making.specification, making.registry)
    kind, what, version = parse_source(making.wish.source or f"sdist:{making.task.id}")
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
    layer = await making.bench.builder.source(candidate.request)
    project = read_project(layer.path)
    tests, notes = read_layout(layer.path, project, task.commands, task.test_files)
    own = [project.name or task.id, *tests.packages]
    wanted = await choose(making.specification, project, own, making.registry, making.wish.python)
    notes += wanted.notes
    source = _recorded(candidate, project, layer.built["tree"], notes)
    for note in notes:
        making.say(note)
    if tests.distribution is None and project.name is not None:
        tests = tests.model_copy(update={"distribution": _pretended(project, source.version)})
    return Recipe(
        task=task.id,
        notes="; ".join(notes),
        source=source,
        environment=wanted.environment(),
        tests=tests,
        declared=dict(making.declared),
        published=PublishedRun(commands=task.commands, test_files=task.test_files),
    )


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
