"""The strict grader: deployment, pass rate and API coverage as they should have been. See docs/repogenesis.md.

Joins what was observed of a submission into a verdict. Tests run only against a service that answers, and nothing
is read from what it prints.
"""

import time
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.names import printable
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.grading.java.testing import java_runner_digest
from groundup.grading.last_words import last_words, logged_errors, middle_cut, speaks_of_time
from groundup.grading.library.decision import reason
from groundup.grading.services.deployment import service_spec
from groundup.grading.services.install import StartCommand
from groundup.grading.services.records import InstallOutcome, Lifecycle, Readiness
from groundup.grading.services.testing import TestRun, runner_digest
from groundup.sandbox.protocol import SandboxSpec
from groundup.suites.base import Graded
from groundup.suites.repogenesis.coverage import Coverage, covered
from groundup.suites.repogenesis.in_process import run_beside_no_service
from groundup.suites.repogenesis.observing import (
    Observed,
    check_count,
    installed,
    observe,
    speaks_to_service,
    with_lines,
)
from groundup.suites.repogenesis.service_grader import ServiceGrader, is_the_most
from groundup.suites.repogenesis.tasks import PYTHON, ServiceProblem, test_environment, tests_lock

_NOT_PASSED = ("failed", "error")


def strict_verdict(
    problem: ServiceProblem, observed: Observed, coverage: Coverage, identity: GraderIdentity
) -> Verdict:
    """Return the verdict: the pass rate, and beside it deployment and coverage."""
    count = problem.task.tests.count
    tests = observed.tests
    passed = _counted(tests, count) if tests else 0
    health = None if problem.task.health is None else observed.health.get(problem.task.health)
    deployment = {
        "installed": _is_installed(observed),
        "port_in_time": observed.readiness.in_time,
    }
    if problem.task.health is not None:
        deployment["health"] = health is not None and 200 <= health < 300
    scores = {name: _flag(held) for name, held in deployment.items()}
    scores["deployed"] = _flag(all(deployment.values()))
    scores["api_coverage"] = Score(numerator=len(coverage.implemented), denominator=len(coverage.specified))
    is_tampered = tests is not None and tests.integrity == Status.TAMPERED
    return Verdict(
        status=Status.TAMPERED if is_tampered else Status.GRADED,
        score=None if is_tampered else Score(numerator=passed, denominator=count),
        scores=scores,
        facts=_facts(problem, observed, coverage),
        reasons=_reasons(problem, observed, coverage, passed),
        grader=identity,
        complete=all(deployment.values()),
        cacheable=not _ran_out_of_time(observed),
        by_time=_ran_out_of_time(observed),
    )


def zero_verdict(problem: ServiceProblem, reason: Reason, identity: GraderIdentity) -> Verdict:
    """Return 0 over all frozen counts."""
    names = ["installed", "port_in_time", "deployed", *(["health"] if problem.task.health else [])]
    scores = {name: _flag(held=False) for name in names}
    scores["api_coverage"] = Score(numerator=0, denominator=len(problem.task.endpoints))
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=0, denominator=problem.task.tests.count),
        scores=scores,
        reasons=(reason,),
        complete=False,
        grader=identity,
    )


def _counted(tests: TestRun, count: int) -> int:
    """Return how many of *count* tests passed; each that did not is lost, also where more ran than that."""
    passed, beyond = tests.count("passed"), max(0, len(tests.results) - count)
    return min(max(0, passed - beyond), count)


def _flag(held: bool) -> Score:
    return Score(numerator=int(held), denominator=1)


def _is_installed(observed: Observed) -> bool:
    """Whether the declared install succeeded; who declares nothing must at least have something to start."""
    if observed.installed.outcome is InstallOutcome.UNDECLARED:
        return observed.start is not None
    return observed.installed.outcome is InstallOutcome.SUCCEEDED


def _ran_out_of_time(observed: Observed) -> bool:
    """Whether a limit decided; a service that died by itself passed one only where it says so."""
    starts = filter(None, (observed.readiness, observed.restarted))
    return (
        observed.installed.outcome is InstallOutcome.TIMEOUT
        or (observed.start is not None and any(map(_was_late, starts)))
        or (observed.tests is not None and observed.tests.timed_out)
    )


def _was_late(ready: Readiness) -> bool:
    return (not ready.in_time or ready.answered_s is None) and (not ready.died or speaks_of_time(ready.message))


