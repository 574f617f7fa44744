"""npm registries seen from the host: packuments and tarballs."""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Literal, NamedTuple
from urllib.parse import quote

from pydantic import AliasChoices, Field

from groundup.domain.errors import NetworkError
from groundup.registries.cache import FetchCache
from groundup.registries.client import FileFound, Found, Kept, KeptFile, Question, RegistryClient
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
from groundup.registries.npm.settings import NpmSettings, npm_settings
from groundup.registries.shared_work import SharedWork
from groundup.registries.upstream import UpstreamReply, shown

Detail = Literal["brief", "dated", "whole"]
"""What an installer needs, the same with the times of all versions, or everything."""
_PACKUMENT_BYTES = 256 * 1024 * 1024
_BRIEF = f"{BRIEF_TYPE}; q=1.0, application/json; q=0.8"
_WHOLE = "application/json"


class TarballFound(NamedTuple):
    """A verified tarball on disk."""

    release: NpmRelease
    file: FileFound


class _KeptPackument(Kept[Packument]):
    page: Packument = Field(validation_alias=AliasChoices("page", "packument"))
    full: bool
    """Whether the registry was asked for everything, or gave everything unasked."""


class _KeptTarball(KeptFile):
    release: NpmRelease


class NpmClient(RegistryClient[NpmSettings]):
    """The user's npm registries."""

    called = "the npm registry"
    noun = "an npm package"
    absent = (404, 405, 410, 451)
    is_name = staticmethod(is_name)

    def __init__(self, settings: NpmSettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._packuments: SharedWork[Found[Packument]] = SharedWork()
        self._tarballs: SharedWork[TarballFound] = SharedWork()

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> NpmSettings:
        """Ask npm."""
        return await npm_settings(environment)

    @staticmethod
    def _well_known(settings: NpmSettings) -> Iterable[str]:
        return (f"{index.url}/npm/latest" for index in settings.indexes)

    async def _versions_of(self, name: str) -> tuple[str, ...]:
        found = await self.packument(name, "brief")
        return tuple(json.loads(found.page.document)["versions"])

    async def packument(self, name: str, detail: Detail, cutoff: datetime | None = None) -> Found[Packument]:
        """Return what is known of *name*. What was known at *cutoff* is enough then, and is not asked for again.

        Raises `UnknownPackageError`, or `NetworkError` when no registry can be asked and nothing older is kept.
        """
        if cutoff is not None and detail == "brief":
            detail = "dated"
        key = (name, detail, cutoff)
        return await self._packuments.get(key, partial(self._packument, name, detail, cutoff))

    async def tarball(self, name: str, filename: str, cutoff: datetime | None = None) -> TarballFound:
        """Return a tarball on disk, verified against its registry's hashes. Raises as `packument` does."""
        kept = self.cache.record("npm-tarballs", self._tarball_key(name, filename), _KeptTarball)
        if kept and (cutoff is None or kept.release.published_by(cutoff)):
            at_hand = self._at_hand(kept.sha256, verified=bool(kept.release.hashes))
            if at_hand is not None:
                return TarballFound(kept.release, at_hand)
        key = (name, filename, cutoff is None)
        found = await self._tarballs.get(key, partial(self._tarball, name, filename, cutoff))
        _check_old_enough(found.release, name, filename, cutoff)
        return found

    # --- packuments

    async def _packument(self, name: str, detail: Detail, cutoff: datetime | None) -> Found[Packument]:
        question = self._question(name, "whole" if detail == "whole" else "brief")
        kept = await self._kept(question, _KeptPackument)
        if detail == "dated" and kept and not kept.page.dated:
            kept = None
        if detail != "brief" or (isinstance(kept, _KeptPackument) and kept.full):
            question = question._replace(accept=_WHOLE)
        try:
            found = await self._ask(question, kept, cutoff)
        except NetworkError:
            older = await self._kept(self._question(name, "brief"), _KeptPackument)
            if older is None or (detail == "dated" and not older.page.dated):
                raise
            return Found(older.page, from_cache=True, stale=True)
        if isinstance(found, Found):
            return found
        return Found(await self._learnt(name, detail, found), from_cache=False)

    async def _learnt(self, name: str, detail: Detail, answer: UpstreamReply) -> Packument:
        """Keep what a registry answered: in brief, and as it is when it is everything."""
        full = BRIEF_TYPE not in answer.content_type
        found: dict[Detail, Packument] = {}
        kinds: tuple[Literal["brief", "whole"], ...] = ("brief", "whole") if full else ("brief",)
        try:
            for kind in kinds:
                page = await asyncio.to_thread(
                    parse_packument, name, answer.url, answer.body, whole=kind == "whole"
                )
                found[kind] = page
                kept = _KeptPackument(page=page, etag=answer.etag, full=full, fetched_at=time.time())
                await self._keep(self._question(name, kind), kept)
        except PackumentError as error:
            raise NetworkError(f"{shown(answer.url)}: {error}; check that it is an npm registry") from error
        return found["whole"] if detail == "whole" and full else found["brief"]

    def _question(self, name: str, kind: Literal["brief", "whole"]) -> Question:
        return Question(
            name=name,
            url=self._address(name),
            accept=_BRIEF if kind == "brief" else _WHOLE,
            kind="npm-packuments",
            key={"registry": self.settings.registry_of(name), "name": name, "detail": kind},
            max_bytes=_PACKUMENT_BYTES,
        )

    def _address(self, name: str) -> str:
        return f"{self.settings.registry_of(name)}/{quote(name, safe='@')}"

    # --- tarballs

    async def _tarball(self, name: str, filename: str, cutoff: datetime | None) -> TarballFound:
        release = await self._release(name, filename, cutoff)
        _check_old_enough(release, name, filename, cutoff)
        file = await self._downloaded(release.url, release.hashes)
        kept = _KeptTarball(release=release, sha256=file.sha256)
        await asyncio.to_thread(self.cache.keep_record, "npm-tarballs", self._tarball_key(name, filename), kept)
        return TarballFound(release, file)

    async def _release(self, name: str, filename: str, cutoff: datetime | None) -> NpmRelease:
        """Return what the registry says of a tarball: of its version alone where that is enough."""
        release = await self._release_alone(name, filename) if cutoff is None else None
        if release is None:
            release = (await self.packument(name, "brief", cutoff)).page.releases.get(filename)
        if release is None:
            raise UnknownPackageError(f"the npm registry has no {filename} of {name}")
        return release

    async def _release_alone(self, name: str, filename: str) -> NpmRelease | None:
        """Return a tarball of a lock file, whose package was not asked for: its packument may be huge."""
        kept = await self._kept(self._question(name, "brief"), _KeptPackument)
        if kept and filename in kept.page.releases:
            return kept.page.releases[filename]
        version = version_of(name, filename)
        if version is None:
            return None
        answer = await self._upstream.page(f"{self._address(name)}/{quote(version, safe='')}", accept=_WHOLE)
        if answer.status != 200:
            return None
        try:
            return parse_release(name, filename, answer.url, answer.body)
        except PackumentError:
            return None

    def _tarball_key(self, name: str, filename: str) -> dict[str, str]:
        return {"registry": self.settings.registry_of(name), "name": name, "file": filename}


def _check_old_enough(release: NpmRelease, name: str, filename: str, cutoff: datetime | None) -> None:
    if cutoff is not None and not release.published_by(cutoff):
        raise UnknownPackageError(f"{filename} of {name} is not known to be older than {cutoff.isoformat()}")
