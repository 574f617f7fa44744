"""What the clients of all registries share: dates, one cache, each thing asked for once at a time, verified files.

A client of one kind of registry says which pages there are and how they are read. Pages are asked for again after
ten minutes, with the tag of what is kept; when no registry answers, what is kept counts and is marked as stale. A
file reaches the cache only when it has the hashes that its registry names.
"""

import asyncio
import re
import time
from abc import abstractmethod
from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from groundup.domain.errors import NetworkError, UsageError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.settings import RegistrySettings
from groundup.registries.upstream import PAGE_BYTES, Upstream, UpstreamReply, shown
from groundup.sandbox.protocol import Closing
from groundup.trees.fingerprints import Contents, contents_of_archive, packed, unpacked


class Published(Record):
    """Something with a date of publication, where its registry names one."""

    published: datetime | None = None

    def published_by(self, cutoff: datetime) -> bool:
        """Whether it is known to have been there before *cutoff*; without a date it is not."""
        return self.published is not None and self.published < cutoff


def first_after(published: Iterable[Published], cutoff: datetime | None) -> datetime | None:
    """Return when the first of *published* came that *cutoff* hides; None: none is."""
    dates = (one.published for one in published if one.published is not None)
    return None if cutoff is None else min((date for date in dates if date >= cutoff), default=None)


def instant(text: object) -> datetime | None:
    """Return the moment that *text* names, in UTC where it names no zone; None when it names none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def cutoff_instant(text: str) -> datetime:
    """Return the first instant that an `exclude_newer` of *text* leaves out; a bare date counts to its end in UTC.

    Raises `UsageError`.
    """
    found = instant(text)
    written = re.match(r"\d{4}-\d\d-\d\d(?P<time>$|[Tt ])", text)  # Python also reads 20240131 and 2024-W05
    if found is None or written is None:
        raise UsageError(f"the cut-off {text[:80]!r} is not an RFC 3339 date such as 2024-01-31")
    return found if written["time"] else found + timedelta(days=1)


P = TypeVar("P")
S = TypeVar("S", bound=RegistrySettings)

FRESH_S = 600.0
"""How long a page counts without asking its registry again."""
MAX_FILE_BYTES = 2 * 1024**3
_CONTENTS = "contents-1"
"""What records of contents are kept under: another number when prints are made in another way."""
NO_DATES = "use another index, or no cut-off (for CI jobs: ci_exclude_newer = 'none')"


class Found(NamedTuple, Generic[P]):
    """A page and where it came from."""

    page: P
    from_cache: bool
    stale: bool = False
    hidden: datetime | None = None
    """When the first release came that a cut-off hides."""


class FileFound(NamedTuple):
    """A file on disk."""

    path: Path
    sha256: str
    size: int
    from_cache: bool
    verified: bool
    stale: bool = False


class Kept(Record, Generic[P]):
    """A page as it is kept in the cache."""

    page: P
    etag: str | None = None
    fetched_at: float

    def is_fresh(self, cutoff: datetime | None = None) -> bool:
        """Whether nothing new can matter: it was asked for a moment ago, or after the cut-off."""
        if cutoff is not None and datetime.fromtimestamp(self.fetched_at, UTC) >= cutoff:
            return True
        return 0 <= time.time() - self.fetched_at < FRESH_S


class KeptFile(Record):
    """Which file is known by another key than its hash."""

    sha256: str
    verified: bool = False


class KeptContents(Record):
    """The prints of an archive's code, by place, as they are kept in the cache."""

    prints: dict[str, str]
    unread: tuple[str, ...] = ()


class Question(NamedTuple):
    """What a registry is asked, and where its answer is kept."""

    name: str
    url: str
    accept: str
    kind: str
    key: Mapping[str, str]
    max_bytes: int = PAGE_BYTES