def _facts(
    problem: ServiceProblem, observed: Observed, coverage: Coverage
) -> dict[str, str | int | float | bool | None]:
    tests = observed.tests or TestRun()
    facts: dict[str, str | int | float | bool | None] = {
        "install": observed.installed.outcome.value,
        "start": printable(observed.start.found) if observed.start else None,
        "answer": observed.readiness.status,
        "ready_by": observed.readiness.question or None,
        "tests": problem.task.tests.count,
        "passed": tests.count("passed"),
        "failed": tests.count("failed"),
        "errors": tests.count("error"),
        "skipped": tests.count("skipped"),
        "not_run": max(0, problem.task.tests.count - len(tests.results)),
        "endpoints_unclear": len(coverage.unclear),
        "endpoints_failing": len(coverage.failing),
        "endpoints_silent": len(coverage.silent),
        **observed.tools(),
    }
    skips = tests.skips()
    if skips:
        facts["skip_reason"] = printable(next(iter(skips)))[:160]
    if observed.died:
        facts["died_in_tests"] = True
    told = {"signs": tests.signs, "integrity": tests.integrity, "integrity_why": tests.integrity_why}
    facts.update({name: said for name, said in told.items() if said is not None})
    return facts


def _reasons(problem: ServiceProblem, observed: Observed, coverage: Coverage, passed: int) -> tuple[Reason, ...]:
    reasons = []
    answered = observed.readiness.answered_s is not None
    install = []
    if not _is_installed(observed):
        message = observed.installed.message or "nothing is declared, and there is nothing to start"
        # A service that answers with what the image holds may pass everything: say why it is unsolved.
        unsolved = "not deployed, for it did not install: " if answered else ""
        install.append(reason(Stage.INSTALL, f"{unsolved}{message}"))
    if not answered:
        reasons += install
    if not observed.readiness.in_time:
        reasons.append(reason(Stage.START, observed.readiness.message))
    elif (path := problem.task.health) is not None and not 200 <= (observed.health.get(path) or 0) < 300:
        status = observed.health.get(path)
        said = "did not answer" if status is None else f"answered {status}"
        reasons.append(reason(Stage.START, f"the README's health path {path} {said}"))
    if observed.restarted is not None and observed.restarted.answered_s is None:
        again = f"it answered once, and not when it was started afresh for the tests: {observed.restarted.message}"
        reasons.append(reason(Stage.START, again))
    if observed.died:
        code, said = observed.exit_code, last_words(observed.service_log) or "none"
        how = "did not answer any more after" if code is None else f"left with exit code {code} in"
        reasons.append(reason(Stage.CRASH, f"the service {how} the tests; last words: {said}"))
    if observed.tests is not None and passed < problem.task.tests.count:
        reasons.append(_test_reason(problem, observed.tests, passed))
        if (hidden := problem.task.tests).unpassable:
            reasons.append(reason(Stage.TEST, f"{hidden.most} of {hidden.count} is the most that can be had"))
        if answered and (errors := logged_errors(observed.service_log)):
            reasons.append(reason(Stage.TEST, f"the service has {errors}"))
    if answered and (sentence := coverage.shortfall()):
        left = observed.left_when_asked
        ended = "" if left is None else f"; the service left with exit code {left} when it was asked"
        reasons.append(reason(Stage.TEST, f"{sentence}{ended}"))
    if answered:  # it lost deployment and nothing else; the first reason is where points were lost
        reasons[3:] = install or reasons[3:]
    return tuple(reasons[:4])


def _test_reason(problem: ServiceProblem, tests: TestRun, passed: int) -> Reason:
    lost = f"{problem.task.tests.count - passed} of {problem.task.tests.count} hidden tests did not pass"
    if tests.stopped is not None:
        return reason(Stage.TIMEOUT if tests.timed_out else Stage.TEST, f"{lost}; {tests.stopped}")
    if tests.collection_errors:
        place, message = next(iter(tests.collection_errors.items()))
        return reason(Stage.COLLECTION, f"{lost}; {place}: {message}")
    failing = [test for test, said in sorted(tests.results.items()) if said.outcome in _NOT_PASSED]
    if failing:
        return reason(Stage.TEST, f"{lost}, first {failing[0]}: {tests.results[failing[0]].message}")
    skips = tests.skips()
    why = f"; {sum(skips.values())} were skipped: {next(iter(skips))}" if skips else ""
    return reason(Stage.TEST, f"{lost}{why}")


