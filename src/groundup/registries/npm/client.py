"""npm registries seen from the host: packuments and tarballs, verified and cached, and which packages exist."""

import asyncio
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Literal, NamedTuple
from urllib.parse import quote

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.npm.pages import (
    BRIEF_TYPE,
    NpmRelease,
    Packument,
    PackumentError,
    is_name,
    parse_packument,
    parse_release,
    version_of,
)
from groundup.registries.npm.settings import NpmConfiguration, npm_configuration
from groundup.registries.pypi.client import MAX_FILE_BYTES, FileFound
from groundup.registries.shared_work import SharedWork
from groundup.registries.upstream import Upstream, UpstreamReply, shown

Detail = Literal["brief", "dated", "whole"]
"""What an installer needs, the same with the times of all versions, or everything."""
_FRESH_S = 600.0
_ABSENT = (404, 405, 410, 451)
_PACKUMENT_BYTES = 256 * 1024 * 1024


class PackumentFound(NamedTuple):
    """What is known of a package and where it came from."""

    packument: Packument
    from_cache: bool
    stale: bool = False


class TarballFound(NamedTuple):
    """A verified tarball on disk."""

    release: NpmRelease
    file: FileFound


class _KeptPackument(Record):
    packument: Packument
    etag: str | None
    full: bool
    """Whether the registry was asked for everything, or gave everything unasked."""
    fetched_at: float


class _KeptTarball(Record):
    release: NpmRelease
    sha256: str


