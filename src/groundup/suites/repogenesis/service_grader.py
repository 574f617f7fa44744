"""What the graders of services share: their tasks, the limits of each language, and the tools of Java."""

from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.errors import MachineError, TaskError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Verdict
from groundup.environments.interpreters import stand_in_advice
from groundup.environments.requests import PythonRequest
from groundup.grading.context import GradingContext
from groundup.grading.java.installing import java_tools
from groundup.grading.services.records import Lifecycle
from groundup.suites.base import Grader
from groundup.suites.repogenesis.tasks import (
    LANGUAGES,
    OTHER_LANGUAGES,
    PYTHON,
    README,
    TASK_FILE,
    ServiceProblem,
    is_older_than_published,
)
from groundup.trees.walking import read_regular
from groundup.trees.writer import copy_tree

_TEST_S = 0.1
"""About what one hidden test takes."""


def is_the_most(problem: ServiceProblem, verdict: Verdict) -> bool:
    """Whether no service can pass more, so that the machine took nothing from this one."""
    tests = problem.task.tests
    if not (verdict.complete and verdict.score is not None and tests.unpassable):
        return False
    return verdict.score.numerator >= tests.most


class ServiceGrader(Grader):
    """Runs services. Derived classes say what they do with one."""

    version = "1"

    def __init__(
        self, problems: Mapping[str, ServiceProblem], lifecycle: Lifecycle, java: Lifecycle | None = None
    ) -> None:
        self._problems = problems
        self._lifecycles = {"python": lifecycle, "java": java or lifecycle}

    @classmethod
    def signature(cls, task: Task) -> GraderIdentity:
        """Return what verdicts on *task* are signed with."""
        return GraderIdentity(name=cls.name, version=cls.version, data_version=task.data_version)

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return what a service and its tests use as a rule; their limit is higher."""
        problem = self._problems.get(task.id)
        usual_mb = LANGUAGES["python" if problem is None else problem.task.language].memory_mb
        return min(task.limits.memory_mb, usual_mb)

    @override
    def expected_s(self, task: Task) -> float:
        """Return what its language and its tests take as a rule."""
        problem = self._problems.get(task.id)
        return 0.0 if problem is None else problem.task.means.build_s + _TEST_S * problem.task.tests.count

    @override
    def write_data(self, task: Task, destination: Path) -> bool:
        """Write the task's folder. A container has no JDK, no Maven repository, no Node.js and no Go."""
        problem = self._problem(task)
        if problem.folder is None or problem.task.means.by_maven or problem.toolchain is not None:
            return False
        folder, tests = destination / task.id, problem.task.means.tests
        copy_tree(problem.folder / tests, folder / tests)
        for name in (README, TASK_FILE):
            if (problem.folder / name).is_file():
                (folder / name).write_bytes(read_regular(problem.folder / name))
        return True

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return the tools of services in other languages than Python; other layers are the submissions' own.

        Asks for the interpreter that runs a service in Python. Raises `MachineError` where it is not here.
        """
        if self._is_by_maven(task):
            return java_tools(context)
        problem = self._problems.get(task.id)
        if problem is not None and problem.toolchain is not None:
            return (await context.builder.toolchain(problem.toolchain)).versions
        if problem is not None:
            try:
                await context.builder.python(PythonRequest(python=self._lifecycle_of(problem).python))
            except MachineError as error:
                if problem.task.python is None:
                    raise
                # Another one stands in for the tests' interpreter, and not for what the task's record names.
                lacking = str(error).removesuffix(stand_in_advice())
                raise MachineError(f"{lacking}or name another one in its {TASK_FILE}") from error
        return {}

    @override
    def check(self, task: Task) -> None:
        problem = self._problem(task)
        problem.hidden_tests()
        if problem.is_too_old:
            raise TaskError(
                f"Python {problem.tests_python} cannot stand in for hidden tests of services, whose packages want "
                f"{PYTHON} or later; name another one (--python, GROUNDUP_PYTHON)"
            )
        if problem.toolchain is not None and not problem.takes_other_languages:
            named = f"its README asks for {problem.task.framework}"
            why = "its tests import the service" if problem.task.framework == "any" else named
            other = OTHER_LANGUAGES[problem.toolchain].named
            raise TaskError(f"{task.id} is no task for services in {other}: {why}")

    def _is_by_maven(self, task: Task) -> bool:
        problem = self._problems.get(task.id)
        return problem is not None and problem.task.means.by_maven

    def _problem(self, task: Task) -> ServiceProblem:
        """Return the problem of *task*. Raises `TaskError` when it is not at hand."""
        problem = self._problems.get(task.id)
        if problem is None:
            raise TaskError(
                f"this machine has no data of {task.id}; fetch it with `groundup data pull repogenesis`"
            )
        return problem

    def _lifecycle_of(self, problem: ServiceProblem) -> Lifecycle:
        found = self._lifecycles[problem.task.language]
        if problem.task.python is None:
            return found
        # Most of the published image's packages have no release for an older interpreter than that image's.
        is_older = is_older_than_published(problem.task.python)
        return found.but(python=problem.task.python, fallback=() if is_older else found.fallback)