class RepoGenesisStrictGrader(ServiceGrader):
    """Deploys a submission, tests it from another sandbox, and asks for its endpoints."""

    name = "strict"
    version = "5"

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        problem = self._problems.get(task.id)
        return {
            "task": None if problem is None else problem.task.graded_digest,
            "data": None if problem is None else problem.digest,
            "lifecycle": digest_of(list(self._lifecycles.values())),
            "tests": digest_of(tests_lock()),
            "stand_in": None if problem is None else problem.stand_in,
            "runner": runner_digest(),
            "java": java_runner_digest(),
            **({} if problem is None or problem.toolchain is None else {"toolchain": problem.toolchain}),
        }

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return the layer of the tests' environment, and the tools of other languages than Python."""
        tools = await super().layers(task, context)
        if self._is_by_maven(task):
            return tools
        environment = await context.builder.python(test_environment(self._problems.get(task.id)))
        return {**tools, environment.layer.kind: environment.layer.digest}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Install, start, wait, test, probe."""
        problem = self._gradable(task)
        began = time.monotonic()
        lifecycle = self._lifecycle_of(problem)
        observed = await observe(problem, submission, lifecycle, context)
        if not speaks_to_service(problem):
            tests = await run_beside_no_service(problem, submission, observed.installed, lifecycle, context)
            observed = observed.but(tests=tests)
        check_count(problem, observed.tests)
        coverage = covered(problem, observed.probed)
        timings = {
            "install": round(observed.installed.seconds, 3),
            "ready": observed.readiness.answered_s or 0.0,
            "tests": round(observed.tests.seconds, 3) if observed.tests else 0.0,
            "total": round(time.monotonic() - began, 3),
        }
        verdict = strict_verdict(problem, observed, coverage, self._signature(task))
        return Graded(
            verdict=await with_lines(verdict.but(timings_s=timings), submission),
            tests=observed.tests.as_records(problem.task.tests.unpassable) if observed.tests else (),
            logs=_logs(observed, coverage, lifecycle.log_bytes),
            is_certain=observed.is_certain or is_the_most(problem, verdict),
        )

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 over the frozen counts, for a submission that could not be taken in."""
        return Graded(verdict=zero_verdict(self._gradable(task), reason, self._signature(task)))

    @override
    async def sandbox_spec(self, task: Task, workspace: Path, context: GradingContext) -> SandboxSpec:
        """Return the service's sandbox around *workspace*, for looking around; nothing is started."""
        problem = self._gradable(task)
        port, lifecycle = problem.task.port, self._lifecycle_of(problem)
        ready = await installed(problem, workspace, lifecycle, context)
        start = ready.start or StartCommand(found="nothing", argv=("true",))
        return _for_looking(service_spec(ready.tree, start, port, ready.environment, lifecycle, context))

    @override
    def _lifecycle_of(self, problem: ServiceProblem) -> Lifecycle:
        return super()._lifecycle_of(problem).but(python=problem.service_python)

    def _signature(self, task: Task) -> GraderIdentity:
        """Return the signature, which says where an interpreter stands in, or a toolchain of the host runs it."""
        problem = self._problems.get(task.id)
        if problem is not None and problem.toolchain is not None:
            return self.signature(task).but(environment="host")
        stands_in = problem is not None and problem.stand_in not in (None, PYTHON)
        return self.signature(task).but(environment="stand-in") if stands_in else self.signature(task)

    def _gradable(self, task: Task) -> ServiceProblem:
        problem = self._problem(task)
        problem.hidden_tests()
        return problem


def _for_looking(spec: SandboxSpec) -> SandboxSpec:
    limits = spec.limits.but(command_s=24 * 3600.0, wall_clock_s=24 * 3600.0)
    return spec.but(limits=limits)


def _logs(observed: Observed, coverage: Coverage, limit: int) -> dict[str, bytes]:
    """Return what people may want to read; nothing was decided from it."""
    logs = {"service.txt": middle_cut(observed.service_log, limit), "endpoints.txt": coverage.as_text()}
    if observed.tests is not None:
        logs["tests.txt"] = observed.tests.log
    if observed.asked_log is not None:
        logs["asked.txt"] = middle_cut(observed.asked_log, limit)
    return {**logs, **observed.install_logs(limit)}
