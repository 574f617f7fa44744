"""`runs.shells`: an attempt's sandbox is opened on a copy, in its task's environment."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.runs import api
from groundup.runs.shells import attempt_sandbox
from groundup.settings import Settings
from groundup.store.records import Predictions
from tests.runs.configurations import QUICK, SHRINKING, evaluation, oracle
from tests.runs.toy import BEHAVIOUR

Predict = Callable[[Mapping[str, str]], Predictions]


def test_a_place_is_a_copy_that_vanishes(settings: Settings, predict: Predict) -> None:
    """Whatever is done there, the submission in the run folder stays, and nothing is left over."""
    finished = api.NewRun(evaluation(predict({"task-0000": "half"})), QUICK, settings, run_id="one").work()

    async def look() -> None:
        async with attempt_sandbox(finished.folder, AttemptKey(task="task-0000"), settings) as place:
            assert place.spec.environment == {"TOY": "task-0000"}
            workspace = place.spec.workspace
            assert (workspace / BEHAVIOUR).read_text() == "half"
            (workspace / BEHAVIOUR).write_text("changed")
        assert not workspace.exists()

    asyncio.run(look())
    submission = finished.folder / "attempts" / "task-0000" / "0" / "submission"
    assert (submission / BEHAVIOUR).read_text() == "half"
    assert list((settings.cache_dir / "shells").iterdir()) == []


@pytest.mark.parametrize(("task", "message"), [("task-00", "did you mean"), ("task-0001", "has no submission")])
def test_what_cannot_be_opened_is_named(settings: Settings, predict: Predict, task: str, message: str) -> None:
    """An unknown task and an attempt without submission each get their sentence."""
    finished = api.NewRun(evaluation(predict({"task-0000": "half"})), QUICK, settings, run_id="one").work()

    async def look() -> None:
        async with attempt_sandbox(finished.folder, AttemptKey(task=task), settings):
            pytest.fail("it was opened")

    with pytest.raises(UsageError, match=message):
        asyncio.run(look())


def test_a_task_that_is_here_no_more_is_named(settings: Settings) -> None:
    """Its data went since the run: nothing can be opened, and the sentence says where to look."""
    (settings.cache_dir.parent / "tasks").write_text("2")
    finished = api.NewRun(oracle(SHRINKING), QUICK, settings, run_id="one").work()
    (settings.cache_dir.parent / "tasks").write_text("1")

    async def look() -> None:
        async with attempt_sandbox(finished.folder, AttemptKey(task="task-0001"), settings):
            pytest.fail("it was opened")

    with pytest.raises(UsageError, match="task-0001 cannot be graded with what is at hand"):
        asyncio.run(look())
