"""Replies that were paid for once and may be used again, on disk. Off unless a user asks for it.

What is kept under a key answers exactly this request, to this model with these settings, at the same place: in an
attempt of the same index, asked for as often in it. So attempts stay independent of each other, and a second run
repeats them.
"""

from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.digests import digest_of
from groundup.domain.usage import TokenUsage
from groundup.models.protocol import CallWatch, ChatModel
from groundup.registries.cache import FetchCache

_KIND = "replies"


@runtime_checkable
class PerAttempt(Protocol):
    """A model that must know which attempt asks."""

    def for_attempt(self, index: int) -> ChatModel:
        """Return the same model for one attempt at a task, counted from 0. It needs not be opened."""
        ...


def for_attempt(model: ChatModel, index: int) -> ChatModel:
    """Return *model* as the attempt *index* of some task is to have it."""
    able: object = model
    return able.for_attempt(index) if isinstance(able, PerAttempt) else model


class CachedModel:
    """A `ChatModel` before which a cache stands."""

    def __init__(self, model: ChatModel, folder: Path, identity: dict[str, JsonValue], *, index: int = 0) -> None:
        self.name = model.name
        self.context_tokens = model.context_tokens
        self._model = model
        self._folder = folder
        self._identity = identity
        self._index = index
        self._cache = FetchCache(folder)
        self._asked: Counter[str] = Counter()

    def for_attempt(self, index: int) -> "CachedModel":
        """Return the same model and folder for another attempt."""
        return CachedModel(self._model, self._folder, self._identity, index=index)

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Return the kept reply, or ask and keep the reply. Failures are not kept."""
        key = self._key(request)
        kept = self._cache.record(_KIND, key, ChatReply)
        if kept is not None:
            return kept.but(cached=True, cost_usd=0.0, latency_s=0.0, lost=TokenUsage())
        reply = await self._model.complete(request, watch)
        self._cache.keep_record(_KIND, key, reply)
        return reply

    async def count_tokens(self, request: ChatRequest) -> int:
        return await self._model.count_tokens(request)

    async def __aenter__(self) -> Self:
        await self._model.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._model.__aexit__(kind, error, tb)

    def _key(self, request: ChatRequest) -> str:
        question = digest_of(request)
        self._asked[question] += 1
        return digest_of([self.name, self._identity, self._index, question, self._asked[question]])
