"""The host's view of NuGet: the sources that `dotnet` is configured for, their versions and packages.

A source is an address (of version 3 of the protocol) or a folder. Where a cut-off holds, these count as old:
what the SDK asks for of its own accord; versions that are listed no longer, which restore for who names them and
whose days no source tells; and what comes from a folder, or from a source that does not know days at all.
"""

import asyncio
import base64
import binascii
import fnmatch
import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree import ElementTree

from pydantic import Field, SecretStr

from groundup.domain.errors import InfrastructureError, NetworkError, UsageError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SingleFlight
from groundup.registries.client import (
    FileFound,
    Found,
    Kept,
    KeptFile,
    Published,
    RegistryClient,
    first_after,
    instant,
)
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.nuget.bundled import OF_MACHINES, bundled_names
from groundup.registries.nuget.folders import packages_in
from groundup.registries.nuget.versions import normalised, order
from groundup.registries.settings import (
    Credentials,
    Index,
    RegistrySettings,
    ask_client,
    certificates,
    home_of,
    parse_index,
)
from groundup.registries.upstream import shown

_SOURCE = re.compile(r"^E[A-Z]*\s+(?P<place>(?:https?|file)://\S+|/.*\S)\s*$", re.MULTILINE)
_SDK = re.compile(r"^(?P<version>\S+) \[(?P<folder>.+)\]\s*$", re.MULTILINE)
_PLACES = (".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config")


class NuGetSettings(RegistrySettings):
    """How this user reaches NuGet's packages."""

    indexes: tuple[Index, ...] = ()
    folders: tuple[Path, ...] = Field(default=(), description="sources that are folders of this machine")
    bundled: tuple[str, ...] = Field(
        default=(), description="names of packages that the SDKs ask for of their own accord; * is any part"
    )


