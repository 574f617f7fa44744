"""Lending registries to a sandbox: several kinds with one call, under one task's rules.

    async with builder.registries(Wanted(kinds=("pypi", "npm"), exclude_newer="2024-06-01")) as lent:
        async with await provider.open(spec) as sandbox:
            variables = await lent.attach(sandbox)
            await sandbox.run(Command(argv=("npm", "ci"), environment=variables))
        lent.fetched, lent.troubles

The kinds are in `_WAYS`. A kind's way is configured once (which may ask the user's client), opened once for all
sandboxes at a time, and gets a gateway for each loan.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from pydantic import Field

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache
from groundup.registries.crates.client import CratesRegistry
from groundup.registries.crates.gateway import CratesGateway
from groundup.registries.crates.settings import CargoConfiguration, cargo_configuration
from groundup.registries.gateway import RegistryGateway
from groundup.registries.ledger import Fetched, Trouble
from groundup.registries.maven.client import MavenRegistry
from groundup.registries.maven.gateway import MavenGateway
from groundup.registries.maven.settings import maven_configuration
from groundup.registries.npm.client import NpmRegistry
from groundup.registries.npm.gateway import NpmGateway
from groundup.registries.npm.pages import relocated
from groundup.registries.npm.settings import NpmConfiguration, npm_configuration
from groundup.registries.nuget.client import NuGetRegistry
from groundup.registries.nuget.gateway import NuGetGateway
from groundup.registries.nuget.settings import nuget_configuration
from groundup.registries.pypi.client import PyPIRegistry
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.registries.pypi.pages import cutoff_instant
from groundup.registries.pypi.settings import ClientConfiguration, client_configuration
from groundup.sandbox.protocol import Sandbox
from groundup.trees.removal import remove_tree

RegistryKind = Literal["pypi", "npm", "crates", "nuget", "maven"]


class LendingRules(Record):
    """Which registries a sandbox may reach, and by which rules."""

    kinds: tuple[RegistryKind, ...]
    refused: dict[RegistryKind, tuple[str, ...]] = Field(
        default={}, description="names that nobody inside gets, whatever their spelling"
    )
    exclude_newer: str | None = Field(
        default=None,
        description="a date (to its end in UTC) or a time; what is newer does not exist, but for Maven's "
        "repositories, which do not say when they got something",
    )


class RegistrySet:
    """Registries lent to one sandbox. What is said of them is kept after its end."""

    def __init__(self, gateways: Mapping[RegistryKind, RegistryGateway]) -> None:
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
            for path, text in supplies.files.items():
                try:
                    await sandbox.write_file(path, text.encode())
                except PermissionError as error:
                    raise UsageError(
                        f"clients of {kind} need a home of their own, which this sandbox does not have ({error}); "
                        "use a sandbox that isolates, such as bubblewrap"
                    ) from error
        return variables

    async def relocate(self, sandbox: Sandbox, path: str) -> bool:
        """Rewrite a yarn.lock inside that names a registry's tarballs, so that Yarn 1 asks the gateway for them.

        Returns whether anything was rewritten; hashes stay. Other clients need no such thing. Raises
        `FileNotFoundError` and `ValueError` as `Sandbox.read_file` does.
        """
        address = self._addresses.get("npm")
        if address is None:
            return False
        found = await sandbox.read_file(path)
        changed = relocated(found.decode("utf-8", errors="surrogateescape"), address)
        content = changed.encode("utf-8", errors="surrogateescape")
        if content == found:
            return False
        await sandbox.write_file(path, content)
        return True

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


@dataclass(frozen=True)
class Opened:
    """A registry as the host sees it; connections are made when it is first asked."""

    gateway: Callable[[tuple[str, ...], datetime | None], RegistryGateway]
    """Makes a gateway for one sandbox from refused names and a cut-off."""
    close: Callable[[], Awaitable[None]]


Opening = Callable[[FetchCache], Opened]
"""Opens a registry whose addresses are known."""


class _Registry(Protocol):
    async def close(self) -> None: ...


R = TypeVar("R", bound=_Registry)


def _opening(
    registry: Callable[[FetchCache], R],
    gateway: Callable[[R, tuple[str, ...], datetime | None], RegistryGateway],
) -> Opening:
    def opening(cache: FetchCache) -> Opened:
        opened = registry(cache)
        return Opened(gateway=lambda refused, cutoff: gateway(opened, refused, cutoff), close=opened.close)

    return opening


def pypi_opening(configuration: ClientConfiguration) -> Opening:
    """Return how to open these package indexes."""
    return _opening(
        lambda cache: PyPIRegistry(configuration, cache),
        lambda registry, refused, cutoff: PyPIGateway(registry, refused=refused, cutoff=cutoff),
    )


def npm_opening(configuration: NpmConfiguration) -> Opening:
    """Return how to open these npm registries."""
    return _opening(
        lambda cache: NpmRegistry(configuration, cache),
        lambda registry, refused, cutoff: NpmGateway(registry, refused=refused, cutoff=cutoff),
    )


def crates_opening(configuration: CargoConfiguration) -> Opening:
    """Return how to open this index of crates."""
    return _opening(
        lambda cache: CratesRegistry(configuration, cache),
        lambda registry, refused, cutoff: CratesGateway(registry, refused=refused, cutoff=cutoff),
    )


def nuget_opening(configuration: ClientConfiguration) -> Opening:
    """Return how to open these NuGet sources."""
    return _opening(
        lambda cache: NuGetRegistry(configuration, cache),
        lambda registry, refused, cutoff: NuGetGateway(registry, refused=refused, cutoff=cutoff),
    )


def maven_opening(configuration: ClientConfiguration) -> Opening:
    """Return how to open these Maven repositories, which know neither refusals nor cut-offs."""

    def gateway(registry: MavenRegistry, refused: tuple[str, ...], cutoff: datetime | None) -> RegistryGateway:
        if refused:
            raise UsageError("a Maven repository is lent without refusals; leave them out")
        return MavenGateway(registry)

    return _opening(lambda cache: MavenRegistry(configuration, cache), gateway)


async def _pypi(environment: Mapping[str, str]) -> Opening:
    return pypi_opening(await client_configuration(environment))


async def _npm(environment: Mapping[str, str]) -> Opening:
    return npm_opening(await npm_configuration(environment))


async def _crates(environment: Mapping[str, str]) -> Opening:
    return crates_opening(await cargo_configuration(environment))


async def _nuget(environment: Mapping[str, str]) -> Opening:
    return nuget_opening(await nuget_configuration(environment))


async def _maven(environment: Mapping[str, str]) -> Opening:
    return maven_opening(maven_configuration(environment, None))


Learning = Callable[[Mapping[str, str]], Awaitable[Opening]]
"""Learns from a user's environment how a kind of registry is opened."""

