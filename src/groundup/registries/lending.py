"""Lending registries to a sandbox: several kinds with one call, under one task's rules.

    async with builder.registries(LendingRules(kinds=("pypi", "npm"), exclude_newer="2024-06-01")) as lent:
        async with await provider.open(spec) as sandbox:
            variables = await lent.attach(sandbox)
            await sandbox.run(Command(argv=("npm", "ci"), environment=variables))
        lent.fetched, lent.troubles

The gateway of each kind is imported when the kind is lent. The settings of a kind are learnt once
(which may ask the user's client), one client serves all sandboxes at a time, each loan has a gateway of its own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pydantic import Field

from groundup.catalog import Table
from groundup.domain.errors import UsageError
from groundup.domain.languages import RegistryKind
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SharedResource, SingleFlight
from groundup.registries.client import RegistryClient, cutoff_instant
from groundup.registries.gateway import RegistryGateway
from groundup.registries.ledger import Fetched, Trouble
from groundup.registries.settings import RegistrySettings
from groundup.sandbox.protocol import Sandbox
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
        return {kind: gateway.fetched for kind, gateway in self.gateways.items()}

    @property
    def troubles(self) -> dict[RegistryKind, tuple[Trouble, ...]]:
        return {kind: gateway.troubles for kind, gateway in self.gateways.items()}

    def longest_wait_s(self) -> float:
        """Return how long the oldest question has waited for its answer."""
        return max((gateway.longest_wait_s() for gateway in self.gateways.values()), default=0.0)


Learning = Callable[[Mapping[str, str]], Awaitable[RegistrySettings]]
"""Learns from a user's environment how registries of a kind are reached."""


def _pypi() -> type[RegistryGateway]:
    from groundup.registries.pypi.gateway import PyPIGateway

    return PyPIGateway


def _npm() -> type[RegistryGateway]:
    from groundup.registries.npm import NpmGateway

    return NpmGateway


def _crates() -> type[RegistryGateway]:
    from groundup.registries.crates import CratesGateway

    return CratesGateway


def _nuget() -> type[RegistryGateway]:
    from groundup.registries.nuget import NuGetGateway

    return NuGetGateway


def _go() -> type[RegistryGateway]:
    from groundup.registries.goproxy import GoGateway

    return GoGateway


def _maven() -> type[RegistryGateway]:
    from groundup.registries.maven import MavenGateway

    return MavenGateway


REGISTRIES: Table[type[RegistryGateway]] = Table(
    "registry",
    {"pypi": _pypi, "npm": _npm, "crates": _crates, "nuget": _nuget, "maven": _maven, "go": _go},
)


def gateway_of(kind: RegistryKind) -> type[RegistryGateway]:
    return REGISTRIES.find(kind)


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
        self._learning: SingleFlight[RegistrySettings] = SingleFlight()
        self._opened = SharedResource(self._open)

    @asynccontextmanager
    async def lend(self, wanted: LendingRules) -> AsyncIterator[RegistrySet]:
        """Yield registries for one sandbox.

        Raises `UsageError`, and `InfrastructureError` where the registry's own client is not there to say.
        """
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
