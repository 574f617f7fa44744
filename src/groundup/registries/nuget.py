"""NuGet: the sources that `dotnet` is configured for, their versions and packages, and what one sandbox sees.

A source is an address (of version 3 of the protocol) or a folder. Where a cut-off holds, these count as old: what
the SDK asks for of its own accord, whose versions it fixes; versions that are listed no longer, which restore for
who names them and whose days no source tells; and what comes from a folder, or from a source without dates.

A sandbox sees one source: `dotnet restore` asks for the service index, versions and packages; `dotnet tool
install` and `dotnet package add` for registrations; `dotnet package search` for what is found by a whole name.
Versions are compared as NuGet writes them: `1.0` is `1.0.0`, capitals and build metadata mean nothing.
"""

import asyncio
import base64
import binascii
import fnmatch
import hashlib
import json
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urljoin, urlsplit
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
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError, text
from groundup.registries.server import Request, Response
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

_VERSION = re.compile(
    r"(\d{1,10})(?:\.(\d{1,10}))?(?:\.(\d{1,10}))?(?:\.(\d{1,10}))?(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]*)?"
)
Order = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def normalised(text: str) -> str | None:
    """Return a version as addresses have it, in lower case; None for what is no version."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = [int(number or 0) for number in match.groups()[:4]]
    if not numbers[3]:
        del numbers[3]
    release = ".".join(map(str, numbers))
    return f"{release}-{match[5].lower()}" if match[5] else release


def order(version: str) -> Order:
    """Return the key by which a normalised version is sorted: a release comes after its pre-releases."""
    release, _, label = version.partition("-")
    numbers = tuple(int(number) for number in release.split("."))
    parts = label.split(".") if label else []
    keys = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
    return (*numbers, 0)[:4], not label, keys


_SUFFIX = ".nupkg"


def packages_in(folder: Path, name: str) -> dict[str, Path]:
    """Return the packages *name* (in lower case) in *folder*, by version. Raises `OSError`."""
    found: dict[str, Path] = {}
    for path in _candidates(folder, name):
        stem = path.name.lower().removesuffix(_SUFFIX)
        version = normalised(stem[len(name) + 1 :]) if stem.startswith(f"{name}.") else None
        if version is not None and path.is_file():
            found.setdefault(version, path)
    return found


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.lower().endswith(_SUFFIX):
            yield entry
        elif entry.name.lower() == name and entry.is_dir():
            for below in sorted(entry.iterdir()):
                if below.name.lower().endswith(_SUFFIX):
                    yield below
                elif below.is_dir():
                    yield from sorted(one for one in below.iterdir() if one.name.lower().endswith(_SUFFIX))


_FIXED = "Microsoft.NETCoreSdk.BundledVersions.props"
_IMPLICIT = "Sdks/Microsoft.NET.Sdk/targets"
_KNOWN = re.compile(r'<(?:Known\w+Pack|ImplicitPackageReferenceVersion)\s+Include="([\w.]+)"')
_PACKS = re.compile(r'\b\w+(?:PackName|PackNamePatterns?)="([^"]+)"')
_REFERENCES = re.compile(r'<PackageReference\s+Include="([\w.]+)"[^>]*?\bIsImplicitlyDefined="true"', re.DOTALL)
OF_MACHINES = ("powershell",)
"""Programs of the machine that a job runs on: as new as the SDK, too."""
_SYSTEM = "**RID**"
"""Stands in a name for the system that a pack is for, such as `linux-x64`."""


def bundled_names(sdk: Path) -> tuple[str, ...]:
    """Return the names of the packages that the SDK in the folder *sdk* asks for, in lower case.

    `*` stands for any part of a name. Packages that belong to a name, such as those of single frameworks, count.
    """
    names = {pattern.replace(_SYSTEM, "*").lower() for pattern in _patterns(sdk)}
    return tuple(sorted({found for name in names for found in (name, f"{name}.*")}))


def _patterns(sdk: Path) -> Iterator[str]:
    fixed = _text(sdk / _FIXED)
    yield from _KNOWN.findall(fixed)
    for value in _PACKS.findall(fixed):
        yield from value.split(";")
    for path in sorted((sdk / _IMPLICIT).glob("*.targets")):
        yield from _REFERENCES.findall(_text(path))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


_SOURCE = re.compile(r"^E[A-Z]*\s+(?P<place>(?:https?|file)://\S+|/.*\S)\s*$", re.MULTILINE)
_SDK = re.compile(r"^(?P<version>\S+) \[(?P<folder>.+)\]\s*$", re.MULTILINE)
_PLACES = (".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config")


class NuGetSettings(RegistrySettings):
    """How this user reaches NuGet's packages."""

    indexes: tuple[Index, ...] = ()
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


