"""What the clients of all registries share: dates, one cache, each thing asked for once at a time, verified files.

A client of one kind of registry says which pages there are and how they are read. Pages are asked for again after
ten minutes, with the tag of what is kept; when no registry answers, what is kept counts and is marked as stale. A
file reaches the cache only when it has the hashes that its registry names.

Requests to a registry over the user's network: certificates, credentials, proxy, retries, timestamps.

The only place of groundup that opens connections to the outside for packages.
"""

import asyncio
import re
import ssl
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from groundup.domain.errors import NetworkError, UsageError
from groundup.domain.records import Record
from groundup.domain.version import __version__
from groundup.registries.cache import FetchCache, Incoming, SharedWork
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.settings import Authorization, RegistrySettings
from groundup.sandbox.protocol import Closing
from groundup.trees.fingerprints import Contents, contents_of_archive, packed, unpacked

if TYPE_CHECKING:
    import httpx


T = TypeVar("T")

PAGE_BYTES = 64 * 1024 * 1024
_PAUSES_S = (0.3, 1.0)
"""Between tries; there is one try more than pauses."""
_CONNECT_S = 10.0
_SILENCE_S = 60.0
_DOWN_S = 30.0
"""How long a registry that could not be reached counts as down for those who have something older at hand."""
_TRY_AGAIN = {408, 425, 429}
ABSENT = (404, 405, 410, 451)
"""Answers that mean that there is no such page."""


class UpstreamReply(Record):
    """A registry's answer to a question for a page. Its status is 200, 304 or 404."""

    status: int
    code: int = Field(default=200, description="the registry's own; see `RegistryClient.absent`")
    url: str
    content_type: str = ""
    etag: str | None = Field(default=None, description="what to ask with again; else the date of its last change")
    body: bytes = b""


class _TryAgainError(Exception):
    """An answer that another try may better."""


