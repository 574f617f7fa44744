"""Hidden tests in Java: names, forms of them that must fail, and running each in a sandbox. Judges nothing."""

import asyncio
import base64
import binascii
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import Field
from tree_sitter import Node

from groundup.domain.errors import SandboxError, TaskError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.requests import JAVA_TARGET, REPOSITORY_TARGET, MavenRepository
from groundup.grading.context import GradingContext
from groundup.grading.java.placing import missed
from groundup.grading.services.records import Lifecycle
from groundup.grammars import captures, parse, text_of
from groundup.inside import source_of
from groundup.registries.maven import SETTINGS_PLACE, settings_file
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, Mount, SandboxSpec
from groundup.trees.walking import remove_tree

_MULTIPLIED = frozenset({"ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"})
"""Methods that make as many tests as they are run: Surefire counts each, and so does a report."""
_TESTS = frozenset({"Test"}) | _MULTIPLIED
_MULTIPLIED_CLASSES = frozenset({"ParameterizedClass", "ClassTemplate"})
_OFF = frozenset({"Disabled"})
_METHODS = "(method_declaration) @method"
_TYPES = frozenset({"class_declaration", "enum_declaration", "interface_declaration", "record_declaration"})
_IMPORT = b" import static org.junit.jupiter.api.Assertions.assertNotSame;"
_EXPECTATIONS = b'assertNotSame("%b", "%b");', b'if ("%b".equals("%b")) throw null;'
"""They fail where both words are one: by JUnit's assertions, and without them. Neither names a package: a class of
the submission that is called `java` or `org` would hide it, everywhere but in imports."""


def sources(folder: Path) -> dict[str, bytes]:
    """Return the Java sources below *folder* (`src/test`), by their place there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.java"))
        if path.is_file()
    }


def named_tests(texts: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return `package.Class#method` of each test that the sources declare, in their order.

    Those of `varied_tests` are several when they run.
    """
    return tuple(dict.fromkeys(test.name for test in _named(texts)))


def varied_tests(texts: Mapping[str, bytes]) -> frozenset[str]:
    """Return the names that may stand for several tests, or for none: how many, only a run says."""
    named = list(_named(texts))
    names = [test.name for test in named]
    return frozenset(test.name for test in named if test.is_varied or names.count(test.name) > 1)


def ending_tests(texts: Mapping[str, bytes]) -> frozenset[str]:
    """Return the names of tests that pass only by coming to their end: those that nowhere return before it.

    What several classes inherit is left out: an expectation in it would be all theirs.
    """
    named = list(_named(texts))
    returning = {test.name for test in named if _may_return(test.method) or not _is_void(test.method)}
    return frozenset(test.name for test in named if test.is_own) - returning


def with_ends(
    texts: Mapping[str, bytes], fails: Mapping[str, bool], at_start: Collection[str] = ()
) -> dict[str, bytes]:
    """Return the sources with one more expectation in each test of *fails*; where that says so, it cannot hold.

    It stands at the end, so that the test leaves behind what later ones need; *at_start*: there instead. Those
    that may pass get one, too: a submission that knows the suite by heart finds none of them as it knows it.
    """
    named = list(_named(texts))
    return {
        place: _with_ends([test for test in named if test.place == place and test.is_own], text, fails, at_start)
        for place, text in texts.items()
    }


def _with_ends(
    named: Collection["_JavaTest"], text: bytes, fails: Mapping[str, bool], at_start: Collection[str]
) -> bytes:
    edits: list[tuple[int, bytes]] = []
    for test in named:
        name, method = test.name, test.method
        body = method.child_by_field_name("body")
        if name not in fails or body is None or not _is_void(method):
            continue
        begin, end, expectation = body.start_byte + 1, body.end_byte - 1, _expectation(fails=fails[name])
        if name in at_start:
            edits.append((begin, expectation))
        else:
            # What follows an `if` can be reached in the eyes of the compiler, whatever stands in it.
            edits += [(begin, b" if (true) {"), (end, b"} " + expectation)]
    if edits:
        packages = [node for node in parse("java", text).root_node.children if node.type == "package_declaration"]
        edits.append((packages[0].end_byte if packages else 0, _IMPORT))
    for at, new in sorted(edits, reverse=True):
        text = text[:at] + new + text[at:]
    return text


