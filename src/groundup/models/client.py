"""A `ChatModel` behind an endpoint: forms, price and budget put together. Every attempt of a run shares it."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.usage import ModelUse, TokenUsage
from groundup.models.asking import chat, gemini, messages, responses
from groundup.models.asking.forms import Parsed
from groundup.models.endpoint import ModelEndpoint
from groundup.models.prices import (
    CostLedger,
    Price,
    counted_tokens,
    estimated_reply_tokens,
    estimated_text_tokens,
    estimated_tokens,
)
from groundup.models.protocol import CallWatch
from groundup.models.reaching import reach
from groundup.models.settings import (
    ModelName,
    ModelProvider,
    ModelSettings,
)

_OUTPUT_TOKENS = 8192
"""Assumed limit of output tokens when neither the request nor the settings have one."""


class _Bill:
    """What a question costs over all its tries: the reply, and answers that were lost."""

    def __init__(
        self,
        request: ChatRequest,
        money: tuple[Price | None, CostLedger, float],
        saying: Callable[[str], None] | None,
    ) -> None:
        self.saying = saying
        self.usage = TokenUsage()
        self.lost_use = ModelUse()
        self._request = request
        self._price, self._ledger, self._most_usd = money
        self._paid = 0.0

    @property
    def cost_usd(self) -> float | None:
        """What all of it costs; None: the model has no price."""
        return self._paid if self._price else None

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Set money aside, and settle it by what was paid."""
        await self._ledger.reserve(self._most_usd)
        before = self._paid
        try:
            yield
        finally:
            self._ledger.settle(self._most_usd, self._paid - before)

    def answered(self, parsed: Parsed) -> None:
        """Enter the reply."""
        counted = parsed.counted
        written = estimated_reply_tokens(parsed.reply.message) if counted.output_tokens is None else 0
        read = estimated_tokens(self._request) if counted.input_tokens is None else 0
        self.usage = counted.usage(read, written)
        self._enter(self.usage, counted.cache_write_tokens or 0)

    def lost(self, said: str) -> None:
        """Enter an answer that is no reply, as a guess from above."""
        most = self._request.max_output_tokens
        written = estimated_text_tokens(said)
        usage = TokenUsage(
            input_tokens=estimated_tokens(self._request),
            output_tokens=written if most is None else min(written, most),
        )
        cost = self._enter(usage, 0)
        self.lost_use = self.lost_use.with_use(ModelUse(usage=usage, estimated=True, cost_usd=cost))

    def _enter(self, usage: TokenUsage, cache_write_tokens: int) -> float | None:
        if self._price is None:
            return None
        cost = self._price.cost_usd(usage, cache_write_tokens)
        self._paid += cost
        return cost


class EndpointModel:
    """A `ChatModel` behind an HTTP endpoint."""

    def __init__(
        self,
        name: ModelName,
        provider: ModelProvider,
        endpoint: ModelEndpoint,
        settings: ModelSettings,
        price: Price | None,
        ledger: CostLedger,
    ) -> None:
        self.name = str(name)
        self.context_tokens = settings.context_tokens
        self.price = price
        self.ledger = ledger
        self._model = name.model
        self._provider = provider
        self._endpoint = endpoint
        self._settings = settings
        self._open = AsyncExitStack()

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Ask the endpoint, within the run's budget.

        *watch* hears what is being written, and what a call without a reply cost.
        """
        request = self._completed(request)
        saying = None if watch is None else watch.saying
        bill = _Bill(request, (self.price, self.ledger, self._most_usd(request)), saying)
        began = time.monotonic()
        try:
            parsed, tries = await self._asked(request, bill)
        except BaseException:
            if watch is not None and bill.lost_use.usage != TokenUsage():
                watch.lost(bill.lost_use)
            raise
        finally:
            if watch is not None:
                watch.saying("")
        latency = time.monotonic() - began
        counts = {parsed.counted.input_tokens, parsed.counted.output_tokens}
        return parsed.reply.but(
            usage=bill.usage,
            estimated=None in counts or parsed.counted.doubtful,
            cost_usd=bill.cost_usd,
            lost=bill.lost_use.usage,
            latency_s=round(latency, 3),
            tries=tries,
        )

    async def count_tokens(self, request: ChatRequest) -> int:
        counted = await counted_tokens(self._endpoint, self._provider, self._model, request)
        return estimated_tokens(request) if counted is None else counted

    async def reach(self, wait_s: float = 0.0) -> None:
        """Find out, free of charge, that the endpoint is there. Raises `UnusableModelError` with what to mend."""
        await reach(self._endpoint, wait_s)

    async def about(self) -> Mapping[str, JsonValue]:
        """Return what the endpoint's list of models says of this one; nothing where there is no such list."""
        if self._provider.api == "gemini":
            return await self._endpoint.look(f"/models/{self._model}") or {}
        named = await self._endpoint.listed()
        alone = named if len(named) == 1 else []
        return next(iter([one for one in named if one.get("id") == self._model] or alone), {})

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._endpoint)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._open.aclose()

    def _completed(self, request: ChatRequest) -> ChatRequest:
        """Return *request* with the settings where it has none of its own."""
        settings = self._settings
        effort = {"reasoning_effort": settings.reasoning_effort} if settings.reasoning_effort else {}
        changes: dict[str, object] = {"extra": effort | settings.extra | request.extra}
        if request.temperature is None:
            changes["temperature"] = settings.temperature
        if request.max_output_tokens is None:
            changes["max_output_tokens"] = settings.max_output_tokens
        return request.but(**changes)

    def _most_usd(self, request: ChatRequest) -> float:
        if self.price is None or self.ledger.limit_usd is None:
            return 0.0
        read = estimated_tokens(request)
        price = self.price.at(read)
        tokens = read * max(price.input, price.cache_write or 0.0)
        return (tokens + (request.max_output_tokens or _OUTPUT_TOKENS) * price.output) / 1_000_000

    async def _asked(self, request: ChatRequest, bill: "_Bill") -> tuple[Parsed, int]:
        document: Mapping[str, JsonValue]
        if self._provider.api == "messages":
            document = messages.request_document(request, self._model)
            return await self._endpoint.post(messages.PATH, document, messages.FORM, bill)
        if self._provider.api == "gemini":
            document = gemini.request_document(request)
            return await self._endpoint.post(gemini.path(self._model), document, gemini.FORM, bill)
        if self._provider.api == "responses":
            document = responses.request_document(request, self._model)
            return await self._endpoint.post(responses.PATH, document, responses.FORM, bill)
        document = chat.request_document(request, self._model, self._provider)
        return await self._endpoint.post(chat.PATH, document, chat.FORM, bill)
