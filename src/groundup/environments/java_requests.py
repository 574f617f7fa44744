"""What can be asked of the builder for Java, and what comes back."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from pydantic import Field

from groundup.domain.records import Record
from groundup.environments.requests import Layer
from groundup.sandbox.protocol import Mount

JAVA_TARGET = "/opt/java"
"""Where the JDK is seen inside a sandbox."""
MAVEN_TARGET = "/opt/maven"
REPOSITORY_TARGET = "/home/user/.m2/repository"
"""Where a local repository is seen: Maven's own default."""
PROJECT_FILES = ("pom.xml",)
"""Names of files that decide what Maven resolves, besides everything in `.mvn`."""


class JavaToolchain(Record):
    """What a sandbox needs to run Java and Maven."""

    java: str = Field(description="version of the JDK, whole")
    maven: str = Field(description="version of Maven")
    mounts: tuple[Mount, ...]
    path: tuple[str, ...]
    environment: dict[str, str] = {}


class MavenRequest(Record):
    """A local repository with all that a project's build files make Maven fetch."""

    files: Mapping[str, bytes] = Field(
        description="build files by their place in the project: see `PROJECT_FILES`"
    )
    java: int = Field(default=17, ge=8, description="major version of the JDK")


class MavenRepository(Record):
    """A local repository that holds nothing but what repositories gave out, and what it is for."""

    layer: Layer
    toolchain: JavaToolchain
    test_classpath: tuple[str, ...] = Field(description="places of jars that tests of the project need, in order")
    runner: tuple[str, ...] = Field(
        default=(), description="places of jars that start JUnit 5 tests besides those"
    )
    own_classpath: tuple[str, ...] = Field(default=(), description="further entries, inside the project's folder")

    @property
    def mount(self) -> Mount:
        """The repository, read-only, where Maven looks for it."""
        return Mount(source=self.layer.path, target=REPOSITORY_TARGET)


def is_project_file(place: str) -> bool:
    """Whether the file at *place* of a project decides what Maven resolves."""
    path = PurePosixPath(place)
    return path.name in PROJECT_FILES or ".mvn" in path.parts
