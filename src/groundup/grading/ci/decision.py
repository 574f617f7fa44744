"""Whether a job passed: by act's exit code, its JSON for the wanted leg, and the steps that run tests. Pure."""

from collections.abc import Collection, Sequence

from groundup.grading.ci.act_log import ActRun
from groundup.grading.ci.matrix import Leg
from groundup.grading.ci.records import Outcome, RunCommand, StepRecord
from groundup.grading.ci.test_steps import test_steps
from groundup.grading.ci.workflow import Job
from groundup.sandbox.protocol import CommandResult, Ending

Decision = tuple[Outcome, str, tuple[StepRecord, ...]]


def decide(job: Job, leg: Leg, act: ActRun, ended: CommandResult, commands: Sequence[RunCommand]) -> Decision:
    """Return the outcome, why, and what became of each step."""
    tests = {step.key for step in test_steps(job, leg)}
    steps = tuple(_step(job, position, act, commands, tests) for position in range(len(job.steps)))
    if ended.ending in (Ending.TIMEOUT, Ending.WALL_CLOCK) or any(one.ending == "timeout" for one in commands):
        return Outcome.TIMEOUT, "the job's time was up", steps
    legs = [end for end in act.ends_of(job.id) if not leg or end.matrix == leg]
    results = {end.result for end in legs}
    failed = next((step for step in steps if step.result == "failure"), None)
    if "failure" in results or failed is not None or any(end.result == "failure" for end in act.jobs):
        return Outcome.FAILED, _why_failed(failed, commands, act), steps
    if not legs or results != {"success"}:
        return Outcome.NOT_RUN, f"job {job.id} was not run: act reports {_told(results)}", steps
    if ended.exit_code != 0:
        return Outcome.FAILED, f"act ended with exit code {ended.exit_code}", steps
    if len(legs) > 1:
        return Outcome.NOT_RUN, f"{len(legs)} legs of job {job.id} ran where one was asked for", steps
    unconditional = {step.key for step in job.steps if step.condition is None}
    return _tests_ran(steps, bool(tests), unconditional)


def _tests_ran(steps: tuple[StepRecord, ...], known: bool, unconditional: Collection[str]) -> Decision:
    """A job that skipped its tests shows nothing, however green it is; a condition may skip some of them."""
    if known:
        idle = [step for step in steps if step.tests and (step.result != "success" or not step.exit_codes)]
        owed = [step for step in idle if step.key in unconditional]
        if owed or len(idle) == sum(step.tests for step in steps):
            return Outcome.NOT_RUN, f"step {(owed or idle)[0].title!r}, which runs tests, was not run", steps
    elif not any(step.exit_codes for step in steps):
        return Outcome.NOT_RUN, "no step of the job ran a command", steps
    return Outcome.PASSED, "", steps


def _step(job: Job, position: int, act: ActRun, commands: Sequence[RunCommand], tests: set[str]) -> StepRecord:
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


def _why_failed(failed: StepRecord | None, commands: Sequence[RunCommand], act: ActRun) -> str:
    if failed is not None:
        codes = [code for code in failed.exit_codes if code != 0]
        ending = next((one.ending for one in commands if one.ending != "exited"), None)
        how = f"was ended: {ending}" if ending else f"failed with exit code {codes[-1]}" if codes else "failed"
        return f"step {failed.title!r} {how}"
    return act.complaints[-1] if act.complaints else "the job failed"


def _told(results: set[str]) -> str:
    return ", ".join(sorted(results)) or "nothing of it"
