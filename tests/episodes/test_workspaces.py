"""What an agent finds in its workspace at the start."""

from pathlib import Path
from typing import Literal

import pytest
from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.episodes.episode import Workspace
from groundup.suites.base import ForAgents
from tests.runs.toy import SeededSuite, ToySuite


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


@pytest.mark.parametrize(
    ("deliverable", "taken"), [("edits", ["new/a"]), ("tree", ["behaviour", "folder/other", "new/a"])]
)
async def test_of_edits_only_differences_are_handed_in(
    tmp_path: Path, deliverable: Literal["edits", "tree"], taken: list[str]
) -> None:
    """Folders in which nothing is left go; of a whole tree everything is handed in. Copies have numbers."""
    task = Task(id="t", suite="s", instruction="", deliverable=deliverable)
    workspace = Workspace(SeededSuite(), task, tmp_path)
    workspace.prepare()
    (workspace.path / "new").mkdir()
    (workspace.path / "new" / "a").write_text("1")
    (workspace.path / "empty").mkdir()
    workspace.path.chmod(0o700)
    for number in (1, 2):
        async with workspace.copied() as copy:
            assert copy == tmp_path / f"submitted-{number}"
            assert _files(copy) == taken
            assert (copy / "folder").exists() == (deliverable == "tree")
        assert not copy.exists()
    assert workspace.path.stat().st_mode & 0o777 == 0o700, "what can be read is left as it is"


def test_seeds_are_written_once(tmp_path: Path) -> None:
    """Beside the workspace, as they were."""
    workspace = Workspace(SeededSuite(), Task(id="t", suite="s", instruction=""), tmp_path)
    workspace.prepare()
    (workspace.path / "behaviour").write_text("changed")
    seeds = workspace.seeds()
    assert (seeds / "behaviour").read_text() == "fail"
    (seeds / "more").write_text("")
    assert workspace.seeds() == seeds
    assert _files(seeds) == ["behaviour", "folder/other", "more"]
    (tmp_path / "other").mkdir()
    bare = Workspace(ToySuite(), Task(id="t", suite="s", instruction=""), tmp_path / "other")
    assert list(bare.seeds().iterdir()) == []


def test_a_history_that_is_a_link_goes_and_what_it_names_stays(tmp_path: Path) -> None:
    """Also below other folders, and whatever lies in it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")

    class Linked(ToySuite, ForAgents):
        @override
        def write_seeds(self, task: Task, destination: Path) -> None:
            (destination / "a").mkdir()
            (destination / "a" / ".git").symlink_to(outside)
            (destination / "b" / ".git" / ".git").mkdir(parents=True)

    workspace = Workspace(Linked(), Task(id="t", suite="s", instruction=""), tmp_path)
    workspace.prepare()
    assert sorted(path.name for path in workspace.path.rglob("*")) == ["a", "b"]
    assert (outside / "kept").exists()


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
