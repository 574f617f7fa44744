"""Feedback rounds: what an agent is told between them, what they start from, and that none is made twice."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from typing_extensions import override

from groundup.agents.base import AgentContext, AgentResult, SubmitResult
from groundup.agents.trajectories import Step, reply_fields
from groundup.domain.conversations import ChatReply, Message
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.episodes.attempt import Phase, attempted
from groundup.episodes.episode import Playing
from groundup.episodes.records import EpisodeResult, MemorySink
from groundup.episodes.rounds import FeedbackRounds, RoundPlace, RoundTrajectory, public_part
from groundup.runs import api
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import RunConfiguration
from groundup.trees.walking import remove_tree
from tests.episodes.theatre import Builder, Theatre, an_episode
from tests.runs.configurations import PROVIDER, QUICK
from tests.runs.test_generation import folder, generated, record, steps
from tests.runs.toy_agent import BUILDER, ToyAgent
from tests.sandbox.fake import FakeProvider

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


# --- rounds by themselves: an agent and a place that say what they are told


class Worker(ToyAgent):
    """Ends each round as it is told, and keeps what it was given."""

    def __init__(self, *ends: AgentResult) -> None:
        super().__init__({})
        self.ends = list(ends)
        self.given: list[AgentContext] = []

    @override
    async def attempt(self, context: AgentContext) -> AgentResult:
        self.given.append(context)
        context.trajectory.append("reply", **reply_fields(REPLY, 1))
        await context.note_turn(1)
        return self.ends[len(self.given) - 1]


USE = TokenUsage(input_tokens=30, output_tokens=12)
REPLY = ChatReply(
    message=Message(role="assistant", content="x"), finish="stop", usage=USE, model="m", latency_s=0.5
)


def ended(**fields: Any) -> AgentResult:
    """Return the end of a round of one turn."""
    return AgentResult(**{"outcome": Outcome.SUBMITTED, "turns": 1, "usage": USE, **fields})


class Rehearsal:
    """Rounds in a folder: what is kept, from what a round began, which verdicts are given."""

    def __init__(self, root: Path, agent: Worker, number: int, verdicts: list[Verdict], **limits: Any) -> None:
        self.sink = MemorySink(root / "tree")
        self.began_with: list[str] = []
        self.graded = 0
        self.noted: list[int] = []
        self.agent, self.number, self.verdicts = agent, number, verdicts
        self.limits = EpisodeLimits(**limits)
        self.scratch = root / "scratch"

    async def play(self, instruction: str | None = "Write.") -> tuple[AgentResult, list[float | None]]:
        """Play them, as a new try does."""
        remove_tree(self.scratch)
        self.scratch.mkdir(parents=True)

        async def keep(folder: Path) -> None:
            (folder / "kept").touch()

        async def begin_with(folder: Path) -> None:
            self.began_with.append(folder.name.rpartition(".")[2])

        async def grade() -> Verdict:
            self.graded += 1
            return self.verdicts[self.graded - 1]

        async def note_turn(turn: int) -> None:
            self.noted.append(turn)

        async def submit() -> SubmitResult:
            raise AssertionError("no agent here submits")

        with self.sink.trajectory() as trajectory:
            context = AgentContext(
                task=Task(id="t", suite="s", instruction=instruction),
                workspace=self.scratch,
                provider=FakeProvider(),
                builder=Builder(self.scratch),
                scratch=self.scratch,
                model=None,
                trajectory=trajectory,
                limits=self.limits,
                submit=submit,
                keep=self.sink.keep_agent_log,
                note_turn=note_turn,
            )
            rounds = FeedbackRounds(
                self.number, self.agent, context, RoundPlace(keep, begin_with, grade, self.sink)
            )
            return await rounds.play(), rounds.scores


HALF = verdict_of(Score(numerator=1, denominator=2), Stage.TEST)


async def test_rounds_add_up(tmp_path: Path) -> None:
    """Turns, tokens and costs; each round has what is left, reads what was told, and has a place of its own."""
    agent = Worker(ended(cost_usd=0.25, estimated=True), ended(), ended(cost_usd=0.5, detail="done"))
    stage = Rehearsal(tmp_path, agent, 3, [HALF, HALF], turns=10, tokens=1000, cost_usd=2.0, wall_clock_s=900.0)
    total, scores = await stage.play()
    assert total == AgentResult(
        outcome=Outcome.SUBMITTED,
        detail="done",
        turns=3,
        usage=TokenUsage(input_tokens=90, output_tokens=36),
        cost_usd=0.75,
        estimated=True,
    )
    assert (scores, stage.began_with, stage.noted) == ([0.5, 0.5], ["round-1", "round-2"], [1, 2, 3])
    left = [context.limits for context in agent.given]
    assert [(one.turns, one.tokens, one.cost_usd) for one in left] == [
        (10, 1000, 2.0),
        (9, 958, 1.75),
        (8, 916, 1.75),
    ]
    seconds = [one.wall_clock_s for one in left]
    assert seconds[0] == 900.0
    assert all(one is not None and 800 < one < 900 for one in seconds[1:])
    assert [context.scratch.name for context in agent.given] == ["round-1", "round-2", "round-3"]
    assert all(context.scratch.is_dir() for context in agent.given)
    said = "Score 0.5000: 1 of 2 passed. Where points were lost: tests failed."
    assert [context.task.instruction for context in agent.given] == [
        "Write.",
        *(
            f"Write.\n\n---\n\nThis is round {number} of 3. In your working folder lies what was handed in at the "
            f"end of round {number - 1};\npackages that you installed then have to be installed again. It was "
            f"tested by the hidden tests. {said} Find out\nwhat is missing or wrong, and hand in something "
            f"better.{again}"
            for number, again in ((2, " It will be tested again, and you will be told."), (3, ""))
        ),
    ]
    assert [step["turn"] for step in stage.sink.steps if step["kind"] == "reply"] == [1, 2, 3]


async def test_one_round_is_no_round(tmp_path: Path) -> None:
    """Nothing is kept, graded, or told, and the scratch folder is the attempt's."""
    agent = Worker(ended())
    stage = Rehearsal(tmp_path, agent, 1, [])
    total, scores = await stage.play(None)
    assert (total, scores, stage.began_with) == (ended(), [], [])
    assert (agent.given[0].scratch, agent.given[0].task.instruction) == (stage.scratch, None)
    assert [step["kind"] for step in stage.sink.steps] == ["reply"]