SOURCE = "groundup"
"""What the one source is called in a sandbox."""
CONFIG_PLACE = "/home/user/.nuget/NuGet/NuGet.Config"
_VERSIONS = re.compile(r"/v3/flat/(?P<name>[^/]+)/index\.json")
_FILE = re.compile(r"/v3/flat/(?P<name>[^/]+)/(?P<version>[^/]+)/(?P<file>[^/]+)\.(?P<kind>nupkg|nuspec)")
_REGISTRATION = re.compile(r"/v3/registrations/(?P<name>[^/]+)/index\.json")
_LEAF = re.compile(r"/v3/registrations/(?P<name>[^/]+)/(?P<version>[^/]+)\.json")
_SEARCH = re.compile("/v3/search/?")
_INDEX = re.compile(re.escape("/v3/index.json"))
_NUSPEC_BYTES = 4 * 1024 * 1024


def nuget_file(address: str) -> str:
    """Return NuGet's configuration for the inside: one source instead of all others."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<configuration>\n  <packageSources>\n    <clear />\n'
        f'    <add key="{SOURCE}" value="{address}" protocolVersion="3" allowInsecureConnections="true" />\n'
        "  </packageSources>\n</configuration>\n"
    )


class NuGetGateway(RegistryGateway):
    """One sandbox's way to NuGet packages."""

    client = NuGetClient
    _registry: NuGetClient
    port = 29104
    entrance = "/v3/index.json"
    hint = entrance

    def supplies(self, address: str) -> Supplies:
        """Return NuGet's configuration, and variables that keep dotnet from other ways out."""
        return Supplies(
            environment={
                "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
                "DOTNET_NOLOGO": "1",
                "NUGET_CERT_REVOCATION_MODE": "offline",
            },
            files={CONFIG_PLACE: nuget_file(address)},
        )

    def routes(self) -> tuple[Route, ...]:
        """What the service index names."""
        return (
            (_INDEX, self._index),
            (_VERSIONS, self._versions),
            (_REGISTRATION, self._registration),
            (_LEAF, self._leaf),
            (_SEARCH, self._search),
            (_FILE, self._file),
        )

    async def _index(self, request: Request, match: re.Match[str]) -> Response:
        return as_json(_service_index(address_in(request)))

    async def _known(self, name: str) -> tuple[NuGetVersion, ...]:
        self._admit(name)
        found = await self._registry.versions(name, self._cutoff)
        self._note_page(name.lower(), found)
        return found.page

    async def _versions(self, request: Request, match: re.Match[str]) -> Response:
        return as_json({"versions": [item.version for item in await self._known(match["name"])]})

    async def _registration(self, request: Request, match: re.Match[str]) -> Response:
        """Answer with all versions in one page, which the protocol allows."""
        name, base = match["name"], address_in(request)
        items = [_registered(base, name, item) for item in await self._known(name)]
        where = f"{_place(base, name)}/index.json"
        lower, upper = (items[at]["catalogEntry"]["version"] for at in (0, -1))
        page = {"@id": f"{where}#page", "count": len(items), "lower": lower, "upper": upper, "items": items}
        return as_json({"@id": where, "count": 1, "items": [page]})

    async def _leaf(self, request: Request, match: re.Match[str]) -> Response:
        name, version, base = match["name"], match["version"], address_in(request)
        found = next((item for item in await self._known(name) if item.version == version.lower()), None)
        if found is None:
            raise UnknownPackageError(f"no NuGet source that is configured has version {version} of {name}")
        return as_json({**_registered(base, name, found), "registration": f"{_place(base, name)}/index.json"})

    async def _search(self, request: Request, match: re.Match[str]) -> Response:
        """Answer with the package whose whole name is asked for: no source is searched."""
        asked = parse_qs(urlsplit(request.path).query).get("q", [""])[0].strip()
        name = asked.removeprefix("packageid:").removeprefix("PackageId:")
        if not self._registry.is_name(name):
            return as_json(_search_result(()))
        return await self._ledger.answered(name, partial(self._found, name, address_in(request)))

    async def _found(self, name: str, base: str) -> Response:
        try:
            versions = [item for item in await self._known(name) if item.listed]
        except UnknownPackageError:
            versions = []
        return as_json(_search_result((_hit(base, name, versions),) if versions else ()))

    async def _file(self, request: Request, match: re.Match[str]) -> Response:
        name, version, is_package = match["name"], match["version"], match["kind"] == "nupkg"
        if match["file"].lower() != (f"{name}.{version}" if is_package else name).lower():
            return text(404, f"nothing is here: ask for {self.hint}")
        self._admit(name)
        place = f"{name}/{version}".lower()
        self._ledger.charge(place, 0)
        found = await self._registry.package(name, version, self._cutoff)
        kind = "file" if is_package else "metadata"
        filename = f"{name}.{version}.nupkg".lower()
        what = Fetched(kind=kind, name=name.lower(), filename=filename, version=version)
        package = await self._given(place, found, what)
        return package if is_package else Response(200, _nuspec(found.path), content_type="application/xml")


