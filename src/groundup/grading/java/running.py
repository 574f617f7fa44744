"""Hidden tests in Java: compiling them, and running each in a sandbox. Judges nothing."""

import asyncio
import base64
import binascii
import re
import secrets
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.requests import JAVA_TARGET, REPOSITORY_TARGET, MavenRepository
from groundup.grading.context import GradingContext
from groundup.grading.java.hidden import heirs, outer_classes
from groundup.grading.java.placing import missed
from groundup.grading.services.records import Lifecycle
from groundup.inside import source_of
from groundup.registries.maven import SETTINGS_PLACE, settings_file
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, Mount, SandboxSpec
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread

REPORT_FD = 3
CLASSES = f"{WORKSPACE}/target/classes"
TEST_CLASSES = f"{WORKSPACE}/target/test-classes"
_RUNNER = "/opt/groundup/runner"
JAVA_RUNNER = "Runner.java"
_RUNNER_SOURCE = f"runner/{JAVA_RUNNER}"
_NOWHERE = "http://127.0.0.1:9/maven"
_COMPILE = Limits(cpus=2.0, memory_mb=1024, disk_mb=1024, command_s=120.0, wall_clock_s=300.0)
_MAX_EVENTS = 100_000
_OUTCOMES = frozenset({"passed", "failed", "error", "skipped"})
_COMPLAINT = re.compile(r"^(\S+\.java):(\d+): error: (.+)$", re.MULTILINE)


class Tested(Record):
    """A submission and what its hidden tests have beside it."""

    project: Path = Field(description="the submission as tests see it")
    repository: MavenRepository
    resources: Path = Field(description="files of the tests; need not exist")

    @property
    def classpath(self) -> str:
        """The class path inside, after the tests' own classes: the jars, then the submission's classes."""
        places = dict.fromkeys((*self.repository.runner, *self.repository.test_classpath))
        jars = [f"{REPOSITORY_TARGET}/{place}" for place in places]
        own = self.repository.own_classpath
        return ":".join(
            [*jars, CLASSES, *(f"{WORKSPACE}/{place}" for place in own if not place.startswith("target/"))]
        )


class Compiled(Record):
    """How compiling ended: with the classes of the tests and the runner, or with the reason why not."""

    tests: Path | None = None
    runner: Path | None = None
    heirs: Mapping[str, tuple[str, ...]] = {}
    message: str = ""
    log: bytes = b""


class JavaReport(Record):
    """What the runner reported. The submission's code ran in its process, so all of it may be a lie."""

    each: Mapping[str, tuple[tuple[str, str, float], ...]] = Field(
        default={}, description="test -> outcome, message, seconds of each time that it ran"
    )
    frames: Mapping[str, str] = Field(
        default={}, description="test with its number in brackets, or class that is broken -> its stacks"
    )
    broken_classes: Mapping[str, str] = Field(default={}, description="class -> why its tests could not begin")
    running: str | None = Field(default=None, description="the test that had begun and not ended")
    complete: bool = False

    @property
    def passed(self) -> frozenset[str]:
        """The tests that passed each time."""
        return frozenset(
            test
            for test, found in self.each.items()
            if test != self.running and all(outcome == "passed" for outcome, _, _ in found)
        )


async def compile_tests(texts: Mapping[str, bytes], tested: Tested, context: GradingContext) -> Compiled:
    """Compile hidden tests and the runner against the submission's classes.

    No code of the submission runs there: the compiler reads its classes, and annotation processors are off.
    """
    room = context.scratch / f"compiling-{secrets.token_hex(4)}"
    await in_thread(_write_sources, texts, room)
    repository = tested.repository
    spec = SandboxSpec(
        workspace=room,
        mounts=(
            *repository.toolchain.mounts,
            repository.mount,
            Mount(source=tested.project / "target/classes", target=CLASSES),
        ),
        environment=repository.toolchain.environment,
        path=repository.toolchain.path,
        limits=_COMPILE,
        system="host",
        label="compiling hidden tests",
    )
    names = [*(f"tests/{name}" for name in sorted(texts)), _RUNNER_SOURCE]
    async with await context.provider.open(spec) as sandbox:
        result = await sandbox.run(Command(argv=_javac(names, tested.classpath)))
    log = b"$ javac\n" + result.stdout + result.stderr
    if not result.ok:
        return Compiled(message=_complaint(result), log=log)
    tests, runner = room / "out", room / "runner-out"
    await in_thread(_move_runner, tests, runner)
    if tested.resources.is_dir():
        await in_thread(shutil.copytree, tested.resources, tests, dirs_exist_ok=True)
    return Compiled(tests=tests, runner=runner, heirs=heirs(texts), log=log)


async def run_compiled(
    compiled: Compiled,
    named: Collection[str],
    tested: Tested,
    lifecycle: Lifecycle,
    context: GradingContext,
) -> tuple[JavaReport, CommandResult]:
    """Run the classes of the tests *named* over a copy of the project. Raises `SandboxError`."""
    token = secrets.token_hex(16)
    room = context.scratch / f"running-{secrets.token_hex(4)}"
    settings = room / "settings.xml"
    try:
        await in_thread(shutil.copytree, tested.project, room / "project", symlinks=True)
        settings.write_text(settings_file(_NOWHERE, offline=True))
        (room / "project/target/test-classes").mkdir()
        spec = _spec(compiled, tested, room, lifecycle, context.timeout_s or lifecycle.tests_s)
        async with await context.provider.open(spec) as sandbox:
            result = await sandbox.run(
                _command(tested.classpath, token, outer_classes(named, compiled.heirs), lifecycle)
            )
    finally:
        await in_thread(remove_tree, room)
    if result.ending is Ending.SANDBOX_DIED:
        raise SandboxError("the tests' sandbox died; repeat the attempt, and see `groundup doctor`")
    return await asyncio.to_thread(parse_report, result.report, token), result


