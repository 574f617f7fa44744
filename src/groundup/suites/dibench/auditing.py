"""What an audit knows of an instance besides verdicts: where the repository still names what was masked."""

import asyncio
from collections.abc import Mapping, Sequence

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.manifests.leaks import leaks_beside
from groundup.suites.base import Auditor
from groundup.suites.dibench.answers import answer
from groundup.suites.dibench.dataset import InstanceProblem


class DependencyAuditor(Auditor):
    """Reads masked repositories."""

    def __init__(self, problems: Mapping[str, InstanceProblem]) -> None:
        self._problems = problems

    @override
    async def answers(self, task: Task, context: GradingContext) -> Sequence[str]:
        """Return the lines that install or list a masked dependency. Raises `TaskError`."""
        problem = self._problems[task.id]
        files = problem.instance.build_files
        names = {item.name for file in answer(problem, None)[0].files for item in file.expected}
        leaks = await asyncio.to_thread(leaks_beside, problem.folder(), problem.instance.language, files, names)
        return [f"{leak.path}:{leak.line} ({leak.name})" for leak in leaks]
