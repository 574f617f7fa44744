"""A GitHub Actions workflow as records: jobs, steps, matrix, needs.

Reads strictly enough to name mistakes and loosely enough to take what GitHub takes. Runs nothing. The document
itself is kept too, because what act is given is derived from it.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO

from pydantic import Field, JsonValue

from groundup.domain.errors import TaskError
from groundup.domain.names import unknown
from groundup.domain.records import Record

_LARGEST = 1024 * 1024
_DEEPEST = 100
_MOST_VALUES = 200_000


class WorkflowError(TaskError):
    """A workflow that cannot be read, or has no such job."""


class Step(Record):
    """One step of a job: a script or an action."""

    index: int = Field(description="from 0, within its job")
    id: str | None = None
    name: str | None = None
    uses: str | None = Field(
        default=None, description="the action, as `owner/name@ref`, `./path` or `docker://image`"
    )
    run: str | None = Field(default=None, description="the script")
    shell: str | None = None
    working_directory: str | None = None
    condition: str | None = Field(default=None, description="`if`")
    inputs: dict[str, str] = Field(default={}, description="`with`")
    environment: dict[str, str] = {}
    environment_expression: str | None = Field(
        default=None, description="`env` as one expression, such as `${{ matrix.env }}`"
    )
    continue_on_error: bool = False

    @property
    def key(self) -> str:
        """How act names it: its id, else its index."""
        return self.id or str(self.index)

    @property
    def title(self) -> str:
        """How a reader knows it."""
        lines = (self.run or "").strip().splitlines()
        return self.name or self.uses or (lines[0] if lines else f"step {self.index}")


class Matrix(Record):
    """What a job is multiplied by."""

    axes: dict[str, tuple[JsonValue, ...]] = {}
    include: tuple[dict[str, JsonValue], ...] = ()
    exclude: tuple[dict[str, JsonValue], ...] = ()
    dynamic: tuple[str, ...] = Field(
        default=(), description="keys whose values are known only while a workflow runs; `matrix` for all of them"
    )
    expressions: dict[str, str] = Field(default={}, description="what makes the values of the dynamic keys")


class Job(Record):
    """One job."""

    id: str
    name: str | None = None
    runs_on: tuple[str, ...] = Field(default=(), description="labels, with expressions as they stand")
    needs: tuple[str, ...] = ()
    outputs: dict[str, str] = Field(default={}, description="what it gives to jobs that need it")
    condition: str | None = Field(default=None, description="`if`")
    steps: tuple[Step, ...] = ()
    matrix: Matrix = Matrix()
    services: tuple[str, ...] = ()
    container: str | None = Field(default=None, description="the image")
    reusable: str | None = Field(default=None, description="`uses`: another workflow that is called")
    environment: dict[str, str] = {}
    environment_expression: str | None = Field(default=None, description="`env` as one expression")
    shell: str | None = Field(default=None, description="the default of its steps, the workflow's included")
    working_directory: str | None = Field(default=None, description="the default of its steps")


class Workflow(Record):
    """One workflow file."""

    path: str
    name: str | None = None
    events: tuple[str, ...] = Field(default=(), description="what starts it")
    environment: dict[str, str] = {}
    jobs: tuple[Job, ...] = ()
    started_by: str = Field(default="", description="the event that was chosen for one of its jobs")
    document: dict[str, JsonValue] = Field(repr=False)

    @property
    def event(self) -> str:
        """The event that starts it here: a push where that does, and no other was chosen."""
        usual = (event for event in ("push", "pull_request", "workflow_dispatch") if event in self.events)
        return self.started_by or next(usual, next(iter(self.events), "push"))

    def job(self, name: str) -> Job:
        """Return a job by its id. Raises `WorkflowError` with the choices."""
        for job in self.jobs:
            if job.id == name:
                return job
        raise WorkflowError(f"{self.path}: {unknown('job', name, [job.id for job in self.jobs])}")

    def needed(self, name: str) -> tuple[Job, ...]:
        """Return a job with all that it needs, in an order in which they can run. Raises `WorkflowError`."""
        done: dict[str, Job] = {}
        self._need(name, done, ())
        return tuple(done.values())

    def _need(self, name: str, done: dict[str, Job], above: tuple[str, ...]) -> None:
        if name in above:
            raise WorkflowError(f"{self.path}: the jobs {' and '.join((*above, name))} need each other")
        if len(above) > _DEEPEST:
            raise WorkflowError(f"{self.path}: the job {name} is needed through more than {_DEEPEST} others")
        if name not in done:
            job = self.job(name)
            for other in job.needs:
                self._need(other, done, (*above, name))
            done[name] = job


def read_workflow(data: bytes, path: str) -> Workflow:
    """Return the workflow that *data*, the file at *path*, holds. Raises `WorkflowError`."""
    return workflow_of(read_yaml(data, path), path)


def workflow_of(document: JsonValue, path: str) -> Workflow:
    """Return the workflow that *document*, what the file at *path* holds, describes. Raises `WorkflowError`."""
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), dict):
        raise WorkflowError(f"{path}: a workflow has a mapping `jobs`; this file has none")
    jobs = _mapping(document["jobs"])
    return Workflow(
        path=path,
        name=_text(document.get("name")),
        events=_events(document.get("on")),
        environment=_texts(document.get("env")),
        jobs=tuple(_job(name, _mapping(job), document) for name, job in jobs.items()),
        document=document,
    )


def read_yaml(data: bytes, path: str) -> JsonValue:
    """Return what a YAML 1.2 file holds, as JSON. Raises `WorkflowError`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(data) > _LARGEST:
        raise WorkflowError(f"{path} has {len(data)} bytes, which is too much for a workflow")
    try:
        return _plain(YAML(typ="safe", pure=True).load(BytesIO(data)), _DEEPEST)
    except MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise WorkflowError(f"{path}{line}: not YAML: {error.problem or error.context}") from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise WorkflowError(f"{path}: not YAML: {str(error)[:200]}") from error


