"""NuGet v3 sources seen from the host: versions and packages, cached, and which packages exist."""

import asyncio
import base64
import binascii
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urljoin

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.nuget.settings import nuget_configuration
from groundup.registries.pypi.client import MAX_FILE_BYTES, FileFound
from groundup.registries.pypi.settings import ClientConfiguration
from groundup.registries.shared_work import SharedWork
from groundup.registries.upstream import Upstream, instant, shown

_FRESH_S = 600.0
_ABSENT = (404, 410)
_FLAT = "PackageBaseAddress/3.0.0"
_REGISTRATIONS = ("RegistrationsBaseUrl/3.6.0", "RegistrationsBaseUrl/3.4.0", "RegistrationsBaseUrl")
"""From the one that knows most: only 3.6.0 has versions of the second kind of numbers."""
_NAME = re.compile(r"\w+([.-]\w+)*")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,200}")
_HASHES = {"SHA512": "sha512", "SHA256": "sha256"}
_PAGES = 200


class NuGetVersion(Record):
    """One version of a package at one source."""

    version: str
    flat: str
    """The source's address of packages."""
    published: datetime | None = None
    leaf: str | None = None
    """Where the source says more, its hash above all."""

    def published_by(self, cutoff: datetime) -> bool:
        """Whether it is known to have been there at *cutoff*."""
        return self.published is not None and self.published <= cutoff


class VersionsFound(NamedTuple):
    """What is known of a package and where it came from."""

    versions: tuple[NuGetVersion, ...]
    from_cache: bool
    stale: bool = False


class _Kept(Record):
    versions: tuple[NuGetVersion, ...] | None
    """None: no source has the package."""
    fetched_at: float


class _KeptSource(Record):
    flat: str
    registrations: str | None


class _KeptPackage(Record):
    sha256: str
    verified: bool


class NuGetRegistry:
    """The user's NuGet sources behind one cache. Belongs to one event loop; close it at the end."""

    def __init__(self, configuration: ClientConfiguration, cache: FetchCache) -> None:
        self.configuration = configuration
        self.cache = cache
        self._upstream = Upstream(configuration, (index.url for index in configuration.indexes))
        self._sources: dict[str, _KeptSource] = {}
        self._versions: SharedWork[VersionsFound] = SharedWork()
        self._files: SharedWork[FileFound] = SharedWork()

    async def close(self) -> None:
        """Close all connections."""
        await self._upstream.close()

    def silence_s(self) -> float:
        """Return for how long nothing was heard from where packages are."""
        return self._upstream.silence_s()

    async def versions(self, name: str, cutoff: datetime | None = None) -> VersionsFound:
        """Return the versions of *name* at all sources, up to *cutoff* only.

        Raises `UnknownPackageError`, or `NetworkError` when a source cannot be asked and nothing older is kept.
        """
        name = name.lower()
        dated = cutoff is not None
        found = await self._versions.get((name, cutoff), partial(self._found, name, cutoff, dated=dated))
        versions = tuple(item for item in found.versions if cutoff is None or item.published_by(cutoff))
        if not versions:
            older = f" known to be older than {cutoff.isoformat()}" if cutoff else ""
            raise UnknownPackageError(f"no NuGet source that is configured has a version of {name}{older}")
        return found._replace(versions=versions)

    async def package(self, name: str, version: str, cutoff: datetime | None = None) -> FileFound:
        """Return a package on disk, verified where its source names a hash. Raises as `versions` does."""
        name, version = name.lower(), version.lower()
        found = (await self.versions(name, cutoff)).versions
        wanted = next((item for item in found if _same(item.version, version)), None)
        if wanted is None:
            raise UnknownPackageError(f"no NuGet source that is configured has version {version} of {name}")
        url = f"{wanted.flat.rstrip('/')}/{name}/{version}/{name}.{version}.nupkg"
        kept = self.cache.record("nuget-packages", url, _KeptPackage)
        path = self.cache.file(kept.sha256) if kept else None
        if kept and path:
            size = path.stat().st_size
            return FileFound(path, kept.sha256, size, from_cache=True, verified=kept.verified)
        return await self._files.get(url, partial(self._downloaded, url, name, wanted))

    # --- versions

    async def _found(self, name: str, cutoff: datetime | None, *, dated: bool) -> VersionsFound:
        sources = [index.url for index in self.configuration.indexes]
        key = {"sources": sources, "name": name, "dated": dated}
        kept = self.cache.record("nuget-versions", key, _Kept)
        if kept and kept.versions and _is_fresh(kept.fetched_at, cutoff):
            return VersionsFound(kept.versions, from_cache=True)
        found: dict[str, NuGetVersion] = {}
        try:
            for source in sources:
                settings = await self._source(source)
                listed = self._dated(settings, name) if dated else self._listed(settings, name)
                for item in await listed:
                    found.setdefault(item.version.lower(), item)
        except NetworkError:
            if kept is None or not kept.versions:
                raise
            return VersionsFound(kept.versions, from_cache=True, stale=True)
        versions = tuple(found.values())
        self.cache.keep_record("nuget-versions", key, _Kept(versions=versions or None, fetched_at=time.time()))
        return VersionsFound(versions, from_cache=False)

    async def _listed(self, source: _KeptSource, name: str) -> list[NuGetVersion]:
        told = await self._json(f"{source.flat.rstrip('/')}/{name}/index.json")
        versions = told.get("versions") if told else []
        leaf = f"{source.registrations.rstrip('/')}/{name}/" if source.registrations else None
        return [
            NuGetVersion(version=item, flat=source.flat, leaf=f"{leaf}{item.lower()}.json" if leaf else None)
            for item in (versions if isinstance(versions, list) else [])
            if isinstance(item, str) and _VERSION.fullmatch(item)
        ]

    async def _dated(self, source: _KeptSource, name: str) -> list[NuGetVersion]:
        if source.registrations is None:
            return []
        told = await self._json(f"{source.registrations.rstrip('/')}/{name}/index.json")
        found = []
        for page in _list(told, "items")[:_PAGES]:
            if not isinstance(page.get("items"), list):
                page = await self._json(str(page.get("@id"))) or {}  # noqa: PLW2901  # the page itself, not its mention
            found += [_dated_version(item, source.flat) for item in _list(page, "items")]
        return [item for item in found if item is not None]

    async def _source(self, url: str) -> _KeptSource:
        """Return where a source has what; asked for once, and kept for when nobody answers."""
        if url in self._sources:
            return self._sources[url]
        kept = self.cache.record("nuget-sources", url, _KeptSource)
        try:
            told = await self._json(url)
        except NetworkError:
            if kept is None:
                raise
            return kept
        types = {str(item.get("@type")): str(item.get("@id")) for item in _list(told, "resources")}
        if _FLAT not in types:
            raise NetworkError(f"{shown(url)} is no NuGet source of version 3")
        registrations = next((types[name] for name in _REGISTRATIONS if name in types), None)
        found = _KeptSource(flat=types[_FLAT], registrations=registrations)
        self.cache.keep_record("nuget-sources", url, found)
        self._sources[url] = found
        return found

    # --- packages

    async def _downloaded(self, url: str, name: str, wanted: NuGetVersion) -> FileFound:
        hashes = await self._hashes(wanted)
        with self.cache.incoming() as incoming:
            incoming.expect(hashes)
            if not await self._upstream.download(url, incoming, MAX_FILE_BYTES):
                raise UnknownPackageError(f"{shown(url)} is named by its source and does not exist")
            digests = incoming.digests()
            for algorithm, expected in hashes.items():
                if digests[algorithm] != expected:
                    raise NetworkError(
                        f"{shown(url)} does not have the {algorithm} hash that its source names; "
                        "something on the way changes files: check the mirror or proxy"
                    )
            path = await asyncio.to_thread(incoming.keep)
        kept = _KeptPackage(sha256=digests["sha256"], verified=bool(hashes))
        self.cache.keep_record("nuget-packages", url, kept)
        return FileFound(path, kept.sha256, incoming.size, from_cache=False, verified=kept.verified)

    async def _hashes(self, wanted: NuGetVersion) -> dict[str, str]:
        """Return the hash that a source names: its registration leads to a catalog entry, which has it."""
        if wanted.leaf is None:
            return {}
        told = await self._json(wanted.leaf)
        entry = (told or {}).get("catalogEntry")
        if isinstance(entry, str):
            entry = await self._json(urljoin(wanted.leaf, entry))
        if not isinstance(entry, dict):
            return {}
        algorithm = _HASHES.get(str(entry.get("packageHashAlgorithm", "")).upper())
        try:
            digest = base64.b64decode(str(entry.get("packageHash", "")), validate=True).hex()
        except binascii.Error:
            return {}
        return {algorithm: digest} if algorithm and digest else {}

    async def _json(self, url: str) -> dict[str, Any] | None:
        """Return a JSON object, None when there is nothing."""
        answer = await self._upstream.page(url, accept="application/json")
        if answer.status != 200:
            if answer.code in _ABSENT:
                return None
            raise NetworkError(f"{shown(url)} answers with HTTP {answer.code}")
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise NetworkError(f"{shown(url)} is no page of a NuGet source of version 3") from error
        if not isinstance(found, dict):
            raise NetworkError(f"{shown(url)} is no page of a NuGet source of version 3")
        return found


