"""What all registry gateways share: a server on a sandbox's loopback, a ledger, and words to clients inside.

A gateway for one kind of registry answers requests in `_handle` and says in `supplies` how its clients find it.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Self

from pydantic import Field

from groundup.domain.records import Record
from groundup.registries.ledger import MAX_BYTES, PROJECTS, Fetched, RegistryLedger, Trouble
from groundup.registries.listening import listen_at
from groundup.registries.server import READING, GatewayServer, Request, Response, ServerLimits
from groundup.sandbox.protocol import Sandbox


class Supplies(Record):
    """What programs inside need to find a gateway: variables of their commands, and files."""

    environment: dict[str, str] = Field(default={}, description="for every command that may install something")
    files: dict[str, str] = Field(default={}, description="absolute path inside -> text")


class RegistryGateway(ABC):
    """One sandbox's way to one kind of registry, used as a context; `fetched` and `troubles` say what happened."""

    port: ClassVar[int]
    """Where it listens inside, unless something else does."""
    entrance: ClassVar[str] = "/"
    """The path that clients are given."""
    methods: ClassVar[tuple[str, ...]] = READING
    max_projects: ClassVar[int] = PROJECTS

    def __init__(self, *, limits: ServerLimits | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._ledger = RegistryLedger(max_bytes, self.max_projects)
        self._server = GatewayServer(self._handle, limits, methods=self.methods)

    @property
    def fetched(self) -> tuple[Fetched, ...]:
        """What was given out, each thing once, in the order it was first asked for."""
        return self._ledger.fetched

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What was not given out."""
        failures = [Trouble(kind="network", name=name, message=why) for name, why in self._server.failures]
        if self._server.exhausted:
            message = f"more than {self._server.limits.total_bytes} bytes would have been fetched"
            failures.append(Trouble(kind="budget", name="", message=message))
        return (*self._ledger.troubles, *failures)

    def longest_wait_s(self) -> float:
        """Return how long the oldest question has waited for its answer while its registry said nothing at all."""
        return min(self._ledger.longest_wait_s(), self.silence_s())

    def silence_s(self) -> float:
        """Return for how long the registry has sent nothing: a large file that is on its way is no silence."""
        return math.inf

    async def attach(self, sandbox: Sandbox) -> str:
        """Serve *sandbox* on a port of its own loopback; return the address to use inside.

        The sandbox's clocks stand while it waits for answers.
        """
        listening, port = await listen_at(sandbox, self.port)
        await self._server.serve(listening)
        sandbox.excuse(self._ledger.debt.owed_s)
        return f"http://127.0.0.1:{port}{self.entrance}"

    @abstractmethod
    def supplies(self, address: str) -> Supplies:
        """Return what makes clients inside use this gateway at *address*."""

    @property
    def server(self) -> GatewayServer:
        """The server, for sockets that are not a sandbox's."""
        return self._server

    async def close(self) -> None:
        """Stop serving. The registry stays open: it is shared."""
        await self._server.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @abstractmethod
    async def _handle(self, request: Request) -> Response:
        """Answer a request."""
