"""What can be asked of the environment builder, and what comes back."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from groundup.domain.digests import LATER, digest_of, short
from groundup.domain.records import Record
from groundup.sandbox.protocol import Mount
from groundup.trees.edits import FileEdit

PYTHON_TARGET = "/opt/python"
"""Where an interpreter's prefix is seen inside a sandbox."""
ENVIRONMENT_TARGET = "/opt/env"
"""Where a virtual environment layer is seen inside a sandbox; its interpreter is /opt/env/bin/python."""
PROGRAM_TARGET = "/opt/agent"
"""Below it a program is seen that has interpreter and packages of its own, such as an agent: it can need another
Python than what is worked on, and nothing of its own is on that one's PATH or import path."""
JAVA_TARGET = "/opt/java"
"""Where the JDK is seen inside a sandbox."""
MAVEN_TARGET = "/opt/maven"
REPOSITORY_TARGET = "/home/user/.m2/repository"
"""Where a local repository is seen: Maven's own default."""
PROJECT_FILES = ("pom.xml",)
"""Names of files that decide what Maven resolves, besides everything in `.mvn`."""


PinnedRequirement = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*( --hash=sha256:[0-9a-f]{64})+$"
    ),
]
"""A line `name==version --hash=sha256:...`, as `locking` makes it."""


class PythonRequest(Record):
    """A virtual environment: an interpreter and hashed requirements."""

    python: str = Field(pattern=r"^3\.\d+$", description="minor version; the micro that is found is recorded")
    requirements: tuple[PinnedRequirement, ...] = Field(default=(), description="complete: nothing is resolved")
    with_pip: bool = Field(default=False, description="pip inside; the interpreter's own unless a line names one")
    exclude_newer: str | None = Field(default=None, description="index cut-off, RFC 3339 date")
    build_requirements: tuple[PinnedRequirement, ...] = Field(
        default=(),
        description="hashed lines at hand where a requirement without a wheel is built; not part of the layer",
    )
    refused: tuple[str, ...] = Field(
        default=(), description="names that the gateway refuses, such as the task's own"
    )
    on_behalf_of: Literal["recipe", "submission"] = Field(
        default="recipe", description="who asked, and so who is to blame when it cannot be built"
    )


class ResolvedRequest(Record):
    """A virtual environment for requirement lines without a lock, such as a submission's own."""

    python: str = Field(pattern=r"^3\.\d+$")
    requirements: tuple[str, ...] = Field(default=(), description="PEP 508 lines; comments are dropped")
    with_pip: bool = False
    exclude_newer: str | None = None
    refused: tuple[str, ...] = ()
    on_behalf_of: Literal["recipe", "submission"] = "submission"
    begins_with: tuple[str, ...] = Field(
        default=(), description="lines that many such environments share: made once, while these are resolved"
    )
    names: tuple[str, ...] | None = Field(
        default=None,
        description="what the code that will run there speaks of: only modules that these lead to have their "
        "bytecode from the start, where the layer is new; None: all have it",
    )
    work_s: float | None = Field(
        default=None, gt=0, description="for resolving and installing, without waiting for a turn; None: no limit"
    )


class Resolution(Record):
    """What requirement lines came to, and when: the same lines may come to something else on another day."""

    lines: tuple[PinnedRequirement, ...] = Field(description="complete and hashed")
    resolved_at: datetime

    @property
    def label(self) -> str:
        """Name it in a verdict: which versions, by digest, and when they were looked up."""
        return f"{short(digest_of(self.lines))} of {self.resolved_at.isoformat()}"

    def as_text(self) -> bytes:
        """Return a requirements file that installs the same again."""
        lines = (f"# resolved at {self.resolved_at.isoformat()}", *self.lines)
        return "".join(f"{line}\n" for line in lines).encode()


class SourceRequest(Record):
    """An original's source distribution, by name, version and hash."""

    kind: Literal["sdist"] = "sdist"
    name: str
    version: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Upload(Record):
    """A source distribution that holds files of a commit."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    files: tuple[str, ...] = Field(default=(), description="what is taken of it; empty: all")


class ReleasedFiles(Record):
    """What the package index has of a commit: every file of its tests and packages, and what builds them."""

    tree_digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    uploads: dict[str, Upload] = Field(
        min_length=1, description="`name==version` -> an upload; where two have a file, the later one's is taken"
    )
    without: tuple[str, ...] = Field(default=(), description="files and folders that are not the commit's")
    edits: dict[str, FileEdit] = Field(default={}, description="path -> how its file becomes the commit's")

    def requests(self) -> "Mapping[SourceRequest, tuple[str, ...]]":
        """Return what to fetch, with the files that are taken of each."""
        parts = ((pin.partition("=="), upload) for pin, upload in self.uploads.items())
        return {
            SourceRequest(name=name, version=version, sha256=upload.sha256): upload.files
            for (name, _, version), upload in parts
        }


class GitSource(Record):
    """An original's repository at one commit."""

    kind: Literal["git"] = "git"
    repository: str = Field(min_length=1, description="`host/owner/name`, or an address or path taken as it is")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    tree_digest: str | None = Field(
        default=None, pattern=r"^sha256:[0-9a-f]{64}$", description="of the tree as committed; None: not yet known"
    )
    without: tuple[str, ...] = Field(default=(), description="files and folders of it that are left out")
    by_git_only: bool = Field(default=False, description="its host's archive of the commit holds another tree")
    released: Annotated[ReleasedFiles | None, LATER] = Field(
        default=None, description="the same from the package index; None: it does not have all that matters"
    )


