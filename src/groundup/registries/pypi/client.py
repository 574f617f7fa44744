"""Python package indexes seen from the host: pages and files, verified and cached, and which projects exist."""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import NetworkError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.pypi.pages import (
    ACCEPTED,
    ProjectFile,
    ProjectPage,
    SimplePageError,
    normalised,
    parse_page,
)
from groundup.registries.pypi.settings import ClientConfiguration, Index, client_configuration
from groundup.registries.shared_work import SharedWork
from groundup.registries.upstream import Upstream, shown

_FRESH_S = 600.0
"""How long a page counts without asking its index again."""
NO_DATES = "use another index, or no cut-off (for CI jobs: ci_exclude_newer = 'none')"
MAX_FILE_BYTES = 2 * 1024**3


class PageFound(NamedTuple):
    """A project page and where it came from."""

    page: ProjectPage
    from_cache: bool
    stale: bool = False


class FileFound(NamedTuple):
    """A verified file on disk."""

    path: Path
    sha256: str
    size: int
    from_cache: bool
    verified: bool


class _KeptPage(Record):
    page: ProjectPage
    etag: str | None
    fetched_at: float


class _KeptFile(Record):
    sha256: str


class PyPIRegistry:
    """The user's package indexes behind one cache. Belongs to one event loop; close it at the end."""

    def __init__(self, configuration: ClientConfiguration, cache: FetchCache) -> None:
        self.configuration = configuration
        self.cache = cache
        self._upstream = Upstream(configuration, (f"{index.url}/pip/" for index in configuration.indexes))
        self._pages: SharedWork[PageFound] = SharedWork()
        self._files: SharedWork[FileFound] = SharedWork()

    async def close(self) -> None:
        """Close all connections."""
        await self._upstream.close()

    def silence_s(self) -> float:
        """Return for how long nothing was heard from where packages are."""
        return self._upstream.silence_s()

    async def page(self, name: str, cutoff: datetime | None = None) -> PageFound:
        """Return the page of *name* from the first index that knows it, with files up to *cutoff* only.

        Raises `UnknownPackageError`, or `NetworkError` when an index cannot be asked and nothing older is kept.
        """
        project = normalised(name)
        for index in self.configuration.indexes:
            key = (index.url, project, cutoff)
            try:
                found = await self._pages.get(key, partial(self._page, index, project, cutoff))
            except UnknownPackageError:
                continue
            if cutoff is None:
                return found
            files = tuple(file for file in found.page.files if file.uploaded_by(cutoff))
            if not files and not any(file.upload_time for file in found.page.files):
                raise NetworkError(f"{shown(index.url)} does not say when files were published; {NO_DATES}")
            if not files:
                raise UnknownPackageError(
                    f"the package index has no file of {project} known to be older than {cutoff.isoformat()}"
                )
            return found._replace(page=found.page.model_copy(update={"files": files}))
        raise UnknownPackageError(f"no package index that is configured knows {project!r}")

    async def file(self, file: ProjectFile) -> FileFound:
        """Return *file* on disk, verified against the hashes that its page named. Raises as `page` does."""
        return await self._stored(file.url, file.hashes)

    async def metadata(self, file: ProjectFile) -> FileFound:
        """Return the separate metadata of a wheel. Raises as `page` does."""
        return await self._stored(f"{file.url}.metadata", file.metadata or {})

    async def fetch_file(self, name: str, version: str, sha256: str, filename: str | None = None) -> Path:
        """Return the file of *name* with this hash: a source distribution unless *filename* names another.

        For use on the host. What is in the cache needs no network. Raises as `page` does.
        """
        kept = self.cache.file(sha256)
        if kept is not None:
            if _sha256(kept) == sha256:
                return kept
            self.cache.forget_file(sha256)
        page = (await self.page(name)).page
        of_version = [file for file in page.files if _same_version(file.version, version)]
        wanted = [file for file in of_version if (file.filename == filename if filename else file.is_source)]
        if not wanted:
            what = filename or f"source distribution of version {version}"
            raise UnknownPackageError(f"the package index has no {what} of {name}")
        for file in wanted:
            if file.hashes.get("sha256", sha256) == sha256:
                found = await self._stored(file.url, {"sha256": sha256})
                return found.path
        offered = ", ".join(file.hashes["sha256"] for file in wanted)
        raise UnknownPackageError(
            f"{name} {version} has another hash on the package index: {offered}, not {sha256}"
        )

    # --- pages

    async def _page(self, index: Index, project: str, cutoff: datetime | None) -> PageFound:
        key = {"index": index.url, "project": project}
        kept = await asyncio.to_thread(self.cache.record, "pypi-pages", key, _KeptPage)
        url = f"{index.url}/{project}/"
        if kept and (_is_fresh(kept, cutoff) or self._upstream.seems_down(url)):
            return PageFound(kept.page, from_cache=True, stale=not _is_fresh(kept, cutoff))
        try:
            answer = await self._upstream.page(url, accept=ACCEPTED, etag=kept.etag if kept else None)
            if answer.status == 404:
                raise UnknownPackageError(f"{shown(url)} does not exist")
            if answer.status == 200:
                page = await asyncio.to_thread(parse_page, project, answer.url, answer.content_type, answer.body)
                kept = _KeptPage(page=page, etag=answer.etag, fetched_at=time.time())
            elif kept:
                kept = kept.model_copy(update={"fetched_at": time.time()})
        except SimplePageError as error:
            raise NetworkError(f"{shown(url)}: {error}; check that it is a package index") from error
        except NetworkError:
            if kept is None:
                raise
            return PageFound(kept.page, from_cache=True, stale=True)
        if kept is None:
            raise NetworkError(f"{shown(url)} answers that nothing changed, though nothing was known")
        await asyncio.to_thread(self.cache.keep_record, "pypi-pages", key, kept)
        return PageFound(kept.page, from_cache=answer.status == 304)

    # --- files

    async def _stored(self, url: str, hashes: Mapping[str, str]) -> FileFound:
        sha256 = hashes.get("sha256")
        if sha256 is None:
            alias = self.cache.record("pypi-files", url, _KeptFile)
            sha256 = alias.sha256 if alias else None
        path = self.cache.file(sha256) if sha256 else None
        if path is not None and sha256 is not None:
            return FileFound(path, sha256, path.stat().st_size, from_cache=True, verified=bool(hashes))
        key = (url, tuple(sorted(hashes.items())))
        return await self._files.get(key, lambda: self._downloaded(url, hashes))

    async def _downloaded(self, url: str, hashes: Mapping[str, str]) -> FileFound:
        with self.cache.incoming() as incoming:
            incoming.expect(hashes)
            if not await self._upstream.download(url, incoming, MAX_FILE_BYTES):
                raise UnknownPackageError(f"{shown(url)} is named by the package index and does not exist")
            digests = incoming.digests()
            for algorithm, expected in hashes.items():
                if digests[algorithm] != expected:
                    raise NetworkError(
                        f"{shown(url)} does not have the {algorithm} hash that its index names; "
                        "something on the way changes files: check the mirror or proxy"
                    )
            path = await asyncio.to_thread(incoming.keep)
        if "sha256" not in hashes:
            kept = _KeptFile(sha256=digests["sha256"])
            await asyncio.to_thread(self.cache.keep_record, "pypi-files", url, kept)
        return FileFound(path, digests["sha256"], incoming.size, from_cache=False, verified=bool(hashes))


