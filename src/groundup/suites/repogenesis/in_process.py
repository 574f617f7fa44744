"""Hidden tests that import the submission: graded as libraries are, in an environment of its own requirements."""

import ast
import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.requirements import Requirement

from groundup.domain.errors import TaskError
from groundup.grading.context import GradingContext
from groundup.grading.guesses import LOST_BY
from groundup.grading.java.installing import JavaInstalled
from groundup.grading.java.testing import run_java_tests
from groundup.grading.library.belief import checker
from groundup.grading.library.decision import Decision, as_fact, decide, signs_of
from groundup.grading.library.execution import logs_of, run_to_the_end
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import followed
from groundup.grading.services.building import BuiltService
from groundup.grading.services.install import InstalledService, install_declared
from groundup.grading.services.records import Lifecycle
from groundup.grading.services.testing import TestRun
from groundup.grading.submitted_sources import Sources
from groundup.sources.names import companions, normalised, python_provider
from groundup.suites.repogenesis.counting import named_tests, parsed
from groundup.suites.repogenesis.tasks import ServiceProblem

_RUNNERS = ("pytest",)


async def run_beside_no_service(
    problem: ServiceProblem,
    submission: Path,
    installed: InstalledService | JavaInstalled | BuiltService,
    lifecycle: Lifecycle,
    context: GradingContext,
) -> TestRun:
    """Run hidden tests that ask no service, as the task's language does."""
    if isinstance(installed, JavaInstalled):
        return await run_java_tests(
            problem.hidden_tests(), problem.task.tests.count, installed, lifecycle, context
        )
    return await run_in_process(problem, submission, lifecycle, context)


async def run_in_process(
    problem: ServiceProblem, submission: Path, lifecycle: Lifecycle, context: GradingContext
) -> TestRun:
    """Run the hidden tests over *submission*; without its packages, or with forged results, nothing passes."""
    extra = (*_RUNNERS, *problem.task.tests.requirements)
    installed = await install_declared(submission, lifecycle, context, with_pip=False, extra=extra)
    folder = problem.hidden_tests()
    place = problem.task.means.tests
    expected = await asyncio.to_thread(named_tests, folder, place)
    if len(expected) != problem.task.tests.count:
        raise TaskError(
            f"{problem.task.id}: its tests name {len(expected)} and its record {problem.task.tests.count}; "
            "mend the record"
        )
    packages = await asyncio.to_thread(imported_packages, folder, problem.task.tests.requirements)
    if not packages:
        raise TaskError(f"{problem.task.id}: its tests import nothing of a submission; call its kind 'http'")
    hidden = HiddenTests(
        packages=packages,
        arguments=(place,),
        protected=(place,),
        ask_service=True,
        timeout_s=lifecycle.tests_s,
        memory_mb=lifecycle.tests.memory_mb,
    )
    library = LibraryUnderTest(submission, folder.parent, hidden, installed.environment)
    execution = await run_to_the_end(library, context)
    decision = decide(expected, hidden, execution.report, execution.result, execution.ended)
    integrity = decision.integrity
    if decision.passed:
        integrity = await checker()(library, execution, expected, None, context)
    is_tampered = integrity.answer == "tampered"
    results = _results(decision, counts=not is_tampered)
    if any(one.outcome in LOST_BY for one in results.values()):  # else nobody reads the sources
        results = await asyncio.to_thread(lambda: followed(results, b"", Sources.of(submission)))
    return TestRun(
        results=results,
        collected=execution.report.collected or 0,
        collection_errors=execution.report.collection_errors,
        stopped="; ".join(reason.message for reason in decision.reasons[:1]) or None,
        timed_out=decision.timed_out,
        seconds=execution.result.duration_s,
        signs=as_fact([*([integrity.why] if is_tampered else []), *signs_of(execution.report, execution.result)]),
        integrity=integrity.answer,
        integrity_why=integrity.why or None,
        log=b"".join(logs_of(execution).values())[: lifecycle.log_bytes],
    )


def _results(decision: Decision, *, counts: bool) -> Mapping[NumberedTest, Result]:
    """Return what each expected test did, as errors where nothing *counts*."""
    counts = counts and (decision.passed > 0 or decision.passed_before_end == 0)
    results = {}
    for test in decision.results:
        if test.outcome != "missing" and test.expected:
            outcome = test.outcome if counts else "error"
            results[NumberedTest.parse(test.id)] = Result(
                outcome=outcome,
                message=test.message,
                detail=test.detail,
                demand=test.demand,
                calls=test.calls,
                probably=test.probably,
                duration_s=test.duration_s or 0.0,
            )
    return results


def imported_packages(folder: Path, requirements: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level modules that come neither with Python, nor with *requirements*, nor with the tests.

    A requirement names a distribution, and an import a module: `PyYAML` provides `yaml`. What well-known
    distributions require themselves comes with them.
    """
    modules: set[str] = set()
    for _, tree in parsed(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module)
    required = {normalised(Requirement(line).name) for line in (*requirements, *_RUNNERS)}
    required |= {one for name in required for one in companions().get(name, ())}
    foreign = (module for module in modules if python_provider(module).name not in required)
    names = {module.partition(".")[0] for module in foreign}
    return tuple(sorted(names - sys.stdlib_module_names - {path.stem for path in folder.rglob("*.py")}))
