"""Which packages exist: asked of the users' own registries, or of a file that was made from them.

`Names` is the interface. What cannot be asked is not known, which is never the same as not existing.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol, get_args

from pydantic import Field, ValidationError

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError, NetworkError, UsageError
from groundup.domain.records import Record, plainly
from groundup.languages import LANGUAGES
from groundup.registries.cache import FetchCache
from groundup.trees.walking import LARGE, read_regular

Ecosystem = Literal["pypi", "npm", "crates", "nuget"]
ECOSYSTEMS: tuple[Ecosystem, ...] = get_args(Ecosystem)
_OF_LANGUAGE = {
    language: kind for language, record in LANGUAGES.items() for kind in ECOSYSTEMS if kind == record.registry
}
_FRESH_S = 24 * 3600.0
_DOWN_S = 60.0
_PER_SECOND = 10.0
_AT_ONCE = 8


class Listing(Record):
    """What a registry says of a name."""

    ecosystem: Ecosystem
    name: str = Field(description="as it was asked for")
    exists: bool
    versions: tuple[str, ...] = Field(default=(), description="all that can be installed, in no order")
    fetched_at: datetime


def ecosystem_of(language: str) -> Ecosystem:
    return _OF_LANGUAGE[language]


class NameLookup(Protocol):
    """One sitting, with open connections."""

    async def look_up(self, ecosystem: Ecosystem, name: str) -> Listing | None:
        """Return what is known of *name*; None when no registry can be asked."""
        ...


class Names(Protocol):
    """What knows which packages exist."""

    def identity(self) -> Mapping[str, str]:
        """Return what decides the answers, for pinning."""
        ...

    def asking(self) -> AbstractAsyncContextManager[NameLookup]:
        """Return a context in which to ask; connections are closed at its end."""
        ...


class Lookup(Protocol):
    """One registry's way of being asked."""

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when it does not exist. Raises `NetworkError`."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class Snapshot:
    """Answers from a file; what is not in it is not known."""

    def __init__(self, path: Path) -> None:
        self._listings = {(item.ecosystem, item.name): item for item in read_snapshot(path)}
        self._digest = digest_of(sorted((item for item in self._listings.values()), key=lambda item: item.name))

    def identity(self) -> Mapping[str, str]:
        return {"registry": f"snapshot {self._digest}"}

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[NameLookup]:
        yield self

    async def look_up(self, ecosystem: Ecosystem, name: str) -> Listing | None:
        return self._listings.get((ecosystem, name))


class NoNames:
    """Knows nothing."""

    def identity(self) -> Mapping[str, str]:
        return {"registry": "none"}

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[NameLookup]:
        yield self

    async def look_up(self, ecosystem: Ecosystem, name: str) -> Listing | None:
        return None


class Live:
    """Answers from the registries that the users' own clients are configured for, kept for a day."""

    def __init__(self, cache: FetchCache, environment: Mapping[str, str]) -> None:
        self._cache = cache
        self._environment = environment
        self._down: dict[Ecosystem, float] = {}
        self._next = 0.0

    def identity(self) -> Mapping[str, str]:
        """Return that registries are asked; their answers change without notice."""
        return {"registry": "live"}

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[NameLookup]:
        """Yield a sitting, whose connections are closed afterwards."""
        sitting = _Sitting(self)
        try:
            yield sitting
        finally:
            await sitting.close()

    def is_down(self, ecosystem: Ecosystem) -> bool:
        """Whether a registry could not be asked a moment ago."""
        return time.monotonic() < self._down.get(ecosystem, 0.0)

    def went_down(self, ecosystem: Ecosystem) -> None:
        """Note that a registry cannot be asked."""
        self._down[ecosystem] = time.monotonic() + _DOWN_S

    async def pace(self) -> None:
        """Wait until another question may be asked."""
        now = time.monotonic()
        self._next = max(self._next + 1 / _PER_SECOND, now)
        await asyncio.sleep(self._next - now)

    def kept(self, ecosystem: Ecosystem, name: str) -> Listing | None:
        return self._cache.record("package-names", [ecosystem, name], Listing)

    def keep(self, listing: Listing) -> None:
        self._cache.keep_record("package-names", [listing.ecosystem, listing.name], listing)

    async def open(self, ecosystem: Ecosystem) -> Lookup | None:
        """Return the way to a registry; None when its client does not say where it is."""
        from groundup.registries.lending import gateway_of

        client = gateway_of(ecosystem).client
        try:
            return client(await client.learn(self._environment), self._cache)
        except InfrastructureError:
            return None


class _Sitting:
    def __init__(self, live: Live) -> None:
        self._live = live
        self._ways: dict[Ecosystem, Lookup | None] = {}
        self._opening = asyncio.Lock()
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def close(self) -> None:
        for way in self._ways.values():
            if way is not None:
                await way.close()

    async def look_up(self, ecosystem: Ecosystem, name: str) -> Listing | None:
        # Nothing is called by half a pair of surrogates, and no address can hold it.
        if (text := name.encode(errors="replace").decode()) != name:
            return Listing(ecosystem=ecosystem, name=text, exists=False, fetched_at=datetime.now(UTC))
        kept = self._live.kept(ecosystem, name)
        if kept is not None and (datetime.now(UTC) - kept.fetched_at).total_seconds() < _FRESH_S:
            return kept
        if self._live.is_down(ecosystem):
            return kept
        try:
            async with self._at_once:
                way = await self._way(ecosystem)
                if way is None:
                    return kept
                await self._live.pace()
                versions = await way.look_up(name)
        except (NetworkError, InfrastructureError, UsageError):
            self._live.went_down(ecosystem)
            return kept
        listing = Listing(
            ecosystem=ecosystem,
            name=name,
            exists=versions is not None,
            versions=versions or (),
            fetched_at=datetime.now(UTC),
        )
        self._live.keep(listing)
        return listing

    async def _way(self, ecosystem: Ecosystem) -> Lookup | None:
        async with self._opening:
            if ecosystem not in self._ways:
                self._ways[ecosystem] = await self._live.open(ecosystem)
            return self._ways[ecosystem]


def names_of(choice: str, cache_dir: Path, environment: Mapping[str, str]) -> "Live | NoNames | Snapshot":
    """Return who is asked by the setting `registry`. Raises `UsageError`."""
    if choice == "live":
        return Live(FetchCache(cache_dir / "registry"), environment)
    return NoNames() if choice == "none" else Snapshot(Path(choice))


def read_snapshot(path: Path) -> list[Listing]:
    """Read the lines of a snapshot. Raises `UsageError` naming the line and field."""
    try:
        lines = read_regular(path, LARGE).splitlines()
    except OSError as error:
        raise UsageError(
            f"{path}: the registry snapshot cannot be read: {error.strerror}; make one with "
            "`groundup registry snapshot`, or set registry to live or none"
        ) from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(Listing.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(f"{path}, line {number}: {field}: {plainly(first)}") from error
    return found


def snapshot_lines(listings: Iterable[Listing]) -> bytes:
    ordered = sorted(listings, key=lambda item: (item.ecosystem, item.name))
    return b"".join(json.dumps(item.model_dump(mode="json")).encode() + b"\n" for item in ordered)
