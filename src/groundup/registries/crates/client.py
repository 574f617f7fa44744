"""A sparse index seen from the host: which one the user's Cargo is configured for, its pages and its crates.

Cargo itself says where its index is; tokens are read from the files and variables that Cargo reads.
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
from groundup.registries.cache import FetchCache
from groundup.registries.client import NO_DATES, FileFound, Found, Kept, Question, RegistryClient, first_after
from groundup.registries.crates.pages import (
    CratePage,
    CratePageError,
    CrateVersion,
    is_name,
    parse_page,
    place,
    same_crate,
)
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.settings import (
    Authorization,
    RegistrySettings,
    ask_client,
    certificates,
    home_of,
    parse_index,
)
from groundup.registries.shared_work import SharedWork
from groundup.registries.upstream import UpstreamReply, shown
from groundup.trees.scratch import scratch_folder

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
    settings = _settings(home)
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


def _settings(home: Path) -> dict[str, Any]:
    return next(_tables(home, ("config.toml", "config")), {})


def _tables(home: Path, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for name in names:
        try:
            yield tomllib.loads((home / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        except tomllib.TOMLDecodeError as error:
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
    spelling = staticmethod(same_crate)

    def __init__(self, settings: CratesSettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._address = settings.indexes[0].url
        self._pages: SharedWork[Found[CratePage]] = SharedWork()
        self._asking: SharedWork[_KeptIndex] = SharedWork()
        self._index: _KeptIndex | None = None

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> CratesSettings:
        """Ask Cargo."""
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
