"""Running a CI job (act in one sandbox, its steps in others), reading act's log, and deciding if it passed."""

import asyncio
import itertools
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.grading.ci.act_sandbox import ActSandbox
from groundup.grading.ci.plan import PASSED_OVER, PlannedJob, Tool
from groundup.grading.ci.records import (
    JobOutcome,
    JobRequest,
    JobResult,
    Obstacle,
    RunCommand,
    StepRecord,
    UnsupportedJobError,
)
from groundup.grading.ci.relay import Relay
from groundup.grading.ci.step_sandboxes import StepSandboxes, StepTools, prepare, versions
from groundup.grading.ci.tested import counted_tests, why_not_tested
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import CommandResult
from groundup.workflows.matrix import Leg
from groundup.workflows.workflow import Job

Result = Literal["success", "failure", "skipped", "cancelled"]
_SANDBOXES = ("bubblewrap", "docker", "podman")


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
        except (ValueError, RecursionError):
            continue
        if isinstance(document, Mapping):
            try:
                yield _Line.model_validate(document)
            except ValidationError:
                continue


def soft_failures(job: Job, act: ActRun) -> frozenset[str]:
    """Return the keys of steps that failed and let the job go on: act calls the job a success all the same."""
    if not any(end.result == "success" for end in act.ends_of(job.id)):
        return frozenset()
    ends = {step.key: act.step(step.key) for step in job.steps}
    return frozenset(key for key, end in ends.items() if end is not None and end.result == "failure")


Decision = tuple[JobOutcome, str, tuple[StepRecord, ...]]


def decide(
    job: Job,
    leg: Leg,
    tests: Collection[str],
    act: ActRun,
    ended: CommandResult,
    commands: Sequence[RunCommand],
    untested: str = "",
) -> Decision:
    """Return the outcome, why, and how each step ended; *tests* are the keys of the steps that run tests.

    *untested* says why a job that ended well shows nothing; empty when it shows something.
    """
    steps = tuple(_step(job, position, act, commands, tests) for position in range(len(job.steps)))
    if ended.ending.is_out_of_time or any(one.ending == "timeout" for one in commands):
        return JobOutcome.TIMEOUT, "the job's time was up", steps
    legs = [end for end in act.ends_of(job.id) if not leg or end.matrix == leg]
    results = {end.result for end in legs}
    soft = soft_failures(job, act)
    if why := _why_failed(steps, results, soft, act, ended, commands):
        return JobOutcome.FAILED, why, steps
    if not legs or results != {"success"}:
        return JobOutcome.NOT_RUN, f"job {job.id} was not run: act reports {_told(results)}", steps
    if len(legs) > 1:
        return JobOutcome.NOT_RUN, f"{len(legs)} legs of job {job.id} ran where one was asked for", steps
    unconditional = {step.key for step in job.steps if step.condition is None and step.key not in soft}
    decision = _tests_ran(steps, bool(tests), unconditional)
    if decision[0] is JobOutcome.PASSED and untested:
        return JobOutcome.NOT_RUN, untested, steps
    return decision


def _why_failed(
    steps: Sequence[StepRecord],
    results: Collection[str],
    soft: Collection[str],
    act: ActRun,
    ended: CommandResult,
    commands: Sequence[RunCommand],
) -> str:
    """Return why the job failed; empty where it did not. A needed job counts where it kept this one off."""
    is_green = set(results) == {"success"}
    failed = [step for step in steps if step.result == "failure"]
    tests = [step for step in steps if step.tests]
    hard = [step for step in failed if step.key not in soft] or (
        tests if tests and set(tests) <= set(failed) else []
    )
    needed = [end.job for end in act.jobs if end.result == "failure"]
    if hard:
        return _why_step_failed(hard[0], commands)
    if "failure" in results:
        return act.complaints[-1] if act.complaints else "the job failed"
    if needed and not is_green:
        return _why_needed_failed(needed[0], commands)
    return (
        f"act ended with exit code {ended.exit_code}" if is_green and ended.exit_code != 0 and not needed else ""
    )