class EditedSource(Record):
    """A source with some files changed by rules, each to a stated digest."""

    kind: Literal["edited"] = "edited"
    of: SourceRequest | GitSource
    edits: dict[str, FileEdit] = Field(min_length=1, description="path -> how its file is made of the source's")


AnySource = SourceRequest | GitSource | EditedSource
"""Where an original comes from."""


class Layer(Record):
    """A prebuilt, read-only piece of a sandbox's file system."""

    digest: str
    kind: str
    path: Path
    built: dict[str, str] = Field(default={}, description="what the lock records: micro version, tool versions")
    warnings: tuple[str, ...] = ()


class PythonEnvironment(Record):
    """What a sandbox needs to run a recipe's Python."""

    layer: Layer
    mounts: tuple[Mount, ...]
    path: tuple[str, ...]
    executable: str = f"{ENVIRONMENT_TARGET}/bin/python"
    python_version: str = Field(description="with the micro version")
    own_packages: str | None = Field(
        default=None, description="where the interpreter itself looks for packages inside; None: unknown"
    )
    resolution: Resolution | None = Field(default=None, description="where the requirements were not locked")
    environment: dict[str, str] = Field(
        default={}, description="variables without which the interpreter does not start; usually none"
    )


# --- programs


class ProgramRequest(Record):
    """A program of a registry, at one version. What it needs is resolved when its layer is built."""

    registry: Literal["pypi", "npm"]
    package: str
    version: str
    python: str = Field(default="3.12", pattern=r"^3\.\d+$", description="for `pypi`")
    exclude_newer: str | None = Field(default=None, description="index cut-off for all that it needs, and itself")
    also: tuple[str, ...] = Field(default=(), description="further requirements")
    without: tuple[str, ...] = Field(default=(), description="packages that it names and that are not installed")


class InstalledProgram(Record):
    """What a sandbox mounts to have it, and where its commands are."""

    mounts: tuple[Mount, ...]
    bin: str = Field(description="the folder of its commands; not for PATH, where it would hide others")
    path: tuple[str, ...] = Field(default=(), description="what its commands need in PATH")
    environment: dict[str, str] = {}
    identity: dict[str, str] = Field(description="what was installed, for records")


# --- Java


class JavaToolchain(Record):
    """What a sandbox needs to run Java and Maven."""

    java: str = Field(description="version of the JDK, whole")
    maven: str = Field(description="version of Maven")
    mounts: tuple[Mount, ...]
    path: tuple[str, ...]
    environment: dict[str, str] = {}

    def environment_within(self, memory_mb: int) -> dict[str, str]:
        """Return the variables that also make every Java inside size its heap as in a container of *memory_mb*."""
        return {**self.environment, "JAVA_TOOL_OPTIONS": f"-XX:MaxRAM={memory_mb}m"}


class MavenRequest(Record):
    """A local repository with all that a project's build files make Maven fetch."""

    files: Mapping[str, bytes] = Field(
        description="build files by their place in the project: see `PROJECT_FILES`"
    )
    java: int = Field(default=17, ge=8, description="major version of the JDK")
    offline: bool = Field(default=False, description="also what `dependency:go-offline` fetches")


class MavenRepository(Record):
    """A local repository that holds nothing but what repositories gave out, and what it is for."""

    layer: Layer
    toolchain: JavaToolchain
    test_classpath: tuple[str, ...] = Field(description="places of jars that tests of the project need, in order")
    runner: tuple[str, ...] = Field(
        default=(), description="places of jars that start JUnit 5 tests besides those"
    )
    own_classpath: tuple[str, ...] = Field(default=(), description="further entries, inside the project's folder")
    goes_offline: bool = Field(default=False, description="whether `dependency:go-offline` would fetch no more")

    @property
    def mount(self) -> Mount:
        return Mount(source=self.layer.path, target=REPOSITORY_TARGET)


def is_project_file(place: str) -> bool:
    """Whether the file at *place* of a project decides what Maven resolves."""
    path = PurePosixPath(place)
    return path.name in PROJECT_FILES or ".mvn" in path.parts
