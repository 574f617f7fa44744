"""What the older scripts count of a repository in Java, as far as it can be tried without Maven."""

from pathlib import Path

from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Stage
from groundup.grading.context import GradingContext
from groundup.suites.repogenesis.legacy_grader import LegacyGrader
from groundup.suites.repogenesis.legacy_java import JavaScripts
from groundup.suites.repogenesis.tasks import java_lifecycle, lifecycle
from tests.grading.library.laboratory import HostBuilder, write_tree
from tests.sandbox.fake import FakeProvider
from tests.suites.repogenesis.java_trials import HONEST, SOLUTION, SOURCE, java_problem

TASK = Task(id="notes", suite="repogenesis", instruction=None, data_version="own")
OWN = """
package tests;
class OwnTest {
    void testOne() {}
    void helps() {}
}
"""


def scripts(tmp_path: Path, files: dict[str, str]) -> JavaScripts:
    """Return the scripts over a submission of *files*."""
    submission = write_tree(tmp_path / "submission", files)
    context = GradingContext(provider=FakeProvider(), builder=HostBuilder(tmp_path), scratch=tmp_path)
    return JavaScripts(submission, java_problem(tmp_path / "data"), java_lifecycle(), context)


def test_own_tests_count_beside_hidden_ones(tmp_path: Path) -> None:
    """As published: the denominator has both, and so have the sizes; nothing of the submission changes."""
    own = "src/test/java/OwnTest.java"
    parsed, metrics = scripts(tmp_path, {**SOLUTION, own: OWN}).count(tmp_path / "counted")
    assert parsed == 12 + 1
    assert metrics.files == 3
    assert metrics.classes == 3
    assert not (tmp_path / "submission/src/test/java/NotesTest.java").exists()


def test_without_a_folder_of_tests_the_whole_repository_is_read(tmp_path: Path) -> None:
    """A repository without `src` gets the hidden tests there."""
    parsed, metrics = scripts(tmp_path, {"App.java": HONEST}).count(tmp_path / "counted")
    assert parsed == 12
    assert metrics.files == 2


async def test_nothing_is_deployed_without_a_build_file(tmp_path: Path) -> None:
    """No sandbox is opened for it."""
    started, printed = await scripts(tmp_path, {SOURCE: HONEST}).deploy({})
    assert (started.success, started.message, printed) == (False, "Unknown or missing build config", "")


def test_what_could_not_be_taken_in_has_no_test_coverage(tmp_path: Path) -> None:
    """The scripts for Java measure none, so none is averaged."""
    grader = LegacyGrader({"notes": java_problem(tmp_path / "data")}, lifecycle(), java_lifecycle())
    verdict = grader.zero(TASK, Reason(stage=Stage.INTAKE, message="too large")).verdict
    assert verdict.score is not None
    assert (verdict.score.numerator, verdict.score.denominator) == (0, 12)
    assert "test_coverage" not in verdict.scores
    assert verdict.facts["skipped"] == 0


def test_each_language_has_its_own_waits(tmp_path: Path) -> None:
    """What decides a verdict names them: 15 s and the published limits in Java."""
    problem = java_problem(tmp_path / "data")
    grader = LegacyGrader({"notes": problem}, lifecycle(), java_lifecycle())
    other = LegacyGrader({"notes": problem}, lifecycle(), lifecycle())
    assert grader.identity(TASK)["wait_s"] == 15
    assert grader.identity(TASK)["lifecycle"] != other.identity(TASK)["lifecycle"]