def is_name(name: str) -> bool:
    """Whether a package could have this name."""
    return _NAME.fullmatch(name) is not None


def _dated_version(item: Mapping[str, Any], flat: str) -> NuGetVersion | None:
    entry = item.get("catalogEntry")
    if not isinstance(entry, dict) or not isinstance(entry.get("version"), str):
        return None
    version = entry["version"].partition("+")[0]
    if not _VERSION.fullmatch(version):
        return None
    published = instant(entry.get("published"))
    if published is None:
        return None
    hidden = published.year <= 1900  # so are dates of versions written that are listed no longer
    leaf = item.get("@id")
    return NuGetVersion(
        version=version,
        flat=flat,
        published=None if hidden else published,
        leaf=leaf if isinstance(leaf, str) else None,
    )


def _list(told: Mapping[str, Any] | None, key: str) -> list[dict[str, Any]]:
    found = (told or {}).get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _same(one: str, other: str) -> bool:
    return one.lower().partition("+")[0] == other.lower()


def _is_fresh(fetched_at: float, cutoff: datetime | None) -> bool:
    if cutoff is not None and datetime.fromtimestamp(fetched_at, UTC) >= cutoff:
        return True
    return 0 <= time.time() - fetched_at < _FRESH_S


async def open_source(environment: Mapping[str, str], cache: FetchCache) -> "NuGetNames | None":
    """Return the enabled sources; None when dotnet is not there to say."""
    try:
        return NuGetNames(NuGetRegistry(await nuget_configuration(environment), cache))
    except InfrastructureError:
        return None


class NuGetNames:
    """A package exists when one of the sources has it. Belongs to one event loop."""

    def __init__(self, registry: NuGetRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when no source has it. Raises `NetworkError`."""
        if not is_name(name):
            return None
        try:
            found = await self._registry.versions(name)
        except UnknownPackageError:
            return None
        return tuple(item.version for item in found.versions)