def _spec(compiled: Compiled, tested: Tested, room: Path, lifecycle: Lifecycle, allowed_s: float) -> SandboxSpec:
    repository = tested.repository
    assert compiled.runner is not None
    assert compiled.tests is not None
    return SandboxSpec(
        workspace=room / "project",
        mounts=(
            *repository.toolchain.mounts,
            repository.mount,
            Mount(source=room / "settings.xml", target=SETTINGS_PLACE),
            Mount(source=compiled.runner, target=_RUNNER),
            Mount(source=compiled.tests, target=TEST_CLASSES),
        ),
        environment=repository.toolchain.environment,
        path=repository.toolchain.path,
        limits=lifecycle.tests.for_command(allowed_s, output_bytes=lifecycle.log_bytes),
        system="host",
        label="hidden tests",
    )


def _command(classpath: str, token: str, classes: Collection[str], lifecycle: Lifecycle) -> Command:
    words = [token, f"/proc/self/fd/{REPORT_FD}", str(round(lifecycle.one_test_s)), *classes]
    return Command(
        argv=(
            f"{JAVA_TARGET}/bin/java",
            f"-XX:MaxRAM={lifecycle.tests.memory_mb}m",
            "-XX:TieredStopAtLevel=1",
            "-Dfile.encoding=UTF-8",
            f"-Dmaven.repo.local={REPOSITORY_TARGET}",
            "-Djava.util.logging.manager=" + _logging(classpath),
            "-cp",
            f"{_RUNNER}:{TEST_CLASSES}:{classpath}",
            "groundup.runner.Runner",
        ),
        stdin="".join(f"{line}\n" for line in words).encode(),
        report_fd=REPORT_FD,
    )


def _logging(classpath: str) -> str:
    """Return the manager of Java's logging: Quarkus wants its own."""
    is_jboss = "/org/jboss/logmanager/" in classpath
    return "org.jboss.logmanager.LogManager" if is_jboss else "java.util.logging.LogManager"


def parse_report(data: bytes, token: str) -> JavaReport:
    """Return the outcomes in lines with *token*."""
    each: dict[str, list[tuple[str, str, float]]] = {}
    broken: dict[str, str] = {}
    frames: dict[str, str] = {}
    running: str | None = None
    complete = False
    for line in data.split(b"\n")[:_MAX_EVENTS]:
        parts = line.decode("utf-8", "replace").split("\t")
        if len(parts) != 8 or parts[0] != token:
            continue
        _, event, place, method, outcome, millis, encoded, stacks = parts
        test = f"{place}#{method}"
        if event == "begin":
            running = test
        elif event == "test" and outcome in _OUTCOMES:
            running = None
            each.setdefault(test, []).append((outcome, _decoded(encoded), _seconds(millis)))
            frames[f"{test}[{len(each[test])}]"] = _decoded(stacks)
        elif event == "container" and method:  # what makes tests broke off
            each.setdefault(test, []).append(("error", _decoded(encoded), _seconds(millis)))
            frames[f"{test}[{len(each[test])}]"] = _decoded(stacks)
        elif event == "container":
            broken[place], frames[place] = _decoded(encoded), _decoded(stacks)
        complete = complete or event == "end"
    return JavaReport(
        each={test: tuple(found) for test, found in each.items()},
        frames=frames,
        broken_classes=broken,
        running=running,
        complete=complete,
    )


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


def _seconds(millis: str) -> float:
    return int(millis) / 1000 if millis.isascii() and millis.isdigit() and len(millis) < 10 else 0.0


# --- compiling


def _write_sources(texts: Mapping[str, bytes], room: Path) -> None:
    for name, content in (
        *((f"tests/{name}", text) for name, text in texts.items()),
        (_RUNNER_SOURCE, source_of(JAVA_RUNNER)),
    ):
        path = room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (room / "target/classes").mkdir(parents=True)


def _javac(names: list[str], classpath: str) -> tuple[str, ...]:
    return (
        f"{JAVA_TARGET}/bin/javac",
        *("-proc:none", "-implicit:none", "-parameters", "-g", "-nowarn", "-encoding", "UTF-8"),
        *("-J-XX:TieredStopAtLevel=1", "-J-Xmx768m"),
        *("-sourcepath", "/nonexistent", "-d", f"{WORKSPACE}/out", "-cp", classpath),
        *names,
    )


def _move_runner(tests: Path, runner: Path) -> None:
    """Take the runner out of the folder of the *tests*: some frameworks read all classes that lie there."""
    runner.mkdir()
    (tests / "groundup").rename(runner / "groundup")


def _complaint(result: CommandResult) -> str:
    """Return the compiler's first error in one line."""
    if result.ending is not Ending.EXITED:
        return f"the hidden tests could not be compiled: {result.ending}"
    text = (result.stdout + result.stderr).decode(errors="replace")
    found = _COMPLAINT.search(text)
    if found and found[1] == _RUNNER_SOURCE:
        return "JUnit 5 is not among the dependencies of the submission's pom.xml"
    words = f"{found[1].removeprefix('tests/')}:{found[2]}: {found[3]}" if found else text.strip()[:200]
    all_of_them = f"; not found or not fitting: {names}" if (names := missed(text)) else ""
    return f"the hidden tests do not compile with the submission: {words}{all_of_them}"
