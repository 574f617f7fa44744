"""What is written down of each judge's answer, whatever it was, and what the judge is told of a wrong one."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.domain.usage import TokenUsage
from groundup.models.prices import estimated_text_tokens
from groundup.models.protocol import BudgetSpentError, CallWatch, ContextOverflowError
from groundup.store.folder import RunFolder
from groundup.store.judgements import Judgement, JudgementsFile, Opinion, read_judgements
from groundup_judging.questions import CRITERIA, JudgeQuestion, Material
from groundup_judging.work import JudgingRequest, PendingJudgement, judge, owed_judgements
from tests.viewer.made import write_run

GOOD = json.dumps({"scores": {name: {"score": 8, "reason": "so"} for name in CRITERIA}, "influenced": True})
MATERIAL = Material(text="--- all files", shown=2, files=7, present=True)


class Judge:
    """Says one thing after the other, or raises it; each answer costs 3 and 5 tokens, and 1 was lost."""

    context_tokens: int | None = None

    def __init__(self, name: str, *answers: str | Exception, cost: float | None = 0.5) -> None:
        self.name = name
        self.asked: list[ChatRequest] = []
        self._answers = [*answers]
        self._cost = cost

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        self.asked.append(request)
        said = self._answers.pop(0)
        if isinstance(said, Exception):
            raise said
        return ChatReply(
            message=Message(role="assistant", content=said),
            finish="stop",
            usage=TokenUsage(input_tokens=3, output_tokens=5),
            lost=TokenUsage(output_tokens=1),
            cost_usd=self._cost,
        )

    async def count_tokens(self, request: ChatRequest) -> int:
        raise AssertionError("nobody asks")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...


def pending(task: str, judge: int = 0) -> PendingJudgement:
    """Return a question on *task*."""
    question = JudgeQuestion(of="readme", task=task, material=MATERIAL)
    return PendingJudgement(attempt=AttemptKey(task=task, index=2), question=question, judge=judge)


async def judged(folder: Path, *judges: Judge) -> list[Judgement]:
    """Return what is written of one question to each of *judges*, which is what is reported."""
    heard: list[Judgement] = []
    asked = [pending("a", number) for number in range(len(judges))]
    await judge(folder, asked, [*judges], at_once=1, report=heard.append)
    assert list(read_judgements(folder)) == heard
    return heard


async def test_a_judgement_to_the_letter(tmp_path: Path) -> None:
    """Who said what of which question, what was shown, and what it cost with what was lost."""
    (one,) = await judged(tmp_path, Judge("p/kind", GOOD))
    assert one.but(scores={}) == Judgement(
        attempt=AttemptKey(task="a", index=2),
        of="readme",
        judge="p/kind",
        question=pending("a").question.digest,
        influenced=True,
        shown_files=2,
        all_files=7,
        usage=TokenUsage(input_tokens=3, output_tokens=6),
        cost_usd=0.5,
        at=one.at,
    )
    assert {name: (opinion.score, opinion.reason) for name, opinion in one.scores.items()} == dict.fromkeys(
        CRITERIA, (8, "so")
    )


async def test_a_wrong_answer_may_be_mended_twice(tmp_path: Path) -> None:
    """Each time the judge sees its last answer and what was wrong; all answers are paid for."""
    slow, never = Judge("p/slow", "x" * 4001, "", GOOD), Judge("p/never", "1", "2", "3", GOOD, cost=None)
    mended, failed = await judged(tmp_path, slow, never)
    assert (mended.failed, mended.usage, mended.cost_usd) == (
        None,
        TokenUsage(input_tokens=9, output_tokens=18),
        1.5,
    )
    first, second, third = slow.asked
    assert first.messages[0] == second.messages[0] == third.messages[0]
    assert [len(one.messages) for one in slow.asked] == [2, 4, 4]
    answers = [(one.messages[2].role, one.messages[2].content) for one in slow.asked[1:]]
    assert answers == [("assistant", "x" * 4000), ("assistant", "(nothing)")]
    wishes = [(one.messages[3].role, one.messages[3].content) for one in slow.asked[1:]]
    why = "it is not one JSON object: Expecting value: line 1 column 1 (char 0)"
    assert wishes == [("user", f"That is not in the form ({why}). Answer with the JSON object alone.")] * 2
    assert (failed.scores, failed.usage.output_tokens, failed.cost_usd, len(never.asked)) == ({}, 18, None, 3)
    assert failed.failed == "its answer is not in the form: the answer: must be a table of keys and values"


@pytest.mark.parametrize(("length", "kept"), [(400, 400), (401, 400)])
async def test_a_judge_that_cannot_answer_has_no_opinion(tmp_path: Path, length: int, kept: int) -> None:
    """Why is written down, in 400 characters, with what was paid until then; the others are asked."""
    full = Judge("p/full", "no", ContextOverflowError("w" * length))
    first, second = await judged(tmp_path, full, Judge("p/kind", GOOD))
    assert (first.failed, first.scores, first.cost_usd, first.usage.input_tokens) == ("w" * kept, {}, 0.5, 3)
    assert second.failed is None


@pytest.mark.parametrize("error", [InfrastructureError("the endpoint is gone"), BudgetSpentError("$2 are spent")])
async def test_what_ends_the_work_is_raised(tmp_path: Path, error: Exception) -> None:
    """As itself, after what came before was written down."""
    with pytest.raises(type(error), match=f"^{str(error).replace('$', '[$]')}$"):
        await judged(tmp_path, Judge("p/kind", GOOD), Judge("p/gone", error))
    assert [one.judge for one in read_judgements(tmp_path)] == ["p/kind"]


async def test_a_bug_is_raised_as_it_is(tmp_path: Path) -> None:
    """Not as a group of errors."""
    with pytest.raises(ZeroDivisionError):
        await judged(tmp_path, Judge("p/bug", ZeroDivisionError()))


def hand_in(run: RunFolder, task: str, index: int, *names: str) -> None:
    """Give an attempt a submission with these files."""
    attempt = run.attempt(AttemptKey(task=task, index=index))
    attempt.submission.mkdir(parents=True)
    for name in names:
        (attempt.submission / name).write_text(f"of {task}{index}\n")
    made = Submission(digest="sha256:0", files=len(names), bytes=9, provenance=Provenance(source="predictions"))
    attempt.submission_file.write_text(made.model_dump_json())


def handed_in(folder: Path) -> Path:
    """Write a run: two attempts at a have everything, b no tests, c no README, and d handed in nothing."""
    run = write_run(folder, "r1", {"a": [(1, 2), (2, 2)], "d": ["pending"], "b": [(1, 2)], "c": [(0, 2)]})
    for index in (0, 1):
        hand_in(run, "a", index, "README.md", "test_a.py")
    hand_in(run, "b", 0, "README.md")
    hand_in(run, "c", 0, "test_c.py")
    return folder / "r1"


def test_what_is_owed_is_what_nobody_scored(tmp_path: Path) -> None:
    """By attempt, matter and judge; a failure is owed again, and so is another question."""
    run, judges = handed_in(tmp_path), [Judge("p/one"), Judge("p/two")]
    request = JudgingRequest(of=("readme", "tests"))
    tasks = {"a": "make a", "b": "make b"}

    def owed(wanted: JudgingRequest = request, **more: str) -> list[str]:
        found = owed_judgements(run, wanted, judges, {**tasks, **more})
        return [f"{one.attempt} {one.question.of} {one.judge}" for one in found.pending]

    whole = owed_judgements(run, request, judges, tasks)
    assert whole.done == 0
    assert whole.absent == {
        "tests": (AttemptKey(task="b", index=0),),
        "readme": (AttemptKey(task="c", index=0),),
    }
    matters = ("a/0 readme", "a/0 tests", "b/0 readme", "c/0 tests", "a/1 readme", "a/1 tests")
    all_of_it = [f"{one} {number}" for one in matters for number in (0, 1)]
    assert owed() == all_of_it
    assert owed(JudgingRequest(of=("tests",), tasks=("c", "b"))) == ["c/0 tests 0", "c/0 tests 1"]
    assert owed(JudgingRequest(of=("readme",), tasks=())) == []
    with pytest.raises(UsageError, match="unknown task of the run 'x'"):
        owed(JudgingRequest(of=("readme",), tasks=("a", "x")))
    made = Judgement(
        attempt=AttemptKey(task="a", index=0),
        of="readme",
        judge="p/two",
        question=whole.pending[1].question.digest,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    with JudgementsFile(run) as file:
        file.append(made.but(failed="refused"))
        assert owed() == all_of_it
        file.append(made.but(scores={name: Opinion(score=1, reason="") for name in CRITERIA}))
    assert owed() == [all_of_it[0], *all_of_it[2:]]
    assert owed_judgements(run, request, judges, tasks).done == 1
    assert owed(a="make something else") == all_of_it


@pytest.mark.parametrize(
    ("window", "room"), [(None, 27_568), (20_000, 14_800), (6200, 1000), (6201, 1001), (10, 1000)]
)
def test_a_question_fills_the_window_of_its_judge(tmp_path: Path, window: int | None, room: int) -> None:
    """Half for the task at most, and the rest for the material; 1,000 tokens there are always."""
    run, reader = handed_in(tmp_path), Judge("p/one")
    reader.context_tokens = window
    attempt = RunFolder(run).attempt(AttemptKey(task="a", index=0))
    (attempt.submission / "README.md").write_text("of words, and more\n" * (room // 3))
    for task, low, high in (("some words of a task\n" * (room // 3), 0.4, 0.5), ("short", 0.0, 0.01)):
        wanted = JudgingRequest(of=("readme",), tasks=("a",))
        (first, *_) = owed_judgements(run, wanted, [reader], {"a": task}).pending
        asked = estimated_text_tokens(first.question.task)
        assert low * room < asked <= high * room
        assert 0.85 * (room - asked) < estimated_text_tokens(first.question.material.text) <= room - asked + 20
    (first, *_) = owed_judgements(run, wanted, [reader], {}).pending
    assert first.question.task.startswith("(The task's text is not at hand;")
