"""What is known of one task: language, port, hidden tests, endpoints, and the task's own faults.

One TOML file per task. Those of the published tasks come with the suite, as `task_data/<id>.toml`; a task of your
own brings its file along as `task.toml`.
"""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from groundup.domain.errors import TaskError
from groundup.domain.names import Name
from groundup.domain.records import Record, plainly
from groundup.suites.repogenesis.endpoints import Endpoint, parse_endpoint

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


class HiddenTestFacts(Record):
    """The frozen facts of the hidden tests."""

    count: int = Field(ge=0, description="how many there are: the denominator of strict pass rates")
    requirements: tuple[str, ...] = Field(default=(), description="what they import, besides pytest")
    python_path: tuple[str, ...] = Field(
        default=(), description="folders of the task that pytest puts on sys.path"
    )


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
_JAVA = """Build the web service that the specification below describes, in Java. Hand in a repository that builds
with Maven, by the pom.xml that is there, and that has, in its root, `start.sh`, a shell script that starts the
service in the foreground, listening on port {port}. Hidden tests ask it over HTTP.
"""
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


class ServiceTask(Record):
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
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{origin}: not valid TOML: {error}; mend the file") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise TaskError(f"{origin}: {where or 'the task'}: {plainly(first)}; see docs/repogenesis.md") from error


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
