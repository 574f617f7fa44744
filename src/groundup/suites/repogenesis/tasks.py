"""What is known of one task: language, port, hidden tests, endpoints, and the task's own faults.

One TOML file per task. Those of the published tasks come with the suite, as `task_data/<id>.toml`; a task of your
own brings its file along as `task.toml`.

Task folders on the disk, the published ones and users' own, and locked packages that ship with the suite.

    <data>/<id>/README.md            the specification
    <data>/<id>/tests/               hidden tests in Python
    <data>/<id>/src/test/, pom.xml   hidden tests in Java, and the build file that subjects are given
    <data>/<id>/task.toml            what `ServiceTask` holds; needed for tasks that do not come with the suite
    <data>/<id>/reference/           what the oracle hands in, if there is one

A set of services has these folders below `tasks`, and beside it `references/<id>`, what the oracle hands in.

A checkout of the published repository is accepted as a whole. Nothing in the folders is executed.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from groundup.domain.digests import LATER, digest_bytes, digest_of, short
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.languages import ServiceToolchain
from groundup.domain.names import Name, checked_name
from groundup.domain.records import Record, SettingRecord, plainly
from groundup.environments.installed_tools import YES, python_at_hand, toolchain_lack
from groundup.environments.requests import PythonRequest
from groundup.environments.toolchains import jdks
from groundup.grading.services.records import Lifecycle
from groundup.settings import environment
from groundup.suites.repogenesis.counting import wrong_count
from groundup.suites.repogenesis.endpoints import Endpoint, parse_endpoint, specified_endpoints
from groundup.suites.sets import checked_set, is_set, read_manifest
from groundup.trees.digest import tree_digest
from groundup.trees.walking import read_regular
from groundup.trees.writer import copy_tree

FlagKind = Literal[
    "untouched",
    "hidden-names",
    "hidden-requirement",
    "unpassable",
    "collection",
    "skips",
    "port-clash",
    "no-compilation",
]
"""`untouched`: tests never use the submission. `hidden-names`: they import what nothing names.
`hidden-requirement`: they need what the README does not say. `unpassable`: some fail for everybody.
`collection`: pytest does not find them.
`skips`: skipped tests leave the denominator. `port-clash`: they want a port that is taken.
`no-compilation`: without compiling there is no denominator."""

GraderName = Literal["official", "strict"]


class Flag(Record):
    """One thing that is wrong with a task, and whose verdicts it spoils."""

    kind: FlagKind
    graders: tuple[GraderName, ...] = Field(min_length=1, description="whose verdicts it spoils")
    reason: str = Field(min_length=1, max_length=300)


def is_valid(flags: Iterable[Flag], grader: GraderName = "strict") -> bool:
    """Whether a submission made from the README alone can be measured by *grader*."""
    return not any(grader in flag.graders for flag in flags)


_HIDDEN: tuple[FlagKind, ...] = ("hidden-names", "hidden-requirement")


def flag_kinds(flags: Iterable[Flag]) -> str:
    """Return the kinds for a table's cell; those that only spoil official verdicts in parentheses."""
    words = (flag.kind if "strict" in flag.graders else f"({flag.kind})" for flag in flags)
    return ", ".join(dict.fromkeys(words)) or "valid"


TASK_FILE = "task.toml"
_SUFFIX = ".toml"


def _endpoint(value: object) -> object:
    return parse_endpoint(value) if isinstance(value, str) else value


class BaseUrl(Record):
    """The environment variable that gives hidden tests the service's address."""

    variable: str = Field(pattern=r"^[A-Z_][A-Z0-9_]*$")
    suffix: str = Field(default="", description="what the value ends in, such as /api/v1")

    def value(self, port: int) -> str:
        """Return the value for a service on *port* of the same network."""
        return f"http://localhost:{port}{self.suffix}"


class HiddenTestFacts(SettingRecord):
    """The frozen facts of the hidden tests."""

    count: int = Field(ge=0, description="how many there are: the denominator of strict pass rates")
    unpassable: tuple[str, ...] = Field(default=(), description="which of them no service passes, by pytest's ids")
    requirements: tuple[str, ...] = Field(default=(), description="what they import, besides pytest")
    python_path: tuple[str, ...] = Field(
        default=(), description="folders of the task that pytest puts on sys.path"
    )

    @property
    def most(self) -> int:
        """How many a service can pass."""
        return self.count - len(self.unpassable)


