"""What the gateways of all registries share: a server on a sandbox's loopback, one task's rules, and a ledger.

A gateway of one kind of registry names its `routes`, and says in `supplies` how clients inside find it. Addresses,
certificates and credentials stay in its client on the host.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, TypedDict
from urllib.parse import unquote, urlsplit

from pydantic import Field

from groundup.domain.records import Record
from groundup.registries.client import FileFound, Found, RegistryClient
from groundup.registries.ledger import (
    MAX_BYTES,
    PROJECTS,
    Fetched,
    RegistryLedger,
    RegistryRefusedError,
    Trouble,
    UnknownPackageError,
    text,
)
from groundup.registries.server import READING, GatewayServer, Request, Response, ServerLimits, listen_at
from groundup.sandbox.protocol import Closing, Sandbox
from groundup.trees.fingerprints import Fingerprint

Route = tuple[re.Pattern[str], Callable[[Request, re.Match[str]], Awaitable[Response]]]
_OWED = "/-/owed"
_HOST = re.compile(r"[\w.:\[\]-]{1,100}")


class Supplies(Record):
    """What programs inside need to find a gateway: variables of their commands, and files."""

    environment: dict[str, str] = Field(default={}, description="for every command that may install something")
    files: dict[str, str] = Field(default={}, description="absolute path inside -> text")


class GatewayRules(TypedDict, total=False):
    """What a gateway may be made with, besides its registry."""

    refused: Iterable[str]
    original: Fingerprint | None
    cutoff: datetime | None
    limits: ServerLimits | None
    max_bytes: int


class RegistryGateway(Closing):
    """One sandbox's way to one kind of registry, used as a context; `fetched` and `troubles` say what happened."""

    client: ClassVar[type[RegistryClient[Any]]]
    """What asks the registry on the host."""
    port: ClassVar[int]
    """Where it listens inside, unless something else does."""
    entrance: ClassVar[str] = "/"
    """The path that clients are given."""
    hint: ClassVar[str]
    """What a client that is lost should ask for."""
    methods: ClassVar[tuple[str, ...]] = READING
    max_projects: ClassVar[int] = PROJECTS
    sizes_unknown: ClassVar[bool] = True
    """Whether a file's size is first known when it is here: then the one that breaks the budget is withheld."""
    usual_limits: ClassVar[ServerLimits] = ServerLimits()

    def __init__(
        self,
        registry: RegistryClient[Any],
        *,
        refused: Iterable[str] = (),
        original: Fingerprint | None = None,
        cutoff: datetime | None = None,
        limits: ServerLimits | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Make a gateway to *registry*, which refuses some names and knows nothing newer than *cutoff*.

        It also refuses every file that brings a copy of *original*, by whatever name, in whatever archive inside
        that can be read.
        """
        self.refused = frozenset(registry.spelling(name) for name in refused)
        self._registry = registry
        self._original = original
        self._cutoff = cutoff
        self._ledger = RegistryLedger(max_bytes, self.max_projects)
        self.owed_at = ""
        """Where a program inside reads for how many seconds it was owed answers so far."""
        self._server = GatewayServer(self._handle, limits or self.usual_limits, methods=self.methods)

    @property
    def fetched(self) -> tuple[Fetched, ...]:
        """What was given out, each thing once, the first ones first."""
        return self._ledger.fetched

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What was not given out."""
        failures = [Trouble(kind="network", name=name, message=why) for name, why in self._server.failures]
        if self._server.exhausted:
            message = f"more than {self._server.limits.total_bytes} bytes would have been fetched"
            failures.append(Trouble(kind="budget", name="", message=message))
        return (*self._ledger.troubles, *failures)

    @property
    def hidden(self) -> dict[str, datetime]:
        """When the first release came that the cut-off hides, by package."""
        return self._ledger.hidden

    @property
    def is_undated(self) -> bool:
        """Whether there is a cut-off that the registry's dates mean nothing to."""
        return self._cutoff is not None and self._registry.is_undated

    @property
    def questions(self) -> int:
        """How many things were asked for so far."""
        return self._ledger.questions

    def longest_wait_s(self) -> float:
        """Return how long the oldest question has waited for its answer while its registry sent nothing at all.

        A large file that is on its way is no silence.
        """
        return min(self._ledger.longest_wait_s(), self._registry.silence_s())

    async def attach(self, sandbox: Sandbox) -> str:
        """Serve *sandbox* on a port of its own loopback; return the address to use inside.

        The sandbox's clocks stand while it waits for answers.
        """
        listening, port = await listen_at(sandbox, self.port)
        await self._server.serve(listening)
        sandbox.excuse(self._ledger.debt.owed_s)
        self.owed_at = f"127.0.0.1:{port}{_OWED}"
        return f"http://127.0.0.1:{port}{self.entrance}"

    @abstractmethod
    def supplies(self, address: str) -> Supplies:
        """Return what makes clients inside use this gateway at *address*."""

    @abstractmethod
    def routes(self) -> tuple[Route, ...]:
        """Return which paths are answered by what; the first that matches counts.

        The ledger keeps a question about the `name` in a path; a path without one costs nothing.
        """

    @property
    def server(self) -> GatewayServer:
        """The server, for sockets that are not a sandbox's."""
        return self._server

    async def close(self) -> None:
        """Stop serving. The registry stays open: it is shared."""
        await self._server.close()

    async def ask(self, path: str) -> Response:
        """Answer the host's own question as a client inside would be answered, in JSON where there is a choice."""
        return await self._handle(Request(path, {"accept": "application/vnd.pypi.simple.v1+json"}))

    # --- requests

    async def _handle(self, request: Request) -> Response:
        path = unquote(urlsplit(request.path).path)
        if path == _OWED:
            return text(200, f"{self._ledger.debt.owed_s():.3f}")
        for pattern, answer in self.routes():
            if match := pattern.fullmatch(path):
                if "name" not in pattern.groupindex:
                    return await answer(request, match)
                return await self._ledger.answered(self._subject(match), partial(answer, request, match))
        return text(404, f"nothing is here: ask for {self.hint}")

    def _subject(self, match: re.Match[str]) -> str:
        """Return what a question is about, for the ledger."""
        return match["name"]

    def _admit(self, name: str) -> None:
        """Count a name that is asked for. Raises for one that cannot be had, in whatever spelling."""
        if not self._registry.is_name(name):
            raise UnknownPackageError(f"{name[:200]!r} is not the name of {self._registry.noun}")
        if self._registry.spelling(name) in self.refused:
            raise RegistryRefusedError(f"the task forbids installing {name!r}")
        self._ledger.admit(self._registry.spelling(name))

    def _note_page(self, name: str, found: Found[Any], size: int = 0) -> None:
        self._ledger.hide(name, found.hidden)
        self._ledger.note(
            Fetched(kind="page", name=name, bytes=size, from_cache=found.from_cache, stale=found.stale)
        )

    async def _given(self, place: str, file: FileFound, what: Fetched) -> Response:
        """Return a file as an answer: counted with its true size, and noted as *what*.

        Raises `RegistryRefusedError` for one that brings a copy of what the task asks for.
        """
        if what.kind == "file" and self._original is not None:
            await self._require_no_copy(file, what, self._original)
        self._ledger.correct(place, file.size)
        if self.sizes_unknown:
            self._ledger.charge(place, file.size)
        self._ledger.note(
            what.but(
                sha256=file.sha256,
                bytes=file.size,
                from_cache=file.from_cache,
                verified=file.verified,
                stale=file.stale,
            )
        )
        return Response(200, file.path, content_type="application/octet-stream")

    async def _require_no_copy(self, file: FileFound, what: Fetched, original: Fingerprint) -> None:
        name = what.filename or what.name
        likeness = original.likeness((await self._registry.contents(file, name)).prints)
        if likeness.is_copy:
            raise RegistryRefusedError(
                f"the task forbids installing {name}: it holds {likeness.share:.0%} of what is to be written, in "
                f"{' and '.join(likeness.places[:2])}"
            )


def address_in(request: Request) -> str:
    """Return this gateway's address as the client knows it; a wrong one harms only the client."""
    host = request.headers.get("host", "")
    return f"http://{host}" if _HOST.fullmatch(host) else ""


def as_json(content: object) -> Response:
    return Response(200, json.dumps(content).encode(), content_type="application/json")
