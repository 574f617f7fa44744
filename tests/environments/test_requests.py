"""What is asked of the builder, and what comes back."""

from datetime import UTC, datetime

import pytest

from groundup.environments.requests import (
    JavaToolchain,
    ReleasedFiles,
    Resolution,
    SourceRequest,
    Upload,
    is_project_file,
)


@pytest.mark.parametrize(
    ("place", "decides"),
    [
        ("pom.xml", True),
        ("module/pom.xml", True),
        (".mvn/maven.config", True),
        ("a/.mvn/wrapper/x.properties", True),
        ("mypom.xml", False),
        ("src/pom.xml.txt", False),
        ("mvn/x", False),
    ],
)
def test_files_that_decide_what_maven_resolves(place: str, decides: bool) -> None:
    """By name, or by folder."""
    assert is_project_file(place) is decides


def test_a_heap_is_sized_as_in_a_container() -> None:
    """Beside the toolchain's own variables."""
    toolchain = JavaToolchain(java="17.0.1", maven="3.9", mounts=(), path=(), environment={"JAVA_HOME": "/j"})
    assert toolchain.environment_within(512) == {"JAVA_HOME": "/j", "JAVA_TOOL_OPTIONS": "-XX:MaxRAM=512m"}


def test_a_resolution_is_named_by_what_it_holds() -> None:
    """And read back by pip."""
    line = f"demo==1.0 --hash=sha256:{'0' * 64}"
    made = Resolution(lines=(line, line), resolved_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert made.as_text().decode() == f"# resolved at 2026-01-02T00:00:00+00:00\n{line}\n{line}\n"
    digest, _, when = made.label.partition(" of ")
    assert (len(digest), when) == (16, "2026-01-02T00:00:00+00:00")
    assert made.but(lines=(line,)).label != made.label


def test_uploads_become_requests() -> None:
    """Each with the files that are taken of it."""
    released = ReleasedFiles(
        tree_digest=f"sha256:{'1' * 64}",
        uploads={"a-b==1.0": Upload(sha256="2" * 64, files=("x",)), "c==2": Upload(sha256="3" * 64)},
    )
    assert dict(released.requests()) == {
        SourceRequest(name="a-b", version="1.0", sha256="2" * 64): ("x",),
        SourceRequest(name="c", version="2", sha256="3" * 64): (),
    }
