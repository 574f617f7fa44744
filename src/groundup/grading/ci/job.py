"""Running a CI job: act in one sandbox, its steps in others, and what came of it."""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

from groundup.domain.errors import InfrastructureError
from groundup.grading.bench import Bench
from groundup.grading.ci.act_log import ActRun, read_act_log
from groundup.grading.ci.act_sandbox import ActSandbox
from groundup.grading.ci.decision import decide
from groundup.grading.ci.files import RepositoryFiles
from groundup.grading.ci.matrix import Leg, pinned
from groundup.grading.ci.obstacles import Needs, needs_of
from groundup.grading.ci.records import JobRequest, JobResult, Obstacle, UnsupportedJobError
from groundup.grading.ci.relay import Relay
from groundup.grading.ci.step_sandboxes import Prepared, StepSandboxes, prepare
from groundup.grading.ci.tools import Tool, tools_of
from groundup.grading.ci.workflow import Job, Workflow, WorkflowError, read_workflow
from groundup.sandbox.protocol import CommandResult


class PlannedJob:
    """A job that can be run here: its leg and what it needs, known before anything runs."""

    def __init__(self, request: JobRequest, languages: Iterable[Tool] = ()) -> None:
        """Read the workflow. Raises `WorkflowError`, and `UnsupportedJobError` naming every obstacle."""
        self.request = request
        self.files = RepositoryFiles(request.tree)
        data = self.files.read(request.workflow)
        if data is None:
            raise WorkflowError(f"there is no workflow {request.workflow} in the repository")
        self.workflow: Workflow = read_workflow(data, request.workflow)
        self.job: Job = self.workflow.job(request.job)
        self.leg: Leg = pinned(self.job, request.matrix)
        self.needs: Needs = needs_of(self.workflow, self.job, self.leg, self.files.read)
        if self.needs.obstacles:
            raise UnsupportedJobError(self.needs.obstacles)
        variables = {**self.workflow.environment, **self.job.environment}
        self.tools = tools_of(self.needs.steps, self.leg, variables, languages)


async def run_job(request: JobRequest, bench: Bench, languages: Iterable[Tool] = ()) -> JobResult:
    """Run the job and return what became of it, with its evidence.

    *languages* are needed in any case, whatever the workflow says. Raises `UnsupportedJobError` before anything is
    run, and `InfrastructureError`.
    """
    if bench.provider.name != "bubblewrap":
        raise UnsupportedJobError((Obstacle(kind="sandbox", what="CI jobs need the bubblewrap sandbox"),))
    started = time.monotonic()
    planned = await asyncio.to_thread(PlannedJob, request, languages)
    timeout_s = bench.timeout_s or request.limits.wall_clock_s
    bench.scratch.mkdir(parents=True, exist_ok=True)
    async with prepare(planned.tools, planned.files, request, bench) as prepared:
        sandboxes = StepSandboxes(request, prepared, bench, timeout_s)
        relay = Relay(request.repository, sandboxes.open, planned.files.hash_files)
        ready = time.monotonic()
        try:
            async with ActSandbox(planned, bench) as act:
                ended = await act.run(relay, timeout_s)
            ran = time.monotonic()
        finally:
            await relay.close()
            await sandboxes.close()
        if relay.trouble is not None:
            raise relay.trouble
        timings = {"prepare": ready - started, "run": ran - ready, "close": time.monotonic() - ran}
        return _result(planned, prepared, relay, ended, sandboxes.peak_memory_mb, timings)


def _result(
    planned: PlannedJob,
    prepared: Prepared,
    relay: Relay,
    ended: CommandResult,
    peak_memory_mb: float | None,
    timings: dict[str, float],
) -> JobResult:
    act: ActRun = read_act_log(ended.stdout, planned.job.id)
    if not act.jobs and not relay.commands and ended.exit_code not in (0, None):
        said = ended.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise InfrastructureError(f"act did not start the job: {' '.join((*act.complaints, *said))[:300]}")
    outcome, reason, steps = decide(planned.job, planned.leg, act, ended, relay.commands)
    troubles = tuple(f"{one.kind} {one.name}: {one.message}"[:300] for one in prepared.troubles())
    spent = sum(command.duration_s for command in relay.commands)
    return JobResult(
        outcome=outcome,
        reason=reason,
        leg=planned.leg,
        steps=steps,
        substitutes=prepared.substitutes,
        timings_s={name: round(value, 3) for name, value in {**timings, "steps": spent}.items()},
        failed_output=relay.last_failed,
        logs={"ci.jsonl": ended.stdout, "ci.txt": relay.log + ended.stderr},
        registry_troubles=troubles,
        peak_memory_mb=peak_memory_mb,
    )


def scratch_folder(bench: Bench, name: str) -> Path:
    """Return a new folder for one part of a job."""
    folder = bench.scratch / name
    folder.mkdir(parents=True)
    return folder