@pytest.mark.parametrize(
    ("end", "verdict", "limits", "rounds"),
    [
        (ended(), HALF, {}, 2),
        (ended(), verdict_of(Score(numerator=2, denominator=2)), {}, 1),
        (ended(), verdict_of(None), {}, 1),
        (ended(outcome=Outcome.REFUSED), HALF, {}, 1),
        (ended(outcome=Outcome.BUDGET), HALF, {}, 1),
        (ended(outcome=Outcome.LIMIT), HALF, {}, 2),
        (ended(), HALF, {"tokens": 42}, 1),
        (ended(), HALF, {"tokens": 43}, 2),
        (ended(cost_usd=1.0), HALF, {"cost_usd": 1.0}, 1),
        (ended(), HALF, {"cost_usd": 1.0}, 2),
        (ended(), HALF, {"wall_clock_s": 1e-9}, 1),
    ],
)
async def test_what_ends_rounds(
    tmp_path: Path, end: AgentResult, verdict: Verdict, limits: dict[str, Any], rounds: int
) -> None:
    """All points, no score, an outcome after which nothing helps, a limit that is spent."""
    agent = Worker(end, ended())
    _, scores = await Rehearsal(tmp_path, agent, 2, [verdict], **limits).play("")
    assert (len(agent.given), len(scores)) == (rounds, 1)


async def test_a_new_try_counts_what_earlier_ones_spent(tmp_path: Path) -> None:
    """By their steps: two rounds that are kept, and the third that was begun; what was graded is not again."""
    agent = Worker(ended(), ended(), ended())
    stage = Rehearsal(tmp_path, agent, 3, [HALF, HALF, HALF], turns=10, tokens=1000)
    await stage.play()
    agent.given.clear()
    total, scores = await stage.play()
    assert (scores, stage.graded, stage.began_with) == ([0.5, 0.5], 2, ["round-1", "round-2", "round-2"])
    (third,) = agent.given
    assert (third.scratch.name, third.limits.tokens) == ("round-3", 916)
    assert [step["turn"] for step in third.trajectory.recorded() if step["kind"] == "reply"] == [1]
    assert "This is round 3 of 3." in str(third.task.instruction)
    assert total.usage == TokenUsage(input_tokens=90, output_tokens=36)
    remove_tree(stage.sink.round(2))
    agent.given.clear()
    await stage.play()
    assert [context.scratch.name for context in agent.given] == ["round-2", "round-3"], "its tree is gone"
    stage.sink.steps.clear()
    agent.given.clear()
    stage.graded = 0
    await stage.play()
    assert [context.scratch.name for context in agent.given] == ["round-1", "round-2", "round-3"], (
        "no step says so"
    )
