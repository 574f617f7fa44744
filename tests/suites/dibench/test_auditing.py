"""What an audit finds in masked repositories."""

from pathlib import Path
from typing import cast

from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.execution_validity import DependencyAuditor
from tests.suites.dibench.executed import PYTHON, write_tiny


async def test_lines_that_name_what_was_masked_are_answers_within_reach(tmp_path: Path) -> None:
    """A Makefile that installs the masked dependency tells it; an instance without such a line tells nothing."""
    telling = PYTHON._replace(masked={**PYTHON.masked, "Makefile": "setup:\n\tpip install shapes\n"})
    problems = {
        one.id: one for one in read_dataset(write_tiny(tmp_path / "data", {"a": PYTHON, "b": telling})).problems
    }
    auditor = DependencyAuditor(problems)

    found = [
        await auditor.answers(
            Task(id=name, suite="dibench", instruction=None, data_version="own"), cast(GradingContext, None)
        )
        for name in ("a", "b")
    ]

    assert found == [[], ["Makefile:2 (shapes)"]]
