"""Tests of groundup.environments.java_builder: local repositories are laid out from what was given out."""

from pathlib import Path
from typing import Any, cast

import pytest

from groundup.environments.failures import BuildFailureKind
from groundup.environments.java_builder import (
    MavenSandbox,
    complaint,
    lay_out,
    layer_key,
    local_place,
    resolve,
    runner_jars,
    write_stand_in,
)
from groundup.environments.requests import JavaToolchain, MavenRequest, is_project_file
from groundup.registries.cache import FetchCache
from groundup.registries.client import FileFound
from groundup.registries.ledger import Trouble
from groundup.registries.maven import MavenClient, MavenGateway
from groundup.sandbox.protocol import CommandResult, Ending, SandboxSpec
from tests.registries.files_served import served
from tests.registries.maven_repositories import JAR, VERSIONS, put, using
from tests.sandbox.fake import FakeProvider, answer

TOOLS = JavaToolchain(java="17.0.9", maven="3.8.7", mounts=(), path=())


def junit(name: str, version: str) -> str:
    """Return the place of a jar of JUnit 5."""
    group = "platform" if "platform" in name else "jupiter"
    return f"org/junit/{group}/{name}/{version}/{name}-{version}.jar"


UNREADABLE = """[INFO] Scanning for projects...
[ERROR] [ERROR] Some problems were encountered while processing the POMs:
[FATAL] Non-resolvable parent POM for app:notes:1: Could not find artifact app.nowhere:no-parent:pom:1 @ line 1
 @
[ERROR] The build could not read 1 project -> [Help 1]
[ERROR]
[ERROR]   The project app:notes:1 (/workspace/pom.xml) has 1 error
[ERROR]     Non-resolvable parent POM for app:notes:1: Could not find artifact app.nowhere:no-parent:pom:1 @ line 1 -> [Help 2]
[ERROR]
[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.
"""  # noqa: E501 - Maven's own lines


def test_the_cause_comes_before_what_maven_says_around_it() -> None:
    """Of a build file that cannot be read the reason is its first words, once."""
    printed = UNREADABLE.encode()
    said = complaint(CommandResult(exit_code=1, ending=Ending.EXITED, stdout=printed, stderr=b"", duration_s=1.0))

    assert said.startswith(
        "Non-resolvable parent POM for app:notes:1: Could not find artifact app.nowhere:no-parent"
    )
    assert said.count("Non-resolvable") == 1
    assert "Some problems" not in said


def test_of_a_missing_artifact_its_name_comes_first() -> None:
    """Maven names the project three times before it; a reason is read by its first words."""
    printed = (
        b"[ERROR] Failed to execute goal on project notes: Could not resolve dependencies for project "
        b"app:notes:jar:1: Could not find artifact app.nowhere:notes-core:jar:1-SNAPSHOT -> [Help 1]\n"
    )
    said = complaint(CommandResult(exit_code=1, ending=Ending.EXITED, stdout=printed, stderr=b"", duration_s=1.0))
    assert said == "Could not find artifact app.nowhere:notes-core:jar:1-SNAPSHOT"


def test_a_layer_holds_files_at_their_places_and_lists_by_their_local_names(tmp_path: Path) -> None:
    """A local repository calls a list of versions after the repository that it came from."""
    (tmp_path / "kept").write_bytes(b"content")
    file = FileFound(tmp_path / "kept", "0" * 64, 7, from_cache=True, verified=True)
    lay_out({JAR: file, VERSIONS: file}, tmp_path / "tree")
    found = {path.relative_to(tmp_path / "tree").as_posix() for path in (tmp_path / "tree").rglob("*.*ar")}
    assert found == {JAR}
    assert (tmp_path / "tree" / local_place(VERSIONS)).read_bytes() == b"content"
    assert local_place(VERSIONS) != VERSIONS


def test_the_key_covers_build_files_and_tools_and_nothing_else(tmp_path: Path) -> None:
    """Two submissions with one pom.xml share a layer; another JDK or another byte makes another."""
    request = MavenRequest(files={"pom.xml": b"<project/>"})
    assert layer_key(request, TOOLS) == layer_key(MavenRequest(files={"pom.xml": b"<project/>"}), TOOLS)
    assert layer_key(request, TOOLS) != layer_key(MavenRequest(files={"pom.xml": b"<project />"}), TOOLS)
    assert layer_key(request, TOOLS) != layer_key(request, TOOLS.but(java="17.0.10"))
    assert layer_key(request, TOOLS) != layer_key(request.but(offline=True), TOOLS)