class TaskLanguage(Record):
    """What the tasks of one language have in common."""

    asked: str
    """What its subjects are asked to hand in; `{port}` is the service's."""
    tests: str
    """Where hidden tests lie in a task's folder, and where they go in a submission."""
    by_maven: bool
    """Whether Maven builds and tests submissions, by a pom.xml that comes with the task."""
    memory_mb: int
    """What a service and its tests use as a rule; their limits are higher."""
    build_s: float = 0.0
    """About what building and starting takes beyond the rest."""


_PYTHON = """Build the web service that the specification below describes, in Python. Hand in a repository that
has, in its root, `start.sh`, a shell script that starts the service in the foreground, listening on port {port},
and `requirements.txt` with the packages that it needs: they are installed before, without network afterwards.
The service starts with nothing but what the repository brings; hidden tests ask it over HTTP.
"""
_NODE = """Build the web service that the specification below describes, in JavaScript or TypeScript for Node.js.
Hand in a repository that has, in its root, `start.sh`, a shell script that starts the service in the foreground,
listening on port {port}, and `package.json`: `npm ci` (`npm install` without a lock file), then `npm run build` if
there is such a script, run before, without network afterwards. The service starts with nothing but what the
repository brings; hidden tests ask it over HTTP. What the specification says of Python holds for Node.js.
"""
_GO = """Build the web service that the specification below describes, in Go. Hand in a repository that has, in its
root, `start.sh`, a shell script that starts the service in the foreground, listening on port {port}, and `go.mod`:
`go build -o bin/ ./...` runs before, so that the script finds the programs in `bin`, without network afterwards.
The service starts with nothing but what the repository brings; hidden tests ask it over HTTP. What the
specification says of Python holds for Go.
"""
_JAVA = """Build the web service that the specification below describes, in Java. Hand in a repository that builds
with Maven, by the pom.xml that is there, and that has, in its root, `start.sh`, a shell script that starts the
service in the foreground, listening on port {port}. Hidden tests ask it over HTTP.
"""


class OtherLanguage(NamedTuple):
    """A language in which services of Python's tasks can be asked for."""

    named: str
    """What runs them, as people write it."""
    language: str
    asked: str
    """What subjects are asked to hand in; `{port}` is the service's."""


OTHER_LANGUAGES: Mapping[ServiceToolchain, OtherLanguage] = {
    "node": OtherLanguage("Node.js", "javascript", _NODE),
    "go": OtherLanguage("Go", "go", _GO),
}
LANGUAGES: Mapping[str, TaskLanguage] = {
    "python": TaskLanguage(
        asked=_PYTHON,
        tests="tests",
        by_maven=False,
        memory_mb=768,
    ),
    "java": TaskLanguage(
        asked=_JAVA,
        tests="src/test",
        by_maven=True,
        memory_mb=1024,
        build_s=90.0,
    ),
}


