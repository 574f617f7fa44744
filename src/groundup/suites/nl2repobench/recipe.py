"""A recipe is everything that strict grading of a task needs: the record, what follows from it, its TOML file.

docs/developers/recipes.md explains the keys. Some recipes come with groundup.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, PrivateAttr, ValidationError, model_validator
from typing_extensions import override

from groundup.domain.digests import LATER
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import Name, count
from groundup.domain.records import Record, SettingRecord, plainly
from groundup.environments.requests import EditedSource, GitSource, PythonRequest, ReleasedFiles, SourceRequest
from groundup.grading.library.hidden import FalseRecord, HiddenTests, NumberedTest
from groundup.suites.nl2repobench.listing import SUFFIX, RecipeHead, label
from groundup.suites.nl2repobench.published_image import PublishedImage, graded_edits
from groundup.trees.edits import FileEdit
from groundup.trees.walking import read_regular

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
    TESTS = "other tests"
    """The published image had another form of these tests, which is known."""
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

    def request(self) -> SourceRequest | GitSource:
        """Return what to ask of the environment builder."""
        return SourceRequest(name=self.name, version=self.version, sha256=self.sha256)

    @property
    def label(self) -> str:
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
    by_git_only: bool = Field(
        default=False, description="attributes of the repository make another tree of its host's archive"
    )
    licence: str
    released: Annotated[ReleasedFiles | None, LATER] = Field(
        default=None, description="what matters of it, from the package index"
    )

    def request(self) -> SourceRequest | GitSource:
        """Return what to ask of the environment builder."""
        return GitSource(
            repository=self.repository,
            commit=self.commit,
            tree_digest=self.tree_digest,
            without=self.without,
            by_git_only=self.by_git_only,
            released=self.released,
        )

    @property
    def label(self) -> str:
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

    def request(self) -> SourceRequest | GitSource:
        """Return what to ask of the environment builder. Raises `TaskError` where the bundle is not known."""
        if self._folder is None:
            raise TaskError(f"the original {self.bundle} lies in a set; name the set and not its recipe alone")
        place = str(self._folder / self.bundle)
        return GitSource(repository=place, commit=self.commit, tree_digest=self.tree_digest)

    @property
    def label(self) -> str:
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


class Difference(SettingRecord):
    """Why a published count is not the number of expected tests."""

    data_version: str
    why: Why
    tests: int = Field(description="how many more the published count has; negative: fewer")
    note: str = Field(description="the proof: counts of collected tests, or a line of the log")


class Frozen(SettingRecord):
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
    image: PublishedImage | None = Field(
        default=None, description="what the published image holds; None: nothing is known of it"
    )
    edits: dict[str, FileEdit] = Field(
        default={},
        description="files of the tests -> what rules make of them, where they want what cannot be fetched",
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

    def source_request(self) -> SourceRequest | GitSource:
        """Return what to ask of the environment builder for the original."""
        return self.source.request()

    def image_request(self) -> SourceRequest | GitSource:
        """Return the original of which the published image's files are: the same, or another revision of it."""
        source = self.source_request()
        if self.image is None or not self.image.revision or not isinstance(source, GitSource):
            return source
        return source.but(commit=self.image.revision, tree_digest=self.image.tree_digest, released=None)

    def graded_request(self) -> SourceRequest | GitSource | EditedSource:
        """Return the same with the hidden tests as `strict` runs them."""
        source, edits = self.source_request(), {**graded_edits(self.image), **self.edits}
        return EditedSource(of=source, edits=edits) if edits else source

    @property
    def form_of_tests(self) -> str:
        """Which form of the hidden tests `strict` runs, and why."""
        if self.edits:
            return f"upstream's, {count(len(self.edits), 'file')} without what cannot be fetched"
        if not (edits := graded_edits(self.image)):
            return "upstream's"
        return f"imports as published in {count(len(edits), 'file')}, where a missing name loses no whole file"

    def summary(self) -> RecipeHead:
        """Return what a table of tasks says of it."""
        return RecipeHead(
            label=self.source.label,
            python=self.environment.python,
            expected=len(self.expected),
            declared=self.declared,
            lines=None if self.frozen is None else self.frozen.original_lines,
            programs=self.tests.programs,
            by_git_only=isinstance(self.source, RepositorySource)
            and self.source.by_git_only
            and self.source.released is None,
        )


