"""A sparse index: which one the user's Cargo is configured for, its pages, and what sandboxes see of it.

Cargo itself says where its index is; tokens are read from the files and variables that Cargo reads. A page has one
line of JSON for each version of a crate. Lines are handed on as they are: an index may say more than is known
here. Cargo inside uses the gateway instead of the index that lock files name, so those stay as they are.
"""

import asyncio
import json
import re
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr

from groundup.domain.errors import InfrastructureError, MachineError, NetworkError, UsageError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.client import (
    NO_DATES,
    FileFound,
    Found,
    Kept,
    Published,
    Question,
    RegistryClient,
    first_after,
    instant,
)
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError
from groundup.registries.server import Request, Response
from groundup.registries.settings import (
    Authorization,
    RegistrySettings,
    ask_client,
    certificates,
    home_of,
    parse_index,
)
from groundup.registries.upstream import UpstreamReply, shown
from groundup.trees.scratch import scratch_folder

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,200}")


class CratePageError(Exception):
    """What an index sent cannot be understood."""


class CrateVersion(Published):
    """One version of a crate: what is needed of its line, and the line."""

    name: str
    version: str
    sha256: str
    yanked: bool
    line: str


class CratePage(Record):
    """All versions of a crate."""

    versions: tuple[CrateVersion, ...]

    def by(self, cutoff: datetime | None) -> "CratePage":
        """Return the page with what is known to be older than *cutoff* only.

        An index does not say when a version was yanked. Where all that is left of a compatible series is yanked
        and a later version replaced it, the newest one is offered as it was: Cargo had nothing else to take.
        """
        if cutoff is None:
            return self
        kept = [found for found in self.versions if found.published_by(cutoff)]
        served = {_series(found.version) for found in kept if not found.yanked}
        replaced = {_series(found.version) for found in self.versions if not found.yanked} - served
        last = {_series(found.version): found for found in kept if _series(found.version) in replaced}
        return CratePage(versions=tuple(_offered(found) if found in last.values() else found for found in kept))

    def text(self) -> bytes:
        return "".join(f"{found.line}\n" for found in self.versions).encode()


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def name_in_index(name: str) -> str:
    """Return what all spellings of a crate's name have in common: an index takes no two of them."""
    return name.lower().replace("_", "-")


def place(name: str) -> str:
    """Return where the page of a crate lies in an index."""
    name = name.lower()
    if len(name) <= 2:
        return f"{len(name)}/{name}"
    if len(name) == 3:
        return f"3/{name[0]}/{name}"
    return f"{name[:2]}/{name[2:4]}/{name}"


