"""Maven repositories seen from the host: files by path, verified against their checksums, cached.

A released file never changes, so one that was fetched is not asked for again. Lists of versions
(`maven-metadata.xml`) and snapshots are asked for anew after ten minutes; without an answer, older ones count.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from groundup.domain.errors import NetworkError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache
from groundup.registries.client import FRESH_S, MAX_FILE_BYTES, FileFound, RegistryClient
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.maven.settings import maven_settings
from groundup.registries.settings import Index, RegistrySettings
from groundup.registries.shared_work import SharedWork
from groundup.registries.upstream import shown

CHECKSUMS = {"sha1": 40, "sha256": 64, "sha512": 128, "md5": 32}
"""Kinds of checksums beside files, in the order in which a repository is asked for one, with their lengths."""
_KNOWN = "junit/junit/maven-metadata.xml"
"""What any repository of the world's has."""
_PART = re.compile(r"[A-Za-z0-9._+~@=-]{1,200}")
_MAX_PATH = 600


class _Kept(Record):
    sha256: str | None
    """None: the repository has no such file."""
    verified: bool = False
    fetched_at: float

    def is_fresh(self) -> bool:
        """Whether the repository was asked a moment ago."""
        return 0 <= time.time() - self.fetched_at < FRESH_S


class MavenClient(RegistryClient[RegistrySettings]):
    """The user's Maven repositories, which hold files and know no names."""

    called = "the Maven repository"
    noun = "a place"

    def __init__(self, settings: RegistrySettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._places: SharedWork[FileFound | None] = SharedWork()

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> RegistrySettings:
        """Read the user's settings."""
        return maven_settings(environment, None)

    @staticmethod
    def is_name(name: str) -> bool:
        """Whether *name* can be the place of a file: plain parts, no way upwards."""
        return is_place(name)

    @staticmethod
    def _well_known(settings: RegistrySettings) -> Iterable[str]:
        return (f"{index.url}/{_KNOWN}" for index in settings.indexes)

    async def file(self, place: str) -> FileFound:
        """Return the file at *place* from the first repository that has it.

        Raises `UnknownPackageError`, or `NetworkError` when a repository cannot be asked and nothing is kept.
        """
        if not is_place(place):
            raise UnknownPackageError(f"{place[:200]!r} is not the place of a file in a Maven repository")
        for index in self.settings.indexes:
            found = await self._places.get((index.url, place), partial(self._file, index, place))
            if found is not None:
                return found
        raise UnknownPackageError(f"no Maven repository that is configured has {place}")

    async def _file(self, index: Index, place: str) -> FileFound | None:
        key = {"repository": index.url, "place": place}
        kept = self.cache.record("maven-files", key, _Kept)
        url = f"{index.url}/{place}"
        at_hand = self._at_hand(kept.sha256, verified=kept.verified) if kept else None
        is_fresh = kept is not None and kept.is_fresh()
        if kept and (is_fresh or (at_hand and not _changes(place)) or self._upstream.seems_down(url)):
            if kept.sha256 is None:
                return None
            if at_hand is not None:
                return at_hand._replace(stale=not is_fresh and _changes(place))
        try:
            found = await self._checked(url)
        except NetworkError:
            if at_hand is None:
                raise
            return at_hand._replace(stale=True)
        answer = _Kept(
            sha256=found.sha256 if found else None,
            verified=found is not None and found.verified,
            fetched_at=time.time(),
        )
        await asyncio.to_thread(self.cache.keep_record, "maven-files", key, answer)
        return found

    async def _checked(self, url: str) -> FileFound | None:
        found = await self._once(url)
        if isinstance(found, str):  # a list of versions may have changed between it and its checksum
            found = await self._once(url)
        if isinstance(found, str):
            raise NetworkError(
                f"{shown(url)} does not have the {found} checksum that stands beside it; something on the way "
                "changes files: check the mirror or proxy"
            )
        return found

    async def _once(self, url: str) -> FileFound | str | None:
        """Return the file, None when there is none, or the name of the checksum that it does not have."""
        with self.cache.incoming() as incoming:
            incoming.expect(dict.fromkeys(CHECKSUMS, ""))
            if not await self._upstream.download(url, incoming, MAX_FILE_BYTES):
                return None
            digests = incoming.digests()
            kind, expected = await self._checksum(url)
            if kind is not None and digests[kind] != expected:
                return kind
            path = await asyncio.to_thread(incoming.keep)
        return FileFound(path, digests["sha256"], incoming.size, from_cache=False, verified=kind is not None)

    async def _checksum(self, url: str) -> tuple[str | None, str]:
        if url.endswith(".asc"):
            return None, ""
        for kind, length in CHECKSUMS.items():
            answer = await self._upstream.page(f"{url}.{kind}", accept="*/*")
            if answer.status == 200:
                found = re.search(rb"(?<![0-9A-Fa-f])[0-9A-Fa-f]{%d}(?![0-9A-Fa-f])" % length, answer.body[:4096])
                if found:
                    return kind, found[0].decode().lower()
        return None, ""


def is_place(place: str) -> bool:
    """Whether *place* can be that of a file: plain parts, no way upwards."""
    parts = place.split("/")
    plain = all(_PART.fullmatch(part) and part not in (".", "..") for part in parts)
    return plain and 2 <= len(parts) <= 40 and len(place) <= _MAX_PATH


def checksum_of(path: Path, kind: str) -> str:
    """Return the *kind* of checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def is_metadata(place: str) -> bool:
    """Whether *place* is a list of versions."""
    return PurePosixPath(place).name.startswith("maven-metadata")


def _changes(place: str) -> bool:
    """Whether a repository may hold something else at *place* later."""
    return is_metadata(place) or "-SNAPSHOT/" in place