class RegistryClient(Closing, Generic[S]):
    """The user's registries of one kind behind one cache. Belongs to one event loop; close it at the end."""

    called: ClassVar[str]
    """What messages call the registry."""
    noun: ClassVar[str]
    """What messages call a thing in it."""
    absent: ClassVar[Container[int]] = (404, 410, 451)
    """Statuses with which a registry says that it has no such thing; other refusals are failures."""
    is_undated: bool = False
    """Whether a registry was found not to know when its packages were published; a cut-off hides less then."""

    def __init__(self, settings: S, cache: FetchCache) -> None:
        self.settings = settings
        self.cache = cache
        self._upstream = Upstream(settings, self._well_known(settings))
        self._files: SingleFlight[FileFound] = SingleFlight()
        self._contents: SingleFlight[Contents] = SingleFlight()

    @classmethod
    @abstractmethod
    async def learn(cls, environment: Mapping[str, str]) -> RegistrySettings:
        """Return how the user whose *environment* this is reaches registries of this kind.

        Raises `InfrastructureError` when the registry's own client is not there to say, and `UsageError`.
        """

    @staticmethod
    @abstractmethod
    def is_name(name: str) -> bool:
        """Whether a package could have this name."""

    @staticmethod
    def spelling(name: str) -> str:
        return name.lower()

    @staticmethod
    @abstractmethod
    def _well_known(settings: S) -> Iterable[str]:
        """Return a page for each registry that every one of the kind has: it shows whether one works."""

    async def look_up(self, name: str) -> tuple[str, ...] | None:
        """Return the versions of *name*, None when it does not exist. Raises `NetworkError`."""
        if not self.is_name(name):
            return None
        try:
            return await self._versions_of(name)
        except UnknownPackageError:
            return None

    async def _versions_of(self, name: str) -> tuple[str, ...] | None:
        raise UnknownPackageError(f"{self.called} does not list names such as {name!r}")

    def silence_s(self) -> float:
        """Return for how long no registry has sent anything."""
        return self._upstream.silence_s()

    async def contents(self, file: FileFound, name: str) -> Contents:
        """Return the prints of the code in *file*, published as *name*; each file is looked through once."""
        return await self._contents.get(file.sha256, lambda: asyncio.to_thread(self._looked_through, file, name))

    def _looked_through(self, file: FileFound, name: str) -> Contents:
        kept = self.cache.record(_CONTENTS, file.sha256, KeptContents)
        if kept is not None:
            return Contents({place: unpacked(text) for place, text in kept.prints.items()}, list(kept.unread))
        found = contents_of_archive(file.path, name)
        texts = {place: packed(prints) for place, prints in found.prints.items()}
        self.cache.keep_record(_CONTENTS, file.sha256, KeptContents(prints=texts, unread=tuple(found.unread[:20])))
        return found

    async def close(self) -> None:
        await self._upstream.close()

    # --- pages

    async def _prepare(self) -> None:
        """Do what has to precede a question. Raises `NetworkError`."""

    async def _kept(self, question: Question, model: type[Kept[P]]) -> Kept[P] | None:
        return await asyncio.to_thread(self.cache.record, question.kind, question.key, model)

    async def _keep(self, question: Question, kept: Kept[Any]) -> None:
        await asyncio.to_thread(self.cache.keep_record, question.kind, question.key, kept)

    async def _ask(
        self, question: Question, kept: Kept[P] | None, cutoff: datetime | None
    ) -> UpstreamReply | Found[P]:
        """Return a registry's new page, or what is *kept* where that is enough or all there is.

        Raises `UnknownPackageError`, or `NetworkError` when no registry can be asked and nothing is kept.
        """
        if kept and (kept.is_fresh(cutoff) or self._upstream.seems_down(question.url)):
            return Found(kept.page, from_cache=True, stale=not kept.is_fresh(cutoff))
        etag = kept.etag if kept else None
        try:
            await self._prepare()
            reply = await self._upstream.page(
                question.url, accept=question.accept, etag=etag, max_bytes=question.max_bytes
            )
            self._check_present(reply, question.name)
        except NetworkError:
            if kept is None:
                raise
            return Found(kept.page, from_cache=True, stale=True)
        if reply.status == 200:
            return reply
        if kept is None:
            raise NetworkError(f"{shown(question.url)} answers that nothing changed, though nothing was known")
        await self._keep(question, kept.but(fetched_at=time.time()))
        return Found(kept.page, from_cache=True)

    def _check_present(self, reply: UpstreamReply, name: str) -> None:
        if reply.status != 404:
            return
        if reply.code in self.absent:
            raise UnknownPackageError(f"{self.called} that is configured does not know {name!r}")
        raise NetworkError(f"{shown(reply.url)} answers with HTTP {reply.code}")

    # --- files

    def _at_hand(self, sha256: str | None, *, verified: bool) -> FileFound | None:
        """Return a file that is in the cache."""
        path = self.cache.file(sha256) if sha256 else None
        if path is None or sha256 is None:
            return None
        return FileFound(path, sha256, path.stat().st_size, from_cache=True, verified=verified)

    async def _downloaded(self, url: str, hashes: Mapping[str, str]) -> FileFound:
        """Fetch a file into the cache. Raises `UnknownPackageError`; `NetworkError` when its hashes are others."""
        with self.cache.incoming() as incoming:
            incoming.expect(hashes)
            if not await self._upstream.download(url, incoming, MAX_FILE_BYTES):
                raise UnknownPackageError(f"{shown(url)} is named by {self.called} and does not exist")
            digests = incoming.digests()
            for algorithm, expected in hashes.items():
                if digests[algorithm] != expected:
                    raise NetworkError(
                        f"{shown(url)} does not have the {algorithm} hash that {self.called} names; "
                        "something on the way changes files: check the mirror or proxy"
                    )
            path = await asyncio.to_thread(incoming.keep)
        return FileFound(path, digests["sha256"], incoming.size, from_cache=False, verified=bool(hashes))
