"""A sparse index seen from the host: pages and crates, verified and cached, and which crates exist."""

import asyncio
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from pydantic import SecretStr

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache
from groundup.registries.crates.pages import CratePage, CratePageError, CrateVersion, is_name, parse_page, place
from groundup.registries.crates.settings import CargoConfiguration, cargo_configuration
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.pypi.client import MAX_FILE_BYTES, NO_DATES, FileFound
from groundup.registries.pypi.settings import Authorization
from groundup.registries.shared_work import SharedWork
from groundup.registries.upstream import Upstream, UpstreamReply, shown

_FRESH_S = 600.0
_ABSENT = (404, 410, 451)


class CrateFound(NamedTuple):
    """What is known of a crate and where it came from."""

    page: CratePage
    from_cache: bool
    stale: bool = False


class _KeptPage(Record):
    page: CratePage
    etag: str | None
    fetched_at: float


class _KeptIndex(Record):
    download: str
    token_needed: bool


class CratesRegistry:
    """The user's sparse index behind one cache. Belongs to one event loop; close it at the end."""

    def __init__(self, configuration: CargoConfiguration, cache: FetchCache) -> None:
        self.configuration = configuration
        self.cache = cache
        self._upstream = Upstream(configuration.client, (f"{configuration.index}/config.json",))
        self._pages: SharedWork[CrateFound] = SharedWork()
        self._files: SharedWork[FileFound] = SharedWork()
        self._asking: SharedWork[_KeptIndex] = SharedWork()
        self._index: _KeptIndex | None = None

    async def close(self) -> None:
        """Close all connections."""
        await self._upstream.close()

    def silence_s(self) -> float:
        """Return for how long nothing was heard from where packages are."""
        return self._upstream.silence_s()

    async def page(self, name: str, cutoff: datetime | None = None) -> CrateFound:
        """Return the page of *name*, with versions up to *cutoff* only.

        Raises `UnknownPackageError`, or `NetworkError` when nobody can be asked and nothing older is kept.
        """
        found = await self._pages.get((name.lower(), cutoff), partial(self._page, name.lower(), cutoff))
        page = found.page.by(cutoff)
        if cutoff is not None and not any(version.published for version in found.page.versions):
            raise NetworkError(f"{self.configuration.index} does not say when crates were published; {NO_DATES}")
        if cutoff is not None and not page.versions:
            raise UnknownPackageError(
                f"the crate index has no version of {name} known to be older than {cutoff.isoformat()}"
            )
        return found._replace(page=page)

    async def crate(
        self, name: str, version: str, cutoff: datetime | None = None
    ) -> tuple[CrateVersion, FileFound]:
        """Return a crate on disk, verified against the hash in the index. Raises as `page` does."""
        page = (await self.page(name, cutoff)).page
        wanted = next((found for found in page.versions if found.version == version), None)
        if wanted is None:
            raise UnknownPackageError(f"the crate index has no version {version} of {name}")
        path = self.cache.file(wanted.sha256)
        if path is not None:
            size = path.stat().st_size
            return wanted, FileFound(path, wanted.sha256, size, from_cache=True, verified=True)
        return wanted, await self._files.get(wanted.sha256, partial(self._downloaded, wanted))

    async def _page(self, name: str, cutoff: datetime | None) -> CrateFound:
        base = self.configuration.index
        key = {"index": base, "name": name}
        kept = self.cache.record("crate-pages", key, _KeptPage)
        url = f"{base}/{place(name)}"
        if kept and (_is_fresh(kept, cutoff) or self._upstream.seems_down(url)):
            return CrateFound(kept.page, from_cache=True, stale=not _is_fresh(kept, cutoff))
        try:
            await self._index_settings()
            answer = await self._upstream.page(url, accept="text/plain, */*", etag=kept.etag if kept else None)
            _check_found(answer, name)
            if answer.status == 200:
                kept = _KeptPage(page=parse_page(answer.body), etag=answer.etag, fetched_at=time.time())
            elif kept:
                kept = kept.model_copy(update={"fetched_at": time.time()})
        except CratePageError as error:
            raise NetworkError(f"{shown(url)}: {error}; check that it is a sparse index") from error
        except NetworkError:
            if kept is None:
                raise
            return CrateFound(kept.page, from_cache=True, stale=True)
        if kept is None:
            raise NetworkError(f"{shown(url)} answers that nothing changed, though nothing was known")
        await asyncio.to_thread(self.cache.keep_record, "crate-pages", key, kept)
        return CrateFound(kept.page, from_cache=answer.status == 304)

    async def _downloaded(self, wanted: CrateVersion) -> FileFound:
        settings = await self._index_settings()
        url = _address(settings.download, wanted)
        with self.cache.incoming() as incoming:
            if not await self._upstream.download(url, incoming, MAX_FILE_BYTES):
                raise UnknownPackageError(f"{shown(url)} is named by the crate index and does not exist")
            if incoming.digests()["sha256"] != wanted.sha256:
                raise NetworkError(
                    f"{shown(url)} does not have the sha256 hash that its index names; "
                    "something on the way changes files: check the mirror or proxy"
                )
            path = await asyncio.to_thread(incoming.keep)
        return FileFound(path, wanted.sha256, incoming.size, from_cache=False, verified=True)

    async def _index_settings(self) -> _KeptIndex:
        """Return what the index says of itself; asked for once."""
        if self._index is None:
            self._index = await self._asking.get("", self._ask_index)
            token = self.configuration.token
            if self._index.token_needed and token is not None:
                self._upstream.authorize(*self._places(token, self._index.download))
        return self._index

    async def _ask_index(self) -> _KeptIndex:
        base = self.configuration.index
        url = f"{base}/config.json"
        kept = self.cache.record("crate-indexes", base, _KeptIndex)
        try:
            found = _parse_index(await self._upstream.page(url, accept="application/json"))
        except NetworkError:
            if kept is None:
                raise
            return kept
        self.cache.keep_record("crate-indexes", base, found)
        return found

    def _places(self, token: SecretStr, download: str) -> tuple[Authorization, ...]:
        """Return where a token goes: to the index, and to where it keeps its crates."""
        places = {_place_of(self.configuration.index), _place_of(download.partition("{")[0])}
        return tuple(Authorization(place=found, header=token) for found in sorted(places))


