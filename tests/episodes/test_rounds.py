"""Feedback rounds: what an agent is told between them, what they start from, and that none is made twice."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.agents.trajectories import Step
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.episodes.attempt import Phase, attempted
from groundup.episodes.episode import Playing
from groundup.episodes.records import EpisodeResult, MemorySink
from groundup.episodes.rounds import RoundTrajectory, public_part
from groundup.runs import api
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import RunConfiguration
from tests.episodes.theatre import Theatre, an_episode
from tests.runs.configurations import PROVIDER, QUICK
from tests.runs.test_generation import folder, generated, record, steps
from tests.runs.toy_agent import BUILDER, ToyAgent

ONE = QUICK.but(retries=0)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings that write nowhere else."""
    return Settings(cache_dir=tmp_path / "cache", output=tmp_path / "runs", sandbox=PROVIDER, builder=BUILDER)


def rounds(number: int, *words: str, limits: EpisodeLimits | None = None) -> RunConfiguration:
    """Return a run of one task, of whose rounds each hands in the next of *words*."""
    made = generated(options={"by_round": list(words)}, rounds=number, limits=limits or EpisodeLimits())
    return made.but(tasks=("task-0000",))


def test_each_round_goes_on_and_is_told_its_counts(settings: Settings) -> None:
    """A round starts from what the one before left; the verdict is on the last, and each score is kept."""
    result = api.NewRun(rounds(3, "fail", "half", "half"), ONE, settings, run_id="one").work()
    began = steps(result, "round began")
    assert [step["lay"] for step in began] == ["", "fail", "half"]
    assert began[0]["told"] == ""
    assert "0 of 2 passed" in str(began[1]["told"])
    assert "1 of 2 passed" in str(began[2]["told"])
    assert "It will be tested again" in str(began[1]["told"])
    assert "It will be tested again" not in str(began[2]["told"])
    effort = record(result).effort
    assert effort is not None
    assert effort.rounds == (0.0, 0.5)
    assert (effort.turns, effort.cost_usd) == (6, 1.5)
    assert [step["turn"] for step in began] == [1, 3, 5], "turns are counted through all rounds"
    config = RunFolder(result.folder).config()
    assert config.configuration.subject.settings["rounds"] == 3


def test_full_points_and_spent_limits_end_it(settings: Settings) -> None:
    """There is no further round with nothing to gain, or nothing left to work with."""
    result = api.NewRun(rounds(3, "pass", "half", "half"), ONE, settings, run_id="full").work()
    assert len(steps(result, "round began")) == 1
    limited = rounds(3, "fail", "half", "half", limits=EpisodeLimits(turns=4))
    result = api.NewRun(limited, ONE, settings, run_id="limited").work()
    assert [step["turns"] for step in steps(result, "round began")] == [4, 2]


def test_an_interrupted_attempt_goes_on_in_its_round(settings: Settings) -> None:
    """What a round handed in is kept: no round is made, and no submission graded for its agent, twice."""
    result = api.NewRun(rounds(3, "fail", "half down", "pass"), ONE, settings, run_id="one").work()
    assert result.exit_code == 3
    result = api.Resumption(result.folder, ONE, settings).work()
    assert result.exit_code == 0
    assert [step["number"] for step in steps(result, "round began")] == [1, 2, 2, 3]
    assert [step["number"] for step in steps(result, "told")] == [1, 2]
    assert [step["lay"] for step in steps(result, "round began")] == ["", "fail", "fail", "half"]
    effort = record(result).effort
    assert effort is not None
    assert effort.rounds == (0.0, 0.5)
    kept = folder(result).path / "rounds"
    assert sorted(path.name for path in kept.iterdir()) == ["1", "2"]


def test_the_public_part_quotes_no_test() -> None:
    """Reasons, which quote hidden tests, and further scores stay where they are; the stage is told."""
    verdict = Verdict(
        status=Status.GRADED,
        score=Score(numerator=3, denominator=4),
        scores={"on_fresh_inputs": Score(numerator=1, denominator=4)},
        reasons=(Reason(stage=Stage.TEST, message="tests/test_secret.py::test_it: assert f(17) == 4711"),),
        grader=GraderIdentity(name="strict", version="1", data_version="1", environment="rebuilt"),
    )
    assert public_part(verdict) == "Score 0.7500: 3 of 4 passed. Where points were lost: tests failed."


