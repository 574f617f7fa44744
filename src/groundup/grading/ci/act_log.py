"""Act's report on a run, read from the lines of JSON that it prints. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from groundup.domain.records import Record

Result = Literal["success", "failure", "skipped", "cancelled"]


class StepEnd(Record):
    """How a step of the wanted job ended."""

    key: str
    title: str
    stage: str
    result: str
    duration_s: float | None = None


class JobEnd(Record):
    """How a job's leg ended."""

    job: str
    matrix: dict[str, JsonValue]
    result: str


class ActRun(Record):
    """Everything that counts of act's lines."""

    jobs: tuple[JobEnd, ...] = ()
    steps: tuple[StepEnd, ...] = ()
    complaints: tuple[str, ...] = ()
    """Lines of act's own at the level of errors."""

    def ends_of(self, job: str) -> tuple[JobEnd, ...]:
        """Return the ends of a job's legs."""
        return tuple(end for end in self.jobs if end.job == job)

    def step(self, key: str) -> StepEnd | None:
        """Return how the main stage of a step ended; None when it never did."""
        return next((step for step in self.steps if step.key == key and step.stage == "Main"), None)


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    msg: str = ""
    level: str = ""
    jobID: str | None = None  # noqa: N815  # act's spelling
    matrix: dict[str, JsonValue] = {}
    jobResult: str | None = None  # noqa: N815
    stepResult: str | None = None  # noqa: N815
    stepID: tuple[str, ...] = ()  # noqa: N815
    step: str = ""
    stage: str = ""
    executionTime: int | None = None  # noqa: N815
    raw_output: bool = False


def read_act_log(data: bytes, job: str) -> ActRun:
    """Return what act's lines report: ends of jobs, and of the steps of *job* without parts of actions."""
    jobs: list[JobEnd] = []
    steps: list[StepEnd] = []
    complaints: list[str] = []
    for line in _lines(data):
        if line.raw_output:
            continue
        if line.jobID and line.jobResult:
            jobs.append(JobEnd(job=line.jobID, matrix=line.matrix, result=line.jobResult))
        elif line.jobID == job and line.stepResult and len(line.stepID) == 1:
            seconds = None if line.executionTime is None else line.executionTime / 1e9
            steps.append(
                StepEnd(
                    key=line.stepID[0],
                    title=line.step[:200],
                    stage=line.stage,
                    result=line.stepResult,
                    duration_s=seconds,
                )
            )
        elif line.level in ("error", "fatal"):
            complaints.append(line.msg.strip()[:400])
    return ActRun(jobs=tuple(jobs), steps=tuple(steps), complaints=tuple(complaints))


def _lines(data: bytes) -> Iterator[_Line]:
    for raw in data.splitlines():
        try:
            document = json.loads(raw)
        except ValueError:
            continue
        if isinstance(document, Mapping):
            try:
                yield _Line.model_validate(document)
            except ValidationError:
                continue