class Upstream:
    """Registries as one user reaches them. Belongs to one event loop."""

    def __init__(self, settings: RegistrySettings, known: Iterable[str] = ()) -> None:
        """Make connections. *known* are pages that every registry of the kind has: they show that one works."""
        self.settings = settings
        self._client: httpx.AsyncClient | None = None
        self._down: dict[str, float] = {}
        self._heard = time.monotonic()
        self._known = tuple(known)
        self._works: dict[str, bool] = {}

    def authorize(self, *authorizations: Authorization) -> None:
        """Send these to their places from now on."""
        known = (*self.settings.authorizations, *authorizations)
        self.settings = self.settings.but(authorizations=known)

    def seems_down(self, url: str) -> bool:
        """Whether the host of *url* could not be reached a moment ago."""
        return time.monotonic() < self._down.get(urlsplit(url).netloc, 0.0)

    def silence_s(self) -> float:
        """Return for how long no registry has sent anything."""
        return time.monotonic() - self._heard

    async def page(
        self, url: str, *, accept: str, etag: str | None = None, max_bytes: int = PAGE_BYTES
    ) -> UpstreamReply:
        """Ask for a page. Raises `NetworkError`."""
        # Where a registry sends no ETag, the date of the last change is kept in its place.
        known = "If-None-Match" if (etag or "").startswith(('"', "W/")) else "If-Modified-Since"
        headers = {"Accept": accept} | ({known: etag} if etag else {})

        async def ask() -> UpstreamReply:
            async with self._answer(url, headers) as response:
                found = str(response.url)
                if response.status_code != 200:
                    code = response.status_code
                    if code not in {304, *ABSENT} and await self._is_well(url):
                        code = 404  # it answers others: this is about what was asked for
                    return UpstreamReply(status=304 if code == 304 else 404, code=code, url=found)
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    self._heard = time.monotonic()
                    body += chunk
                    if len(body) > max_bytes:
                        raise UnknownPackageError(
                            f"{shown(url)} answers with more than {max_bytes} bytes, the most for one page"
                        )
                return UpstreamReply(
                    status=200,
                    url=found,
                    content_type=response.headers.get("content-type", ""),
                    etag=response.headers.get("etag") or response.headers.get("last-modified"),
                    body=bytes(body),
                )

        return await self._persistently(url, ask)

    async def download(self, url: str, incoming: Incoming, max_bytes: int) -> bool:
        """Write what *url* holds to *incoming*; False when there is no such thing. Raises `NetworkError`."""

        async def ask() -> bool:
            incoming.restart()
            # Unpacked on the way, the bytes would not be those whose hash the registry names.
            async with self._answer(url, {"Accept-Encoding": "identity"}) as response:
                if response.status_code != 200:
                    return False
                async for chunk in response.aiter_raw():
                    self._heard = time.monotonic()
                    incoming.write(chunk)
                    if incoming.size > max_bytes:
                        raise UnknownPackageError(
                            f"{shown(url)} is larger than {max_bytes} bytes, the most for one file"
                        )
                return True

        return await self._persistently(url, ask)

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @asynccontextmanager
    async def _answer(self, url: str, headers: dict[str, str]) -> "AsyncIterator[httpx.Response]":
        """Yield a response that is a success, 304, or says that there is no such thing (any other 4xx).

        Raises `NetworkError` and `_TryAgainError`.
        """
        async with self._stream(url, headers) as response:
            status = response.status_code
            if status in _TRY_AGAIN or status >= 500:
                raise _TryAgainError(f"it answers with HTTP {status}")
            self._heard = time.monotonic()
            if status in {401, 403, 407} and not (status == 403 and await self._is_well(url)):
                raise NetworkError(
                    f"{shown(url)} refuses access (HTTP {status}); check the credentials in "
                    f"{self.settings.origin}, netrc or the proxy's address"
                )
            if status not in {200, 304} and not 400 <= status < 500:
                raise NetworkError(f"{shown(url)} answers with HTTP {status}; check that it is a package index")
            yield response

    async def _is_well(self, url: str) -> bool:
        """Whether the registry of *url* gives out what all of its kind have: then an odd answer is no failure.

        Otherwise asking for a name that a registry forbids would look like a registry that is out of order.
        """
        known = next((page for page in self._known if urlsplit(page).netloc == urlsplit(url).netloc), url)
        if known == url:
            return False
        if known not in self._works:
            async with self._stream(known, {"Accept": "*/*"}) as response:
                self._works[known] = response.status_code == 200
        return self._works[known]

    def _stream(self, url: str, headers: dict[str, str]) -> "AbstractAsyncContextManager[httpx.Response]":
        """Ask with the user's token for this address, else with their password."""
        token = self.settings.authorization_for(url)
        # A token and a password would both go into the one header.
        credentials = None if token else self.settings.credentials_for(url)
        auth = (credentials.username, credentials.password.get_secret_value()) if credentials else None
        sent = {**headers, "Authorization": token} if token else headers
        return self._http().stream("GET", url, headers=sent, auth=auth)

    async def _persistently(self, url: str, ask: Callable[[], Awaitable[T]]) -> T:
        import httpx

        host = urlsplit(url).netloc
        # One try is enough to see that a registry is still down; hundreds of names may ask at once.
        for pause in (None,) if self.seems_down(url) else (*_PAUSES_S, None):
            try:
                result = await ask()
            except (httpx.TransportError, httpx.DecodingError, _TryAgainError) as error:
                if pause is None:
                    self._down[host] = time.monotonic() + _DOWN_S
                    raise NetworkError(
                        f"{shown(url)} cannot be reached: {str(error) or type(error).__name__}; "
                        "check the network and the proxy settings, then resume"
                    ) from error
                await asyncio.sleep(pause)
            except (httpx.InvalidURL, httpx.TooManyRedirects) as error:
                raise NetworkError(f"{shown(url)} leads nowhere: {error}") from error
            else:
                self._down.pop(host, None)
                return result
        raise AssertionError("the last try returns or raises")

    def _http(self) -> "httpx.AsyncClient":
        import httpx

        if self._client is None:
            settings = self.settings
            proxy = settings.proxy.get_secret_value() if settings.proxy else None
            self._client = httpx.AsyncClient(
                verify=self._trust(),
                proxy=proxy,
                trust_env=settings.trust_environment,
                follow_redirects=True,
                headers={"User-Agent": f"groundup/{__version__}"},
                timeout=httpx.Timeout(_SILENCE_S, connect=_CONNECT_S, pool=None),
                limits=httpx.Limits(max_connections=16),
            )
        return self._client

    def _trust(self) -> ssl.SSLContext:
        import httpx

        bundle = self.settings.ca_bundle
        if bundle is None:
            return httpx.create_ssl_context(trust_env=self.settings.trust_environment)
        try:
            return ssl.create_default_context(cafile=str(bundle))
        except (ssl.SSLError, OSError) as error:
            raise UsageError(
                f"the certificate bundle {bundle} cannot be read: {error}; mend or unset it"
            ) from error


def shown(url: str) -> str:
    """Return an address as people may see it: without credentials, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


class Published(Record):
    """Something with a date of publication, where its registry names one."""

    published: datetime | None = None

    def published_by(self, cutoff: datetime) -> bool:
        """Whether it is known to have been there at *cutoff*; without a date it is not."""
        return self.published is not None and self.published <= cutoff


def first_after(published: Iterable[Published], cutoff: datetime | None) -> datetime | None:
    """Return when the first of *published* came that *cutoff* hides; None: none is."""
    dates = (one.published for one in published if one.published is not None)
    return None if cutoff is None else min((date for date in dates if date > cutoff), default=None)


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
    if found is None:
        raise UsageError(f"the cut-off {text[:80]!r} is not an RFC 3339 date such as 2024-01-31")
    return found + timedelta(days=1) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else found


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
        self._files: SharedWork[FileFound] = SharedWork()
        self._contents: SharedWork[Contents] = SharedWork()

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
        """Return what all spellings of a name have in common."""
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
        """Close all connections."""
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

    def _at_hand(self, sha256: str | None, *, verified: bool, stale: bool = False) -> FileFound | None:
        """Return a file that is in the cache."""
        path = self.cache.file(sha256) if sha256 else None
        if path is None or sha256 is None:
            return None
        return FileFound(path, sha256, path.stat().st_size, from_cache=True, verified=verified, stale=stale)

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