class NpmRegistry:
    """The user's npm registries behind one cache. Belongs to one event loop; close it at the end."""

    def __init__(self, configuration: NpmConfiguration, cache: FetchCache) -> None:
        self.configuration = configuration
        self.cache = cache
        self._upstream = Upstream(
            configuration.client, (f"{address}/npm/latest" for address in configuration.registries.values())
        )
        self._packuments: SharedWork[PackumentFound] = SharedWork()
        self._tarballs: SharedWork[TarballFound] = SharedWork()

    async def close(self) -> None:
        """Close all connections."""
        await self._upstream.close()

    def silence_s(self) -> float:
        """Return for how long nothing was heard from where packages are."""
        return self._upstream.silence_s()

    async def packument(self, name: str, detail: Detail, cutoff: datetime | None = None) -> PackumentFound:
        """Return what is known of *name*. What was known at *cutoff* is enough then, and is not asked for again.

        Raises `UnknownPackageError`, or `NetworkError` when nobody can be asked and nothing older is kept.
        """
        if cutoff is not None and detail == "brief":
            detail = "dated"
        key = (name, detail, cutoff)
        return await self._packuments.get(key, partial(self._packument, name, detail, cutoff))

    async def tarball(self, name: str, filename: str, cutoff: datetime | None = None) -> TarballFound:
        """Return a tarball on disk, verified against what its registry says of it. Raises as `packument` does."""
        kept = self.cache.record("npm-tarballs", self._tarball_key(name, filename), _KeptTarball)
        path = self.cache.file(kept.sha256) if kept else None
        if kept and path and (cutoff is None or kept.release.published_by(cutoff)):
            verified = bool(kept.release.hashes)
            found = FileFound(path, kept.sha256, path.stat().st_size, from_cache=True, verified=verified)
            return TarballFound(kept.release, found)
        key = (name, filename, cutoff is None)
        found_now = await self._tarballs.get(key, partial(self._tarball, name, filename, cutoff))
        if cutoff is not None and not found_now.release.published_by(cutoff):
            raise UnknownPackageError(f"{filename} of {name} is not known to be older than {cutoff.isoformat()}")
        return found_now

    # --- packuments

    async def _packument(self, name: str, detail: Detail, cutoff: datetime | None) -> PackumentFound:
        base = self.configuration.registry_of(name)
        url = f"{base}/{quote(name, safe='@')}"
        kept = await self._kept(name, "whole" if detail == "whole" else "brief")
        if detail == "dated" and kept and not kept.packument.dated:
            kept = None
        if kept and (_is_fresh(kept, cutoff) or self._upstream.seems_down(url)):
            return PackumentFound(kept.packument, from_cache=True, stale=not _is_fresh(kept, cutoff))
        full = detail != "brief" or (kept is not None and kept.full)
        accept = "application/json" if full else f"{BRIEF_TYPE}; q=1.0, application/json; q=0.8"
        try:
            etag = kept.etag if kept else None
            answer = await self._upstream.page(url, accept=accept, etag=etag, max_bytes=_PACKUMENT_BYTES)
            _check_found(answer, name)
        except NetworkError:
            kept = kept or await self._kept(name, "brief")
            if kept is None or (detail == "dated" and not kept.packument.dated):
                raise
            return PackumentFound(kept.packument, from_cache=True, stale=True)
        if answer.status == 304 and kept is None:
            raise NetworkError(f"{shown(url)} answers that nothing changed, though nothing was known")
        if answer.status == 304 and kept is not None:
            await self._keep(
                name, "whole" if detail == "whole" else "brief", kept.packument, kept.etag, full=kept.full
            )
            return PackumentFound(kept.packument, from_cache=True)
        return PackumentFound(await self._learnt(name, detail, answer), from_cache=False)

    async def _learnt(self, name: str, detail: Detail, answer: UpstreamReply) -> Packument:
        """Keep what a registry answered: in brief, and as it is when it is everything."""
        full = BRIEF_TYPE not in answer.content_type
        found: dict[Detail, Packument] = {}
        kept: tuple[Literal["brief", "whole"], ...] = ("brief", "whole") if full else ("brief",)
        try:
            for kind in kept:
                whole = kind == "whole"
                found[kind] = await asyncio.to_thread(parse_packument, name, answer.url, answer.body, whole=whole)
                await self._keep(name, kind, found[kind], answer.etag, full=full)
        except PackumentError as error:
            raise NetworkError(f"{shown(answer.url)}: {error}; check that it is an npm registry") from error
        return found["whole"] if detail == "whole" and full else found["brief"]

    async def _kept(self, name: str, kind: Literal["brief", "whole"]) -> _KeptPackument | None:
        key = self._packument_key(name, kind)
        return await asyncio.to_thread(self.cache.record, "npm-packuments", key, _KeptPackument)

    async def _keep(
        self, name: str, kind: Literal["brief", "whole"], packument: Packument, etag: str | None, *, full: bool
    ) -> None:
        record = _KeptPackument(packument=packument, etag=etag, full=full, fetched_at=time.time())
        key = self._packument_key(name, kind)
        await asyncio.to_thread(self.cache.keep_record, "npm-packuments", key, record)

    def _packument_key(self, name: str, kind: str) -> dict[str, str]:
        return {"registry": self.configuration.registry_of(name), "name": name, "detail": kind}

    # --- tarballs

    async def _tarball(self, name: str, filename: str, cutoff: datetime | None) -> TarballFound:
        release = await self._release(name, filename, cutoff)
        if cutoff is not None and not release.published_by(cutoff):
            raise UnknownPackageError(f"{filename} of {name} is not known to be older than {cutoff.isoformat()}")
        with self.cache.incoming() as incoming:
            incoming.expect(release.hashes)
            if not await self._upstream.download(release.url, incoming, MAX_FILE_BYTES):
                raise UnknownPackageError(f"{shown(release.url)} is named by the npm registry and does not exist")
            digests = incoming.digests()
            for algorithm, expected in release.hashes.items():
                if digests[algorithm] != expected:
                    raise NetworkError(
                        f"{shown(release.url)} does not have the {algorithm} hash that its registry names; "
                        "something on the way changes files: check the mirror or proxy"
                    )
            path = await asyncio.to_thread(incoming.keep)
        sha256 = digests["sha256"]
        kept = _KeptTarball(release=release, sha256=sha256)
        key = self._tarball_key(name, filename)
        await asyncio.to_thread(self.cache.keep_record, "npm-tarballs", key, kept)
        verified = bool(release.hashes)
        return TarballFound(release, FileFound(path, sha256, incoming.size, from_cache=False, verified=verified))

    async def _release(self, name: str, filename: str, cutoff: datetime | None) -> NpmRelease:
        """Return what the registry says of a tarball: of its version alone where that is enough."""
        if cutoff is None:
            release = await self._release_alone(name, filename)
            if release is not None:
                return release
        found = await self.packument(name, "brief", cutoff)
        release = found.packument.releases.get(filename)
        if release is None:
            raise UnknownPackageError(f"the npm registry has no {filename} of {name}")
        return release

    async def _release_alone(self, name: str, filename: str) -> NpmRelease | None:
        """Return a tarball of a lock file, whose package nobody asked about: its packument may be huge."""
        base = self.configuration.registry_of(name)
        kept = await self._kept(name, "brief")
        if kept and filename in kept.packument.releases:
            return kept.packument.releases[filename]
        version = version_of(name, filename)
        if version is None:
            return None
        url = f"{base}/{quote(name, safe='@')}/{quote(version, safe='')}"
        answer = await self._upstream.page(url, accept="application/json")
        if answer.status != 200:
            return None
        try:
            return parse_release(name, filename, answer.url, answer.body)
        except PackumentError:
            return None

    def _tarball_key(self, name: str, filename: str) -> dict[str, str]:
        return {"registry": self.configuration.registry_of(name), "name": name, "file": filename}


def _check_found(answer: UpstreamReply, name: str) -> None:
    if answer.status != 404:
        return
    if answer.code in _ABSENT:
        raise UnknownPackageError(f"the npm registry that is configured does not know {name!r}")
    raise NetworkError(f"{shown(answer.url)} answers with HTTP {answer.code}")


def _is_fresh(kept: _KeptPackument, cutoff: datetime | None) -> bool:
    """Whether nothing new can matter: asked a moment ago, or after the cut-off."""
    if cutoff is not None and datetime.fromtimestamp(kept.fetched_at, UTC) >= cutoff:
        return True
    return 0 <= time.time() - kept.fetched_at < _FRESH_S


async def open_registry(environment: Mapping[str, str], cache: FetchCache) -> "NpmNames | None":
    """Return the registries that npm is configured for; None when npm is not there to say."""
    try:
        return NpmNames(NpmRegistry(await npm_configuration(environment), cache))
    except InfrastructureError:
        return None


class NpmNames:
    """Packages and their versions. Belongs to one event loop."""

    def __init__(self, registry: NpmRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when it does not exist. Raises `NetworkError`."""
        if not is_name(name):
            return None
        try:
            found = await self._registry.packument(name, "brief")
        except UnknownPackageError:
            return None
        return tuple(json.loads(found.packument.document)["versions"])