def test_agents_that_do_not_look_back_have_no_rounds(settings: Settings) -> None:
    """One question and one reply: a score would tell nobody anything."""
    with pytest.raises(UsageError, match="leave --rounds out"):
        api.NewRun(generated(agent="oneshot", model="scripted/x", rounds=2), ONE, settings).plan()


def verdict_of(score: Score | None, *stages: Stage) -> Verdict:
    """Return a verdict that lost points at these stages."""
    return Verdict(
        status=Status.GRADED if score else Status.INFRASTRUCTURE,
        score=score,
        reasons=tuple(Reason(stage=stage, message="secret") for stage in stages),
        grader=GraderIdentity(name="strict", version="1"),
    )


STAGES = (
    (
        (Stage.TEST, Stage.INTAKE, Stage.TEST, Stage.INSTALL),
        "Where points were lost: tests failed, it could not be taken in, it could not be installed.",
    ),
    (
        (Stage.START, Stage.IMPORT, Stage.COLLECTION),
        "Where points were lost: it did not start, it could not be imported, tests did not find what they import.",
    ),
    (
        (Stage.CRASH, Stage.TIMEOUT, Stage.LIMIT, Stage.ENVIRONMENT),
        "Where points were lost: it ended the process of the tests, the time was over, it used more memory, disk "
        "or processes than it may, it could not be tested.",
    ),
)


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (verdict_of(Score(numerator=2, denominator=2)), "Score 1.0000: 2 of 2 passed."),
        (verdict_of(None, Stage.ENVIRONMENT), "There is no score."),
        (verdict_of(Score(numerator=0, denominator=0), Stage.TEST), "There is no score."),
        *(
            (verdict_of(Score(numerator=0, denominator=3), *stages), f"Score 0.0000: 0 of 3 passed. {told}")
            for stages, told in STAGES
        ),
    ],
)
def test_what_is_told_of_a_verdict(verdict: Verdict, told: str) -> None:
    """Each stage once, in the order of the reasons; nothing of a reason."""
    assert public_part(verdict) == told


async def played(root: Path, sink: MemorySink, words: list[str], tries: int, **fields: object) -> EpisodeResult:
    """Return what rounds came to that hand in *words*, at this try."""
    theatre = Theatre(root / f"try-{tries}")
    spec = an_episode(rounds=len(words), **fields)
    playing = Playing(spec, theatre.grading(spec), sink, ToyAgent({"by_round": [*words]}))
    return await attempted(theatre.grading(spec), playing.make, sink, theatre.scratch, phase=Phase.MAKING)


def told_by(sink: MemorySink) -> list[tuple[JsonValue, ...]]:
    """Return kind, number and what else is particular of each step."""
    names = ("number", "turn", "turns", "score", "outcome", "lay")
    return [(step["kind"], *(step[name] for name in names if name in step)) for step in sink.steps]


async def test_three_rounds_leave_these_steps(tmp_path: Path) -> None:
    """And what the agent reads in each."""
    sink = MemorySink(tmp_path / "tree")
    (tmp_path / "try-0").mkdir()
    result = await played(tmp_path, sink, ["fail", "half", "half"], 0, limits=EpisodeLimits(turns=9))
    assert result.submission is not None
    assert result.submission.effort is not None
    assert (result.submission.effort.turns, result.submission.effort.cost_usd) == (6, 1.5)
    assert result.submission.effort.rounds == (0.0, 0.5)
    assert [step for step in told_by(sink) if step[0] != "workspace"] == [
        ("began",),
        ("note",),
        ("round began", 1, 1, 9, ""),
        ("round", 1, "submitted"),
        ("told", 1, 0.0),
        ("note",),
        ("round began", 2, 3, 7, "fail"),
        ("round", 2, "submitted"),
        ("told", 2, 0.5),
        ("note",),
        ("round began", 3, 5, 5, "half"),
        ("ended", "submitted"),
    ]
    assert [step["told"] for step in sink.steps if step["kind"] == "round began"] == [
        "",
        "Score 0.0000: 0 of 2 passed. Where points were lost: tests failed. Find out\n"
        "what is missing or wrong, and hand in something better. It will be tested again, and you will be told.",
        "Score 0.5000: 1 of 2 passed. Where points were lost: tests failed. Find out\n"
        "what is missing or wrong, and hand in something better.",
    ]
    assert [(sink.round(number) / "behaviour").read_text() for number in (1, 2)] == ["fail", "half"]
    assert not sink.round(3).exists()


