"""Lending registries to a sandbox: several kinds with one call, under one task's rules.

    async with builder.registries(Wanted(kinds=("pypi", "npm"), exclude_newer="2024-06-01")) as lent:
        async with await provider.open(spec) as sandbox:
            variables = await lent.attach(sandbox)
            await sandbox.run(Command(argv=("npm", "ci"), environment=variables))
        lent.fetched, lent.troubles

The catalog has the gateway of each kind, imported when the kind is lent. The settings of a kind are learnt once
(which may ask the user's client), one client serves all sandboxes at a time, each loan has a gateway of its own.

What the gateways of all registries share: a server on a sandbox's loopback, one task's rules, and a ledger.

A gateway of one kind of registry names its `routes`, and says in `supplies` how clients inside find it. Addresses,
certificates and credentials stay in its client on the host.
"""

import json
import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, cast, overload
from urllib.parse import unquote, urlsplit

from pydantic import Field

from groundup import catalog
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.languages import RegistryKind
from groundup.registries.cache import (
    MAX_BYTES,
    PROJECTS,
    FetchCache,
    Fetched,
    OpenWhileUsed,
    RegistryLedger,
    RegistryRefusedError,
    SharedWork,
    Trouble,
    UnknownPackageError,
    text,
)
from groundup.registries.client import FileFound, Found, RegistryClient, cutoff_instant
from groundup.registries.server import READING, GatewayServer, Request, Response, ServerLimits, listen_at
from groundup.registries.settings import RegistrySettings
from groundup.sandbox.protocol import Closing, Sandbox
from groundup.trees.fingerprints import Fingerprint
from groundup.trees.scratch import async_scratch_folder

if TYPE_CHECKING:
    from groundup.registries.pypi.client import PyPIClient


class LendingRules(Record):
    """Which registries a sandbox may reach, and by which rules."""

    kinds: tuple[RegistryKind, ...]
    refused: dict[RegistryKind, tuple[str, ...]] = Field(
        default={}, description="names that are refused, whatever their spelling"
    )
    original: Fingerprint | None = Field(
        default=None, description="files that bring a copy of this are refused, whatever their name"
    )
    exclude_newer: str | None = Field(
        default=None,
        description="a date (to its end in UTC) or a time; what is newer does not exist, but for Maven's "
        "repositories, which do not say when they got something",
    )


class RegistrySet:
    """Registries lent to one sandbox. Their records are kept after its end."""

    def __init__(self, gateways: "Mapping[RegistryKind, RegistryGateway]") -> None:
        self.gateways = gateways
        self._addresses: dict[RegistryKind, str] = {}

    async def attach(self, sandbox: Sandbox) -> dict[str, str]:
        """Serve *sandbox* and write what its clients need; return variables for its commands.

        Raises `UsageError` for a sandbox that has no place for such files.
        """
        variables: dict[str, str] = {}
        for kind, gateway in self.gateways.items():
            self._addresses[kind] = await gateway.attach(sandbox)
            supplies = gateway.supplies(self._addresses[kind])
            variables.update(supplies.environment)
            for path, content in supplies.files.items():
                try:
                    await sandbox.write_file(path, content.encode())
                except PermissionError as error:
                    raise UsageError(
                        f"clients of {kind} need a home of their own, which this sandbox does not have ({error}); "
                        "use a sandbox that isolates, such as bubblewrap"
                    ) from error
        return variables

    @property
    def fetched(self) -> dict[RegistryKind, tuple[Fetched, ...]]:
        """What was given out, by kind."""
        return {kind: gateway.fetched for kind, gateway in self.gateways.items()}

    @property
    def troubles(self) -> dict[RegistryKind, tuple[Trouble, ...]]:
        """What was not given out and why, by kind."""
        return {kind: gateway.troubles for kind, gateway in self.gateways.items()}

    def longest_wait_s(self) -> float:
        """Return how long the oldest question has waited for its answer."""
        return max((gateway.longest_wait_s() for gateway in self.gateways.values()), default=0.0)


