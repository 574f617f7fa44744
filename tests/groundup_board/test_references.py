"""Which of the drawn submissions are a reference's own."""

from pathlib import Path

from typing_extensions import override

from groundup.domain.errors import TaskError
from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup_board.references import own_references
from tests.runs.toy import ToySuite

_LINES = "".join(f"line {number} of what {{0}} wrote for {{1}}\n" for number in range(40))


class _Several(ToySuite):
    """References of three, one of which has no submission for the first task."""

    subjects = ("nop", "lacking", "oracle")

    @override
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        if subject == "lacking" and task.id == next(iter(self.by_name())):
            raise TaskError("there is none")
        (destination / "code.py").write_text(_LINES.format(subject, task.id))


async def test_what_references_wrote_is_known(tmp_path: Path) -> None:
    """By what it holds, though it is called otherwise; what many hand in, and what is no task's, is nobody's."""
    suite = _Several(2)
    names = list(suite.by_name())
    handed_in = {}
    for task in (*names, "gone"):
        for subject in (*suite.subjects, "somebody"):
            tree = tmp_path / task / subject
            tree.mkdir(parents=True)
            (tree / "renamed.py").write_text(_LINES.format(subject, task))
            handed_in[task, f"sha256:{subject}"] = tree
    settings = Settings(cache_dir=tmp_path / "cache", data_dir=tmp_path / "data")
    assert await own_references(suite, handed_in, settings) == {
        (names[0], "sha256:oracle"): "oracle",
        (names[1], "sha256:lacking"): "lacking",
        (names[1], "sha256:oracle"): "oracle",
    }