@pytest.mark.parametrize(
    ("words", "limits", "began"),
    [
        (["fail", "fail"], EpisodeLimits(turns=2), 1),
        (["fail", "fail"], EpisodeLimits(turns=3), 2),
        (["fail", "fail"], EpisodeLimits(cost_usd=0.5), 1),
        (["fail", "fail"], EpisodeLimits(cost_usd=0.6), 2),
        (["fail", "fail"], EpisodeLimits(wall_clock_s=600), 2),
        (["fail", "fail"], EpisodeLimits(tokens=1), 2),
        (["pass", "fail"], EpisodeLimits(), 1),
        (["fail"], EpisodeLimits(turns=1), 1),
    ],
)
async def test_when_no_further_round_begins(
    tmp_path: Path, words: list[str], limits: EpisodeLimits, began: int
) -> None:
    """With all points, or nothing left of a limit."""
    sink = MemorySink(tmp_path / "tree")
    (tmp_path / "try-0").mkdir()
    result = await played(tmp_path, sink, words, 0, limits=limits)
    assert [step[0] for step in told_by(sink)].count("round began") == began
    assert result.submission is not None
    assert result.submission.effort is not None
    assert result.submission.effort.turns == 2 * began


async def test_an_interrupted_round_begins_with_what_was_kept(tmp_path: Path) -> None:
    """Scores that were told are told again without grading, and limits hold for all tries together."""
    sink = MemorySink(tmp_path / "tree")
    for number in (0, 1):
        (tmp_path / f"try-{number}").mkdir()
        result = await played(tmp_path, sink, ["fail", "half down", "pass"], number, limits=EpisodeLimits(turns=9))
    assert result.submission is not None
    assert result.submission.effort is not None
    assert result.submission.effort.rounds == (0.0, 0.5)
    steps = [step for step in told_by(sink) if step[0] in ("round began", "round", "told")]
    assert steps == [
        ("round began", 1, 1, 9, ""),
        ("round", 1, "submitted"),
        ("told", 1, 0.0),
        ("round began", 2, 3, 7, "fail"),
        ("round began", 2, 1, 9, "fail"),
        ("round", 2, "submitted"),
        ("told", 2, 0.5),
        ("round began", 3, 3, 7, "half"),
    ]


async def test_two_kept_rounds_are_counted_and_not_played_again(tmp_path: Path) -> None:
    """Scores come in their order, and each round has a scratch folder of its own."""
    sink = MemorySink(tmp_path / "tree")
    for number in (0, 1):
        (tmp_path / f"try-{number}").mkdir()
        result = await played(tmp_path, sink, ["fail", "half", "pass down"], number)
    assert result.submission is not None
    assert result.submission.effort is not None
    assert result.submission.effort.rounds == (0.0, 0.5)
    assert [step[1] for step in told_by(sink) if step[0] == "round began"] == [1, 2, 3, 3]
    assert (tmp_path / "try-1" / "scratch" / "round-3").is_dir()
    assert not (tmp_path / "try-1" / "scratch" / "round-2").exists()


def test_turns_are_counted_through_all_rounds() -> None:
    """Agents count from 1 in each; steps without a turn stay as they are."""
    kept: list[dict[str, JsonValue]] = []

    class Whole:
        def append(self, kind: str, **fields: JsonValue) -> None:
            kept.append({"kind": kind, **fields})

        def recorded(self) -> tuple[Step, ...]:
            return ()

    part = RoundTrajectory(Whole(), ({"kind": "reply", "turn": 5}, {"kind": "note", "turn": "x"}), 4)
    assert part.recorded() == ({"kind": "reply", "turn": 1}, {"kind": "note", "turn": "x"})
    part.append("reply", turn=2)
    part.append("note")
    assert kept == [{"kind": "reply", "turn": 6}, {"kind": "note"}]