@pytest.mark.parametrize(
    ("failing", "runs", "goes_offline"), [("nothing", 1, True), ("dependency:go-offline", 2, False)]
)
async def test_whatever_may_be_needed_is_fetched_where_maven_can(
    tmp_path: Path, failing: str, runs: int, goes_offline: bool
) -> None:
    """A project that cannot go offline is resolved as any other, and it is known that more may be wanted."""
    provider = FakeProvider(lambda spec, command: answer(int(failing in command.argv)))
    registry = MavenClient(using("http://localhost:9"), FetchCache(tmp_path / "cache"))
    sandbox = await provider.open(SandboxSpec(workspace=tmp_path))
    async with provider, MavenGateway(registry) as gateway:
        result, fetched = await resolve(MavenSandbox(sandbox, gateway, {}), offline=True)
    assert (result.ok, fetched, len(provider.commands)) == (True, goes_offline, runs)
    await registry.close()


def test_build_files_are_poms_and_what_maven_reads_beside_them() -> None:
    """Sources do not decide what is resolved."""
    assert [is_project_file(place) for place in ("pom.xml", "a/pom.xml", ".mvn/extensions.xml", "src/A.java")] == [
        *(True, True, True, False)
    ]


def test_the_stand_in_has_the_build_files_and_one_class(tmp_path: Path) -> None:
    """Nothing of the submission's own sources is there."""
    write_stand_in(
        MavenRequest(files={"pom.xml": b"<project/>", "m/pom.xml": b"<project/>"}), tmp_path / "project"
    )
    files = sorted(path.relative_to(tmp_path / "project").as_posix() for path in tmp_path.rglob("*.*"))
    assert files == ["m/pom.xml", "pom.xml", "src/main/java/groundup/StandIn.java"]


async def test_what_starts_junit_5_is_added_in_the_version_of_the_project(tmp_path: Path) -> None:
    """The launcher always, the engine where only the API is declared; without JUnit 5 nothing."""
    for name, version in (("junit-platform-launcher", "1.9.3"), ("junit-jupiter-engine", "5.9.3")):
        put(tmp_path / "remote", junit(name, version), b"jar")
    put(tmp_path / "remote", junit("junit-platform-engine", "1.9.3"), b"jar")
    api = [junit("junit-jupiter-api", "5.9.3"), junit("junit-platform-commons", "1.9.3")]
    whole = [*api, junit("junit-jupiter-engine", "5.9.3"), junit("junit-platform-engine", "1.9.3")]
    with served(tmp_path / "remote") as url:
        registry = MavenClient(using(url), FetchCache(tmp_path / "cache"))
        launcher, engine = junit("junit-platform-launcher", "1.9.3"), junit("junit-jupiter-engine", "5.9.3")
        assert set(await runner_jars(whole, registry)) == {launcher}
        assert set(await runner_jars(api, registry)) == {
            *(launcher, engine, junit("junit-platform-engine", "1.9.3"))
        }
        assert await runner_jars([JAR], registry) == {}
        await registry.close()


class Gateway:
    """Has given nothing out."""

    troubles: tuple[Trouble, ...] = ()

    def longest_wait_s(self) -> float:
        """Return that it owes nothing."""
        return 0.0


@pytest.mark.parametrize(
    ("text", "ending", "kind", "message"),
    [
        ("[ERROR] cannot find symbol\n", Ending.EXITED, BuildFailureKind.BUILD, "cannot find symbol"),
        ("Killed\n", Ending.EXITED, BuildFailureKind.BUILD, "Killed"),
        (
            *("[ERROR] cannot find symbol\n", Ending.TIMEOUT, BuildFailureKind.TIMEOUT),
            "the build did not end in time",
        ),
        (
            *("[ERROR] cannot find symbol\n", Ending.MEMORY, BuildFailureKind.MEMORY),
            "the build needed more memory than it may have",
        ),
    ],
)
def test_what_maven_complains_of_is_told_where_the_build_itself_failed(
    tmp_path: Path, text: str, ending: Ending, kind: BuildFailureKind, message: str
) -> None:
    """A limit that was met is no matter of what it printed before."""
    maven = MavenSandbox(cast(Any, None), cast(Any, Gateway()), {})
    failure = maven.failure(answer(1, text.encode(), ending=ending), tmp_path)
    assert (failure.kind, failure.message) == (kind, message)
