"""A first draft of the recipe of a library for which nothing is published: source, environment and layout.

A release of these years is tried as a user would install it today, then as its authors had it: with an interpreter
of its time and the index as of soon after; what came since may have broken it. An older one is tried so first.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from groundup.domain.errors import TaskError
from groundup.environments.installed_tools import FETCHED, python_at_hand
from groundup.grading.context import GradingContext
from groundup.registries.pypi.client import PyPIClient
from groundup.settings import Settings
from groundup.suites.nl2repobench.decisions import TaskDecision
from groundup.suites.nl2repobench.recipe import KeptSource, Recipe, RecipeSource, RepositorySource, Why
from groundup_factory.recipes.build import pretended, recorded
from groundup_factory.recipes.candidates import MINORS, SourceCandidate
from groundup_factory.recipes.layout import read_layout
from groundup_factory.recipes.needs_of_tests import (
    files_of_tests,
    needs_of_tests,
    places_of_tests,
    requires_python,
)
from groundup_factory.recipes.pinning import Specification, choose
from groundup_factory.recipes.project import OriginalProject, text_at

_MOST = 2
_PREFERRED = ("3.12", "3.11", "3.13", "3.10", "3.9", "3.8", "3.7")
"""What most releases of these years are tested with comes first."""
RELEASED = {
    "3.7": "2018-06-27", "3.8": "2019-10-14", "3.9": "2020-10-05", "3.10": "2021-10-04", "3.11": "2022-10-24",
    "3.12": "2023-10-02", "3.13": "2024-10-07",
}  # fmt: skip
_HALF_A_YEAR = timedelta(days=180)
"""After an interpreter's release, until most libraries work with it; after a library's, until its needs change."""
_OLD = timedelta(days=3 * 365)
_SOON_AFTER = timedelta(days=90)
_EARLIEST = datetime(2021, 7, 1, tzinfo=UTC)
"""Of an index: before, pytest was older than the runner can use."""
_USABLE_PYTEST = ">=6.2"
_PLUGINS_OF_KEYS = (("asyncio_mode", "pytest-asyncio"), ("DJANGO_SETTINGS_MODULE", "pytest-django"))
"""Whose options stand in pytest's configuration."""
_PYTESTS = ("8.4.1", "8.3.5", "7.4.4", "7.0.1", "6.2.5")
"""The first is taken where nothing speaks against it; the others stand for their series."""


@dataclass(frozen=True)
class Attempt:
    """One way to try an original."""

    python: str
    day: str
    """As of which the index is seen."""
    old: bool = False

    def added(self, needs: Iterable[str], ini: Iterable[str]) -> tuple[str, ...]:
        """Return the requirement lines that the tests' own *needs* and the configuration ask for besides."""
        lines = [Requirement(line) for line in needs]
        more = [name for key, name in _PLUGINS_OF_KEYS if any(line.startswith(key) for line in ini)]
        named = {canonicalize_name(line.name) for line in lines}
        own = next((line.specifier for line in lines if canonicalize_name(line.name) == "pytest"), None)
        fitting = [version for version in _PYTESTS if own is None or own.contains(version)]
        if self.old:
            more.append(f"pytest{_USABLE_PYTEST}")
        elif fitting and fitting[0] != _PYTESTS[0]:
            more.append(f"pytest{own},{_USABLE_PYTEST}")
        return tuple(line for line in more if line not in named)


def attempts(root: Path, wanted: str | None, released: str, settings: Settings) -> list[Attempt]:
    """Return how to try the original at *root*, best first. Raises `TaskError` where no interpreter fits.

    *wanted*: the one that a person chose; *released*: when the original is from, where it is known.
    """
    now = datetime.now(UTC)
    today = f"{now.date()}T00:00:00Z"
    if wanted is not None:
        return [Attempt(wanted, today)]
    allowed = requires_python(root)
    fitting = [minor for minor in _PREFERRED if minor in MINORS and allowed.contains(f"{minor}.99")]
    if not fitting:
        raise TaskError(f"the project wants Python {allowed}; groundup grades with {MINORS[0]} to {MINORS[-1]}")
    here = [minor for minor in fitting if python_at_hand(minor, settings.cache_dir / FETCHED)] or fitting
    moment = _moment(released)
    if moment is None or now - moment < _HALF_A_YEAR:
        return [Attempt(minor, today) for minor in here[:_MOST]]
    by_then = [one for one in here if RELEASED[one] < str((moment - _HALF_A_YEAR).date())]
    by_then = by_then or [min(here, key=MINORS.index)]
    is_old = now - moment > _OLD
    python = max(by_then, key=MINORS.index) if is_old else by_then[0]
    # Only a later interpreter may be here, which no pytest of the library's time works with.
    ready = datetime.fromisoformat(RELEASED[python]).replace(tzinfo=UTC) + _HALF_A_YEAR
    day = max(moment + _SOON_AFTER, _EARLIEST, ready).date()
    then = Attempt(python, f"{day}T00:00:00Z", old=True)
    return [then, Attempt(here[0], today)] if is_old else [Attempt(here[0], today), then]


def first_of_each(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the requirement *lines* without later ones of a name that was there before."""
    kept: dict[str, str] = {}
    for line in lines:
        kept.setdefault(str(canonicalize_name(Requirement(line).name)), line)
    return tuple(kept.values())


def _moment(text: str) -> datetime | None:
    """Return what *text* says; None where it says nothing, as the 0 of a folder without history does."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found if found.timestamp() > 0 else None


_PASS = re.compile(r"^(\d+) of \d+ tests pass")


def most_telling(errors: Sequence[TaskError]) -> TaskError:
    """Return the error of the attempt that came furthest."""

    return max(errors, key=passed_by)


def passed_by(error: TaskError) -> int:
    """Return how many tests pass as *error* says it; -1 where it does not."""
    found = _PASS.match(str(error))
    return int(found[1]) if found else -1


def runs_pytest(root: Path, places: Iterable[str]) -> bool:
    """Whether a test file at one of *places* below *root* runs pytest, by the fixtures for that."""
    files = (path for place in places for path in files_of_tests(root / place))
    return any(_RUNS_PYTEST.search(text_at(path) or "") for path in files)


_RUNS_PYTEST = re.compile(r"\b(?:testdir|pytester)\b")


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
    if tests.own_plugins and runs_pytest(layer.path, tests.arguments):
        # Its entry point is how the inner pytest of such tests finds the plugin.
        tests = tests.but(environment={**tests.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""})
        notes.append("tests of a plugin run pytest, which finds plugins by itself")
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
