"""Single questions to a model, outside a conversation: counted before, recorded, and never paid for twice."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from groundup.agents.base import AgentContext, AgentResult
from groundup.agents.resuming import Clock
from groundup.agents.trajectories import lost_by, reply_fields, reply_of
from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.digests import digest_of
from groundup.domain.figures import money
from groundup.domain.subjects import Outcome
from groundup.models.protocol import ContextOverflowError, RefusedError

T = TypeVar("T")
RESERVE_TOKENS = 8000
"""Room for a reply in the model's window."""


class Unanswerable(Exception):  # noqa: N818 - no error: a result of asking, named for the outcome
    """A question has no answer; `outcome` says what that makes of an attempt that needs it."""

    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome


class Spent(Unanswerable):
    """One of the attempt's limits is reached: no question has an answer any more."""


class ModelQuestions:
    """One attempt's questions."""

    def __init__(self, context: AgentContext, at_once: int = 1) -> None:
        assert context.model is not None, "the run checked that there is a model"
        self.paid = lost_by(context.trajectory.recorded())
        self._at = context
        self._model = context.model
        self._slots = asyncio.Semaphore(at_once)
        recorded = context.trajectory.recorded()
        self._timeout = asyncio.timeout(None)
        self._clock = Clock(self._timeout, context.limits.wall_clock_s, recorded)
        self._recorded = {
            step.get("question"): reply for step in recorded if (reply := reply_of(step)) is not None
        }

    async def ask(self, about: str, messages: tuple[Message, ...]) -> ChatReply:
        """Return the answer to the question *about* something, such as a file's path.

        Raises `Unanswerable` when it does not fit the window, is refused, or would go beyond the attempt's limits.
        """
        # The name covers every message, so a question that changed is asked anew.
        question = digest_of([about, messages])
        async with self._slots:
            recorded = self._recorded.get(question)
            reply = await self._answer(messages) if recorded is None else recorded
            self.paid = self.paid.plus(reply)
            if recorded is None:
                self._record(about, messages, reply, question)
        if reply.finish == "content_filter":
            raise Unanswerable(Outcome.REFUSED, "the endpoint's filter ended the reply")
        return reply

    async def _answer(self, messages: tuple[Message, ...]) -> ChatReply:
        self._check_limits()
        self._clock.start()
        request = ChatRequest(messages=messages)
        await self._check_window(request)
        try:
            return await self._model.complete(request)
        except ContextOverflowError as error:
            raise Unanswerable(Outcome.LIMIT, f"too large for the model's window: {error}") from error
        except RefusedError as error:
            raise Unanswerable(Outcome.REFUSED, str(error)) from error

    def _record(self, about: str, messages: tuple[Message, ...], reply: ChatReply, question: str) -> None:
        for message in messages:
            self._at.trajectory.append("message", role=message.role, content=message.content, about=about)
        fields = reply_fields(reply, self.paid.turns)
        self._at.trajectory.append("reply", **fields, question=question, about=about, spent_s=self._clock.spent_s)

    async def within_time(self, work: Awaitable[T]) -> T:
        """Return what comes of *work*, all questions of the attempt.

        Raises `Unanswerable` when the attempt's time, less what earlier tries took, is over before.
        """
        try:
            async with self._timeout:
                return await work
        except TimeoutError as error:
            raise Unanswerable(Outcome.LIMIT, f"longer than {self._at.limits.wall_clock_s} s") from error

    def ended(self, outcome: Outcome, detail: str = "") -> AgentResult:
        return AgentResult(outcome=outcome, detail=detail, **dict(self.paid))

    async def _check_window(self, request: ChatRequest) -> None:
        window = self._model.context_tokens
        if window is None:
            return
        tokens = await self._model.count_tokens(request)
        room = window - min(RESERVE_TOKENS, window // 2)
        if tokens > room:
            raise Unanswerable(
                Outcome.LIMIT,
                f"impossible: the question has {tokens} tokens, and a window of {window} leaves {room} for it",
            )

    def _check_limits(self) -> None:
        limits, paid = self._at.limits, self.paid
        tokens = paid.usage.input_tokens + paid.usage.output_tokens
        if limits.turns is not None and paid.turns >= limits.turns:
            raise Spent(Outcome.LIMIT, f"{limits.turns} turns")
        if limits.tokens is not None and tokens >= limits.tokens:
            raise Spent(Outcome.BUDGET, f"{tokens} of {limits.tokens} tokens")
        if limits.cost_usd is not None and (paid.cost_usd or 0.0) >= limits.cost_usd:
            raise Spent(Outcome.BUDGET, f"{money(paid.cost_usd or 0.0)} of ${limits.cost_usd:g}")