class ServiceTask(SettingRecord):
    """One task, without its texts."""

    format: Literal[1] = 1
    id: Name
    language: Literal["python", "java"]
    framework: str = Field(default="any", description='as published; "any": the README leaves it open')
    port: int = Field(ge=1, le=65535)
    python: str | None = Field(
        default=None, pattern=r"^3\.\d+$", description="that runs the service; None: the published images'"
    )
    kind: Literal["http", "in-process", "java"] = Field(
        description="http: tests ask the running service; in-process: pytest imports it; java: Maven runs it"
    )
    health: str | None = Field(default=None, pattern=r"^/", description="the path that the README names, if any")
    endpoints: tuple[Annotated[Endpoint, BeforeValidator(_endpoint)], ...] = Field(
        default=(), description="what the README specifies; empty: read from the README"
    )
    tests: HiddenTestFacts
    base_url: BaseUrl | None = Field(default=None, description="None: the tests know the address by heart")
    flags: tuple[Flag, ...] = ()
    hints: Annotated[tuple[str, ...], LATER] = Field(
        default=(), description="what its tests want and its README does not say, in sentences"
    )

    @property
    def graded_digest(self) -> str:
        """The digest of what decides verdicts."""
        return digest_of(self.but(hints=()))

    @property
    def means(self) -> TaskLanguage:
        """What it has in common with the other tasks of its language."""
        return LANGUAGES[self.language]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.kind == "java") != (self.language == "java"):
            raise ValueError("kind is 'java' exactly for tasks in Java")
        shapes = [endpoint.shape for endpoint in self.endpoints]
        twice = next((str(one) for one in self.endpoints if shapes.count(one.shape) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice} is specified twice")
        return self


def parse_task(text: str, origin: str) -> ServiceTask:
    """Return the task in *text*; *origin* names the file in errors. Raises `TaskError`."""
    try:
        return ServiceTask.model_validate(tomllib.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise TaskError(f"{origin}: {where or 'the task'}: {plainly(first)}; see docs/repogenesis.md") from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{origin}: not valid TOML: {error}; mend the file") from error


@cache
def shipped_tasks() -> dict[str, ServiceTask]:
    """Return the published tasks by id, sorted."""
    folder = files("groundup.suites.repogenesis") / "task_data"
    found: dict[str, ServiceTask] = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(_SUFFIX):
            task = parse_task(entry.read_text(encoding="utf-8"), entry.name)
            if task.id != entry.name.removesuffix(_SUFFIX):
                raise TaskError(f"{entry.name}: holds the task {task.id!r}; rename one of them")
            found[task.id] = task
    return found


README = "README.md"
HINTS = "HINTS.md"
POM = "pom.xml"
REFERENCE = "reference"
"""A task's own, in its folder; those of a set lie beside its tasks."""
_LARGEST = 4 * 1024 * 1024
_ROOTS = ("RepoGenesis/repo", "repo")

RELEASES: dict[str, str] = {
    "sha256:a5efda39e5ec91ced06743c15fe11b33618b49669efc41d6cd4676ea1fe7e865": "c090b7d",
}
"""Digest of all READMEs, build files and hidden tests -> commit of the published repository."""


class ServiceProblem(Record):
    """A task with its texts, where they are at hand."""

    task: ServiceTask
    folder: Path | None = Field(default=None, description="None: the data was not pulled")
    readme: str | None = None
    pom: bytes | None = Field(default=None, description="of tasks in Java")
    digest: str | None = Field(default=None, description="of README, build file, hidden tests and own record")
    stand_in: str | None = Field(
        default=None, description="minor version of the Python that stands in for the published images'"
    )
    is_own: bool = Field(default=False, description="whether its folder brings its record")
    reference: Path | None = Field(
        default=None, description="what the oracle hands in; None: the suite's own, if any"
    )
    is_hinted: bool = Field(default=False, description="whether subjects are given the task's hints")
    toolchain: ServiceToolchain | None = Field(
        default=None, description="by which services run that are not in the task's language"
    )

    @property
    def language(self) -> str:
        """The language of the services that are asked for."""
        other = None if self.toolchain is None else OTHER_LANGUAGES[self.toolchain]
        return self.task.language if other is None else other.language

    @property
    def hints(self) -> tuple[str, ...]:
        """What subjects are told beside the README."""
        return self.task.hints if self.is_hinted else ()

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What is wrong with the task for its subjects: who is told what is hidden can name and serve it."""
        return tuple(one for one in self.task.flags if not self.hints or one.kind not in _HIDDEN)

    @property
    def asked(self) -> str:
        """What subjects are asked to hand in; `{port}` is the service's."""
        other = None if self.toolchain is None else OTHER_LANGUAGES[self.toolchain]
        return self.task.means.asked if other is None else other.asked

    @property
    def takes_other_languages(self) -> bool:
        """Whether tests speak to a service of which the README does not say by what it is made."""
        return self.task.kind == "http" and self.task.framework == "any"

    @property
    def tests_python(self) -> str:
        """The minor version of the Python that runs the hidden tests."""
        return self.stand_in or PYTHON

    @property
    def is_too_old(self) -> bool:
        """Whether the Python that stands in for the tests' is older than what their packages are locked for."""
        return not self.task.means.by_maven and is_older_than_published(self.tests_python)

    @property
    def service_pythons(self) -> tuple[str, ...]:
        """The version of the Python that runs the service, if one does."""
        return () if self.toolchain else (self.service_python,)

    @property
    def service_python(self) -> str:
        """The minor version of the Python that runs the service: the record's, else the one of the tests."""
        return self.task.python or self.tests_python

    def hidden_tests(self) -> Path:
        """Return the folder `tests` or `src/test`. Raises `TaskError` when it is not at hand."""
        if self.folder is None:
            raise TaskError(
                f"{self.task.id}: this machine has no hidden tests of it; run `groundup data pull repogenesis`"
            )
        return self.folder / self.task.means.tests


class TaskFolders(Record):
    """All task folders below one place."""

    problems: tuple[ServiceProblem, ...]
    version: str


def read_dataset(folder: Path) -> TaskFolders:
    """Read all task folders below *folder*. Raises `UsageError` naming what is wrong."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; point to a checkout of the published data")
    if (folder / TASK_FILE).is_file():
        raise UsageError(f"{folder} is one task; name the folder that holds it")
    root = next((folder / name for name in _ROOTS if (folder / name).is_dir()), folder)
    known = shipped_tasks()
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    problems = tuple(_read_problem(path, known) for path in folders)
    if not problems:
        raise UsageError(f"{root}: no task folders with {README}; is this the published data?")
    ids = [problem.task.id for problem in problems]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{root}: two folders hold the task {twice}; rename one in its {TASK_FILE}")
    return TaskFolders(problems=problems, version=_version(problems))


def read_task_folder(folder: Path) -> ServiceProblem:
    """Return the task in *folder*, which brings its record. Raises `UsageError`."""
    return _read_problem(folder, {})


def _read_problem(folder: Path, known: Mapping[str, ServiceTask]) -> ServiceProblem:
    task = _task(folder, known)
    tests = folder / task.means.tests
    if not tests.is_dir():
        raise UsageError(f"{tests}: missing; hidden tests in {task.language} lie there")
    readme = _read(folder / README)
    pom = _read(folder / POM) if task.means.by_maven else None
    try:
        text = readme.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{folder / README}: not UTF-8 at byte {error.start}") from error
    if not task.endpoints:
        task = task.but(endpoints=specified_endpoints(text))
    parts = [digest_bytes(readme), pom, tree_digest(tests).digest]
    has_record = (folder / TASK_FILE).is_file()
    if has_record:
        parts.append(digest_of(task))
    reference = folder / REFERENCE
    return ServiceProblem(
        task=task,
        folder=folder,
        readme=text,
        pom=pom,
        digest=digest_of(parts),
        is_own=has_record,
        reference=reference if has_record and reference.is_dir() else None,
    )


def _task(folder: Path, known: Mapping[str, ServiceTask]) -> ServiceTask:
    own = folder / TASK_FILE
    if not own.is_file():
        if folder.name not in known:
            raise UsageError(f"{own}: missing; a task that does not come with the suite needs it")
        return known[folder.name]
    try:
        task = parse_task(_read(own).decode("utf-8", "replace"), str(own))
    except TaskError as error:
        raise UsageError(str(error)) from error
    if task.id != checked_name(folder.name):
        raise UsageError(f"{own}: holds the task {task.id!r}; name it as its folder, {folder.name!r}")
    return task


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, _LARGEST)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}; every task has it") from error


def _version(problems: tuple[ServiceProblem, ...]) -> str:
    digest = digest_of({problem.task.id: problem.digest for problem in problems})
    return RELEASES.get(digest, f"sha256-{short(digest)}")


PYTHON = "3.10"
"""The published images' Python."""
PLUGINS = ("pytest_timeout",)


_TABLES = re.compile(rb"\b(pandas|numpy|openpyxl|et_xmlfile)\b")
"""Three quarters of what is locked: tests that name none of them do without, and nothing compiles them."""


@cache
def tests_lock() -> PythonRequest:
    """Return all that hidden HTTP tests import: pytest, requests, httpx and what single tasks' tests do."""
    return PythonRequest(python=PYTHON, requirements=_lines("tests.txt"))


def test_environment(problem: ServiceProblem | None) -> PythonRequest:
    """Return the part of the lock that the hidden tests of *problem* get; for None what all get."""
    if problem is None:
        return _without_tables()
    found = _without_tables()
    if problem.folder is not None:
        sources = sorted(problem.hidden_tests().rglob("*.py"))
        if any(_TABLES.search(path.read_bytes()) for path in sources if path.is_file()):
            found = tests_lock()
    return found.but(python=problem.tests_python)


@cache
def _without_tables() -> PythonRequest:
    lines = tests_lock().requirements
    small = (line for line in lines if not _TABLES.match(line.partition("==")[0].replace("-", "_").encode()))
    return tests_lock().but(requirements=tuple(small))


@cache
def lifecycle() -> Lifecycle:
    """Return the published limits, with the published fallback packages."""
    return Lifecycle(python=PYTHON, fallback=_lines("fallback.txt"))


def is_older_than_published(minor: str) -> bool:
    """Whether a Python is older than that of the published images, for which packages are locked."""
    return tuple(map(int, minor.split("."))) < tuple(map(int, PYTHON.split(".")))


def java_lifecycle() -> Lifecycle:
    """Return the published limits of services in Java."""
    return lifecycle().but(install_s=300.0, ready_s=20.0, tests_s=600.0)


def _lines(name: str) -> tuple[str, ...]:
    text = (files("groundup.suites.repogenesis") / "locks" / name).read_text(encoding="utf-8")
    return tuple(text.splitlines())


def whether_here(problem: ServiceProblem) -> str:
    """Return whether this machine can grade a task, or what it lacks."""
    if problem.folder is None:
        return "no data"
    if problem.toolchain is not None:
        named = OTHER_LANGUAGES[problem.toolchain].named
        if not problem.takes_other_languages:
            return f"not in {named}"
        if toolchain_lack(problem.toolchain, environment()):
            return f"no {named}"
    if problem.task.means.by_maven:
        return YES if next(jdks(environment()), None) else "no JDK"
    if problem.is_too_old:
        return f"Python {problem.tests_python} is too old"
    wanted = dict.fromkeys((problem.tests_python, *problem.service_pythons))
    missing = [f"no Python {minor}" for minor in wanted if not python_at_hand(minor)]
    return ", ".join(missing) or YES


_PACKAGE = "groundup.suites.repogenesis"
TASKS = "tasks"
REFERENCES = "references"


def read_services(folder: Path) -> tuple[dict[str, ServiceProblem], str]:
    """Return the tasks of the data in *folder*, those of a set with their references, and the data's version.

    Raises `UsageError`.
    """
    found = read_dataset(folder / TASKS if is_set(folder) else folder)
    problems = {one.task.id: one for one in found.problems}
    if not is_set(folder):
        return problems, found.version
    references = {name: one.but(reference=folder / REFERENCES / name) for name, one in problems.items()}
    return references, read_manifest(folder).label


def checked_services(folder: Path) -> str:
    """Return which release the data in *folder* is, with the files of a set as it says. Raises `UsageError`."""
    if is_set(folder):
        checked_set(folder, "service")
    problems, version = read_services(folder)
    for problem in problems.values():
        if problem.is_own:
            wrong = wrong_count(
                problem.task.tests.count, problem.hidden_tests(), by_maven=problem.task.means.by_maven
            )
            if wrong is not None:
                raise UsageError(f"{problem.task.id}: {wrong}; mend these, or its {TASK_FILE}")
    return version


def oracle_names() -> frozenset[str]:
    """Return the tasks that have one."""
    folder = files(_PACKAGE) / "oracles"
    return frozenset(entry.name for entry in folder.iterdir() if entry.is_dir())


def write_oracle(task: str, destination: Path) -> None:
    """Write the service that solves *task* to the empty folder *destination*. Raises `TaskError`."""
    if task not in oracle_names():
        raise TaskError(f"{task} has no oracle; those that have one: {', '.join(sorted(oracle_names()))}")
    with as_file(files(_PACKAGE) / "oracles" / task) as folder:
        copy_tree(folder, destination)


def write_reference(problem: ServiceProblem, destination: Path) -> None:
    """Write the service that *problem* brings, else our own, to the empty *destination*. Raises `TaskError`.

    It has the given README beside it, as every subject's workspace has: some hidden tests read it.
    """
    if problem.reference is None:
        write_oracle(problem.task.id, destination)
    else:
        copy_tree(problem.reference, destination)
    if problem.readme is not None and not (destination / README).exists():
        (destination / README).write_text(problem.readme, encoding="utf-8")
