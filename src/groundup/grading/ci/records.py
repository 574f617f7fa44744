"""What a CI job is asked for, how it ended, and where things lie in its two sandboxes.

Why a job failed, named as the published analysis names it, with the line that says so. Pure.

A kind is a reading of logs, which the tested code prints: it explains a failure and never decides one. The rules
are in `failure_rules.toml`.
"""

import functools
import posixpath
import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from pydantic import Field, JsonValue

from groundup.domain.errors import TaskError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.grading.ci.tallies import RunnerTally
from groundup.sandbox.protocol import WORKSPACE
from groundup.workflows.runners import meaning_of

JOB_LIMITS = Limits(
    cpus=2.0, memory_mb=4096, processes=2048, disk_mb=8 * 1024, wall_clock_s=3600.0, command_s=3600.0,
    output_bytes=4 * 1024 * 1024,
)  # fmt: skip
"""Of one job's steps; the wall clock is the job's timeout."""


class OriginalTests(Record):
    """How many tests pass with the original, as far as it is known; a job in which fewer pass shows nothing."""

    passed: int | None = None
    """In all; looked at where no lines are known."""
    lines: dict[str, tuple[int, ...]] = {}
    """By step and runner, how many pass by each line that it prints, most first."""


class JobRequest(Record):
    """A job of a repository's workflow."""

    tree: Path = Field(description="the repository as it is to be tested; it is copied, never changed")
    repository: str = Field(default="repository", description="its name, which its folder gets")
    full_name: str | None = Field(default=None, description="`owner/name` on GitHub, where it is known")
    workflow: str = Field(description="path of the workflow file in the repository")
    job: str
    matrix: dict[str, str] = Field(
        default={}, description="wanted values; what they leave open is chosen and reported"
    )
    exclude_newer: str | None = Field(default=None, description="what registries have since does not exist")
    original: OriginalTests = OriginalTests()
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
    tallies: tuple[RunnerTally, ...] = ()
    """What runners say in it; none where nobody says anything, or it was not looked at."""
    cut: bool = False
    """Whether a part of what it printed was not kept."""


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
    passed_tests: int | None = Field(default=None, description="None where no runner said it readably")
    lines: dict[str, tuple[int, ...]] = Field(
        default={}, description="the same by step and runner: how many passed by each line"
    )
    timings_s: dict[str, float] = {}
    failed_output: str = Field(default="", description="what the failed step printed, its end", repr=False)
    logs: dict[str, bytes] = Field(default={}, repr=False)
    registry_troubles: tuple[str, ...] = ()
    hidden: dict[str, str] = Field(
        default={}, description="packages with the day of the first release that the cut-off hides"
    )
    installs_system_packages: bool = Field(
        default=False, description="whether a step asks for packages of the system, which nothing installs here"
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


class FailureKind(StrEnum):
    """What went wrong, as the logs show it."""

    MISSING_IN_TEST = "missing dependency in test"
    MISSING_IN_BUILD = "missing dependency in build"
    NOT_FOUND = "dependency not found in build"
    INVALID_VERSION = "invalid version in build"
    CONFLICT = "version conflict in build"
    MISSING_FEATURE = "missing feature or unfit version"
    BROKEN_FILE = "build file that cannot be read"
    NO_LOCK = "lock file that the instance does not hold"
    STALE_LOCK = "lock file that does not fit the build file"
    SYSTEM_PACKAGE = "missing system package"
    PROGRAM = "program that the machine has not"
    TOOLCHAIN = "toolchain that does not start"
    NEWER_SDK = "newer SDK"
    TESTS = "failing tests"
    LIMIT = "limit of the sandbox"
    TIMEOUT = "timeout"
    NOT_RUN = "tests not run"
    NETWORK = "network"
    OTHER = "other"


OF_TIME = frozenset({
    FailureKind.TIMEOUT, FailureKind.TESTS, FailureKind.LIMIT, FailureKind.NOT_RUN, FailureKind.OTHER,
})  # fmt: skip
"""Failures that a job has where time is short; a missing package is missing however long one waits."""


class JobFailure(Record):
    """A kind and its evidence."""

    kind: FailureKind
    evidence: str = ""


_MISSING = "missing"
"""Of either phase; the failed step says which."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SAYS_NOTHING = re.compile(
    r"A complete log of this run can be found|^npm (?:error|ERR!)\s*(?:$|code \d+$|errno |path |command )"
    r"|^query stack during panic:|^end of query stack|^#\d+ \["
    r"|RUST_BACKTRACE|stack backtrace:|^\d+:\s+(?:0x[0-9a-f]+\b|[\w<&{:]+.*::)|^at \S|^File \".*\", line \d+"
    r"|^For more information|^(?:= )?(?:help|note|hint):|^make(?:\[\d+\])?: (?:\*\*\*|Leaving|Entering)"
    r"|^\d+ (?:Error|Warning)\(s\)$"
    r"|ELIFECYCLE|Process completed with exit code|error Command failed with exit code|^Caused by:$|^warning:"
    r"|^error: (?:test failed, to rerun|could not compile|aborting due to)|^> "
    r"|^[-=~^*_. |]+$|^Node\.js v\d|^Traceback \(most recent call last\)|^info (?:Visit|No lockfile)"
    r"|subprocess-exited-with-error|metadata-generation-failed|did not run successfully"
    r"|Encountered error while (?:generating|trying)|Failed (?:to build|building) |failed-wheel-build"
    r"|^(?:╰─>|│|├─▶|╰─▶|\[end of output\]|\[stderr\]|\[stdout\])",
    re.IGNORECASE,
)
"""Frames of backtraces, hints, commands repeated, and what programs print after or around the error itself."""
_NAMES_ERROR = re.compile(
    r"(?i:\b(?:error|fatal|panicked|cannot|could not|failed|not found|no such|didn't exit)\b)"
    r"|(?:Error|Exception|Expired)\b"
)
_ONLY_COUNTS = re.compile(r"FAILED \((?:failures|errors)=")
"""The end of what unittest prints; the errors themselves stand above it."""
_MESSAGE_BELOW = "Error Message:"
"""Stands between the name of a test in .NET and what was wrong."""
_NOT_SHOWN = re.compile(rf"{re.escape(WORKSPACE)}/[^/\s]+/|^/\S+/sdk/\S+\(\d+,\d+\): ")
"""The repository's folder in the steps' sandbox, and files of the SDK itself."""
_OF_MSBUILD = re.compile(r"\berror (?:CS|FS|BC|NU|MSB|NETSDK)\d")
"""Its lines name the file, and at their end the project, by whole paths."""
_LONGEST = 300
_LINE = 2000


def failure_of(result: JobResult) -> JobFailure | None:
    """Return why a job did not pass; None when it did."""
    if result.outcome is JobOutcome.PASSED:
        return None
    if result.outcome is JobOutcome.TIMEOUT:
        return JobFailure(kind=FailureKind.TIMEOUT, evidence=result.reason)
    if result.outcome is JobOutcome.NOT_RUN:
        return JobFailure(kind=FailureKind.NOT_RUN, evidence=result.reason)
    if "was ended: " in result.reason:
        return JobFailure(kind=FailureKind.LIMIT, evidence=result.reason[:_LONGEST])
    ended_well = result.reason.startswith(ENDED_WELL)
    in_tests = ended_well or any(step.tests and step.result == "failure" for step in result.steps)
    found = explained(result.failed_output, in_tests=in_tests)
    if found is not None and found.kind in _MISSING_KINDS and result.installs_system_packages:
        absent = _NOT_FOUND.search(found.evidence)
        if absent is not None and meaning_of([absent[1]]) is None:
            found = found.but(kind=FailureKind.PROGRAM)
    return found or JobFailure(
        kind=FailureKind.TESTS if ended_well else FailureKind.OTHER,
        evidence=result.reason if ended_well else _telling_line(result.failed_output) or result.reason,
    )


_MISSING_KINDS = frozenset({FailureKind.MISSING_IN_BUILD, FailureKind.MISSING_IN_TEST})
_NOT_FOUND = re.compile(r"(?:^|[\s/:])([\w.+-]+): (?:command )?not found")
"""A program; one that no language's packages bring is what the system's packages would have."""
ENDED_WELL = "the job ended well, but "
"""Begins why a job shows nothing though all its steps succeeded."""


_OF_VERSIONS = frozenset({
    FailureKind.NOT_FOUND, FailureKind.INVALID_VERSION, FailureKind.CONFLICT, FailureKind.MISSING_FEATURE,
})  # fmt: skip


HIDES = "[packages until "
"""Begins what is said of hidden packages."""


def with_hidden(failure: JobFailure, result: JobResult, cutoff: str | None) -> JobFailure:
    """Return *failure* with both dates where its line names a package of which the cut-off hides releases."""
    hidden = result.hidden
    line = failure.evidence.lower().replace("_", "-")
    named = [name for name in hidden if re.search(rf"(?<![\w.-]){re.escape(name.lower())}(?![\w-]|\.\w)", line)]
    if failure.kind not in _OF_VERSIONS or not named or cutoff is None:
        return failure
    told = "; ".join(f"{name} has releases from {hidden[name]} on that are hidden" for name in named[:2])
    return failure.but(evidence=f"{failure.evidence[:200]} {HIDES}{cutoff[:10]}: {told}]")


def explained(output: str, *, in_tests: bool) -> JobFailure | None:
    """Return the first rule's reading of *output* that has a line for it."""
    text = _COLOURS.sub("", output)
    lines = text.splitlines()
    for kind, rule in _rules():
        for position, line in enumerate(lines):
            if rule.search(line[:_LINE]):
                said = line.strip()
                if _ONLY_COUNTS.match(said):
                    said = _telling_line("\n".join(lines[:position])) or said
                elif [one.strip() for one in lines[position + 1 : position + 2]] == [_MESSAGE_BELOW]:
                    said = ": ".join((said, *(one.strip() for one in lines[position + 2 : position + 3])))
                return JobFailure(kind=_of_phase(kind, in_tests=in_tests), evidence=_quoted(said))
    return None


def _quoted(line: str) -> str:
    """Return a line as evidence: of MSBuild's with paths as the repository has them."""
    return (_NOT_SHOWN.sub("", line) if _OF_MSBUILD.search(line) else line)[:_LONGEST]


@functools.cache
def _rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    document = tomllib.loads(files("groundup.grading.ci").joinpath("failure_rules.toml").read_text("utf-8"))
    programs = "|".join(document["programs"])
    return tuple(
        (
            group["kind"],
            re.compile("|".join(f"(?:{line})" for line in group["lines"]).replace("PROGRAMS", programs)),
        )
        for group in document["group"]
    )


def _of_phase(kind: str, *, in_tests: bool) -> FailureKind:
    if kind == _MISSING:
        return FailureKind.MISSING_IN_TEST if in_tests else FailureKind.MISSING_IN_BUILD
    return FailureKind(kind)


def _telling_line(output: str) -> str:
    """Return the last line that names an error, else the last one that is not noise."""
    lines = [line for line in _lines_backwards(_COLOURS.sub("", output)) if not _SAYS_NOTHING.search(line[:_LINE])]
    return _quoted(next((line for line in lines if _NAMES_ERROR.search(line[:_LINE])), next(iter(lines), "")))


def _lines_backwards(text: str) -> Iterator[str]:
    return (line.strip() for line in reversed(text.splitlines()) if line.strip())
