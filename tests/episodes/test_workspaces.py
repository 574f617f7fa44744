"""What an agent finds in its workspace at the start."""

from pathlib import Path

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.episodes.episode import Workspace
from groundup.suites.base import ForAgents
from tests.runs.toy import ToySuite


class WithHistory(ToySuite, ForAgents):
    """A suite whose seeds are a repository with its history."""

    @override
    def write_seeds(self, task: Task, destination: Path) -> None:
        """Write a repository with a submodule."""
        for name in (".git/objects/ab/answer", "sub/.git", "sub/code.py", "code.py", ".gitignore"):
            (destination / name).parent.mkdir(parents=True, exist_ok=True)
            (destination / name).write_text("x")


def test_no_history_of_the_original_is_seeded(tmp_path: Path) -> None:
    """What a masked repository leaves out, its history would tell; files that only look like Git's stay."""
    task = Task(id="t", suite="s", instruction="", deliverable="edits")
    workspace = Workspace(WithHistory(), task, tmp_path)
    workspace.prepare()
    found = sorted(str(path.relative_to(workspace.path)) for path in workspace.path.rglob("*") if path.is_file())
    assert found == [".gitignore", "code.py", "sub/code.py"]

    (workspace.path / "code.py").write_text("changed")
    workspace.take_in(tmp_path / "taken")
    assert [path.name for path in (tmp_path / "taken").rglob("*")] == ["code.py"], "what was removed is no edit"
