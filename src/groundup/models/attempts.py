"""A run's model for one attempt: shows what is being written, and records calls without a reply."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.usage import ModelUse
from groundup.models.cache import for_attempt
from groundup.models.protocol import CallWatch, ChatModel

LOST_STEP = "lost"
"""The step of a trajectory for what a call without a reply may have cost."""
_EVERY_S = 1.0


class AttemptModel:
    """A `ChatModel`, and the watch of its calls."""

    def __init__(
        self, model: ChatModel, index: int, record: Callable[..., None], show: Callable[[str], None] | None = None
    ) -> None:
        model = for_attempt(model, index)
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.lost_use = ModelUse()
        """What calls without a reply may have cost."""
        self._model = model
        self._record = record
        self._show = show
        self._shown_at = 0.0
        self._shown = ""

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Ask; this model is the watch itself where no other one is given."""
        return await self._model.complete(request, self if watch is None else watch)

    async def count_tokens(self, request: ChatRequest) -> int:
        return await self._model.count_tokens(request)

    def saying(self, text: str) -> None:
        """Show the end of what is being written, once a second."""
        if self._show is None or (text and time.monotonic() - self._shown_at < _EVERY_S):
            return
        if text != self._shown:
            self._shown, self._shown_at = text, time.monotonic()
            self._show(text)

    def lost(self, use: ModelUse) -> None:
        """Record what a call without a reply may have cost."""
        self.lost_use = self.lost_use.with_use(use)
        fields: Mapping[str, JsonValue] = use.model_dump(mode="json", exclude_defaults=True)
        self._record(LOST_STEP, **fields)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        """The model stays open: it is the run's."""