def _is_fresh(kept: _KeptPage, cutoff: datetime | None) -> bool:
    """Whether nothing new can matter: asked a moment ago, or after the cut-off, beyond which no file counts."""
    if cutoff is not None and datetime.fromtimestamp(kept.fetched_at, UTC) >= cutoff:
        return True
    return 0 <= time.time() - kept.fetched_at < _FRESH_S


def _same_version(found: str | None, wanted: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return found is not None and Version(found) == Version(wanted)
    except InvalidVersion:
        return found == wanted


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def open_index(environment: Mapping[str, str], cache: FetchCache) -> "PyPINames":
    """Return the indexes that uv and pip are configured for. Raises `UsageError`."""
    return PyPINames(PyPIRegistry(await client_configuration(environment), cache))


class PyPINames:
    """Projects and versions by the Simple API. Belongs to one event loop."""

    def __init__(self, registry: PyPIRegistry) -> None:
        self._registry = registry

    async def close(self) -> None:
        """Close all connections."""
        await self._registry.close()

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when it does not exist. Raises `NetworkError`."""
        try:
            page = (await self._registry.page(name)).page
        except (UnknownPackageError, ValueError):  # not even a possible name
            return None
        return tuple(dict.fromkeys(file.version for file in page.files if file.version is not None))