def _why_needed_failed(name: str, commands: Sequence[RunCommand]) -> str:
    codes = [one.exit_code for one in commands if one.job == name and one.exit_code != 0]
    return f"job {name}, which it needs, failed" + (f" with exit code {codes[-1]}" if codes else "")


def _tests_ran(steps: tuple[StepRecord, ...], known: bool, unconditional: Collection[str]) -> Decision:
    """A job that skipped its tests shows nothing, however green it is; a condition may skip some of them."""
    if known:
        idle = [step for step in steps if step.tests and (step.result != "success" or not step.exit_codes)]
        owed = [step for step in idle if step.key in unconditional]
        if owed or len(idle) == sum(step.tests for step in steps):
            return JobOutcome.NOT_RUN, f"step {(owed or idle)[0].title!r}, which runs tests, was not run", steps
    elif not any(step.exit_codes for step in steps):
        return JobOutcome.NOT_RUN, "no step of the job ran a command", steps
    return JobOutcome.PASSED, "", steps


def _step(
    job: Job, position: int, act: ActRun, commands: Sequence[RunCommand], tests: Collection[str]
) -> StepRecord:
    step = job.steps[position]
    end = act.step(step.key)
    return StepRecord(
        key=step.key,
        title=step.title[:120],
        tests=step.key in tests,
        result=end.result if end else "not reached",
        exit_codes=tuple(one.exit_code for one in commands if one.job == job.id and one.step == step.key),
        duration_s=end.duration_s if end else None,
    )


def _why_step_failed(failed: StepRecord, commands: Sequence[RunCommand]) -> str:
    codes = [code for code in failed.exit_codes if code != 0]
    ending = next((one.ending for one in commands if one.ending != "exited"), None)
    how = f"was ended: {ending}" if ending else f"failed with exit code {codes[-1]}" if codes else "failed"
    return f"step {failed.title!r} {how}"


def _told(results: set[str]) -> str:
    return ", ".join(sorted(results)) or "nothing of it"


async def run_job(request: JobRequest, context: GradingContext, languages: Iterable[Tool] = ()) -> JobResult:
    """Run the job and return how it ended, with its evidence.

    *languages* are needed in any case, whatever the workflow says. Raises `UnsupportedJobError` before anything is
    run, and `InfrastructureError`.
    """
    if context.provider.name not in _SANDBOXES or "image" in context.provider.identity():
        what = f"CI jobs need this machine's programs in a sandbox: {', '.join(_SANDBOXES)}, without an image"
        raise UnsupportedJobError((Obstacle(kind="sandbox", what=what),))
    started = time.monotonic()
    at_step(f"preparing its CI job {request.job}")
    planned = await asyncio.to_thread(PlannedJob, request, languages)
    timeout_s = context.timeout_s or request.limits.wall_clock_s
    context.scratch.mkdir(parents=True, exist_ok=True)
    async with prepare(planned.tools, planned.tree, request, context) as prepared:
        sandboxes = StepSandboxes(request, prepared, context, timeout_s, planned.place)
        relay = Relay(request.repository, sandboxes.open, planned.hash_files, planned.tests)
        ready = time.monotonic()
        try:
            async with ActSandbox(planned, context) as act:
                at_step(f"its CI job {request.job}")
                ended = await act.run(relay, timeout_s)
            ran = time.monotonic()
        finally:
            await relay.close()
            await sandboxes.close()
        if relay.trouble is not None:
            raise relay.trouble
        timings = {"prepare": ready - started, "run": ran - ready, "close": time.monotonic() - ran}
        return _result(planned, prepared, relay, ended, sandboxes.peak_memory_mb, timings)


async def versions_for(
    request: JobRequest, context: GradingContext, languages: Iterable[Tool] = ()
) -> Mapping[str, str]:
    """Return the versions of what `run_job` would lend the job; raises what it raises before anything is run."""
    planned = await asyncio.to_thread(PlannedJob, request, languages)
    return await versions(planned.tools, planned.tree, context.builder)