def expected_seconds(recipe: Recipe | None) -> float:
    """Return how long the tests took when *recipe* was frozen; 0 where that is unknown."""
    return 0.0 if recipe is None or recipe.frozen is None else recipe.frozen.duration_s


Kept = TypeVar("Kept", bound=Record)

_SEPARATOR = "::"
_RETIRED = (("twin", "mixed"), ("tests", "canary_name"), ("tests", "copied_canaries"))
"""Keys of earlier recipes that nothing reads any more."""
_KINDS = ("sdist", "git", "kept")
"""Of sources: which of them it is stands in a place of an error, and not in the file."""


def read_recipe(path: Path) -> Recipe:
    """Return the recipe in a file. Raises `UsageError` where it is unreadable, and as `parse_recipe` does."""
    try:
        text = read_regular(path).decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a recipe") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start + 1}); name a recipe") from error
    return parse_recipe(text, str(path))


def parse_recipe(text: str, origin: str) -> Recipe:
    """Return the recipe in *text*; *origin* names it in errors. Raises `TaskError`."""
    try:
        document = tomllib.loads(text)
        for table, key in _RETIRED:
            document.get(table, {}).pop(key, None)
        for name in ("floor", "expected"):
            document[name] = frozenset(_ungrouped(document.get(name, {})))
        for name in {"free", "leaning"} & document.get("twin", {}).keys():
            document["twin"][name] = frozenset(_ungrouped(document["twin"][name]))
        return Recipe.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part not in _KINDS)
        what = f"{where}: {plainly(first)}" if where else plainly(first)
        raise TaskError(f"{origin}: {what}; see docs/developers/recipes.md") from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{origin}: not valid TOML: {error}; mend the recipe") from error
    except (TypeError, AttributeError) as error:
        raise TaskError(
            f"{origin}: [expected], [floor], [twin.free], [twin.leaning]: one list of test names per file"
        ) from error


def _ungrouped(groups: Mapping[str, list[str]]) -> Iterable[NumberedTest]:
    for prefix, names in groups.items():
        for text in names:
            test = NumberedTest.parse(text)
            yield NumberedTest(prefix + test.id, test.ordinal)


class RecipeFolder(Mapping[str, Recipe]):
    """The recipes in a folder by their tasks, sorted; each is read when it is first asked for.

    To ask for one raises `TaskError` where its file holds no recipe, or that of another task.
    """

    def __init__(self, folder: Traversable, python: str | None = None) -> None:
        """Look which recipes there are. *python* stands in for the interpreter of each."""
        self._folder = folder
        self._python = python
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(SUFFIX))
        self._recipes: dict[str, Recipe | None] = dict.fromkeys(name.removesuffix(SUFFIX) for name in names)

    @override
    def __getitem__(self, task: str) -> Recipe:
        recipe = self._recipes[task]
        if recipe is None:
            name = f"{task}{SUFFIX}"
            recipe = parse_recipe((self._folder / name).read_text(encoding="utf-8"), name)
            if recipe.task != task:
                raise TaskError(f"{name}: holds the recipe of {recipe.task!r}; rename one of them")
            if self._python is not None:
                environment = recipe.environment.but(python=self._python)
                recipe = recipe.but(environment=environment)
            self._recipes[task] = recipe
        return recipe

    @override
    def __contains__(self, task: object) -> bool:
        return task in self._recipes

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._recipes)

    @override
    def __len__(self) -> int:
        return len(self._recipes)


def own_names(recipe: Recipe) -> tuple[str, ...]:
    """Return the distribution names under which the original can be fetched."""
    names = {recipe.source.name}
    if recipe.tests.distribution is not None:
        names.add(recipe.tests.distribution.name)
    return tuple(sorted(names))


@cache
def shipped_recipes(python: str | None = None) -> RecipeFolder:
    """Return the recipes that come with groundup, all with the interpreter *python* where it is given."""
    return RecipeFolder(files("groundup.suites.nl2repobench") / "recipes", python)


def shipped_beside(kind: type[Kept], task: str, suffix: str, *, what: str, remedy: str) -> Kept | None:
    """Return what lies beside the shipped recipe of *task*, in a file with *suffix*; None: there is none.

    Raises `TaskError`, which ends with *remedy*, for a file that holds no *what*.
    """
    place = files("groundup.suites.nl2repobench") / "recipes" / f"{task}{suffix}"
    if not place.is_file():
        return None
    try:
        return kind.model_validate_json(place.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise TaskError(f"{place.name} is no {what} ({error.error_count()} errors); {remedy}") from error
