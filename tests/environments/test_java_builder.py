"""What is run for a project's repository, in a sandbox that answers by a script, and what comes back."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, SubmissionError
from groundup.environments import java_builder
from groundup.environments.java_builder import BUILD_LIMITS, JavaBuilder, installed_maven_settings, java_facts
from groundup.environments.local import LocalBuilder
from groundup.environments.requests import JavaToolchain, MavenRequest
from groundup.registries.client import FileFound
from groundup.sandbox.protocol import Command, CommandResult, Mount, SandboxSpec
from groundup.settings import Settings
from tests.sandbox.fake import FakeProvider, answer

GOAL = (
    "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath "
    "-Dmdep.outputFile=target/groundup-classpath -DincludeScope=test"
)
PACKAGE = f"mvn -B -ntp -DskipTests package {GOAL}"
REQUEST = MavenRequest(files={"pom.xml": b"<project/>", "a/.mvn/maven.config": b"-q"})
JARS = "/home/user/.m2/repository/a/b/1/b-1.jar:/workspace/lib/own.jar:/elsewhere/c.jar:/workspace/../d.jar\n"


class Yard:
    """A builder for Java over scripted sandboxes."""

    def __init__(self, root: Path) -> None:
        self.fails: set[str] = set()
        self.classpath: str | None = JARS
        self.files: dict[str, str] = {}
        self.provider = FakeProvider(self._answer)
        self.settings = Settings(cache_dir=root / "cache")
        self.toolchain = JavaToolchain(
            java="17.0.9",
            maven="3.8.7",
            mounts=(Mount(source=root, target="/opt/java"),),
            path=("/opt/java/bin",),
            environment={"JAVA_HOME": "/opt/java"},
        )

    def builder(self) -> JavaBuilder:
        """Return a new one."""
        return LocalBuilder(self.settings, self.provider).java

    def _answer(self, spec: SandboxSpec, command: Command) -> CommandResult:
        for path in spec.workspace.rglob("*"):
            if path.is_file():
                self.files[str(path.relative_to(spec.workspace))] = path.read_text()
        if any(word in command.argv for word in self.fails):
            return answer(1, stdout=b"[ERROR] Could not find artifact x:y:jar:1 -> [Help 1]\n")
        if self.classpath is not None:
            (spec.workspace / "target").mkdir(exist_ok=True)
            (spec.workspace / "target" / "groundup-classpath").write_text(self.classpath)
        return answer()

    @property
    def ran(self) -> list[str]:
        """All commands since this was asked for last."""
        found = [" ".join(command.argv) for command in self.provider.commands]
        self.provider.commands.clear()
        return found


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    """One with a JDK made up here, and a repository that the user's settings name."""
    home = tmp_path / "home"
    (home / ".m2").mkdir(parents=True)
    mirror = "<mirror><id>own</id><mirrorOf>*</mirrorOf><url>https://maven.example</url></mirror>"
    (home / ".m2" / "settings.xml").write_text(f"<settings><mirrors>{mirror}</mirrors></settings>")
    monkeypatch.setenv("HOME", str(home))
    made = Yard(tmp_path)
    asked: list[int] = []

    def toolchain(java: int) -> JavaToolchain:
        asked.append(java)
        assert asked.count(java) == 1, "looked for once"
        return made.toolchain

    monkeypatch.setattr(java_builder, "_toolchain", toolchain)
    return made


@pytest.mark.parametrize(
    ("offline", "fails", "commands", "goes"),
    [
        (False, set(), [PACKAGE], False),
        (True, set(), [f"{PACKAGE} dependency:go-offline"], True),
        (True, {"dependency:go-offline"}, [f"{PACKAGE} dependency:go-offline", PACKAGE], False),
        (False, {"package"}, [PACKAGE, f"mvn -B -ntp {GOAL}"], False),
    ],
)
async def test_a_project_is_packaged_and_its_classpath_read(
    yard: Yard, offline: bool, fails: set[str], commands: list[str], goes: bool
) -> None:
    """Where that fails, the classpath alone; once, and found afterwards. What lies elsewhere is left out."""
    yard.fails = fails
    builder = yard.builder()
    made = await builder.repository(REQUEST.but(offline=offline))
    assert yard.ran == commands
    assert await builder.repository(REQUEST.but(offline=offline)) == made
    assert yard.ran == []
    assert (made.goes_offline, made.toolchain, made.own_classpath) == (goes, yard.toolchain, ("lib/own.jar",))
    assert (made.test_classpath, made.runner) == ((), ()), "nobody gave that jar out"
    assert (made.mount.source, made.mount.target) == (made.layer.path, "/home/user/.m2/repository")
    counted = ("files", "files_from_cache", "files_unverified", "bytes")
    assert [made.layer.built[name] for name in counted] == ["0"] * 4
    assert yard.files["pom.xml"] == "<project/>"
    assert yard.files["a/.mvn/maven.config"] == "-q"
    assert "class StandIn" in yard.files["src/main/java/groundup/StandIn.java"]
    (spec,) = yard.provider.specs
    assert (spec.label, spec.system, spec.limits, spec.path) == (
        "Maven build", "host", BUILD_LIMITS, ("/opt/java/bin",)
    )  # fmt: skip
    assert spec.environment == {"JAVA_HOME": "/opt/java", "JAVA_TOOL_OPTIONS": "-XX:MaxRAM=2048m"}
    assert [mount.target for mount in spec.mounts if mount.writable] == ["/home/user/.m2/repository"]