def _expectation(*, fails: bool) -> bytes:
    word = secrets.token_hex(3).encode()
    return secrets.choice(_EXPECTATIONS) % (word, word if fails else secrets.token_hex(3).encode())


class _JavaTest(NamedTuple):
    """A test as JUnit runs it: in the class that declares it, or in one that inherits it."""

    name: str
    place: str
    method: Node
    is_own: bool
    """Whether no other class runs this method."""
    is_varied: bool
    """Whether it may run any number of times."""


def _named(texts: Mapping[str, bytes]) -> Iterator[_JavaTest]:
    """Yield the tests; abstract classes and interfaces have none of their own, who inherits from them does."""
    roots = {place: parse("java", text).root_node for place, text in texts.items()}
    if broken := next((place for place, root in roots.items() if root.has_error), None):
        raise TaskError(f"the hidden test {broken} cannot be read as Java; mend it")
    classes = {one.name: one for root in roots.values() for one in _classes(root)}
    for place, root in roots.items():
        for method in _test_methods(root):
            name = method.child_by_field_name("name")
            if name is None or _annotations(method) & _OFF:
                continue
            declared, word = f"{_package(root)}{_class(method)}", text_of(name)
            runs = [declared] if declared not in classes or classes[declared].runs else []
            runs += [one for one in classes if _inherits(classes, one, declared, word)]
            is_varied = bool(_annotations(method) & _MULTIPLIED)
            for one in runs:
                varied = is_varied or (one in classes and classes[one].is_varied)
                yield _JavaTest(f"{one}#{word}", place, method, runs == [declared], varied)


