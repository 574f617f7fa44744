"""Somebody outside plays an attempt: to its score, at any moment no further, and again."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits, Feedback
from groundup.domain.subjects import Outcome
from groundup.domain.verdicts import Score, Status
from groundup.episodes.driving import DrivenEpisode, open_episode
from groundup.episodes.records import EpisodeResult, MemorySink
from tests.episodes.theatre import FOREVER, Theatre, an_episode
from tests.runs.toy import BEHAVIOUR

HALF, FULL = Score(numerator=1, denominator=2), Score(numerator=2, denominator=2)


@pytest.fixture
def theatre(tmp_path: Path) -> Theatre:
    """A fake sandbox and the toy suite."""
    return Theatre(tmp_path)


def score_of(result: EpisodeResult) -> Score | None:
    """Return the score of the verdict."""
    assert result.graded is not None
    return result.graded.verdict.score


async def test_an_episode_is_driven_to_its_score(theatre: Theatre, tmp_path: Path) -> None:
    """Commands and files shape the workspace; what lies there at the end is graded, with tests and logs."""
    spec, sink = an_episode(), MemorySink(tmp_path / "tree")
    async with open_episode(spec, theatre.grading(spec), theatre.scratch, sink) as episode:
        assert episode.task.instruction == "Write task-0000."
        assert (await episode.run("behave fail")).output == "done\n[exit code 0]"
        await episode.write_file(BEHAVIOUR, "half")
        assert await episode.read_file(BEHAVIOUR) == b"half"
        result = await episode.grade()
    assert score_of(result) == HALF
    assert result.graded is not None
    assert result.graded.logs == {"grading.log": b"obeyed\n"}
    assert len(result.graded.tests) == 2
    assert result.submission is not None
    assert (result.submission.provenance.agent_name, result.submission.outcome) == ("somebody", Outcome.SUBMITTED)
    assert result.submission.effort is not None
    assert result.submission.effort.turns == 1
    assert [path.name for path in (tmp_path / "tree").iterdir()] == [BEHAVIOUR]
    assert [step["kind"] for step in sink.steps] == ["began", "command", "written", "ended"]
    assert theatre.is_clean()


async def test_it_can_be_submitted_several_times(theatre: Theatre) -> None:
    """Each submission is graded as the workspace is at that moment; the verdict is of the end."""
    spec = an_episode()
    async with open_episode(spec, theatre.grading(spec), theatre.scratch) as episode:
        scores = []
        for word in ("half", "pass", "submission"):
            await episode.write_file(BEHAVIOUR, word)
            scores.append((await episode.submit()).score)
        await episode.write_file(BEHAVIOUR, "half")
        result = await episode.grade()
    assert scores == [HALF, FULL, Score(numerator=0, denominator=2)]
    assert score_of(result) == HALF
    assert theatre.is_clean()


@pytest.mark.parametrize("feedback", [Feedback.HIDDEN, Feedback.END])
async def test_a_score_that_is_hidden_is_not_shown(theatre: Theatre, feedback: Feedback) -> None:
    """Where the first submission ends the episode, nothing more can be done in it."""
    spec = an_episode(feedback=feedback)
    async with open_episode(spec, theatre.grading(spec), theatre.scratch) as episode:
        await episode.write_file(BEHAVIOUR, "half")
        shown = await episode.submit()
        assert (shown.shown, shown.score) == (False, None)
        if feedback is Feedback.END:
            with pytest.raises(UsageError, match="has ended"):
                await episode.run("ls")
        assert score_of(await episode.grade()) == HALF


async def test_turns_are_limited(theatre: Theatre) -> None:
    """Beyond the limit no command runs; what is there is graded, and the record says which limit it was."""
    spec = an_episode(limits=EpisodeLimits(turns=1))
    async with open_episode(spec, theatre.grading(spec), theatre.scratch) as episode:
        await episode.run("behave half")
        with pytest.raises(UsageError, match="1 turns of the episode"):
            await episode.run("behave pass")
        result = await episode.grade()
    assert (result.outcome, score_of(result)) == (Outcome.LIMIT, HALF)


async def test_every_act_is_a_step(theatre: Theatre, tmp_path: Path) -> None:
    """Commands with what they said, files with their size, what was answered, the player's own steps, the end."""
    spec, sink = an_episode(), MemorySink(tmp_path / "tree")
    async with open_episode(spec, theatre.grading(spec), theatre.scratch, sink) as episode:
        assert [episode.spec, episode.has_ended] == [spec, False]
        assert episode.tools == episode.place.tools
        assert episode.tools.language == "python"
        episode.note("prompt", content="Go on.")
        await episode.run("ls")
        await episode.run("make", timeout_s=7.0)
        await episode.write_file("a/b", "h\u00e4lf")
        await episode.write_file(BEHAVIOUR, b"half")
        await episode.submit()
        await episode.grade()
        await episode.grade()
        assert episode.has_ended is True
        assert [path.name for path in (theatre.scratch / spec.digest[7:23]).glob("graded-*")] == ["graded-2"]
    limits = [command.timeout_s for command in theatre.fake.commands if "ls" in command.argv[-1]]
    limits += [command.timeout_s for command in theatre.fake.commands if "make" in command.argv[-1]]
    assert limits == [episode.task.limits.command_s, 7.0]
    said = [{name: value for name, value in step.items() if name != "seconds"} for step in sink.steps]
    ran = {"kind": "command", "content": "done\n[exit code 0]", "exit_code": 0}
    assert said == [
        {"kind": "began", "agent": "somebody", "version": "", "model": None},
        {"kind": "prompt", "content": "Go on."},
        {**ran, "turn": 1, "command": "ls"},
        {**ran, "turn": 2, "command": "make"},
        {"kind": "written", "path": "a/b", "bytes": 5},
        {"kind": "written", "path": BEHAVIOUR, "bytes": 4},
        {"kind": "submitted", "message": "Submitted. Score 0.5000: 1 of 2 passed."},
        {"kind": "ended", "outcome": "submitted", "detail": ""},
    ]


