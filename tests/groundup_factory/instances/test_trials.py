"""Which jobs of a repository are executed one after another, and when one cause is enough."""

import pytest

from groundup_factory.instances.trials import FailedJob, JobsFailedError, first_that_stands

TESTS = "invalid: the original fails (try 1): failing tests: FAILED t::a - took 3 s (step 'Test on {}' failed)"
HIDDEN = "not executed: the original wants what the cut-off hides"


def _ended(number: int, why: str, *, shared: bool = False) -> FailedJob:
    return FailedJob(title=f"leg {number}", cause="original: x", why=why, shared=shared)


async def _tried(ends: list[FailedJob | None]) -> tuple[int | None, list[str]]:
    """Return which job stood, if one did, and what was said."""
    said: list[str] = []

    async def execute(number: int) -> FailedJob | None:
        return ends[number]

    async def runner_up(failed: tuple[FailedJob, ...]) -> int:
        return len(failed)

    try:
        return await first_that_stands(0, (), execute, runner_up, said.append), said
    except JobsFailedError:
        return None, said


@pytest.mark.parametrize(
    ("ends", "stands", "tried"),
    [
        ([_ended(0, "a"), None], 1, 1),
        ([_ended(0, "a"), _ended(1, "b"), _ended(2, "c"), None], None, 3),
        ([_ended(0, HIDDEN, shared=True), None], None, 1),
        ([_ended(0, TESTS.format("8")), _ended(1, TESTS.format("9").replace("3 s", "4 s")), None], None, 2),
    ],
)
async def test_one_cause_is_not_tried_again(ends: list[FailedJob | None], stands: int | None, tried: int) -> None:
    """What all jobs share ends after the first, what ends alike after the second, and any after the third."""
    found, said = await _tried(ends)
    assert found == stands
    assert len(said) == tried
