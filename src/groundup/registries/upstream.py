"""Requests to a registry over the user's network: certificates, credentials, proxy, retries, timestamps.

The only place of groundup that opens connections to the outside for packages.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from groundup.domain.errors import NetworkError, UsageError
from groundup.domain.records import Record
from groundup.domain.version import __version__
from groundup.registries.cache import Incoming
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.settings import Authorization, RegistrySettings

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
        """Ask for a page. Raises `NetworkError`, or `UnknownPackageError` for one that is too large."""
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
        """Write what *url* holds to *incoming*; False when there is no such thing. Raises as `page` does."""

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
                        "check the network and the proxy settings, then do the same again"
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
