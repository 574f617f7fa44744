"""What strict observations are worth: pure."""

from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.java.installing import JavaInstalled
from groundup.grading.last_words import last_words
from groundup.grading.services.install import InstalledService
from groundup.grading.services.records import InstallOutcome
from groundup.grading.services.testing import TestRun
from groundup.suites.repogenesis.coverage import Coverage
from groundup.suites.repogenesis.data import ServiceProblem
from groundup.suites.repogenesis.observing import Observed
from groundup.trees.limits import printable

_MAX_REASON_BYTES = 240
_NOT_PASSED = ("failed", "error")


def strict_verdict(
    problem: ServiceProblem, observed: Observed, coverage: Coverage, identity: GraderIdentity
) -> Verdict:
    """Return the verdict: the pass rate, and beside it deployment, coverage and whether all tests passed."""
    count = problem.task.tests.count
    tests = observed.tests
    passed = min(tests.count("passed"), count) if tests else 0
    health = None if problem.task.health is None else observed.health.get(problem.task.health)
    deployment = {
        "installed": _is_installed(observed),
        "port_in_time": observed.readiness.in_time,
    }
    if problem.task.health is not None:
        deployment["health"] = health is not None and 200 <= health < 300
    scores = {name: _flag(held) for name, held in deployment.items()}
    scores["deployed"] = _flag(all(deployment.values()))
    scores["all_passed"] = Score(numerator=int(0 < count == passed), denominator=int(count > 0))
    scores["api_coverage"] = Score(numerator=len(coverage.implemented), denominator=len(coverage.specified))
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=passed, denominator=count),
        scores=scores,
        facts=_facts(problem, observed, coverage),
        reasons=_reasons(problem, observed, coverage, passed),
        grader=identity,
        cacheable=not _ran_out_of_time(observed),
        by_time=_ran_out_of_time(observed),
    )


def zero_verdict(problem: ServiceProblem, reason: Reason, identity: GraderIdentity) -> Verdict:
    """Return 0 over all frozen counts."""
    names = ["installed", "port_in_time", "deployed", *(["health"] if problem.task.health else [])]
    scores = {name: _flag(held=False) for name in names}
    scores["all_passed"] = Score(numerator=0, denominator=int(problem.task.tests.count > 0))
    scores["api_coverage"] = Score(numerator=0, denominator=len(problem.task.endpoints))
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=0, denominator=problem.task.tests.count),
        scores=scores,
        reasons=(reason,),
        grader=identity,
    )


def _flag(held: bool) -> Score:
    return Score(numerator=int(held), denominator=1)


def _is_installed(observed: Observed) -> bool:
    """Whether the declared install succeeded; who declares nothing must at least have something to start."""
    if observed.installed.outcome is InstallOutcome.UNDECLARED:
        return observed.start is not None
    return observed.installed.outcome is InstallOutcome.SUCCEEDED


def _ran_out_of_time(observed: Observed) -> bool:
    return (
        observed.installed.outcome is InstallOutcome.TIMEOUT
        or (observed.start is not None and not observed.readiness.in_time)
        or (observed.tests is not None and observed.tests.timed_out)
    )


def _facts(
    problem: ServiceProblem, observed: Observed, coverage: Coverage
) -> dict[str, str | int | float | bool | None]:
    tests = observed.tests or TestRun()
    facts: dict[str, str | int | float | bool | None] = {
        "install": observed.installed.outcome.value,
        "start": observed.start.found if observed.start else None,
        "answer": observed.readiness.status,
        "health_paths": " ".join(f"{path}={status}" for path, status in observed.health.items() if status) or None,
        "tests": problem.task.tests.count,
        "passed": tests.count("passed"),
        "failed": tests.count("failed"),
        "errors": tests.count("error"),
        "skipped": tests.count("skipped"),
        "not_run": max(0, problem.task.tests.count - len(tests.results)),
        "endpoints_by_source": len(coverage.by_source),
        "endpoints_unclear": len(coverage.unclear),
        "endpoints_failing": len(coverage.failing),
        **_tools(observed.installed),
    }
    skips = tests.skips()
    if skips:
        facts["skip_reason"] = printable(next(iter(skips)))[:160]
    if observed.died:
        facts["died_in_tests"] = True
    return facts


def _tools(installed: InstalledService | JavaInstalled) -> dict[str, str]:
    """Return the versions of what ran the submission."""
    if isinstance(installed, JavaInstalled):
        return {"java": installed.toolchain.java, "maven": installed.toolchain.maven}
    resolution = installed.environment.resolution
    told = {"python": installed.environment.python_version}
    return told if resolution is None else {**told, "resolution": resolution.told}


def _reasons(problem: ServiceProblem, observed: Observed, coverage: Coverage, passed: int) -> tuple[Reason, ...]:
    reasons = []
    if not _is_installed(observed):
        message = observed.installed.message or "nothing is declared, and there is nothing to start"
        reasons.append(_reason(Stage.INSTALL, message))
    if not observed.readiness.in_time:
        reasons.append(_reason(Stage.START, observed.readiness.message))
    elif (path := problem.task.health) is not None and not 200 <= (observed.health.get(path) or 0) < 300:
        status = observed.health.get(path)
        said = "did not answer" if status is None else f"answered {status}"
        reasons.append(_reason(Stage.START, f"the README's health path {path} {said}"))
    if observed.died:
        said = last_words(observed.service_log) or "none"
        reasons.append(
            _reason(Stage.CRASH, f"the service did not answer any more after the tests; last words: {said}")
        )
    if observed.tests is not None and passed < problem.task.tests.count:
        reasons.append(_test_reason(problem, observed.tests, passed))
    if observed.readiness.answered_s is not None and (told := coverage.shortfall()):
        reasons.append(_reason(Stage.TEST, told))
    return tuple(reasons[:4])


def _test_reason(problem: ServiceProblem, tests: TestRun, passed: int) -> Reason:
    lost = f"{problem.task.tests.count - passed} of {problem.task.tests.count} hidden tests did not pass"
    if tests.stopped is not None:
        return _reason(Stage.TIMEOUT if tests.timed_out else Stage.TEST, f"{lost}; {tests.stopped}")
    if tests.collection_errors:
        place, message = next(iter(tests.collection_errors.items()))
        return _reason(Stage.COLLECTION, f"{lost}; {place}: {message}")
    failing = [test for test, said in sorted(tests.results.items()) if said.outcome in _NOT_PASSED]
    if failing:
        return _reason(Stage.TEST, f"{lost}, first {failing[0]}: {tests.results[failing[0]].message}")
    skips = tests.skips()
    why = f"; {sum(skips.values())} were skipped: {next(iter(skips))}" if skips else ""
    return _reason(Stage.TEST, f"{lost}{why}")


def _reason(stage: Stage, message: str) -> Reason:
    text = printable(message)
    if len(text.encode()) > _MAX_REASON_BYTES:
        text = text.encode()[: _MAX_REASON_BYTES - 3].decode(errors="ignore") + "..."
    return Reason(stage=stage, message=text)
