"""Judging a run: which judgements are pending, asking for them, writing each one down as it comes.

What was judged before with the same question is not asked again. A judge that fails for one attempt is recorded as
failing and pending again; one whose endpoint fails for good ends the work, which can be taken up later.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.errors import GroundupError, InfrastructureError, UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.usage import TokenUsage
from groundup.models.cache import for_attempt
from groundup.models.prices import estimated_text_tokens
from groundup.models.protocol import BudgetSpentError, ChatModel
from groundup.store.folder import RunFolder
from groundup.store.judgements import Judgement, JudgementsFile, Matter, read_judgements
from groundup_judging.questions import (
    OUTPUT_TOKENS,
    JudgeQuestion,
    UnusableAnswerError,
    material_of,
    parsed_answer,
    shortened_task,
)

_TRIES = 3
"""How often a judge may answer in the wrong form."""
_OWN_TOKENS = 1200
"""What the question itself takes, and a margin."""
_WINDOW = 32_768
"""What a judge can read where its window is unknown."""


class PendingJudgement(Record):
    """One judgement that is wanted and not there."""

    attempt: AttemptKey
    question: JudgeQuestion
    judge: int
    """Which of the judges."""


class JudgingRequest(Record):
    """What is to be judged."""

    of: tuple[Matter, ...]
    tasks: tuple[str, ...] | None = None
    """None: all of the run's."""


class JudgingItem(Record):
    """What is to be done."""

    pending: tuple[PendingJudgement, ...]
    done: int
    """Judgements that are there already."""
    absent: dict[Matter, tuple[AttemptKey, ...]]
    """Attempts that handed in nothing of a kind."""


def owed_judgements(
    folder: Path, wanted: JudgingRequest, judges: Sequence[ChatModel], instructions: Mapping[str, str | None]
) -> JudgingItem:
    """Return what is still to be asked.

    Reads all submissions. Raises `UsageError` when a task is none of the run's.
    """
    run = RunFolder(folder)
    planned = run.config().planned
    for task in wanted.tasks or ():
        if task not in planned.tasks:
            raise UsageError(unknown("task of the run", task, planned.tasks))
    known = {
        (judgement.attempt, judgement.of, judgement.judge, judgement.question)
        for judgement in read_judgements(folder)
        if judgement.scores
    }
    pending: list[PendingJudgement] = []
    absent: dict[Matter, list[AttemptKey]] = {}
    done = 0
    for key in planned.keys:
        if (wanted.tasks is not None and key.task not in wanted.tasks) or run.attempt(key).record() is None:
            continue
        for of in wanted.of:
            for number, judge in enumerate(judges):
                question = _question(run.attempt(key).submission, of, instructions.get(key.task), judge)
                if not question.material.present:
                    absent.setdefault(of, []).append(key)
                    break  # for the other judges as well
                if (key, of, judge.name, question.digest) in known:
                    done += 1
                else:
                    pending.append(PendingJudgement(attempt=key, question=question, judge=number))
    return JudgingItem(pending=tuple(pending), done=done, absent={of: tuple(keys) for of, keys in absent.items()})


def _question(tree: Path, of: Matter, instruction: str | None, judge: ChatModel) -> JudgeQuestion:
    """Return what *judge* is asked: half of its window at most for the task, the rest for the material."""
    room = max(1000, (judge.context_tokens or _WINDOW) - OUTPUT_TOKENS - _OWN_TOKENS)
    task = shortened_task(instruction, room // 2)
    left = room - estimated_text_tokens(task)
    return JudgeQuestion(of=of, task=task, material=material_of(tree, of, left))


async def judge(
    folder: Path,
    pending: Sequence[PendingJudgement],
    judges: Sequence[ChatModel],
    *,
    at_once: int,
    report: Callable[[Judgement], None],
) -> None:
    """Ask for what is *pending* and record it. The judges are open.

    Raises `InfrastructureError` or `BudgetSpentError`, after recording everything that came before.
    """
    slots = asyncio.Semaphore(at_once)
    with JudgementsFile(folder) as file:

        async def settle(one: PendingJudgement) -> None:
            async with slots:
                judgement = await _judged(one, judges[one.judge])
            file.append(judgement)
            report(judgement)

        try:
            async with asyncio.TaskGroup() as group:
                for one in pending:
                    group.create_task(settle(one))
        except ExceptionGroup as failures:
            raise next(
                (error for error in failures.exceptions if isinstance(error, GroundupError)),
                failures.exceptions[0],
            ) from failures


async def _judged(one: PendingJudgement, judge: ChatModel) -> Judgement:
    request = one.question.request()
    usage, cost = TokenUsage(), None
    failed = ""
    model = for_attempt(judge, one.attempt.index)
    for _ in range(_TRIES):
        try:
            reply = await model.complete(request)
        except (InfrastructureError, BudgetSpentError):
            raise
        except GroundupError as error:  # refused, or longer than its window after all: this one has no opinion
            return _judgement(one, judge, usage, cost).but(failed=str(error)[:400])
        usage += reply.usage + reply.lost
        cost = cost if reply.cost_usd is None else (cost or 0.0) + reply.cost_usd
        try:
            scores, influenced = parsed_answer(reply.message.content)
        except UnusableAnswerError as error:
            failed = f"its answer is not in the form: {error}"[:400]
            request = _again(one.question.request(), reply, error)
            continue
        return _judgement(one, judge, usage, cost).but(scores=scores, influenced=influenced)
    return _judgement(one, judge, usage, cost).but(failed=failed)


def _again(request: ChatRequest, reply: ChatReply, error: UnusableAnswerError) -> ChatRequest:
    """Return the same question with what was wrong about the last answer."""
    answer = Message(role="assistant", content=reply.message.content[:4000] or "(nothing)")
    wish = Message(role="user", content=f"That is not in the form ({error}). Answer with the JSON object alone.")
    return request.but(messages=(*request.messages, answer, wish))


def _judgement(one: PendingJudgement, judge: ChatModel, usage: TokenUsage, cost: float | None) -> Judgement:
    return Judgement(
        attempt=one.attempt,
        of=one.question.of,
        judge=judge.name,
        question=one.question.digest,
        shown_files=one.question.material.shown,
        all_files=one.question.material.files,
        usage=usage,
        cost_usd=cost,
        at=datetime.now(UTC),
    )
