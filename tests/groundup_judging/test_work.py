"""What is written down of each judge's answer, whatever it was, and what the judge is told of a wrong one."""

import json
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.errors import InfrastructureError
from groundup.domain.subjects import AttemptKey
from groundup.domain.usage import TokenUsage
from groundup.models.protocol import BudgetSpentError, CallWatch, ContextOverflowError
from groundup.store.judgements import Judgement, read_judgements
from groundup_judging.questions import CRITERIA, JudgeQuestion, Material
from groundup_judging.work import PendingJudgement, judge

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