def heirs(texts: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """Return for each class that JUnit does not run itself the outermost classes that inherit from it."""
    classes = {one.name: one for text in texts.values() for one in _classes(parse("java", text).root_node)}
    return {
        name: tuple(dict.fromkeys(
            other.partition("$")[0] for other in classes if classes[other].runs and _leads(classes, other, name)
        ))
        for name, one in classes.items()
        if not one.runs
    }  # fmt: skip


class _JavaClass(NamedTuple):
    """A class or interface of the hidden tests."""

    name: str
    parents: tuple[str, ...]
    """The last parts of what it extends and implements, the class first."""
    runs: bool
    """Whether JUnit runs it where it, or the class around it, is asked for: nested ones say so."""
    is_varied: bool
    """Whether it may run any number of times."""
    methods: frozenset[str]


def _classes(root: Node) -> Iterator[_JavaClass]:
    for _, node in captures("java", "[(class_declaration) (interface_declaration)] @class", root):
        body = node.child_by_field_name("body")
        if body is None:
            continue
        own = [one.child_by_field_name("name") for one in body.children if one.type == "method_declaration"]
        around = [node, *_around(node)]
        is_abstract = node.type == "interface_declaration" or "abstract" in _modifiers(node)
        # A class inside an abstract one runs with those that inherit from that one.
        is_nested = all("Nested" in _annotations(one) for one in around[:-1])
        yield _JavaClass(
            name=f"{_package(root)}{_class(body)}",
            parents=_parents(node),
            runs=not is_abstract and is_nested,
            is_varied=any(
                _annotations(one) & _MULTIPLIED_CLASSES or "abstract" in _modifiers(one) for one in around
            ),
            methods=frozenset(text_of(one) for one in own if one is not None),
        )


def _around(node: Node) -> list[Node]:
    """Return the types around *node*, from the inside out."""
    found = []
    while node.parent is not None:
        node = node.parent
        if node.type in _TYPES:
            found.append(node)
    return found


def _modifiers(node: Node) -> list[str]:
    return [text_of(one) for child in node.children if child.type == "modifiers" for one in child.children]


_GENERICS = re.compile(r"<[^<>]*>")
_ABOVE = ("superclass", "super_interfaces", "extends_interfaces")


def _parents(node: Node) -> tuple[str, ...]:
    found = []
    for child in node.children:
        if child.type in _ABOVE:
            text = text_of(child).partition(" ")[2]
            while (plain := _GENERICS.sub("", text)) != text:
                text = plain
            found += [one.strip().rpartition(".")[2] for one in text.split(",")]
    return tuple(found)


def _inherits(classes: Mapping[str, _JavaClass], child: str, above: str, method: str) -> bool:
    """Whether the class *child* is run and runs *method* of *above*, which it does not override."""
    return classes[child].runs and child != above and _leads(classes, child, above, method)


def _leads(classes: Mapping[str, _JavaClass], child: str, above: str, method: str | None = None) -> bool:
    """Whether *child* inherits from *above*, with nothing between that has *method*."""
    waiting, seen = [child], {child}
    while waiting:
        at = waiting.pop()
        if at == above:
            return True
        if method is None or method not in classes[at].methods:
            for parent in classes[at].parents:
                found = next((one for one in classes if re.split(r"[.$]", one)[-1] == parent), None)
                if found is not None and found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return False


def _is_void(method: Node) -> bool:
    """Whether a test returns nothing; a factory returns its tests."""
    kind = method.child_by_field_name("type")
    return kind is not None and text_of(kind) == "void"


def _may_return(method: Node) -> bool:
    """Whether a test may come back before its end; what lambdas and classes in it return is theirs."""
    body = method.child_by_field_name("body")
    if body is None:
        return True
    waiting = list(body.named_children)
    while waiting:
        node = waiting.pop()
        if node.type == "return_statement":
            return True
        if node.type not in _TYPES | {"lambda_expression", "class_body"}:
            waiting += node.named_children
    return False


def outer_classes(
    tests: Collection[str], inherited: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[str, ...]:
    """Return the outermost classes that run *tests*, in their order; *inherited*: as `heirs` says."""
    outer = dict.fromkeys(test.partition("#")[0].partition("$")[0] for test in tests)
    return tuple(dict.fromkeys(one for name in outer for one in (inherited or {}).get(name, (name,))))


def _test_methods(root: Node) -> Iterator[Node]:
    for _, method in captures("java", _METHODS, root):
        if _annotations(method) & _TESTS and method.child_by_field_name("body") is not None:
            yield method


def _annotations(method: Node) -> set[str]:
    found = set()
    for child in method.children:
        if child.type == "modifiers":
            for item in child.children:
                name = item.child_by_field_name("name")
                if item.type in ("marker_annotation", "annotation") and name is not None:
                    found.add(text_of(name).rpartition(".")[2])
    return found


def _package(root: Node) -> str:
    for child in root.children:
        if child.type == "package_declaration":
            return text_of(child).removeprefix("package").strip().rstrip(";").strip() + "."
    return ""


def _class(method: Node) -> str:
    """Return the binary name of the class around *method*, without its package."""
    names = []
    node = method.parent
    while node is not None:
        name = node.child_by_field_name("name")
        if node.type in _TYPES and name is not None:
            names.append(text_of(name))
        node = node.parent
    return "$".join(reversed(names))


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
    await asyncio.to_thread(_write_sources, texts, room)
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
    await asyncio.to_thread(_move_runner, tests, runner)
    if tested.resources.is_dir():
        await asyncio.to_thread(shutil.copytree, tested.resources, tests, dirs_exist_ok=True)
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
        await asyncio.to_thread(shutil.copytree, tested.project, room / "project", symlinks=True)
        settings.write_text(settings_file(_NOWHERE, offline=True))
        (room / "project/target/test-classes").mkdir()
        spec = _spec(compiled, tested, room, lifecycle, context.timeout_s or lifecycle.tests_s)
        async with await context.provider.open(spec) as sandbox:
            result = await sandbox.run(
                _command(tested.classpath, token, outer_classes(named, compiled.heirs), lifecycle)
            )
    finally:
        await asyncio.to_thread(remove_tree, room)
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
