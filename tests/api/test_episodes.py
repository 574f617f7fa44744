"""An attempt played by hand, with calls that block and with calls that are awaited."""

from pathlib import Path

import pytest

import groundup
from groundup.domain.verdicts import Score
from groundup.settings import Settings
from tests.runs.toy import BEHAVIOUR

WRITTEN = "tests.runs.toy:create_written"


@pytest.fixture
def fake(settings: Settings) -> Settings:
    """Settings with a sandbox that opens."""
    return settings.but(sandbox="tests.sandbox.fake:create", builder="tests.runs.toy_agent:create_builder")


def test_an_episode_is_played_to_its_score(fake: Settings, tmp_path: Path) -> None:
    """Files shape the workspace; `submit` shows the score, `grade` ends the episode, the tree can be kept."""
    kept = tmp_path / "kept"
    with groundup.open_episode(WRITTEN, "task-0000", settings=fake, keep_in=kept) as episode:
        assert episode.task.instruction == "Write task-0000."
        episode.write_file(BEHAVIOUR, "half")
        assert episode.read_file(BEHAVIOUR) == b"half"
        assert "1 of 2" in episode.submit().message
        episode.write_file(BEHAVIOUR, "pass")
        result = episode.grade()
    assert result.graded is not None
    assert result.graded.verdict.score == Score(numerator=2, denominator=2)
    assert (kept / BEHAVIOUR).read_text() == "pass"
    again = groundup.open_episode(WRITTEN, "task-0000", settings=fake, keep_in=kept)
    with pytest.raises(groundup.UsageError, match="name a new folder"), again:
        pass


async def test_it_works_inside_an_event_loop(fake: Settings) -> None:
    """In a notebook both ways work, and scores can be hidden."""
    with groundup.open_episode(WRITTEN, "task-0000", settings=fake, hide_scores=True) as episode:
        assert "of 2" not in episode.submit().message
    async with groundup.open_episode_async(WRITTEN, "task-0001", settings=fake) as awaited:
        await awaited.write_file(BEHAVIOUR, "pass")
        assert (await awaited.grade()).graded is not None


@pytest.mark.parametrize(
    ("task", "flags", "said"),
    [
        ("task-9", {}, "task"),
        ("task-0000", {"grader": "lxa"}, "did you mean 'lax'"),
        ("task-0000", {"feedback": "none"}, "unknown option"),
        ("task-0000", {"hide_scores": True, "end_at_submit": True}, "leave --hide-scores out"),
    ],
)
def test_what_cannot_be_opened_is_refused(task: str, flags: dict[str, object], said: str, fake: Settings) -> None:
    """The same errors as on the command line, and nothing is left open."""
    episode = groundup.open_episode(WRITTEN, task, settings=fake, **flags)  # type: ignore[arg-type]
    with pytest.raises(groundup.UsageError, match=said), episode:
        pass


def test_an_error_inside_the_block_is_heard(fake: Settings) -> None:
    """It closes the sandbox and goes on its way."""
    with pytest.raises(ZeroDivisionError), groundup.open_episode(WRITTEN, "task-0000", settings=fake):
        raise ZeroDivisionError
