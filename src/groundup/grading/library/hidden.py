"""How a library meets an original's hidden tests: the record that a recipe fills, and the names of tests."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from pydantic import Field

from groundup.domain.records import Record
from groundup.environments.requests import PythonEnvironment

MAX_ID_CHARS = 200
_ORDINAL = re.compile(r" #([1-9]\d*)$")


class NumberedTest(NamedTuple):
    """One hidden test: its node id, shortened when very long, and its number among those with the same id."""

    id: str
    ordinal: int = 1

    def __str__(self) -> str:
        """Return the id; a number is appended where it is needed to tell two apart."""
        if self.ordinal == 1 and not _ORDINAL.search(self.id):
            return self.id
        return f"{self.id} #{self.ordinal}"

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self.id.partition("::")[0]

    @property
    def without_parameters(self) -> str:
        """The id of the function behind a case."""
        return self.id.partition("[")[0]

    @classmethod
    def parse(cls, text: str) -> "NumberedTest":
        """Return the key that `str` made *text* of."""
        found = _ORDINAL.search(text)
        return cls(text[: found.start()], int(found[1])) if found else cls(text)

    @classmethod
    def of(cls, node_id: str, ordinal: int = 1) -> "NumberedTest":
        """Return the key of a test as pytest names it."""
        return cls(shortened(node_id), ordinal)


def shortened(node_id: str) -> str:
    """Return a node id of at most 200 characters: a longer one keeps its head and a digest of the whole."""
    if len(node_id) <= MAX_ID_CHARS:
        return node_id
    digest = hashlib.sha256(node_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{node_id[: MAX_ID_CHARS - 20]}...{digest[:16]}"


class Distribution(Record):
    """The metadata that an installed original would have; frozen with the recipe, so nothing needs installing."""

    name: str
    version: str
    entry_points: dict[str, dict[str, str]] = Field(
        default={}, description="group -> name -> `module:attribute`; `console_scripts` also become programs"
    )
    requires: tuple[str, ...] = ()
    headers: dict[str, tuple[str, ...]] = Field(
        default={}, description="further fields of the metadata, such as Summary, that tests or the library read"
    )


class Extensions(Record):
    """How a submission's compiled modules are made; this happens in another sandbox than the tests."""

    command: tuple[str, ...] = Field(
        default=("setup.py", "build_ext", "--inplace"), description="arguments of the interpreter, at the root"
    )
    outputs: tuple[str, ...] = Field(
        min_length=1, description="patterns of the files that are taken, such as `src/demo/_speedups*.so`"
    )
    timeout_s: float = Field(default=300.0, gt=0)


class HiddenTests(Record):
    """How the original's tests are laid over a submission and run. All paths are relative to the root."""

    packages: tuple[str, ...] = Field(min_length=1, description="import names that the submission must provide")
    import_roots: tuple[str, ...] = Field(default=(".",), description="folders of the submission on sys.path")
    path_order: Literal["last", "first"] = Field(
        default="last", description="where those stand on sys.path; first where a dependency brings its own copy"
    )
    arguments: tuple[str, ...] = Field(min_length=1, description="test files and folders that pytest is given")
    protected: tuple[str, ...] = Field(
        min_length=1, description="files and folders restored from the original, in place of the submission's"
    )
    absent: tuple[str, ...] = Field(default=(), description="further paths of a submission that are left out")
    generated: dict[str, str | tuple[str, ...]] = Field(
        default={},
        description="path -> text of files that building the original writes, such as a module with its version: "
        "a submission that has the folder and not the file is given it; one that ends with / is an empty folder. "
        "A list takes from the original: of a folder the files of these patterns, of a module the assignments of "
        "these names, for a submission that has neither",
    )
    writable: tuple[str, ...] = Field(
        default=(), description="protected folders that tests write into; their Python files stay read-only"
    )
    plugins: tuple[str, ...] = Field(default=(), description="modules of pytest plugins, imported by the runner")
    own_plugins: tuple[str, ...] = Field(
        default=(), description="modules of pytest plugins that the submission provides: plugins under test"
    )
    extensions: Extensions | None = None
    ini: tuple[str, ...] = Field(default=(), description="lines of the one pytest configuration that is read")
    late_filters: tuple[str, ...] = Field(
        default=(), description="warning filters that name classes of the library under test"
    )
    assertions: Literal["rewrite", "plain"] = Field(
        default="rewrite", description="plain where tests fail when pytest shows the values of assertions"
    )
    distribution: Distribution | None = None
    programs: tuple[str, ...] = Field(
        default=(), description="programs of this machine that tests start, such as git; they see its /usr then"
    )
    cwd: str = "."
    environment: dict[str, str] = {}
    child_path: tuple[str, ...] | None = Field(
        default=None, description="PYTHONPATH of programs that tests start; None: the import roots"
    )
    user: Literal["ordinary", "root"] = "ordinary"
    locale: str = "C.UTF-8"
    stdin: Literal["empty", "closed"] = "empty"
    timeout_s: float = Field(
        default=300.0, gt=0, description="of one run of all tests; a third of it for one test"
    )
    one_test_s: float | None = Field(
        default=None,
        gt=0,
        description="after which a test fails and the next begins, where false tests wait for ever",
    )
    timed: tuple[str, ...] = Field(
        default=(),
        description="tests, without parameters, that fail when a neighbour takes a processor for a moment: where "
        "only they fail, all run once more, undisturbed",
    )
    case_order: dict[str, tuple[str, ...]] = Field(
        default={},
        description="test, without parameters -> the parameters of all its cases as the original has them, where "
        "pytest names some by objects of the library: a submission may call those otherwise, in the same places, "
        "which the test's file alone decides",
    )
    ask_service: bool = Field(
        default=False, description="whether tests ask a service in their process: lost ones tell its last answer"
    )
    memory_mb: int = Field(default=2048, ge=64)
    processes: int = Field(default=512, ge=8)


class FalseRecord(Record):
    """What a recipe's original does with false expectations, over several seeds."""

    runs: int = Field(default=0, ge=0, description="how often the original was run so; 0: never")
    tailed: tuple[str, ...] = Field(
        default=(), description="functions whose expectations the original may never reach: they fail at their end"
    )
    free: frozenset[NumberedTest] = Field(
        default=frozenset(),
        description="tests that the original passes with false expectations: never checked",
    )
    leaning: frozenset[NumberedTest] = Field(
        default=frozenset(), description="tests that the original fails without another one before: never checked"
    )


class LibraryUnderTest(NamedTuple):
    """A submission with what its hidden tests need. The submission of an oracle is the original itself."""

    submission: Path
    original: Path
    """Its tests, and nothing of its library, are laid over the submission."""
    hidden: HiddenTests
    environment: PythonEnvironment


def source_files(original: Path, tests: HiddenTests) -> Iterator[Path]:
    """Yield the Python files of the original's packages, protected ones left out."""
    for root in tests.import_roots:
        for package in tests.packages:
            place = original / root / PurePosixPath(*package.split("."))
            files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
            for path in files:
                inner = path.relative_to(original)
                if path.is_file() and not any(inner.is_relative_to(kept) for kept in tests.protected):
                    yield path
