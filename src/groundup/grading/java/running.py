"""Compiling hidden tests in Java and running them, each in a sandbox of its own. Judges nothing."""

import asyncio
import base64
import binascii
import re
import secrets
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.requests import JAVA_TARGET, REPOSITORY_TARGET, MavenRepository
from groundup.grading.bench import Bench
from groundup.grading.java.hidden import falsified, outer_classes, paired
from groundup.grading.services.records import Lifecycle
from groundup.registries.maven.gateway import SETTINGS_PLACE, settings_file
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, Mount, Sandbox, SandboxSpec
from groundup.trees.removal import remove_tree

REPORT_FD = 3
CLASSES = f"{WORKSPACE}/target/classes"
TEST_CLASSES = f"{WORKSPACE}/target/test-classes"
_RUNNER = "/opt/groundup/runner"
_NOWHERE = "http://127.0.0.1:9/maven"
_COMPILE = Limits(cpus=2.0, memory_mb=1024, disk_mb=1024, command_s=120.0, wall_clock_s=300.0)
_MAX_EVENTS = 100_000
_OUTCOMES = frozenset({"passed", "failed", "error", "skipped"})
_PLACE = re.compile(r"^(?:plain|plain-twin|twin|tests)/")
_COMPLAINT = re.compile(r"^(\S+\.java):(\d+): error: (.+)$", re.MULTILINE)


class CompiledTests(Record):
    """A submission's classes and the hidden tests, compiled."""

    project: Path = Field(description="the submission as tests see it")
    repository: MavenRepository
    runner: Path
    tests: Path
    twin: Path
    classpath: str = Field(description="as seen inside: the tests' own classes come before it")
    canaries: tuple[str, ...] = Field(default=(), description="tests of ours in both that cannot pass")


class Compiled(Record):
    """How compiling ended."""

    prepared: CompiledTests | None = None
    message: str = Field(default="", description="why there is nothing to run")
    log: bytes = b""


class JavaReport(Record):
    """What the runner reported. The submission's code ran in its process, so all of it may be a lie."""

    outcomes: Mapping[str, tuple[str, str, float]] = Field(
        default={}, description="test -> outcome, message, seconds"
    )
    broken_classes: Mapping[str, str] = Field(default={}, description="class -> why its tests could not begin")
    running: str | None = Field(default=None, description="the test that had begun and not ended")
    complete: bool = False


def inside_classpath(repository: MavenRepository) -> str:
    """Return the class path: the jars, then the submission's classes: jars come first."""
    places = dict.fromkeys((*repository.runner, *repository.test_classpath))
    jars = [f"{REPOSITORY_TARGET}/{place}" for place in places]
    own = [f"{WORKSPACE}/{place}" for place in repository.own_classpath if not place.startswith("target/")]
    return ":".join([*jars, CLASSES, *own])


async def compile_tests(
    texts: Mapping[str, bytes], resources: Path, project: Path, repository: MavenRepository, bench: Bench
) -> Compiled:
    """Compile the hidden tests, their twin and the runner against the classes in *project*.

    No code of the submission runs there: the compiler reads its classes, and annotation processors are off.
    """
    room = bench.scratch / "compiling"
    canaries = await asyncio.to_thread(_write_sources, texts, room)
    classpath = inside_classpath(repository)
    spec = SandboxSpec(
        workspace=room,
        mounts=(
            *repository.toolchain.mounts,
            repository.mount,
            Mount(source=project / "target/classes", target=CLASSES),
        ),
        environment=repository.toolchain.environment,
        path=repository.toolchain.path,
        limits=_COMPILE,
        system="host",
        label="compiling hidden tests",
    )
    async with await bench.provider.open(spec) as sandbox:
        results = await _compiled_in(sandbox, texts, classpath)
    log = b"".join(f"$ javac {kind}\n".encode() + one.stdout + one.stderr for kind, one in results.items())
    has_canaries = "plain" not in results
    tests, twin = ("tests", "twin") if has_canaries else ("plain", "plain-twin")
    if not results[tests].ok:
        return Compiled(message=_complaint(results[tests]), log=log)
    if not results["runner"].ok:
        return Compiled(message="JUnit 5 is not among the dependencies of the submission's pom.xml", log=log)
    if not results[twin].ok:
        # A class of the submission can see to that: one called `java` hides the packages of that name. Without a
        # twin nothing would confirm what the tests say.
        return Compiled(message=f"with false expectations, {_complaint(results[twin])}", log=log)
    out = room / "out"
    await asyncio.to_thread(_copy_resources, resources, [out / tests, out / twin])
    prepared = CompiledTests(
        project=project,
        repository=repository,
        runner=out / "runner",
        tests=out / tests,
        twin=out / twin,
        classpath=classpath,
        canaries=canaries if has_canaries else (),
    )
    return Compiled(prepared=prepared, log=log)