_SYSTEM = re.compile(r"\b(?:apt|apt-get|brew|dnf|yum|apk|pacman)\b[^\n]*\b(?:install|add|-S)\b")
_SAID = re.compile(
    rb"^groundup: (.{1,80}): (no lock file is here|interpreters are those that are here|"
    + PASSED_OVER.encode()
    + rb")$",
    re.MULTILINE,
)
"""What the stand-ins of installers say (`stubs/bin`), and checks that failed."""


def _said(log: bytes) -> tuple[str, ...]:
    """Return which commands ran otherwise for want of something, or failed without consequence, each once."""
    found: dict[str, None] = {}
    for name, what in _SAID.findall(log):
        text = name.decode(errors="replace")
        found[f"{text}: {PASSED_OVER}" if what == PASSED_OVER.encode() else text] = None
    return tuple(itertools.islice(found, 4))


_REFUSED = re.compile(
    r"Actions YAML (?:Schema|Style) Validation|Schema Validation Error|Failed to match|Line: \d+ Column"
)
"""How act says that a workflow, which GitHub takes, is none for its own schema: no time mends that."""


def _result(
    planned: PlannedJob,
    prepared: StepTools,
    relay: Relay,
    ended: CommandResult,
    peak_memory_mb: float | None,
    timings: dict[str, float],
) -> JobResult:
    act: ActRun = read_act_log(ended.stdout, planned.job.id)
    if not act.jobs and not relay.commands and ended.exit_code not in (0, None):
        last_lines = ended.stderr.decode(errors="replace").strip().splitlines()[-3:]
        why = " ".join((*act.complaints, *last_lines))
        if (refused := _REFUSED.search(why)) is not None:
            what = f"act cannot read it: {why[refused.start() :][:160]}"
            raise UnsupportedJobError((Obstacle(kind="workflow", what=what),))
        raise InfrastructureError(f"act did not start the job: {why[:300]}")
    soft = soft_failures(planned.job, act)
    found = counted_tests(planned.job.id, planned.test_steps, relay.commands, soft)
    untested = why_not_tested(found, planned.test_steps, planned.request.original)
    outcome, reason, steps = decide(planned.job, planned.leg, planned.tests, act, ended, relay.commands, untested)
    if outcome is JobOutcome.NOT_RUN and reason == untested and found.failed:
        outcome = JobOutcome.FAILED
    troubles = tuple(f"{one.kind} {one.name}: {one.message}"[:300] for one in prepared.troubles())
    dotnet = prepared.dotnet
    forward = (
        (*dotnet.resolved_otherwise(relay.log), *dotnet.rolled_forward(relay.log)) if dotnet is not None else ()
    )
    spent = sum(command.duration_s for command in relay.commands)
    stamps = f"without {', '.join(planned.stamps)}, which no other step reads" if planned.stamps else ""
    later = f"without the steps after the tests: {', '.join(planned.later)}" if planned.later else ""
    without = (
        f"without the job {name}, which cannot be run here ({why})" for name, why in planned.left_out.items()
    )
    return JobResult(
        outcome=outcome,
        reason=reason,
        leg=planned.leg,
        steps=steps,
        substitutes=tuple(
            dict.fromkeys(
                (
                    *without,
                    *(one for one in (later, stamps) if one),
                    *prepared.substitutes,
                    *prepared.changed,
                    *forward,
                    *_said(relay.log),
                    *prepared.undated(),
                )
            )
        ),
        passed_tests=found.passed,
        lines=found.lines,
        timings_s={name: round(value, 3) for name, value in {**timings, "steps": spent}.items()},
        failed_output=relay.failed_output(planned.job.id, soft),
        logs={"ci.jsonl": ended.stdout, "ci.txt": relay.log + ended.stderr},
        registry_troubles=troubles,
        hidden=prepared.hidden(),
        installs_system_packages=any(_SYSTEM.search(step.run or "") for step in planned.job.steps),
        undated=any(prepared.undated()),
        peak_memory_mb=peak_memory_mb,
    )