async def nuget_settings(environment: Mapping[str, str]) -> NuGetSettings:
    """Return the enabled sources. Raises `InfrastructureError` when dotnet does not say, and `UsageError`."""
    asked = {**environment, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
    result = await ask_client(["dotnet", "nuget", "list", "source", "--format", "Short"], asked)
    if result is None or not result.ok:
        raise InfrastructureError("dotnet is not on this machine to say where packages are; install a .NET SDK")
    secrets = dict(_secrets(environment))
    places = [match["place"] for match in _SOURCE.finditer(result.stdout.decode(errors="replace"))]
    indexes = [parse_index(place) for place in places if place.startswith("http")]
    folders = [Path(unquote(urlsplit(place).path)) for place in places if not place.startswith("http")]
    if not places:
        raise InfrastructureError("dotnet names no source of packages; add one with `dotnet nuget add source`")
    return NuGetSettings(
        indexes=tuple(index.but(credentials=index.credentials or secrets.get(index.url)) for index in indexes),
        folders=tuple(folders),
        bundled=await _bundled(asked),
        ca_bundle=certificates(environment),
        origin="NuGet's configuration",
    )


async def _bundled(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the SDKs of this machine ask for, and what jobs find on a machine."""
    result = await ask_client(["dotnet", "--list-sdks"], environment)
    listed = result.stdout.decode(errors="replace") if result is not None and result.ok else ""
    sdks = [Path(match["folder"], match["version"]) for match in _SDK.finditer(listed)]
    found = [await asyncio.to_thread(bundled_names, sdk) for sdk in sdks]
    return tuple(sorted({*OF_MACHINES, *(name for names in found for name in names)}))


def _secrets(environment: Mapping[str, str]) -> Iterator[tuple[str, Credentials]]:
    """Yield address and credentials of the user's sources that have a password in clear text."""
    home = home_of(environment)
    for place in _PLACES:
        path = home / place
        if not path.is_file():
            continue
        try:
            root = ElementTree.fromstring(path.read_bytes())  # noqa: S314 - the user's own configuration
        except (ElementTree.ParseError, OSError) as error:
            raise UsageError(f"{path}: NuGet's configuration cannot be read: {error}") from error
        addresses = {add.get("key", ""): add.get("value", "") for add in root.iterfind("packageSources/add")}
        for entry in root.iterfind("packageSourceCredentials/*"):
            values = {add.get("key", ""): add.get("value", "") for add in entry.iterfind("add")}
            # An element's name cannot have every character: NuGet writes those by number.
            name = re.sub(r"_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), entry.tag)
            if name in addresses and "Username" in values and "ClearTextPassword" in values:
                password = SecretStr(values["ClearTextPassword"])
                url = addresses[name].rstrip("/")
                yield url, Credentials(username=values["Username"], password=password)


_FLAT = "PackageBaseAddress/3.0.0"
_REGISTRATIONS = ("RegistrationsBaseUrl/3.6.0", "RegistrationsBaseUrl/3.4.0", "RegistrationsBaseUrl")
"""From the one that knows most: only 3.6.0 has versions of the second kind of numbers."""
_NAME = re.compile(r"\w+([.-]\w+)*")
_HASHES = {"SHA512": "sha512", "SHA256": "sha256"}
_PAGES = 200
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""The day of what counts as old."""
_OLD_PACKAGE = "newtonsoft.json"
_OLD_PACKAGE_BY = datetime(2015, 1, 1, tzinfo=UTC)
"""Its first version is of 2011; a source that says otherwise does not know when packages were published."""
_KEPT_VERSIONS = "nuget-versions-2"
"""What versions are kept under: another number when they are read in another way."""


class NuGetVersion(Published):
    """One version of a package at one source."""

    version: str
    """As addresses have it."""
    flat: str = ""
    """The source's address of packages; empty for a folder."""
    leaf: str | None = None
    """Where the source says more, its hash above all."""
    listed: bool = True
    file: Path | None = None
    """Where the package lies in a folder."""


class VersionsFound(Record):
    """The versions of a package at all sources, lowest first."""

    versions: tuple[NuGetVersion, ...]
    undated: bool = False
    """Whether a source that has some of them does not know their days."""


class _KeptVersions(Kept[VersionsFound]):
    """As it is kept in the cache."""


class _KeptSource(Record):
    flat: str
    registrations: str | None


class NuGetClient(RegistryClient[NuGetSettings]):
    """The user's NuGet sources. A package exists when one of them has it."""

    called = "the NuGet source"
    noun = "a NuGet package"
    absent = (404, 410)

    def __init__(self, settings: NuGetSettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._sources: dict[str, _KeptSource] = {}
        self._knowing: dict[str, bool] = {}
        """Which sources know when packages were published."""
        self._versions: SingleFlight[Found[VersionsFound]] = SingleFlight()

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> NuGetSettings:
        return await nuget_settings(environment)

    @staticmethod
    def is_name(name: str) -> bool:
        return _NAME.fullmatch(name) is not None

    @staticmethod
    def _well_known(settings: NuGetSettings) -> Iterable[str]:
        return (index.url for index in settings.indexes)

    async def _versions_of(self, name: str) -> tuple[str, ...]:
        return tuple(item.version for item in (await self.versions(name)).page)

    async def versions(self, name: str, cutoff: datetime | None = None) -> Found[tuple[NuGetVersion, ...]]:
        """Return the versions of *name* at all sources, lowest first, up to *cutoff* only.

        Raises `UnknownPackageError`, or `NetworkError` when a source cannot be asked and nothing older is kept.
        """
        name = name.lower()
        if cutoff is not None and self._bundled.fullmatch(name):
            cutoff = None
        found = await self._versions.get((name, cutoff), partial(self._found, name, cutoff))
        self.is_undated |= cutoff is not None and found.page.undated
        known = found.page.versions
        versions = tuple(item for item in known if cutoff is None or item.published_by(cutoff))
        hidden = first_after(known, cutoff)
        if not versions:
            older = f" known to be older than {cutoff.isoformat()}" if cutoff else ""
            raise UnknownPackageError(f"no NuGet source that is configured has a version of {name}{older}", hidden)
        return Found(versions, found.from_cache, found.stale, hidden)

    @cached_property
    def _bundled(self) -> re.Pattern[str]:
        return re.compile("|".join(map(fnmatch.translate, self.settings.bundled)) or r"(?!)")

    async def package(self, name: str, version: str, cutoff: datetime | None = None) -> FileFound:
        """Return a package on disk, verified where its source names a hash. Raises as `versions` does."""
        name = name.lower()
        found = (await self.versions(name, cutoff)).page
        wanted = next((item for item in found if item.version == normalised(version)), None)
        if wanted is None:
            raise UnknownPackageError(f"no NuGet source that is configured has version {version} of {name}")
        if wanted.file is not None:
            return await asyncio.to_thread(_of_folder, wanted.file)
        version = wanted.version
        url = f"{wanted.flat.rstrip('/')}/{name}/{version}/{name}.{version}.nupkg"
        kept = self.cache.record("nuget-packages", url, KeptFile)
        at_hand = self._at_hand(kept.sha256, verified=kept.verified) if kept else None
        return at_hand or await self._files.get(url, partial(self._package, url, wanted))

    async def _package(self, url: str, wanted: NuGetVersion) -> FileFound:
        found = await self._downloaded(url, await self._hashes(wanted))
        kept = KeptFile(sha256=found.sha256, verified=found.verified)
        await asyncio.to_thread(self.cache.keep_record, "nuget-packages", url, kept)
        return found

    async def _found(self, name: str, cutoff: datetime | None) -> Found[VersionsFound]:
        sources = [index.url for index in self.settings.indexes]
        dated = cutoff is not None
        key = {"sources": sources, "name": name, "dated": dated}
        own = await asyncio.to_thread(self._in_folders, name)
        kept = self.cache.record(_KEPT_VERSIONS, key, _KeptVersions)
        if kept and kept.is_fresh(cutoff):
            return Found(_merged(own, kept.page), from_cache=True)
        found = VersionsFound(versions=())
        try:
            for url in sources:
                source = await self._source(url)
                found = _merged(found, await (self._dated if dated else self._listed)(source, name))
        except NetworkError:
            if kept is None:
                raise
            return Found(_merged(own, kept.page), from_cache=True, stale=True)
        if found.versions:  # a name that no source has is asked for again
            record = _KeptVersions(page=found, fetched_at=time.time())
            await asyncio.to_thread(self.cache.keep_record, _KEPT_VERSIONS, key, record)
        return Found(_merged(own, found), from_cache=False)

    def _in_folders(self, name: str) -> VersionsFound:
        found: dict[str, NuGetVersion] = {}
        for folder in self.settings.folders:
            try:
                packages = packages_in(folder, name)
            except OSError as error:
                raise NetworkError(
                    f"the package source {folder} cannot be read: {error.strerror}; "
                    "mend it, or disable it with `dotnet nuget disable source`"
                ) from error
            for version, path in packages.items():
                found.setdefault(version, NuGetVersion(version=version, published=_LONG_AGO, file=path))
        return VersionsFound(versions=tuple(found.values()), undated=bool(found))

    async def _listed(self, source: _KeptSource, name: str) -> VersionsFound:
        page = await self._json(f"{source.flat.rstrip('/')}/{name}/index.json")
        listed = page.get("versions") if page else []
        leaf = f"{source.registrations.rstrip('/')}/{name}/" if source.registrations else None
        versions = [
            NuGetVersion(version=version, flat=source.flat, leaf=f"{leaf}{version}.json" if leaf else None)
            for item in (listed if isinstance(listed, list) else [])
            if isinstance(item, str) and (version := normalised(item))
        ]
        return VersionsFound(versions=tuple(versions))

    async def _dated(self, source: _KeptSource, name: str) -> VersionsFound:
        """Return the versions of *name* with their days; all are of old where the source does not know days."""
        found = await self._registered(source, name)
        if any(item.published for item in found) and await self._knows_days(source):
            return VersionsFound(versions=found)
        versions = found or (await self._listed(source, name)).versions
        old = tuple(item.but(published=_LONG_AGO) for item in versions)
        return VersionsFound(versions=old, undated=bool(old))

    async def _registered(self, source: _KeptSource, name: str) -> tuple[NuGetVersion, ...]:
        """Return what registrations say of *name*."""
        if source.registrations is None:
            return ()
        index = await self._json(f"{source.registrations.rstrip('/')}/{name}/index.json")
        found = []
        for page in _list(index, "items")[:_PAGES]:
            if not isinstance(page.get("items"), list):
                page = await self._json(str(page.get("@id"))) or {}  # noqa: PLW2901  # the page itself, not its mention
            found += [_registered_version(item, source.flat) for item in _list(page, "items")]
        return tuple(item for item in found if item is not None)

    async def _knows_days(self, source: _KeptSource) -> bool:
        """Whether *source* dates versions by their publication, and not by when it first fetched them."""
        if source.flat not in self._knowing:
            old = await self._registered(source, _OLD_PACKAGE)
            days = [item.published for item in old if item.published and item.listed]
            self._knowing[source.flat] = not days or min(days) < _OLD_PACKAGE_BY
        return self._knowing[source.flat]

    async def _source(self, url: str) -> _KeptSource:
        """Return where a source has what; asked for once, and kept in case it does not answer later."""
        if url in self._sources:
            return self._sources[url]
        kept = self.cache.record("nuget-sources", url, _KeptSource)
        try:
            index = await self._json(url)
        except NetworkError:
            if kept is None:
                raise
            return kept
        types = {str(item.get("@type")): str(item.get("@id")) for item in _list(index, "resources")}
        if _FLAT not in types:
            raise NetworkError(f"{shown(url)} is no NuGet source of version 3")
        registrations = next((types[name] for name in _REGISTRATIONS if name in types), None)
        found = _KeptSource(flat=types[_FLAT], registrations=registrations)
        self.cache.keep_record("nuget-sources", url, found)
        self._sources[url] = found
        return found

    async def _hashes(self, wanted: NuGetVersion) -> dict[str, str]:
        """Return the hash that a source names: its registration leads to a catalog entry, which has it."""
        if wanted.leaf is None:
            return {}
        leaf = await self._json(wanted.leaf)
        entry = (leaf or {}).get("catalogEntry")
        if isinstance(entry, str):
            entry = await self._json(urljoin(wanted.leaf, entry))
        if not isinstance(entry, dict):
            return {}
        algorithm = _HASHES.get(str(entry.get("packageHashAlgorithm", "")).upper())
        try:
            digest = base64.b64decode(str(entry.get("packageHash", "")), validate=True).hex()
        except binascii.Error:
            return {}
        return {algorithm: digest} if algorithm and digest else {}

    async def _json(self, url: str) -> dict[str, Any] | None:
        """Return a JSON object, None when there is nothing."""
        answer = await self._upstream.page(url, accept="application/json")
        try:
            self._check_present(answer, url)
        except UnknownPackageError:
            return None
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise NetworkError(f"{shown(url)} is no page of a NuGet source of version 3") from error
        if not isinstance(found, dict):
            raise NetworkError(f"{shown(url)} is no page of a NuGet source of version 3")
        return found


def _registered_version(item: Mapping[str, Any], flat: str) -> NuGetVersion | None:
    entry = item.get("catalogEntry")
    version = (
        normalised(entry["version"]) if isinstance(entry, dict) and isinstance(entry.get("version"), str) else None
    )
    if not isinstance(entry, dict) or version is None:
        return None
    published = instant(entry.get("published"))
    unlisted = published is not None and published.year <= 1900  # a day that is none
    leaf = item.get("@id")
    return NuGetVersion(
        version=version,
        flat=flat,
        published=_LONG_AGO if unlisted else published,
        leaf=leaf if isinstance(leaf, str) else None,
        listed=entry.get("listed") is not False and not unlisted,
    )


def _merged(first: VersionsFound, second: VersionsFound) -> VersionsFound:
    """Return the versions of both, lowest first; of what both have, *first* counts."""
    versions = {item.version: item for item in (*second.versions, *first.versions)}
    ordered = sorted(versions.values(), key=lambda item: order(item.version))
    return VersionsFound(versions=tuple(ordered), undated=first.undated or second.undated)


def _of_folder(path: Path) -> FileFound:
    """Return a package of a folder, which no source's hash vouches for. Raises `NetworkError`."""
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return FileFound(path, sha256, path.stat().st_size, from_cache=True, verified=False)
    except OSError as error:
        raise NetworkError(f"the package {path} cannot be read: {error.strerror}") from error


def _list(page: Mapping[str, Any] | None, key: str) -> list[dict[str, Any]]:
    found = (page or {}).get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
