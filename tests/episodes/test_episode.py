"""One attempt while it is open: what `submit` answers, what is noticed, and what is handed in."""

from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.agents.base import AgentContext, AgentResult, SubmitResult
from groundup.domain.limits import Feedback, OwnTests
from groundup.domain.subjects import Outcome, Subject
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Score
from groundup.episodes.attempt import Grading, Phase, attempted
from groundup.episodes.episode import Episode, Playing
from groundup.episodes.records import EpisodeResult, MemorySink
from groundup.suites.base import ForAgents
from groundup.trees.fingerprints import Fingerprint
from tests.episodes.theatre import Builder, Theatre, an_episode
from tests.runs.toy import BEHAVIOUR, ToySuite
from tests.runs.toy_agent import ToyAgent

CODE = "".join(
    f"def area_{number}(width, height):\n    return width * {number} + height\n\n" for number in range(40)
)


@pytest.mark.parametrize(
    ("feedback", "word", "answer"),
    [
        (Feedback.HIDDEN, "half", SubmitResult(shown=False, message="Submitted. The score is not shown.")),
        (Feedback.END, "half", SubmitResult(shown=False, message="Submitted.", ends=True)),
        (
            Feedback.SCORE,
            "half",
            SubmitResult(
                shown=True,
                score=Score(numerator=1, denominator=2),
                message="Submitted. Score 0.5000: 1 of 2 passed.",
            ),
        ),
        (
            Feedback.SCORE,
            "submission",
            SubmitResult(
                shown=True,
                score=Score(numerator=0, denominator=2),
                message="Submitted. Score 0.0000: 0 of 2 passed.",
            ),
        ),
    ],
)
async def test_what_submitting_answers(
    tmp_path: Path, feedback: Feedback, word: str, answer: SubmitResult
) -> None:
    """Each time anew, and nothing is left of it; where no score is shown, nothing is graded."""
    theatre = Theatre(tmp_path)
    spec = an_episode(feedback=feedback)
    episode = Episode(spec, theatre.grading(spec), theatre.scratch)
    episode.prepare()
    (theatre.scratch / "workspace" / BEHAVIOUR).write_text(word)
    assert [await episode.submit(), await episode.submit()] == [answer, answer]
    assert [path.name for path in theatre.scratch.iterdir()] == ["workspace"]
    journal = tmp_path / "gradings" / "task-0000"
    assert (len(journal.read_text().splitlines()) if journal.exists() else 0) == 2 * answer.shown


async def test_what_is_handed_in_says_who_made_it(tmp_path: Path) -> None:
    """With what it cost and how long it took."""
    theatre = Theatre(tmp_path)
    spec = an_episode(subject=Subject(agent="somebody", model="m/1"))
    episode = Episode(spec, theatre.grading(spec), theatre.scratch)
    episode.prepare()
    (theatre.scratch / "workspace" / BEHAVIOUR).write_text("half")
    ended = AgentResult(outcome=Outcome.LIMIT, detail="2 turns", turns=2, cost_usd=0.5, estimated=True)
    made = await episode.hand_in(tmp_path / "tree", ended, "toy", resembles="turn 1")
    assert made.outcome is Outcome.LIMIT
    provenance = made.provenance
    assert (provenance.source, provenance.agent_name, provenance.model_name) == ("agent", "toy", "m/1")
    effort = made.effort
    assert effort is not None
    assert (effort.detail, effort.turns, effort.cost_usd, effort.estimated, effort.resembles) == (
        "2 turns", 2, 0.5, True, "turn 1",
    )  # fmt: skip
    assert 0 <= effort.seconds < 60
    assert effort.seconds == round(effort.seconds, 3)
    assert (tmp_path / "tree" / BEHAVIOUR).read_text() == "half"


class Known(ToySuite, ForAgents):
    """A task whose original is known."""

    @override
    def fingerprint(self, task: Task) -> Fingerprint:
        """Return that of the code."""
        return Fingerprint.of(task.id, {"area.py": CODE.encode()})

    @override
    def withheld(self, task: Task) -> tuple[str, ...]:
        """Return two names."""
        return ("b", "a")

    @override
    def told_of_grading(self, task: Task) -> str:
        """Return a sentence."""
        return "Ten minutes."


class Reader(ToyAgent):
    """Records a text as a tool's result in its second turn, and hands in what passes."""

    def __init__(self, text: str) -> None:
        super().__init__({})
        self.text = text
        self.seen: list[AgentContext] = []

    @override
    async def attempt(self, context: AgentContext) -> AgentResult:
        """Do it."""
        self.seen.append(context)
        context.trajectory.append("result", turn=2, call="1", name="bash", content=self.text)
        (context.workspace / BEHAVIOUR).write_text("pass")
        await context.note_turn(2)
        return AgentResult(outcome=Outcome.SUBMITTED, turns=2)


async def played(root: Path, agent: Reader, sink: MemorySink, instruction: str | None = "") -> EpisodeResult:
    """Return what came of it."""
    theatre = Theatre(root)
    suite = Known(1)
    spec = an_episode(own_tests=True)
    backends = theatre.grading(spec).backends
    task = suite.tasks()[0].but(instruction=instruction)
    grading = Grading(suite, task, suite.graders()["strict"], replace(backends, builder=Builder(root / "layers")))
    return await attempted(
        grading, Playing(spec, grading, sink, agent).make, sink, theatre.scratch, phase=Phase.MAKING
    )


@pytest.mark.parametrize(
    ("text", "instruction", "found"),
    [(CODE, None, True), (CODE, "Write areas.", True), ("ls\n" * 200, None, False), (CODE, CODE, False)],
)
async def test_the_original_in_what_an_agent_reads_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, instruction: str | None, *, found: bool
) -> None:
    """As a step and in the effort, but not where the task itself tells it. Its own tests run on a copy."""
    places: list[tuple[Path, str]] = []

    async def ran(context: AgentContext) -> OwnTests:
        (context.workspace / "left").touch()
        places.append((context.workspace, (context.workspace / BEHAVIOUR).read_text()))
        assert context.scratch == context.workspace.parent
        return OwnTests(passed=3, failed=1)

    monkeypatch.setattr("groundup.agents.own_tests.run_own_tests", ran)
    agent, sink = Reader(text), MemorySink(tmp_path / "tree")
    result = await played(tmp_path, agent, sink, instruction)
    assert result.submission is not None
    effort = result.submission.effort
    assert effort is not None
    assert bool(effort.resembles) is found
    assert effort.own_tests == OwnTests(passed=3, failed=1)
    kinds = [step["kind"] for step in sink.steps]
    assert kinds == ["began", "result", "workspace", *["resembles"] * found, "ended"]
    if found:
        assert sink.steps[-2]["detail"] == effort.resembles == "turn 2: results of tools hold 100% of the original"
    ((workspace, word),) = places
    assert (word, workspace.exists()) == ("pass", False)
    assert [path.name for path in sink.submission.iterdir()] == [BEHAVIOUR]
    (context,) = agent.seen
    assert (context.withheld, context.told_of_grading, context.label) == (
        ("a", "b"),
        "Ten minutes.",
        "task-0000/0",
    )
    assert (context.model, context.image, context.base) == (None, None, "host")
    assert context.original == Known(1).fingerprint(context.task)
