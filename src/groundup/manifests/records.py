"""What a manifest declares: dependencies of four languages as one record, and notes on what stays unknown."""

from enum import StrEnum
from typing import Literal, NamedTuple

from pydantic import Field

from groundup.domain.errors import UsageError
from groundup.domain.languages import DependencyLanguage
from groundup.domain.records import Record

Language = DependencyLanguage
"""The languages whose manifests are understood."""


class DependencyKind(StrEnum):
    """What a dependency is needed for."""

    RUNTIME = "runtime"
    OPTIONAL = "optional"
    """Installed on request: extras in Python, `optionalDependencies` in JavaScript, `optional = true` in Rust."""
    BUILD = "build"
    """Needed to build: `build-system.requires` and `setup_requires`, `[build-dependencies]`."""
    DEV = "dev"
    TEST = "test"
    PEER = "peer"
    GROUP = "group"
    """A named group that is neither dev nor test: PEP 735, Poetry and PDM groups, requirements files by name."""
    CONSTRAINT = "constraint"
    """A version without a request: constraints files, central package versions, `[workspace.dependencies]`."""
    OVERRIDE = "override"
    """A forced version: npm `overrides` and `resolutions`, uv `override-dependencies`, Cargo `[patch]`."""


class DependencySource(StrEnum):
    """Where a dependency comes from. Only `registry` can be looked up by name and version."""

    REGISTRY = "registry"
    PATH = "path"
    WORKSPACE = "workspace"
    GIT = "git"
    URL = "url"
    PROJECT = "project"
    """Another project of the same repository, named by its path (C# `ProjectReference`)."""
    FRAMEWORK = "framework"
    """Ships with the platform (C# `FrameworkReference`, and `Reference` without a path)."""


class Location(Record):
    """Where in the file a declaration stands."""

    line: int = Field(ge=1, description="first line, from 1")
    start: int = Field(ge=0, description="offset of the first character in the decoded text, BOM not counted")
    end: int = Field(ge=0, description="offset after the last character")


class Dependency(Record):
    """One declared dependency."""

    language: Language
    name: str = Field(description="as the registry would be asked; empty where the declaration has no name")
    normalised: str = Field(description="the name in the registry's one spelling (PEP 503 in Python)")
    constraint: str = Field(default="", description="version constraint as written; empty: any version")
    extras: tuple[str, ...] = Field(
        default=(), description="extras (Python) or features (Rust), as written, in order"
    )
    marker: str = Field(default="", description="environment marker, target or Condition, as written")
    kind: DependencyKind = DependencyKind.RUNTIME
    group: str = Field(default="", description="name of the extra, group or target framework; empty: none")
    source: DependencySource = DependencySource.REGISTRY
    origin: str = Field(default="", description="URL, path or registry address; empty for the default registry")
    alias: str = Field(default="", description="the name the code uses, where the declaration renames the package")
    details: tuple[tuple[str, str], ...] = Field(
        default=(),
        description="everything else in the declaration, sorted by key; a value is text or canonical JSON",
    )
    text: str = Field(default="", description="the declaration as it stands in the file")
    location: Location | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything that is declared, without how and where it is written."""
        return (
            self.language,
            self.normalised or self.name,
            self.constraint,
            self.extras,
            self.marker,
            self.kind,
            self.group,
            self.source,
            self.origin,
            self.alias,
            self.details,
        )


class Note(Record):
    """Something a reader of a manifest must know besides its dependencies."""

    topic: Literal["cannot-say", "reference", "dynamic", "kept"] = Field(
        description="cannot-say: declared in a way that only running it would show; reference: more stands in "
        "another file; dynamic: the format leaves it to another manifest; kept: a mask leaves this in place"
    )
    message: str
    line: int | None = Field(default=None, ge=1)
    target: str = Field(default="", description="path of the file referred to, as written")
    kind: DependencyKind = Field(
        default=DependencyKind.RUNTIME, description="of the dependencies that the note is about"
    )
    group: str = ""


class Manifest(Record):
    """What one file declares."""

    format: str
    dependencies: tuple[Dependency, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the dependencies are all that the file declares: nothing stays unknown."""
        return not any(note.topic == "cannot-say" for note in self.notes)


class SectionKey(NamedTuple):
    """Which section of a manifest a dependency belongs to."""

    kind: DependencyKind
    group: str = ""
    marker: str = ""
    """Set only where sections are per target (Cargo `[target.….dependencies]`, conditional ItemGroups)."""


class ManifestError(UsageError):
    """A manifest that cannot be understood or edited. Names the file and, where known, the line."""

    def __init__(self, path: str, reason: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        self.reason = reason
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {reason}")