async def test_a_project_without_a_classpath_has_none(yard: Yard) -> None:
    """It was not written, or it is empty."""
    builder = yard.builder()
    for text in (None, "\n"):
        yard.classpath = text
        made = await builder.repository(REQUEST.but(files={"pom.xml": str(text).encode()}))
        assert (made.test_classpath, made.own_classpath) == ((), ())


async def test_build_files_that_cannot_be_resolved_are_the_submission_s_fault(yard: Yard) -> None:
    """With Maven's own words; asked again it fails at once."""
    yard.fails = {"-B"}
    builder = yard.builder()
    for commands in ([PACKAGE, f"mvn -B -ntp {GOAL}"], []):
        with pytest.raises(SubmissionError) as failed:
            await builder.repository(REQUEST)
        assert yard.ran == commands
        assert str(failed.value).startswith(
            "fetching what the project's pom.xml names: build error: Could not find artifact x:y:jar:1 (the log"
        )
    log = Path(str(failed.value).partition("the log is ")[2].rstrip(")")).read_text()
    assert f"$ {PACKAGE}\n[ERROR] Could not find" in log
    assert "[exited, exit code 1, 0.0 s]\n" in log


async def test_a_repository_is_extended_by_what_was_given_out(yard: Yard, tmp_path: Path) -> None:
    """By what it lacks, metadata apart; the same files make the same layer."""
    builder = yard.builder()
    base = await builder.repository(REQUEST)
    (tmp_path / "jar").write_bytes(b"jar")
    file = FileFound(path=tmp_path / "jar", sha256="1" * 64, size=3, from_cache=False, verified=True)
    more = await builder.extended(base, {"a/b/1/b-1.jar": file, "a/b/maven-metadata.xml": file})
    assert (more.layer.path / "a/b/1/b-1.jar").read_bytes() == b"jar"
    assert not list(more.layer.path.rglob("maven-metadata*"))
    assert (more.layer.built, more.toolchain) == (base.layer.built, base.toolchain)
    assert await builder.extended(more, {"a/b/1/b-1.jar": file}) is more
    assert await builder.extended(base, {}) is base
    assert (await builder.extended(base, {"a/b/1/b-1.jar": file})).layer.digest == more.layer.digest


def test_a_machine_without_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both lacks are limits, for other languages need none of it."""

    def nothing(environment: Mapping[str, str]) -> JavaToolchain:
        raise InfrastructureError("Maven is missing")

    monkeypatch.setattr(java_builder, "jdks", lambda environment: [])
    monkeypatch.setattr(java_builder, "find_maven", nothing)
    jdk, maven = java_facts()
    assert (jdk.name, jdk.status, jdk.value, jdk.advice) == (
        "JDK",
        "limited",
        "missing",
        "install one, such as Debian's openjdk-17-jdk, or name its folder in JAVA_HOME; "
        "only tasks in Java need it",
    )
    assert (maven.name, maven.status, maven.value, maven.advice) == (
        "Maven", "limited", "Maven is missing", "only tasks in Java need it"
    )  # fmt: skip


async def test_maven_s_settings_do_without_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own may be enough."""
    asked: list[Path | None] = []

    def nothing(environment: Mapping[str, str]) -> JavaToolchain:
        raise InfrastructureError("Maven is missing")

    monkeypatch.setattr(java_builder, "find_maven", nothing)
    monkeypatch.setattr(java_builder, "maven_settings", lambda environment, home: asked.append(home))
    await installed_maven_settings({})
    assert asked == [None]