_WAYS: Mapping[RegistryKind, Learning] = {
    "pypi": _pypi,
    "npm": _npm,
    "crates": _crates,
    "nuget": _nuget,
    "maven": _maven,
}


class RegistryLending:
    """Lends the user's registries to any number of sandboxes. Belongs to one event loop.

    Holds no connection while nothing is lent. Without a folder for its cache, what was fetched is gone with the
    last loan.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        cache_root: Path | None,
        known: Mapping[RegistryKind, Opening] | None = None,
        ways: Mapping[RegistryKind, Learning] | None = None,
    ) -> None:
        """Make a lender. *known* are registries that need no learning of, *ways* are instead of the usual ones."""
        self._environment = environment
        self._cache_root = cache_root
        self._ways = {**_WAYS, **(ways or {})}
        self._openings: dict[RegistryKind, Opening] = dict(known or {})
        self._configuring = asyncio.Lock()
        self._open: dict[RegistryKind, Opened] = {}
        self._loans = 0
        self._temporary: Path | None = None

    @asynccontextmanager
    async def lend(self, wanted: LendingRules) -> AsyncIterator[RegistrySet]:
        """Yield registries for one sandbox. Raises `UsageError`; `InfrastructureError` for an unknown one."""
        cutoff = cutoff_instant(wanted.exclude_newer) if wanted.exclude_newer else None
        self._loans += 1
        try:
            async with AsyncExitStack() as stack:
                gateways: dict[RegistryKind, RegistryGateway] = {}
                for kind in dict.fromkeys(wanted.kinds):
                    opened = await self._opened(kind)
                    gateway = opened.gateway(wanted.refused.get(kind, ()), cutoff)
                    gateways[kind] = await stack.enter_async_context(gateway)
                yield RegistrySet(gateways)
        finally:
            self._loans -= 1
            if self._loans == 0:
                await self._close()

    async def _opened(self, kind: RegistryKind) -> Opened:
        async with self._configuring:
            if kind not in self._openings:
                self._openings[kind] = await self._ways[kind](self._environment)
            if kind not in self._open:
                self._open[kind] = self._openings[kind](self._cache())
            return self._open[kind]

    def _cache(self) -> FetchCache:
        if self._cache_root is not None:
            return FetchCache(self._cache_root)
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="groundup-registry-"))
        return FetchCache(self._temporary)

    async def _close(self) -> None:
        opened, self._open = list(self._open.values()), {}
        temporary, self._temporary = self._temporary, None
        for registry in opened:
            await registry.close()
        if temporary is not None:
            await asyncio.to_thread(remove_tree, temporary)