async def _compiled_in(
    sandbox: Sandbox, texts: Mapping[str, bytes], classpath: str
) -> Mapping[str, CommandResult]:
    """Compile one kind of sources after another; return what each did, in order.

    Where tests or twin do not compile with canaries, both are compiled without: `plain` and `plain-twin`.
    """
    results: dict[str, CommandResult] = {}

    async def is_compiled(kind: str) -> bool:
        results[kind] = await sandbox.run(Command(argv=_javac(kind, sorted(_names(kind, texts)), classpath)))
        return results[kind].ok

    has_canaries = await is_compiled("tests") and await is_compiled("twin")
    if has_canaries:
        await is_compiled("runner")
    elif await is_compiled("plain"):
        await is_compiled("runner")
        await is_compiled("plain-twin")
    return results


async def run_compiled(
    prepared: CompiledTests,
    tests: Path,
    named: tuple[str, ...],
    lifecycle: Lifecycle,
    bench: Bench,
    allowed_s: float,
) -> tuple[JavaReport, CommandResult]:
    """Run the tests whose classes are in *tests* over a copy of the project. Raises `SandboxError`."""
    token = secrets.token_hex(16)
    room = bench.scratch / f"running-{secrets.token_hex(4)}"
    settings = room / "settings.xml"
    try:
        await asyncio.to_thread(shutil.copytree, prepared.project, room / "project", symlinks=True)
        settings.write_text(settings_file(_NOWHERE, offline=True))
        (room / "project/target/test-classes").mkdir()
        spec = _spec(prepared, tests, room, lifecycle, allowed_s)
        async with await bench.provider.open(spec) as sandbox:
            result = await sandbox.run(_command(prepared, token, named, lifecycle))
    finally:
        await asyncio.to_thread(remove_tree, room)
    if result.ending is Ending.SANDBOX_DIED:
        raise SandboxError("the tests' sandbox died; repeat the attempt, and see `groundup doctor`")
    return await asyncio.to_thread(parse_report, result.report, token), result


def _spec(prepared: CompiledTests, tests: Path, room: Path, lifecycle: Lifecycle, allowed_s: float) -> SandboxSpec:
    repository = prepared.repository
    return SandboxSpec(
        workspace=room / "project",
        mounts=(
            *repository.toolchain.mounts,
            repository.mount,
            Mount(source=room / "settings.xml", target=SETTINGS_PLACE),
            Mount(source=prepared.runner, target=_RUNNER),
            Mount(source=tests, target=TEST_CLASSES),
        ),
        environment=repository.toolchain.environment,
        path=repository.toolchain.path,
        limits=lifecycle.tests.for_command(allowed_s, output_bytes=lifecycle.log_bytes),
        system="host",
        label="hidden tests",
    )


