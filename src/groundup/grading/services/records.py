"""How long each phase of a service may take, and how it ended: the records that suites fill and read."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.requests import PinnedRequirement


class Lifecycle(Record):
    """All settings of installing, starting, waiting for and testing one service."""

    python: str = Field(default="3.10", pattern=r"^3\.\d+$", description="minor version that runs the service")
    install_s: float = Field(default=120.0, gt=0, description="for what the submission declares")
    ready_s: float = Field(
        default=15.0,
        gt=0,
        description="from the start, or the last package that it fetched, until it answers as it should",
    )
    late_s: float = Field(default=15.0, ge=0, description="further wait for one that is late, for its tests")
    tests_s: float = Field(default=300.0, gt=0, description="of all hidden tests together")
    one_test_s: float = Field(default=60.0, gt=0, description="of one test; it counts as failed, the others go on")
    overall_s: float = Field(default=900.0, gt=0, description="from the start of the install to the last probe")
    answer_s: float = Field(default=5.0, gt=0, description="for one answer to groundup's own questions")
    probing_s: float = Field(default=60.0, gt=0, description="for all questions about endpoints")
    service: Limits = Limits(cpus=2.0, memory_mb=2048, processes=512, disk_mb=4096)
    tests: Limits = Limits(cpus=1.0, memory_mb=2048, processes=512, disk_mb=2048)
    log_bytes: int = Field(default=256 * 1024, ge=1024, description="kept of each log, half head and half tail")
    start_installs: bool = Field(
        default=True, description="whether start scripts that call an installer get a way to the package index"
    )
    fallback: tuple[PinnedRequirement, ...] = Field(
        default=(), description="installed where nothing is declared, or what is declared cannot be installed"
    )


class InstallOutcome(StrEnum):
    """How the declared install ended."""

    SUCCEEDED = "succeeded"
    UNDECLARED = "undeclared"
    FAILED = "failed"
    TIMEOUT = "timeout"


class Readiness(Record):
    """When a service was ready, and by which answer."""

    answered_s: float | None = Field(description="seconds that it had until it was ready; None: no HTTP ever came")
    in_time: bool = Field(description="whether it was ready within the limit")
    opened_s: float = Field(default=0.0, description="seconds that it had until its port took a connection")
    question: str = Field(default="", description="what it answered last, such as `GET /health`")
    status: int | None = Field(default=None, description="of its last answer")
    warmed_up: bool = Field(default=False, description="whether other answers came before the one that counts")
    as_promised: bool = Field(default=True, description="whether its README could promise that answer")
    ended: int | None = Field(default=None, description="exit code of the start command, where it had ended")
    died: bool = Field(default=False, description="whether nothing of it was left that could have answered")
    message: str = ""


class ServiceTests(Record):
    """Hidden tests that speak to a running service."""

    folder: Path = Field(description="on the host; seen read-only at `place`, below the tests' own workspace")
    place: str = "tests"
    expected: int = Field(ge=0, description="the frozen number of tests")
    python_path: tuple[str, ...] = Field(default=(), description="folders of the workspace on sys.path")
    plugins: tuple[str, ...] = ()
    variables: Mapping[str, str] = Field(default={}, description="such as the service's address")
    beside: Mapping[str, bytes] = Field(default={}, description="further files of the workspace, by path")
