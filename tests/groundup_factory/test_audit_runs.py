"""`audit` runs oracle, nothing and what was brought, and says what the tasks' scores are worth."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.settings import Settings
from groundup_factory.audit_runs import audit
from tests.runs.toy import BEHAVIOUR

SUITE = "tests.runs.toy:create_two"


def bring(root: Path, name: str, behaviour: str) -> Path:
    """Write one further submission for the first task."""
    (root / name / "task-0000").mkdir(parents=True)
    (root / name / "task-0000" / BEHAVIOUR).write_text(behaviour)
    return root


def test_an_audit_is_a_folder_of_runs_and_goes_on_where_it_was(settings: Settings, tmp_path: Path) -> None:
    """Each part is a run of its own; the second call grades nothing again, and the page lies beside them."""
    brought = bring(tmp_path / "cheats", "forger", "half")
    found = audit(SUITE, runs=2, submissions=brought, settings=settings)
    assert {task.task: task.standing for task in found.tasks} == {"task-0000": "doubtful", "task-0001": "valid"}
    assert found.tasks[0].free == ("first",)
    folder = settings.output / "audit-toy"
    assert {"oracle", "nop", "forger", "audit.json", "audit.md"} <= {place.name for place in folder.iterdir()}
    gradings = len(list((tmp_path / "gradings").iterdir()))
    assert audit(SUITE, runs=2, submissions=brought, settings=settings) == found
    assert len(list((tmp_path / "gradings").iterdir())) == gradings


def test_what_cannot_be_audited_is_said_first(settings: Settings, tmp_path: Path) -> None:
    """An unknown task, a folder of other tasks, and submissions that are no folder are refused."""
    with pytest.raises(UsageError, match="did you mean"):
        audit(SUITE, tasks="task-000", settings=settings)
    with pytest.raises(UsageError, match="is not a folder"):
        audit(SUITE, tasks="task-0000", submissions=tmp_path / "absent", settings=settings)
    with pytest.raises(UsageError, match="unknown grader"):
        audit(SUITE, grader="absent", settings=settings)
    audit(SUITE, tasks="task-0000", runs=1, settings=settings)
    with pytest.raises(UsageError, match="has other tasks"):
        audit(SUITE, runs=1, settings=settings)
    with pytest.raises(UsageError, match="has another grader"):
        audit(SUITE, tasks="task-0000", runs=1, grader="absent", settings=settings)
