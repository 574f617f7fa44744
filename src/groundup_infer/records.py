"""What inference returns: dependencies with the evidence for each, and what the source leaves open."""

from enum import StrEnum

from pydantic import Field

from groundup.domain.languages import DependencyLanguage
from groundup.domain.records import Record
from groundup.languages import LANGUAGES
from groundup_infer.python_layout import SourcePlace

Language = DependencyLanguage
"""The languages whose imports are understood."""


def imported_name(language: Language, name: str) -> str:
    """Return the same for names of which one may come from source code."""
    record = LANGUAGES[language]
    return (record.canonical_import or record.canonical)(name)


class InferredKind(StrEnum):
    """What a dependency is needed for. The words are those of `manifests`."""

    RUNTIME = "runtime"
    OPTIONAL = "optional"
    """Imported by the package, but the package works without it: extras, plugins, backends."""
    BUILD = "build"
    DEV = "dev"
    """Imported only by tests, documentation, examples or tools."""


class Manner(StrEnum):
    """How an import is made, where that differs from: at once, when the module is loaded."""

    LAZY = "lazy"
    """Inside a function."""
    GUARDED = "guarded"
    """The code goes on when it fails."""
    DEMANDED = "demanded"
    """Guarded, but the handler raises: a better message, not an alternative."""
    FALLBACK = "fallback"
    """Made when another import failed."""
    TYPING = "typing-only"
    VERSION = "version-dependent"
    PLATFORM = "platform-dependent"
    CONDITIONAL = "conditional"
    DYNAMIC = "dynamic"
    """By a call with a literal name."""
    FEATURE = "feature-gated"
    """Rust: compiled only with a feature."""
    TEST = "test-only"
    """Rust: compiled only for tests. JavaScript: by a mock of a test."""


class Evidence(Record):
    """One import that speaks for a dependency."""

    path: str
    line: int = Field(ge=1)
    imported: str = Field(description="as the source names it: module, crate, specifier or namespace")
    place: SourcePlace = SourcePlace.PACKAGE
    manners: tuple[Manner, ...] = ()
    reached: bool | None = Field(
        default=None, description="whether loading the package runs it; None where that is not examined"
    )

    def __str__(self) -> str:
        words = [str(manner) for manner in self.manners] or ["eager"]
        if self.place is not SourcePlace.PACKAGE:
            words.append(f"in {self.place}")
        elif self.reached is False:
            words.append("not reached on import")
        return f"imported in {self.path}:{self.line}, {', '.join(words)}"


class InferredDependency(Record):
    """One dependency that the source speaks for."""

    name: str = Field(description="of the distribution, crate or package")
    kind: InferredKind
    constraint: str = Field(default="", description="what the code shows; empty: nothing")
    marker: str = Field(default="", description="Python: environment marker that the code's own test implies")
    imported: tuple[str, ...] = Field(description="the names that the code uses for it")
    confidence: float | None = Field(default=None, ge=0, le=1, description="that it is required at run time")
    known: bool = Field(default=True, description="False: the name is a guess from the import name")
    evidence: tuple[Evidence, ...] = Field(description="strongest first, at most EVIDENCE_KEPT")
    uses: int = Field(ge=1, description="number of imports in all")


EVIDENCE_KEPT = 5


class InferredReference(Record):
    """Another project of the repository that a project needs."""

    path: str = Field(description="of its project file, relative to the folder of the one that needs it")
    evidence: Evidence


class InferredProject(Record):
    """What one of several projects of a repository needs. Its kinds are those within the repository."""

    path: str
    dependencies: tuple[InferredDependency, ...]
    references: tuple[InferredReference, ...] = ()


class Inference(Record):
    """What the source of one language in one repository needs."""

    language: Language
    dependencies: tuple[InferredDependency, ...] = Field(description="sorted by kind, then name")
    unknown: tuple[str, ...] = Field(
        default=(),
        description="imports whose provider no data file names; where a name was guessed it is a dependency",
    )
    local: tuple[str, ...] = Field(default=(), description="import roots that the repository itself provides")
    requires_python: str | None = Field(
        default=None, description="the oldest Python that the package's syntax runs on"
    )
    files: int = Field(ge=0, description="source files read")
    projects: tuple[InferredProject, ...] = Field(default=(), description="of C#: what each project needs")
    cannot_know: tuple[str, ...] = Field(default=(), description="limits of this answer, one sentence each")

    def of_kind(self, *kinds: InferredKind) -> tuple[InferredDependency, ...]:
        return tuple(dependency for dependency in self.dependencies if dependency.kind in kinds)
