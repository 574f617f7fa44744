"""A recipe: everything that strict grading of a task needs.

Owns the record and what follows from it. `recipe_file` reads and writes it as a TOML file that people can review;
docs/developers/recipes.md explains the keys.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from groundup.domain.errors import TaskError
from groundup.domain.names import Name
from groundup.domain.records import Record
from groundup.environments.requests import AnySource, GitSource, PythonRequest, SourceRequest
from groundup.grading.library.hidden import FalseRecord, HiddenTests, NumberedTest
from groundup.suites.nl2repobench.listing import RecipeHead, label

Pin = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*$")]
Hash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class Why(StrEnum):
    """Why a test of the original is not expected of a submission."""

    SKIPPED = "skipped"
    EXPECTED_FAILURE = "expected failure"
    NETWORK = "network"
    DISPLAY = "display"
    SERVICE = "service"
    USER = "user"
    OPTIONAL_DEPENDENCY = "optional dependency"
    FLAKY = "flaky"
    ISOLATION = "isolation"
    FILE_LEFT_OUT = "file left out"
    WITHOUT_LIBRARY = "passes without the library"
    DATA = "data not in the source"
    COUNT_WRONG = "published count wrong"
    VERSIONS = "other versions"
    """The published image had another interpreter, library or commit; which one is not known."""
    FAILS = "fails with the original"
    """And shows no reason that is known; in a set of one's own, up to a share that its maker chose."""


class RecipeSource(Record):
    """An original that comes from a source distribution."""

    kind: Literal["sdist"] = "sdist"
    name: str
    version: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str

    def request(self) -> AnySource:
        """Return what to ask of the environment builder."""
        return SourceRequest(name=self.name, version=self.version, sha256=self.sha256)

    @property
    def label(self) -> str:
        """What to call it in a table."""
        return label(self.name, self.version)


class RepositorySource(Record):
    """An original that comes from a Git repository, at one commit."""

    kind: Literal["git"] = "git"
    name: str = Field(description="of the distribution that is made of it")
    version: str = Field(description="that it has, or pretends to have")
    repository: str = Field(description="`host/owner/name`; where it is fetched from is the user's configuration")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    tree_digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    without: tuple[str, ...] = Field(default=(), description="large files that no test needs; not in the digest")
    licence: str

    def request(self) -> AnySource:
        """Return what to ask of the environment builder."""
        return GitSource(
            repository=self.repository,
            commit=self.commit,
            tree_digest=self.tree_digest,
            without=self.without,
        )

    @property
    def label(self) -> str:
        """What to call it in a table."""
        return label(self.name, self.version, self.commit)


class KeptSource(Record):
    """An original that lies beside its recipe, because it can be fetched from nowhere: somebody's own folder."""

    kind: Literal["kept"] = "kept"
    name: str
    version: str
    bundle: str = Field(pattern=r"^[\w.+@-]+\.bundle$", description="file of a Git history beside the recipe")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    tree_digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    licence: str
    _folder: Path | None = PrivateAttr(default=None)

    def within(self, folder: Path) -> "KeptSource":
        """Return it with the *folder* in which its bundle lies; that is no part of the recipe, which may move."""
        placed = self.model_copy()
        placed._folder = folder.resolve()
        return placed

    def request(self) -> AnySource:
        """Return what to ask of the environment builder. Raises `TaskError` where the bundle is not known."""
        if self._folder is None:
            raise TaskError(f"the original {self.bundle} lies in a set; name the set and not its recipe alone")
        place = str(self._folder / self.bundle)
        return GitSource(repository=place, commit=self.commit, tree_digest=self.tree_digest)

    @property
    def label(self) -> str:
        """What to call it in a table."""
        return label(self.name, self.version, self.commit)


class RecipeEnvironment(Record):
    """The interpreter and what is installed beside the library under test."""

    python: str = Field(pattern=r"^3\.\d+$")
    python_micro: str | None = Field(default=None, description="what the frozen ids were found with")
    exclude_newer: str = Field(description="index cut-off of the lock, RFC 3339")
    wants: tuple[str, ...] = Field(min_length=1, description="what a person asked for; the lock follows from it")
    complete: bool = Field(
        default=False, description="the wants are all there is, though some may need more: nothing is resolved"
    )
    from_source: dict[Pin, Hash] = Field(
        default={},
        description="what has no wheel -> hash of its source distribution, which the build sandbox installs; what "
        "that needs at run time is to be among the wants",
    )
    lock: dict[Pin, tuple[Hash, ...]] = Field(default={}, description="`name==version` -> hashes")
    builders: dict[Pin, tuple[Hash, ...]] = Field(default={}, description="the same, of what builds sources")

    @property
    def has_stand_in(self) -> bool:
        """Whether its interpreter is another than that of the frozen ids: the setting `python`."""
        return self.python_micro is not None and not self.python_micro.startswith(f"{self.python}.")

    def request(self) -> PythonRequest:
        """Return what to ask of the environment builder."""
        return PythonRequest(
            python=self.python,
            requirements=pinned_lines(self.lock),
            exclude_newer=self.exclude_newer,
            build_requirements=pinned_lines(self.builders),
        )


