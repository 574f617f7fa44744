"""What an audit knows of a service's task: its hidden tests, in Python or Java, and its README."""

from collections.abc import Mapping

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.grading.bench import Bench
from groundup.suites.base import Auditor, HiddenCode
from groundup.suites.repogenesis.data import ServiceProblem
from groundup.trees.walking import read_regular


class ServiceAuditor(Auditor):
    """Knows the services' hidden tests."""

    def __init__(self, problems: Mapping[str, ServiceProblem]) -> None:
        self._problems = problems

    @override
    async def hidden(self, task: Task, bench: Bench) -> HiddenCode | None:
        """Return the test files as they lie in the data. Raises `TaskError` where they are not at hand."""
        problem = self._problems[task.id]
        root = problem.hidden_tests()
        files = {
            str(path.relative_to(root.parent)): read_regular(path).decode(errors="replace")
            for path in sorted(root.rglob("*"))
            if path.suffix in (".py", ".java") and path.is_file()
        }
        return HiddenCode(files=files, specification=problem.readme)

    @override
    def declared(self, task: Task) -> Mapping[str, int]:
        """Return how many tests the task's record counts."""
        return {task.data_version: self._problems[task.id].task.tests.count}
