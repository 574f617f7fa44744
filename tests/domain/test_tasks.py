"""What of a task its digests are about."""

from groundup.domain.limits import Limits
from groundup.domain.tasks import Task

TASK = Task(suite="s", id="t", instruction="write it")


def test_the_digest_is_about_everything_a_subject_sees() -> None:
    """Another instruction is another task for a subject alone, other limits are another for both."""
    other = TASK.but(instruction="write it well")
    assert other.digest != TASK.digest
    assert other.graded_digest == TASK.graded_digest
    slower = TASK.but(limits=Limits(memory_mb=TASK.limits.memory_mb + 1))
    assert slower.digest != TASK.digest
    assert slower.graded_digest != TASK.graded_digest
    assert TASK.but(id="u").graded_digest != TASK.graded_digest