class PublishedRun(Record):
    """What the published evaluator runs and deletes for a task, so that `official` needs no pulled data."""

    commands: tuple[str, ...] = Field(min_length=1)
    test_files: tuple[str, ...]
    lock: dict[Pin, tuple[Hash, ...]] = Field(
        default={}, description="what the commands need beside the environment, such as plugins of pytest"
    )
    moved: dict[str, str] = Field(
        default={}, description="where the published image has a folder -> where the original has it"
    )


def pinned_lines(lock: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return a lock's lines as an environment builder takes them."""
    return tuple(" ".join([pin, *(f"--hash={digest}" for digest in hashes)]) for pin, hashes in lock.items())


class Excluded(Record):
    """A test of the original that is not expected of a submission."""

    id: str
    why: Why
    note: str = ""


class Difference(Record):
    """Why a published count is not the number of expected tests."""

    data_version: str
    why: Why
    tests: int = Field(description="how many more the published count has; negative: fewer")
    note: str = Field(description="the proof: counts of collected tests, or a line of the log")


class Frozen(Record):
    """What was measured when the expected ids were found."""

    pytest: str
    runs: int = Field(ge=1)
    duration_s: float = Field(ge=0, description="of the slowest run, without what neighbours took of it")
    peak_memory_mb: float | None = Field(default=None, description="None where the machine could not say")
    original_lines: int = Field(ge=0, description="lines of Python in the original's packages, tests left out")
    collected: int | None = Field(default=None, description="tests that pytest collected, ids that repeat counted")
    official: int | None = Field(
        default=None, description="tests that the published evaluator counts for the original; None: not known"
    )
    controls: dict[str, int] = Field(
        default={}, description="worthless submission -> expected tests that it passes"
    )


class Recipe(Record):
    """One task, ready to be graded."""

    format: Literal[1] = 1
    task: Name
    notes: str = ""
    source: Annotated[RecipeSource | RepositorySource | KeptSource, Field(discriminator="kind")]
    environment: RecipeEnvironment
    tests: HiddenTests
    declared: dict[str, int] = Field(default={}, description="data version -> published count")
    published: PublishedRun | None = Field(
        default=None, description="the same in both data versions; None: known from pulled data only"
    )
    reasons: dict[str, Why] = Field(
        default={}, description="shell pattern of test ids -> why they fail here; for freezing"
    )
    differences: tuple[Difference, ...] = Field(
        default=(), description="per data version, adding up to its declared count minus the expected tests"
    )
    frozen: Frozen | None = Field(default=None, description="None: a draft")
    expected: frozenset[NumberedTest] = frozenset()
    floor: frozenset[NumberedTest] = Field(
        default=frozenset(),
        description="expected tests that stubs pass, too: told beside the score",
    )
    twin: FalseRecord | None = Field(
        default=None, description="what the original does with false expectations; None: it was not tried"
    )
    excluded: tuple[Excluded, ...] = ()

    @model_validator(mode="after")
    def _frozen_is_whole(self) -> Self:
        if self.frozen is not None and not (self.expected and self.environment.lock):
            raise ValueError("a frozen recipe has expected ids and a lock")
        if not self.floor <= self.expected:
            raise ValueError(f"{min(self.floor - self.expected)} is in `floor` and is no expected test")
        strangers = {*self.tests.timed} - {test.without_parameters for test in self.expected}
        if self.frozen is not None and strangers:
            raise ValueError(f"{min(strangers)} is in `timed` and is no expected test")
        return self

    def source_request(self) -> AnySource:
        """Return what to ask of the environment builder for the original."""
        return self.source.request()

    def summary(self) -> RecipeHead:
        """Return what a table of tasks says of it."""
        return RecipeHead(
            label=self.source.label,
            python=self.environment.python,
            expected=len(self.expected),
            declared=self.declared,
            lines=None if self.frozen is None else self.frozen.original_lines,
        )


def expected_seconds(recipe: Recipe | None) -> float:
    """Return how long the tests took when *recipe* was frozen; 0 where that is unknown."""
    return 0.0 if recipe is None or recipe.frozen is None else recipe.frozen.duration_s


def shard(recipes: Mapping[str, Recipe], number: int, of: int) -> list[str]:
    """Return the tasks of part *number* (from 1) of *of* parts whose tests take about equally long."""
    parts: list[list[str]] = [[] for _ in range(of)]
    seconds = [0.0] * of
    for task in sorted(recipes, key=lambda task: (-expected_seconds(recipes[task]), task)):
        least = seconds.index(min(seconds))
        parts[least].append(task)
        seconds[least] += expected_seconds(recipes[task])
    return sorted(parts[number - 1])