def _service_index(base: str) -> dict[str, object]:
    resources = [("PackageBaseAddress/3.0.0", "flat/")]
    resources += [
        (f"RegistrationsBaseUrl{version}", "registrations/")
        for version in ("", "/3.0.0-beta", "/3.4.0", "/3.6.0", "/Versioned")
    ]
    resources += [(f"SearchQueryService{version}", "search") for version in ("", "/3.0.0-beta", "/3.5.0")]
    return {
        "version": "3.0.0",
        "resources": [{"@id": f"{base}/v3/{place}", "@type": kind} for kind, place in resources],
    }


def _place(base: str, name: str) -> str:
    return f"{base}/v3/registrations/{name.lower()}"


def _registered(base: str, name: str, item: NuGetVersion) -> dict[str, Any]:
    """Return what a registration says of one version."""
    lower, version = name.lower(), item.version
    leaf = f"{_place(base, name)}/{version}.json"
    entry = {"@id": leaf, "id": name, "version": version, "listed": item.listed}
    package = f"{base}/v3/flat/{lower}/{version}/{lower}.{version}.nupkg"
    return {"@id": leaf, "catalogEntry": {**entry, "packageContent": package}, "packageContent": package}


def _hit(base: str, name: str, versions: Sequence[NuGetVersion]) -> dict[str, object]:
    place = _place(base, name)
    return {
        "@type": "Package",
        "registration": f"{place}/index.json",
        "id": name,
        "version": versions[-1].version,
        "description": "",
        "authors": [],
        "totalDownloads": 0,
        "packageTypes": [{"name": "Dependency"}],
        "versions": [
            {"@id": f"{place}/{item.version}.json", "version": item.version, "downloads": 0} for item in versions
        ],
    }


def _search_result(hits: Sequence[dict[str, object]]) -> dict[str, object]:
    return {"totalHits": len(hits), "data": list(hits)}


def _nuspec(package: Path) -> bytes:
    """Return the manifest in a package. Raises `NetworkError`."""
    try:
        with zipfile.ZipFile(package) as archive:
            for entry in archive.infolist():
                if "/" not in entry.filename and entry.filename.lower().endswith(".nuspec"):
                    if entry.file_size > _NUSPEC_BYTES:
                        break
                    return archive.read(entry)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise NetworkError(f"a NuGet source sent a package that cannot be read: {error}") from error
    raise NetworkError("a NuGet source sent a package without a manifest of sensible size")
