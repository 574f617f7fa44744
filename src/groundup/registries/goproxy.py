"""Module proxies of Go: which ones the user's Go is configured for, and what sandboxes see of them.

Go itself says which proxies it asks (`go env GOPROXY`); its way to repositories without one is not lent. A proxy
serves files by place: a module's versions (`@v/list`, `@latest`), and of each version its facts, its go.mod and
its archive, which never change. Go inside compares what it gets with the go.sum that the project brings; the
database of checksums is not asked.
"""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import PurePosixPath

from groundup.domain.errors import InfrastructureError, MachineError, NetworkError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.client import FRESH_S, NO_DATES, FileFound, RegistryClient
from groundup.registries.gateway import RegistryGateway, Route, Supplies
from groundup.registries.ledger import Fetched, UnknownPackageError
from groundup.registries.server import Request, Response
from groundup.registries.settings import Index, RegistrySettings, ask_client, certificates, parse_index

_MODULE = re.compile(r"[A-Za-z0-9._~!-]{1,200}(?:/[A-Za-z0-9._~!-]{1,200}){0,30}")
"""As proxies spell it: `!a` for a capital letter."""
_VERSION = r"v\d[0-9A-Za-z.+!-]{0,200}"
_FIXED = re.compile(rf"@v/{_VERSION}\.(?:info|mod|zip)")
_KNOWN = "golang.org/x/text/@v/list"
"""What any proxy of the world's modules has."""


async def go_settings(environment: Mapping[str, str]) -> RegistrySettings:
    """Return the proxies that the Go of whose *environment* this is asks, in its order.

    Raises `InfrastructureError` when Go is not there to say or asks none, and `UsageError`.
    """
    result = await ask_client(["go", "env", "GOPROXY"], environment)
    if result is None or not result.ok:
        raise MachineError("go is not on this machine to say which module proxies it asks; install Go")
    named = re.split(r"[,|]", result.text().strip())
    indexes = [parse_index(one.strip()) for one in named if one.strip() not in ("", "direct", "off")]
    if not indexes:
        raise InfrastructureError("go asks no module proxy; name one in GOPROXY")
    return RegistrySettings(
        indexes=tuple(indexes), ca_bundle=certificates(environment), origin="Go's configuration"
    )


class _Kept(Record):
    sha256: str | None
    """None: the proxy has no such file."""
    fetched_at: float

    def is_fresh(self) -> bool:
        """Whether the proxy was asked a moment ago."""
        return 0 <= time.time() - self.fetched_at < FRESH_S


class GoClient(RegistryClient[RegistrySettings]):
    """The user's module proxies."""

    called = "the Go module proxy"
    noun = "a module"

    def __init__(self, settings: RegistrySettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._places: SingleFlight[FileFound | None] = SingleFlight()

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> RegistrySettings:
        return await go_settings(environment)

    @staticmethod
    def is_name(name: str) -> bool:
        """Whether *name* can be a module's path: plain parts, no way upwards."""
        parts = name.split("/")
        return _MODULE.fullmatch(name) is not None and not any(part.strip(".") == "" for part in parts)

    @staticmethod
    def spelling(name: str) -> str:
        """Return *name* without what proxies write for capital letters."""
        return name.replace("!", "").lower()

    @staticmethod
    def _well_known(settings: RegistrySettings) -> Iterable[str]:
        return (f"{index.url}/{_KNOWN}" for index in settings.indexes)

    async def file(self, module: str, what: str) -> FileFound:
        """Return the file *what* of *module* from the first proxy that has it.

        Raises `UnknownPackageError`, or `NetworkError` when a proxy cannot be asked and nothing is kept.
        """
        for index in self.settings.indexes:
            key = (index.url, module, what)
            found = await self._places.get(key, partial(self._file, index, module, what))
            if found is not None:
                return found
        raise UnknownPackageError(f"no Go module proxy that is configured has {module}/{what}")

    async def _file(self, index: Index, module: str, what: str) -> FileFound | None:
        url, key = f"{index.url}/{module}/{what}", {"proxy": index.url, "module": module, "what": what}
        kept = self.cache.record("go-files", key, _Kept)
        at_hand = self._at_hand(kept.sha256, verified=False) if kept else None
        if kept is not None:
            if at_hand is not None and (_FIXED.fullmatch(what) or kept.is_fresh()):
                return at_hand
            if kept.sha256 is None and kept.is_fresh():
                return None
        try:
            found = await self._downloaded(url, {})
        except UnknownPackageError:
            found = None
        except NetworkError:
            if at_hand is None:
                raise
            return at_hand._replace(stale=True)
        record = _Kept(sha256=found.sha256 if found else None, fetched_at=time.time())
        await asyncio.to_thread(self.cache.keep_record, "go-files", key, record)
        return found


class GoGateway(RegistryGateway):
    """One sandbox's way to Go's modules."""

    client = GoClient
    _registry: GoClient
    port = 29106
    entrance = "/go/"
    hint = "/go/<module>/@v/list"

    def supplies(self, address: str) -> Supplies:
        """Return the variables by which Go asks here and nowhere else."""
        return Supplies(environment={"GOPROXY": address.rstrip("/"), "GOSUMDB": "off", "GOVCS": "*:off"})

    def routes(self) -> tuple[Route, ...]:
        return ((_FILE, self._file),)

    async def _file(self, request: Request, match: re.Match[str]) -> Response:
        """Answer with a file; a module's newest version cannot be known as of another day."""
        name, what = match["name"], match["what"]
        self._admit(name)
        if self._cutoff is not None:
            raise NetworkError(f"a Go module proxy does not list when versions were published; {NO_DATES}")
        place = f"{name}/{what}"
        self._ledger.charge(place, 0)
        file = await self._registry.file(name, what)
        kind = "file" if what.endswith(".zip") else "page"
        return await self._given(place, file, Fetched(kind=kind, name=name, filename=PurePosixPath(what).name))


_FILE = re.compile(r"/go/(?P<name>[^@]{1,1000})/(?P<what>@latest|@v/(?:list|[0-9A-Za-z._+!~-]{1,200}))")