Learning = Callable[[Mapping[str, str]], Awaitable[RegistrySettings]]
"""Learns from a user's environment how registries of a kind are reached."""


def gateway_of(kind: RegistryKind) -> "type[RegistryGateway]":
    """Return the gateway of a kind, which knows its client."""
    return cast("type[RegistryGateway]", catalog.find("registry", kind))


class RegistryLending:
    """Lends the user's registries to any number of sandboxes. Belongs to one event loop.

    Holds no connection while nothing is lent. Without a folder for its cache, what was fetched is gone with the
    last loan.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        cache_root: Path | None,
        known: Mapping[RegistryKind, RegistrySettings] | None = None,
        ways: Mapping[RegistryKind, Learning] | None = None,
    ) -> None:
        """Make a lender. *known* are settings that need no learning, *ways* replace the usual ways to learn."""
        self._environment = environment
        self._cache_root = cache_root
        self._ways = ways or {}
        self._settings: dict[RegistryKind, RegistrySettings] = dict(known or {})
        self._learning: SharedWork[RegistrySettings] = SharedWork()
        self._opened = OpenWhileUsed(self._open)

    @asynccontextmanager
    async def lend(self, wanted: LendingRules) -> AsyncIterator[RegistrySet]:
        """Yield registries for one sandbox. Raises `UsageError`; `InfrastructureError` for an unknown one."""
        cutoff = cutoff_instant(wanted.exclude_newer) if wanted.exclude_newer else None
        async with AsyncExitStack() as stack:
            gateways: dict[RegistryKind, RegistryGateway] = {}
            for kind in dict.fromkeys(wanted.kinds):
                client = await stack.enter_async_context(self.client(kind))
                refused = wanted.refused.get(kind, ())
                gateway = gateway_of(kind)(client, refused=refused, original=wanted.original, cutoff=cutoff)
                gateways[kind] = await stack.enter_async_context(gateway)
            yield RegistrySet(gateways)

    @overload
    def client(self, kind: Literal["pypi"]) -> "AbstractAsyncContextManager[PyPIClient]": ...
    @overload
    def client(self, kind: RegistryKind) -> AbstractAsyncContextManager[RegistryClient[Any]]: ...
    def client(self, kind: RegistryKind) -> AbstractAsyncContextManager[RegistryClient[Any]]:
        """Yield the client of a registry, which all who use it at a time share. Raises as `lend` does."""
        return self._client(kind)

    @asynccontextmanager
    async def _client(self, kind: RegistryKind) -> AsyncIterator[RegistryClient[Any]]:
        settings = await self.settings(kind)
        async with self._opened.use() as opened:
            yield opened.client(kind, settings)

    async def settings(self, kind: RegistryKind) -> RegistrySettings:
        """Return how the user reaches registries of a kind, learnt once. Raises as `lend` does."""
        if kind not in self._settings:
            learn = self._ways.get(kind) or gateway_of(kind).client.learn
            self._settings[kind] = await self._learning.get(kind, lambda: learn(self._environment))
        return self._settings[kind]

    @asynccontextmanager
    async def _open(self) -> AsyncIterator["_OpenClients"]:
        async with AsyncExitStack() as stack:
            root = self._cache_root
            if root is None:
                root = await stack.enter_async_context(async_scratch_folder("registry"))
            opened = _OpenClients(FetchCache(root))
            stack.push_async_callback(opened.close)
            yield opened


class _OpenClients:
    def __init__(self, cache: FetchCache) -> None:
        self._cache = cache
        self._clients: dict[RegistryKind, RegistryClient[Any]] = {}

    def client(self, kind: RegistryKind, settings: RegistrySettings) -> RegistryClient[Any]:
        if kind not in self._clients:
            self._clients[kind] = gateway_of(kind).client(settings, self._cache)
        return self._clients[kind]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


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

        It also refuses every file that brings a copy of *original*, by whatever name, in whatever archive inside.
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
    """Return a JSON answer."""
    return Response(200, json.dumps(content).encode(), content_type="application/json")