def _command(prepared: CompiledTests, token: str, named: tuple[str, ...], lifecycle: Lifecycle) -> Command:
    words = [token, f"/proc/self/fd/{REPORT_FD}", str(round(lifecycle.one_test_s)), *outer_classes(named)]
    return Command(
        argv=(
            f"{JAVA_TARGET}/bin/java",
            f"-XX:MaxRAM={lifecycle.tests.memory_mb}m",
            "-XX:TieredStopAtLevel=1",
            "-Dfile.encoding=UTF-8",
            f"-Dmaven.repo.local={REPOSITORY_TARGET}",
            "-Djava.util.logging.manager=" + _logging(prepared.classpath),
            "-cp",
            f"{_RUNNER}:{TEST_CLASSES}:{prepared.classpath}",
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
    """Return the outcomes in lines with *token*; of several words on one test, the first bad one counts."""
    outcomes: dict[str, tuple[str, str, float]] = {}
    broken: dict[str, str] = {}
    running: str | None = None
    complete = False
    for line in data.split(b"\n")[:_MAX_EVENTS]:
        parts = line.decode("utf-8", "replace").split("\t")
        if len(parts) != 7 or parts[0] != token:
            continue
        _, event, place, method, outcome, millis, encoded = parts
        test = f"{place}#{method}"
        if event == "begin":
            running = test
        elif event == "test" and outcome in _OUTCOMES:
            running = None
            if outcomes.get(test, ("passed",))[0] == "passed":  # one of several invocations that failed decides
                outcomes[test] = (outcome, _decoded(encoded), _seconds(millis))
        elif event == "container":
            broken[place] = _decoded(encoded)
        complete = complete or event == "end"
    return JavaReport(outcomes=outcomes, broken_classes=broken, running=running, complete=complete)


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


def _seconds(millis: str) -> float:
    return int(millis) / 1000 if millis.isascii() and millis.isdigit() and len(millis) < 10 else 0.0


# --- compiling


def _write_sources(texts: Mapping[str, bytes], room: Path) -> tuple[str, ...]:
    """Write the suite and its twin, with canaries and plain, and return the canaries."""
    canaries: list[str] = []
    for name, content in texts.items():
        pair = paired(content)
        canaries += pair.canaries
        _write(room / "tests" / name, pair.true)
        _write(room / "twin" / name, pair.twin)
        _write(room / "plain" / name, content)
        _write(room / "plain-twin" / name, falsified(content))
    _write(room / "runner/Runner.java", runner_source())
    (room / "target/classes").mkdir(parents=True)
    return tuple(canaries)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def runner_source() -> bytes:
    """Return the trusted runner's source."""
    return (files("groundup.grading.java") / "runner/Runner.java").read_bytes()


def _names(kind: str, texts: Mapping[str, bytes]) -> list[str]:
    return ["runner/Runner.java"] if kind == "runner" else [f"{kind}/{name}" for name in texts]


def _javac(kind: str, names: list[str], classpath: str) -> tuple[str, ...]:
    return (
        f"{JAVA_TARGET}/bin/javac",
        *("-proc:none", "-implicit:none", "-parameters", "-g", "-nowarn", "-encoding", "UTF-8"),
        *("-J-XX:TieredStopAtLevel=1", "-J-Xmx768m"),
        *("-sourcepath", "/nonexistent", "-d", f"{WORKSPACE}/out/{kind}", "-cp", classpath),
        *names,
    )


def _copy_resources(resources: Path, targets: list[Path]) -> None:
    if resources.is_dir():
        for target in targets:
            shutil.copytree(resources, target, dirs_exist_ok=True)


def _complaint(result: CommandResult) -> str:
    """Return the compiler's first error in one line."""
    if result.ending is not Ending.EXITED:
        return f"the hidden tests could not be compiled: {result.ending}"
    text = (result.stdout + result.stderr).decode(errors="replace")
    found = _COMPLAINT.search(text)
    words = f"{_PLACE.sub('', found[1])}:{found[2]}: {found[3]}" if found else text.strip()[:200]
    return f"the hidden tests do not compile with the submission: {words}"