def _check_found(answer: UpstreamReply, name: str) -> None:
    if answer.status != 404:
        return
    if answer.code in _ABSENT:
        raise UnknownPackageError(f"the crate index that is configured does not know {name!r}")
    raise NetworkError(f"{shown(answer.url)} answers with HTTP {answer.code}")


def _parse_index(answer: UpstreamReply) -> _KeptIndex:
    try:
        told = json.loads(answer.body)
        return _KeptIndex(download=str(told["dl"]), token_needed=bool(told.get("auth-required")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        where = shown(answer.url)
        raise NetworkError(f"{where} does not say where crates are; check that it is a sparse index") from error


def _address(template: str, wanted: CrateVersion) -> str:
    """Return where a crate is, from what an index says."""
    if "{" not in template:
        return f"{template.rstrip('/')}/{wanted.name}/{wanted.version}/download"
    prefix = place(wanted.name).rpartition("/")[0]
    cased = f"{wanted.name[:2]}/{wanted.name[2:4]}" if len(wanted.name) > 3 else prefix
    return (
        template.replace("{crate}", wanted.name)
        .replace("{version}", wanted.version)
        .replace("{prefix}", cased)
        .replace("{lowerprefix}", prefix)
        .replace("{sha256-checksum}", wanted.sha256)
    )


def _place_of(url: str) -> str:
    return url.partition(":")[2].rstrip("/")


def _is_fresh(kept: _KeptPage, cutoff: datetime | None) -> bool:
    """Whether nothing new can matter: asked a moment ago, or after the cut-off."""
    if cutoff is not None and datetime.fromtimestamp(kept.fetched_at, UTC) >= cutoff:
        return True
    return 0 <= time.time() - kept.fetched_at < _FRESH_S


async def open_index(environment: Mapping[str, str], cache: FetchCache) -> "CrateNames | None":
    """Return the index that Cargo is configured for; None when Cargo does not say, or has a Git index."""
    try:
        return CrateNames(CratesRegistry(await cargo_configuration(environment), cache))
    except InfrastructureError:
        return None


class CrateNames:
    """Crates and their versions. Belongs to one event loop."""

    def __init__(self, registry: CratesRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name* but yanked ones, None when it does not exist. Raises `NetworkError`."""
        if not is_name(name):
            return None
        try:
            page = (await self._registry.page(name)).page
        except UnknownPackageError:
            return None
        if not any(found.name == name for found in page.versions):
            return None
        return tuple(found.version for found in page.versions if found.name == name and not found.yanked)