def _plain(value: object, depth: int, left: Iterator[int] | None = None) -> JsonValue:
    """Return *value* as JSON: keys are texts, dates are texts.

    *left* counts values down: aliases let a short file stand for any number of values.
    """
    left = left or iter(range(_MOST_VALUES))
    if depth == 0 or next(left, None) is None:
        raise ValueError("it is nested too deeply, or its aliases stand for too much")
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, depth - 1, left) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, depth - 1, left) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)  # dates


def _key(key: object) -> str:
    return key if isinstance(key, str) else as_text(_plain(key, 1)) or ""


def _job(name: str, job: Mapping[str, JsonValue], document: Mapping[str, JsonValue]) -> Job:
    own, all_jobs = (_mapping(_mapping(place.get("defaults")).get("run")) for place in (job, document))
    container = job.get("container")
    return Job(
        id=name,
        name=_text(job.get("name")),
        runs_on=_labels(job.get("runs-on")),
        needs=_list_of_texts(job.get("needs")),
        outputs=_texts(job.get("outputs")),
        condition=_text(job.get("if")),
        steps=steps_of(job.get("steps")),
        matrix=matrix_of(_mapping(job.get("strategy")).get("matrix")),
        services=tuple(_mapping(job.get("services"))),
        container=_text(_mapping(container).get("image") if isinstance(container, dict) else container),
        reusable=_text(job.get("uses")),
        environment=_texts(job.get("env")),
        environment_expression=_text(job.get("env")),
        shell=_text(own.get("shell") or all_jobs.get("shell")),
        working_directory=_text(own.get("working-directory") or all_jobs.get("working-directory")),
    )


def steps_of(value: JsonValue) -> tuple[Step, ...]:
    """Return the steps that a job, or a composite action, lists."""
    return tuple(
        _step(index, _mapping(step)) for index, step in enumerate(value if isinstance(value, list) else ())
    )


def _step(index: int, step: Mapping[str, JsonValue]) -> Step:
    return Step(
        index=index,
        id=_text(step.get("id")),
        name=_text(step.get("name")),
        uses=_text(step.get("uses")),
        run=_text(step.get("run")),
        shell=_text(step.get("shell")),
        working_directory=_text(step.get("working-directory")),
        condition=_text(step.get("if")),
        inputs=_texts(step.get("with")),
        environment=_texts(step.get("env")),
        environment_expression=_text(step.get("env")),
        continue_on_error=step.get("continue-on-error") is True,
    )


def matrix_of(value: JsonValue) -> Matrix:
    """Return the matrix that `strategy.matrix` holds."""
    if isinstance(value, str):
        return Matrix(dynamic=("matrix",), expressions={"matrix": value})
    table = _mapping(value)
    dynamic = {key: values for key, values in table.items() if isinstance(values, str)}
    return Matrix(
        axes={
            key: tuple(values) if isinstance(values, list) else (values,)
            for key, values in table.items()
            if key not in ("include", "exclude") and not isinstance(values, str)
        },
        include=_objects(table.get("include")),
        exclude=_objects(table.get("exclude")),
        dynamic=tuple(dynamic),
        expressions=dynamic,
    )


def _labels(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, dict):
        return (*_list_of_texts(value.get("group")), *_list_of_texts(value.get("labels")))
    return _list_of_texts(value)


def _events(value: JsonValue) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, dict) else _list_of_texts(value)


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue) -> tuple[dict[str, JsonValue], ...]:
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, Sequence) else ()


def _list_of_texts(value: JsonValue) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(text for item in items if (text := _text(item)) is not None)


def _texts(value: JsonValue) -> dict[str, str]:
    return {key: as_text(item) or "" for key, item in _mapping(value).items()}


def _text(value: JsonValue) -> str | None:
    return None if isinstance(value, dict | list) else as_text(value)


def as_text(value: JsonValue) -> str | None:
    """Return a scalar as expressions write it (`true`, `3.1`), anything else as Python does; None for null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)
