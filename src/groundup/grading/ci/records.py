"""What a CI job is asked for, how it ended, and where things lie in its two sandboxes."""

import posixpath
import re
from enum import StrEnum
from pathlib import Path

from pydantic import Field, JsonValue

from groundup.domain.errors import TaskError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.sandbox.protocol import WORKSPACE

JOB_LIMITS = Limits(
    cpus=2.0, memory_mb=4096, processes=2048, disk_mb=8 * 1024, wall_clock_s=3600.0, command_s=3600.0,
    output_bytes=4 * 1024 * 1024,
)  # fmt: skip
"""Of one job's steps; the wall clock is the job's timeout."""


class JobRequest(Record):
    """A job of a repository's workflow."""

    tree: Path = Field(description="the repository as it is to be tested; it is copied, never changed")
    repository: str = Field(default="repository", description="its name, which its folder gets")
    workflow: str = Field(description="path of the workflow file in the repository")
    job: str
    matrix: dict[str, str] = Field(
        default={}, description="wanted values; what they leave open is chosen and reported"
    )
    exclude_newer: str | None = Field(default=None, description="what registries have since does not exist")
    limits: Limits = JOB_LIMITS


class Obstacle(Record):
    """Something that a job needs and that is not available here."""

    kind: str
    what: str


class UnsupportedJobError(TaskError):
    """A job that cannot be run here, whatever was submitted."""

    def __init__(self, obstacles: tuple[Obstacle, ...]) -> None:
        self.obstacles = obstacles
        listed = "; ".join(f"{one.kind}: {one.what}" for one in obstacles[:5])
        super().__init__(f"the CI job cannot be run here ({listed}); see docs/ci.md for what is supported")


class RunCommand(Record):
    """A command of a step, as it ended in the job's sandbox."""

    job: str
    step: str
    exit_code: int | None
    ending: str
    duration_s: float


class JobOutcome(StrEnum):
    """How a job ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"
    """The job, or a step with tests, was skipped: nothing was shown."""
    TIMEOUT = "timeout"


class StepRecord(Record):
    """A step of the wanted job."""

    key: str
    title: str
    tests: bool
    result: str
    exit_codes: tuple[int | None, ...] = ()
    duration_s: float | None = None


class JobResult(Record):
    """How a job ended, with its evidence."""

    outcome: JobOutcome
    reason: str = ""
    leg: dict[str, JsonValue] = {}
    steps: tuple[StepRecord, ...] = ()
    substitutes: tuple[str, ...] = Field(default=(), description="what stood in the place of what was asked for")
    timings_s: dict[str, float] = {}
    failed_output: str = Field(default="", description="what the failed step printed, its end", repr=False)
    logs: dict[str, bytes] = Field(default={}, repr=False)
    registry_troubles: tuple[str, ...] = ()
    hidden: dict[str, str] = Field(
        default={}, description="packages with the day of the first release that the cut-off hides"
    )
    undated: bool = Field(default=False, description="whether a registry could not say what there was then")
    peak_memory_mb: float | None = None


ACT_CACHE = f"{WORKSPACE}/groundup-act-cache"
"""In act's sandbox: act makes `<hex>/{hostexecutor,act,tmp}` below for each job."""
_FILES = f"{WORKSPACE}/.runner"
"""In the steps' sandbox: what a runner keeps beside the repository."""
TEMPORARY = f"{_FILES}/temp"
TOOLS = f"{_FILES}/tools"
FOLDER_VARIABLE = "GROUNDUP_CI_FOLDER"
"""Names a step's working directory, relative to the repository."""
ARTIFACTS = "/opt/groundup-artifacts"
"""In the steps' sandbox: what a job keeps for the jobs that need it, one folder for each artifact."""
SUPPLIES = "/opt/groundup-ci"
"""In the steps' sandbox: programs that stand-ins call."""
_PLACE = re.compile(
    rf"{re.escape(ACT_CACHE)}/(?:tool_cache|([0-9a-f]{{16}})(?:/(hostexecutor|tmp|act))?)(?=[/\W]|$)"
)


def checkout(repository: str) -> str:
    """Return where the repository lies in the steps' sandbox."""
    return f"{WORKSPACE}/{repository}"


def translated(text: str, repository: str) -> str:
    """Return *text* with act's paths as they are in the steps' sandbox."""
    inside = {"hostexecutor": checkout(repository), "tmp": TEMPORARY, "act": f"{_FILES}/act", None: _FILES}
    return _PLACE.sub(lambda match: TOOLS if match[1] is None else inside[match[2]], text)


def job_of(path: str) -> str | None:
    """Return which of act's jobs *path* belongs to: the random name of its folder."""
    match = _PLACE.search(posixpath.normpath(path))
    return match[1] if match else None