def parse_page(body: bytes) -> CratePage:
    """Read a page. Raises `CratePageError`."""
    try:
        return CratePage(versions=tuple(_version(line) for line in body.decode().splitlines() if line.strip()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CratePageError("it is no page of a sparse index") from error


def _series(version: str) -> tuple[str, ...]:
    """Return what Cargo takes for compatible with a version: up to its first number that is not 0."""
    release, _, pre = version.partition("+")[0].partition("-")
    numbers = release.split(".")
    leading = next((at for at, number in enumerate(numbers) if number != "0"), len(numbers) - 1)
    return (*numbers[: leading + 1], pre)


def _offered(found: CrateVersion) -> CrateVersion:
    line = json.dumps({**json.loads(found.line), "yanked": False}, separators=(",", ":"))
    return found.but(yanked=False, line=line)


def _version(line: str) -> CrateVersion:
    row = json.loads(line)
    name, version, sha256 = row["name"], row["vers"], row["cksum"]
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version) or not _SHA256.fullmatch(sha256):
        raise ValueError(line)
    return CrateVersion(
        name=name,
        version=version,
        sha256=sha256,
        yanked=bool(row.get("yanked")),
        published=instant(row.get("pubtime")),
        line=line.strip(),
    )


_ASKED = re.compile(r"failed to download from `(?P<url>https?://[^`]+)/config\.json`")
_PROJECT = {
    "Cargo.toml": '[package]\nname = "question"\nversion = "0.0.0"\n[dependencies]\nserde = "1"\n',
    "src/lib.rs": "",
}
_NOWHERE = "http://127.0.0.1:9"
"""A proxy that does not answer: Cargo then names the address that it wanted to ask, and asks no registry."""
_CREDENTIALS = ("credentials.toml", "credentials")


class CratesSettings(RegistrySettings):
    """How this user reaches crates: by one sparse index."""

    token: SecretStr | None = Field(default=None, description="sent when the index says that it is needed")


async def crates_settings(environment: Mapping[str, str]) -> CratesSettings:
    """Return how the user whose *environment* this is reaches crates.

    Raises `InfrastructureError` when Cargo is not there to say or has a Git index, and `UsageError`.
    """
    home = Path(environment.get("CARGO_HOME") or home_of(environment) / ".cargo")
    with scratch_folder("cargo") as empty:
        _copy_configuration(home, empty)
        asked = {**environment, "CARGO_HOME": str(empty), "CARGO_HTTP_PROXY": _NOWHERE, "CARGO_NET_RETRY": "0"}
        asked["CARGO_NET_OFFLINE"] = "false"
        result = await ask_client(["cargo", "generate-lockfile", "--color", "never"], asked, _PROJECT)
    if result is None:
        raise MachineError("cargo is not on this machine to say where its index is; install Rust")
    answer = _ASKED.search(result.text())
    if answer is None:
        raise InfrastructureError(
            "cargo does not name a sparse index; set one in its configuration (a Git index cannot be used here)"
        )
    index = parse_index(answer["url"])
    settings: dict[str, Any] = next(_tables(home, ("config.toml", "config")), {})
    return CratesSettings(
        indexes=(index,),
        ca_bundle=certificates(environment) or _authorities(settings),
        proxy=_proxy(settings),
        origin="Cargo's configuration",
        token=_token(index.url, home, settings, environment),
    )


def _copy_configuration(home: Path, empty: Path) -> None:
    """Give Cargo its configuration and nothing that it has fetched before."""
    for name in ("config.toml", "config"):
        try:
            (empty / name).write_bytes((home / name).read_bytes())
        except OSError:
            continue


def _tables(home: Path, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for name in names:
        try:
            yield tomllib.loads((home / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{home / name}: Cargo's configuration is not valid TOML: {error}") from error


def _authorities(settings: Mapping[str, Any]) -> Path | None:
    named = _table(settings, "http").get("cainfo")
    return Path(named) if isinstance(named, str) and Path(named).is_file() else None


def _proxy(settings: Mapping[str, Any]) -> SecretStr | None:
    named = _table(settings, "http").get("proxy")
    if not isinstance(named, str) or not named:
        return None
    return SecretStr(named if "://" in named else f"http://{named}")


def _token(
    index: str, home: Path, settings: Mapping[str, Any], environment: Mapping[str, str]
) -> SecretStr | None:
    """Return the token of the registry that has this index; a replaced source may be a registry by its address."""
    secrets = next(_tables(home, _CREDENTIALS), {})
    registries = {**_table(settings, "registries")}
    for name, value in environment.items():
        if match := re.fullmatch(r"CARGO_REGISTRIES_(\w+)_INDEX", name):
            registries[match[1].lower().replace("_", "-")] = {"index": value}
    for name, registry in registries.items():
        address = _table(registries, name).get("index") if isinstance(registry, dict) else None
        if not isinstance(address, str) or address.removeprefix("sparse+").rstrip("/") != index:
            continue
        variable = f"CARGO_REGISTRIES_{name.upper().replace('-', '_')}_TOKEN"
        found = environment.get(variable) or _table(_table(secrets, "registries"), name).get("token")
        found = found or _table(registries, name).get("token")
        if isinstance(found, str):
            return SecretStr(found)
    return None


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}


class _KeptIndex(Record):
    download: str
    token_needed: bool


class CratesClient(RegistryClient[CratesSettings]):
    """The user's sparse index."""

    called = "the crate index"
    noun = "a crate"
    is_name = staticmethod(is_name)
    spelling = staticmethod(name_in_index)

    def __init__(self, settings: CratesSettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._address = settings.indexes[0].url
        self._pages: SingleFlight[Found[CratePage]] = SingleFlight()
        self._asking: SingleFlight[_KeptIndex] = SingleFlight()
        self._index: _KeptIndex | None = None

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> CratesSettings:
        return await crates_settings(environment)

    @staticmethod
    def _well_known(settings: CratesSettings) -> Iterable[str]:
        return (f"{settings.indexes[0].url}/config.json",)

    async def _versions_of(self, name: str) -> tuple[str, ...] | None:
        """Return all but yanked versions; an index answers to other spellings too, which are no crate."""
        versions = [found for found in (await self.page(name)).page.versions if found.name == name]
        return tuple(found.version for found in versions if not found.yanked) if versions else None

    async def page(self, name: str, cutoff: datetime | None = None) -> Found[CratePage]:
        """Return the page of *name*, with versions up to *cutoff* only.

        Raises `UnknownPackageError`, or `NetworkError` when no registry can be asked and nothing older is kept.
        """
        found = await self._pages.get((name.lower(), cutoff), partial(self._page, name.lower(), cutoff))
        page = found.page.by(cutoff)
        if cutoff is not None and not any(version.published for version in found.page.versions):
            raise NetworkError(f"{self._address} does not say when crates were published; {NO_DATES}")
        hidden = first_after(found.page.versions, cutoff)
        if cutoff is not None and not page.versions:
            raise UnknownPackageError(
                f"the crate index has no version of {name} known to be older than {cutoff.isoformat()}", hidden
            )
        return found._replace(page=page, hidden=hidden)

    async def crate(
        self, name: str, version: str, cutoff: datetime | None = None
    ) -> tuple[CrateVersion, FileFound]:
        """Return a crate on disk, verified against the hash in the index. Raises as `page` does."""
        page = (await self.page(name, cutoff)).page
        wanted = next((found for found in page.versions if found.version == version), None)
        if wanted is None:
            raise UnknownPackageError(f"the crate index has no version {version} of {name}")
        at_hand = self._at_hand(wanted.sha256, verified=True)
        return wanted, at_hand or await self._files.get(wanted.sha256, partial(self._crate, wanted))

    async def _crate(self, wanted: CrateVersion) -> FileFound:
        settings = await self._index_settings()
        return await self._downloaded(_address(settings.download, wanted), {"sha256": wanted.sha256})

    async def _page(self, name: str, cutoff: datetime | None) -> Found[CratePage]:
        question = Question(
            name=name,
            url=f"{self._address}/{place(name)}",
            accept="text/plain, */*",
            kind="crate-pages",
            key={"index": self._address, "name": name},
        )
        found = await self._ask(question, await self._kept(question, Kept[CratePage]), cutoff)
        if isinstance(found, Found):
            return found
        try:
            page = parse_page(found.body)
        except CratePageError as error:
            raise NetworkError(f"{shown(found.url)}: {error}; check that it is a sparse index") from error
        await self._keep(question, Kept[CratePage](page=page, etag=found.etag, fetched_at=time.time()))
        return Found(page, from_cache=False)

    async def _prepare(self) -> None:
        await self._index_settings()  # whether it needs a token

    async def _index_settings(self) -> _KeptIndex:
        """Return the index's own settings, asked for once."""
        if self._index is None:
            self._index = await self._asking.get("", self._ask_index)
            token = self.settings.token
            if self._index.token_needed and token is not None:
                # A token goes to the index, and to where it keeps its crates.
                addresses = (self._address, self._index.download.partition("{")[0])
                places = {address.partition(":")[2].rstrip("/") for address in addresses}
                self._upstream.authorize(*(Authorization(place=found, header=token) for found in sorted(places)))
        return self._index

    async def _ask_index(self) -> _KeptIndex:
        kept = self.cache.record("crate-indexes", self._address, _KeptIndex)
        try:
            url = f"{self._address}/config.json"
            found = _parse_index(await self._upstream.page(url, accept="application/json"))
        except NetworkError:
            if kept is None:
                raise
            return kept
        await asyncio.to_thread(self.cache.keep_record, "crate-indexes", self._address, found)
        return found


def _parse_index(answer: UpstreamReply) -> _KeptIndex:
    try:
        found = json.loads(answer.body)
        return _KeptIndex(download=str(found["dl"]), token_needed=bool(found.get("auth-required")))
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


CARGO_HOME = "/home/user/.cargo"
_PAGE = re.compile(r"/index/(?P<place>(?:[123]|[^/]{2}/[^/]{2}|3/[^/])/(?P<name>[^/]+))")
_CRATE = re.compile(r"/crates/(?P<name>[^/]+)/(?P<version>[^/]+)/download")
_CONFIG = re.compile(re.escape("/index/config.json"))


def cargo_file(address: str) -> str:
    """Return Cargo's configuration for the inside: one index instead of the one that packages name."""
    return (
        '[source.crates-io]\nreplace-with = "groundup"\n\n'
        f'[source.groundup]\nregistry = "sparse+{address}"\n\n'
        f'[registries.groundup]\nindex = "sparse+{address}"\n\n'
        "[net]\nretry = 2\n\n[http]\ntimeout = 900\nmultiplexing = false\n"
    )


class CratesGateway(RegistryGateway):
    """One sandbox's way to crates."""

    client = CratesClient
    _registry: CratesClient
    port = 29103
    entrance = "/index/"
    hint = "/index/config.json"

    def supplies(self, address: str) -> Supplies:
        """Return Cargo's home and the configuration in it."""
        return Supplies(
            environment={"CARGO_HOME": CARGO_HOME, "CARGO_TERM_PROGRESS_WHEN": "never"},
            files={f"{CARGO_HOME}/config.toml": cargo_file(address)},
        )

    def routes(self) -> tuple[Route, ...]:
        return ((_CONFIG, self._config), (_PAGE, self._page), (_CRATE, self._crate))

    async def _config(self, request: Request, match: re.Match[str]) -> Response:
        return as_json({"dl": f"{address_in(request)}/crates"})

    async def _page(self, request: Request, match: re.Match[str]) -> Response:
        name, where = match["name"], match["place"]
        self._admit(name)
        if where != place(name):
            raise UnknownPackageError(f"the page of {name} is not at {where[:200]}")
        found = await self._registry.page(name, self._cutoff)
        body = found.page.text()
        self._note_page(name, found, len(body))
        return Response(200, body)

    async def _crate(self, request: Request, match: re.Match[str]) -> Response:
        name, version = match["name"], match["version"]
        self._admit(name)
        where = f"{name.lower()}/{version}"
        self._ledger.charge(where, 0)
        crate, file = await self._registry.crate(name, version, self._cutoff)
        filename = f"{crate.name}-{crate.version}.crate"
        what = Fetched(kind="file", name=crate.name, filename=filename, version=crate.version)
        return await self._given(where, file, what)
