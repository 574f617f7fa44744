"""`-m scripted/<path>`: a script, served by a real endpoint of its own on loopback and asked like any other."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from pydantic import SecretStr

from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.models.client import EndpointModel
from groundup.models.counting import estimated_tokens
from groundup.models.endpoint import Endpoint, Patience
from groundup.models.ledger import Ledger
from groundup.models.naming import ModelName, Provider
from groundup.models.prices import Price
from groundup.models.scripted.script import Script
from groundup.models.scripted.server import ScriptedServer
from groundup.models.settings import ModelSettings


class ScriptedModel:
    """A `ChatModel` that serves itself while it is open."""

    def __init__(
        self,
        script: Script,
        name: ModelName,
        settings: ModelSettings,
        patience: Patience,
        price: Price | None,
        ledger: Ledger,
    ) -> None:
        self.name = str(name)
        self.context_tokens = settings.context_tokens or script.context_tokens
        self.server = ScriptedServer(script)
        """What it counted can be read here, also after it is closed."""
        self._parts = (name, settings, patience, price, ledger)
        self._model: EndpointModel | None = None
        self._open = AsyncExitStack()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Ask the own endpoint."""
        assert self._model is not None, "enter the model first"
        return await self._model.complete(request)

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return the estimate by which the script's window is kept."""
        return estimated_tokens(request)

    async def __aenter__(self) -> Self:
        name, settings, patience, price, ledger = self._parts
        await self._open.enter_async_context(self.server)
        provider = Provider(base_url=self.server.base_url, key="GROUNDUP_SCRIPTED_KEY", key_optional=True)
        key = SecretStr(self.server.script.key) if self.server.script.key else None
        endpoint = Endpoint(self.name, provider, key, patience)
        model = EndpointModel(name, provider, endpoint, settings, price, ledger)
        self._model = await self._open.enter_async_context(model)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._model = None
        await self._open.aclose()