async def test_nothing_can_be_done_in_what_has_ended(theatre: Theatre) -> None:
    """One sentence for every act; handing in before that ends nothing, and the last tree counts."""
    spec = an_episode()
    async with open_episode(spec, theatre.grading(spec), theatre.scratch) as episode:
        scores = []
        for word in ("half", "pass"):
            await episode.write_file(BEHAVIOUR, word)
            scores.append(score_of(await episode.hand_in()))
        await episode.write_file(BEHAVIOUR, "half")
        scores.append(score_of(await episode.grade()))
        assert scores == [HALF, FULL, HALF]
        for act in (
            episode.run("ls"),
            episode.write_file("a", "b"),
            episode.read_file(BEHAVIOUR),
            episode.submit(),
            episode.hand_in(),
        ):
            with pytest.raises(UsageError) as refused:
                await act
            assert str(refused.value) == f"the episode {spec.key} has ended; open another"


# --- stopping


async def _commanding(episode: DrivenEpisode) -> None:
    await episode.run(FOREVER)


async def _submitting(episode: DrivenEpisode) -> None:
    await episode.write_file(BEHAVIOUR, FOREVER)
    await episode.submit()


async def _grading(episode: DrivenEpisode) -> None:
    await episode.write_file(BEHAVIOUR, FOREVER)
    await episode.grade()


async def _idle(episode: DrivenEpisode) -> None:
    await episode.run("ls")
    await asyncio.sleep(600)


@pytest.mark.parametrize("state", [None, _commanding, _submitting, _grading, _idle])
async def test_a_cancelled_episode_leaves_nothing(
    theatre: Theatre, state: Callable[[DrivenEpisode], Awaitable[None]] | None
) -> None:
    """While it opens, acts, submits, is graded or waits: its sandboxes are closed and its files are gone."""
    spec = an_episode()
    theatre.builder.hangs = state is None

    async def play() -> None:
        async with open_episode(spec, theatre.grading(spec), theatre.scratch) as episode:
            assert state is not None
            await state(episode)

    task = asyncio.create_task(play())
    await asyncio.sleep(0.3)
    assert not task.done()
    assert not theatre.is_clean()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert theatre.is_clean()


# --- failing, and again


@pytest.mark.parametrize("fault", ["infrastructure", "machine", "task", "crash"])
async def test_a_failure_of_the_infrastructure_is_no_zero(theatre: Theatre, fault: str) -> None:
    """It has no score, says who is to blame, and whether trying again may help."""
    spec = an_episode()
    async with open_episode(spec, theatre.grading(spec), theatre.scratch) as episode:
        await episode.write_file(BEHAVIOUR, fault)
        result = await episode.grade()
    assert result.graded is not None
    assert (result.graded.verdict.status, score_of(result)) == (Status.INFRASTRUCTURE, None)
    assert result.repeatable is (fault == "infrastructure")
    assert "infrastructure.log" in result.graded.logs


async def test_a_failed_grading_can_be_repeated(theatre: Theatre, tmp_path: Path) -> None:
    """The same submission is graded again, without anything being done in the workspace."""
    spec = an_episode()
    async with open_episode(spec, theatre.grading(spec), theatre.scratch) as episode:
        await episode.write_file(BEHAVIOUR, f"once {tmp_path / 'mark'}")
        first, second = await episode.grade(), await episode.grade()
    assert score_of(first) is None
    assert score_of(second) == FULL
    assert first.submission == second.submission


async def test_an_episode_of_the_same_digest_has_the_same_result(theatre: Theatre, tmp_path: Path) -> None:
    """What a sink holds as handed in is not made again, and leftovers of a killed try do not matter."""
    spec, sink = an_episode(), MemorySink(tmp_path / "tree")
    leftover = theatre.scratch / spec.digest.partition(":")[2][:16] / "intake"
    leftover.mkdir(parents=True)
    results = []
    for word in ("half", "pass"):
        async with open_episode(an_episode(), theatre.grading(spec), theatre.scratch, sink) as episode:
            await episode.write_file(BEHAVIOUR, word)
            results.append(await episode.grade())
    assert score_of(results[0]) == score_of(results[1]) == HALF
    assert results[0].submission == results[1].submission
    assert an_episode().digest == spec.digest != an_episode(index=1).digest
    assert theatre.is_clean()
