"""NuGet v3 sources: which ones `dotnet` is configured for, versions and packages, and what a sandbox sees of them.

A restore inside gets the service index, the flat container, and registrations with what is known here.
"""

import asyncio
import base64
import binascii
import json
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.etree import ElementTree

from pydantic import AliasChoices, Field, SecretStr

from groundup.domain.errors import InfrastructureError, NetworkError, UsageError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, SharedWork
from groundup.registries.client import FileFound, Found, Kept, KeptFile, Published, RegistryClient, instant
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError, text
from groundup.registries.server import Request, Response
from groundup.registries.settings import (
    Credentials,
    RegistrySettings,
    ask_client,
    certificates,
    home_of,
    parse_index,
)
from groundup.registries.upstream import shown

_SOURCE = re.compile(r"^E[A-Z]*\s+(?P<url>https?://\S+)\s*$", re.MULTILINE)
_PLACES = (".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config")


async def nuget_settings(environment: Mapping[str, str]) -> RegistrySettings:
    """Return the enabled sources. Raises `InfrastructureError` when dotnet does not say, and `UsageError`."""
    asked = {**environment, "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1"}
    result = await ask_client(["dotnet", "nuget", "list", "source", "--format", "Short"], asked)
    if result is None or not result.ok:
        raise InfrastructureError("dotnet is not on this machine to say where packages are; install a .NET SDK")
    secrets = dict(_secrets(environment))
    found = [parse_index(match["url"]) for match in _SOURCE.finditer(result.stdout.decode(errors="replace"))]
    if not found:
        raise InfrastructureError("dotnet names no source of packages; add one with `dotnet nuget add source`")
    indexes = tuple(index.but(credentials=index.credentials or secrets.get(index.url)) for index in found)
    return RegistrySettings(indexes=indexes, ca_bundle=certificates(environment), origin="NuGet's configuration")


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
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,200}")
_HASHES = {"SHA512": "sha512", "SHA256": "sha256"}
_PAGES = 200


class NuGetVersion(Published):
    """One version of a package at one source."""

    version: str
    flat: str
    """The source's address of packages."""
    leaf: str | None = None
    """Where the source says more, its hash above all."""


class _KeptVersions(Kept[tuple[NuGetVersion, ...]]):
    page: tuple[NuGetVersion, ...] = Field(validation_alias=AliasChoices("page", "versions"))


class _KeptSource(Record):
    flat: str
    registrations: str | None


class NuGetClient(RegistryClient[RegistrySettings]):
    """The user's NuGet sources. A package exists when one of them has it."""

    called = "the NuGet source"
    noun = "a NuGet package"
    absent = (404, 410)

    def __init__(self, settings: RegistrySettings, cache: FetchCache) -> None:
        super().__init__(settings, cache)
        self._sources: dict[str, _KeptSource] = {}
        self._versions: SharedWork[Found[tuple[NuGetVersion, ...]]] = SharedWork()

    @classmethod
    async def learn(cls, environment: Mapping[str, str]) -> RegistrySettings:
        """Ask dotnet."""
        return await nuget_settings(environment)

    @staticmethod
    def is_name(name: str) -> bool:
        """Whether a package could have this name."""
        return _NAME.fullmatch(name) is not None

    @staticmethod
    def _well_known(settings: RegistrySettings) -> Iterable[str]:
        return (index.url for index in settings.indexes)

    async def _versions_of(self, name: str) -> tuple[str, ...]:
        return tuple(item.version for item in (await self.versions(name)).page)

    async def versions(self, name: str, cutoff: datetime | None = None) -> Found[tuple[NuGetVersion, ...]]:
        """Return the versions of *name* at all sources, up to *cutoff* only.

        Raises `UnknownPackageError`, or `NetworkError` when a source cannot be asked and nothing older is kept.
        """
        name = name.lower()
        found = await self._versions.get((name, cutoff), partial(self._found, name, cutoff))
        versions = tuple(item for item in found.page if cutoff is None or item.published_by(cutoff))
        if not versions:
            older = f" known to be older than {cutoff.isoformat()}" if cutoff else ""
            raise UnknownPackageError(f"no NuGet source that is configured has a version of {name}{older}")
        return found._replace(page=versions)

    async def package(self, name: str, version: str, cutoff: datetime | None = None) -> FileFound:
        """Return a package on disk, verified where its source names a hash. Raises as `versions` does."""
        name, version = name.lower(), version.lower()
        found = (await self.versions(name, cutoff)).page
        wanted = next((item for item in found if item.version.lower().partition("+")[0] == version), None)
        if wanted is None:
            raise UnknownPackageError(f"no NuGet source that is configured has version {version} of {name}")
        url = f"{wanted.flat.rstrip('/')}/{name}/{version}/{name}.{version}.nupkg"
        kept = self.cache.record("nuget-packages", url, KeptFile)
        at_hand = self._at_hand(kept.sha256, verified=kept.verified) if kept else None
        return at_hand or await self._files.get(url, partial(self._package, url, wanted))

    async def _package(self, url: str, wanted: NuGetVersion) -> FileFound:
        found = await self._downloaded(url, await self._hashes(wanted))
        kept = KeptFile(sha256=found.sha256, verified=found.verified)
        await asyncio.to_thread(self.cache.keep_record, "nuget-packages", url, kept)
        return found

    async def _found(self, name: str, cutoff: datetime | None) -> Found[tuple[NuGetVersion, ...]]:
        sources = [index.url for index in self.settings.indexes]
        dated = cutoff is not None
        key = {"sources": sources, "name": name, "dated": dated}
        kept = self.cache.record("nuget-versions", key, _KeptVersions)
        if kept and kept.is_fresh(cutoff):
            return Found(kept.page, from_cache=True)
        found: dict[str, NuGetVersion] = {}
        try:
            for url in sources:
                source = await self._source(url)
                for item in await (self._dated(source, name) if dated else self._listed(source, name)):
                    found.setdefault(item.version.lower(), item)
        except NetworkError:
            if kept is None:
                raise
            return Found(kept.page, from_cache=True, stale=True)
        versions = tuple(found.values())
        if versions:  # a name that no source has is asked for again
            record = _KeptVersions(page=versions, fetched_at=time.time())
            await asyncio.to_thread(self.cache.keep_record, "nuget-versions", key, record)
        return Found(versions, from_cache=False)

    async def _listed(self, source: _KeptSource, name: str) -> list[NuGetVersion]:
        page = await self._json(f"{source.flat.rstrip('/')}/{name}/index.json")
        versions = page.get("versions") if page else []
        leaf = f"{source.registrations.rstrip('/')}/{name}/" if source.registrations else None
        return [
            NuGetVersion(version=item, flat=source.flat, leaf=f"{leaf}{item.lower()}.json" if leaf else None)
            for item in (versions if isinstance(versions, list) else [])
            if isinstance(item, str) and _VERSION.fullmatch(item)
        ]

    async def _dated(self, source: _KeptSource, name: str) -> list[NuGetVersion]:
        if source.registrations is None:
            return []
        index = await self._json(f"{source.registrations.rstrip('/')}/{name}/index.json")
        found = []
        for page in _list(index, "items")[:_PAGES]:
            if not isinstance(page.get("items"), list):
                page = await self._json(str(page.get("@id"))) or {}  # noqa: PLW2901  # the page itself, not its mention
            found += [_dated_version(item, source.flat) for item in _list(page, "items")]
        return [item for item in found if item is not None]

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


def _dated_version(item: Mapping[str, Any], flat: str) -> NuGetVersion | None:
    entry = item.get("catalogEntry")
    if not isinstance(entry, dict) or not isinstance(entry.get("version"), str):
        return None
    version = entry["version"].partition("+")[0]
    if not _VERSION.fullmatch(version):
        return None
    published = instant(entry.get("published"))
    if published is None:
        return None
    hidden = published.year <= 1900  # so are dates of versions written that are listed no longer
    leaf = item.get("@id")
    return NuGetVersion(
        version=version,
        flat=flat,
        published=None if hidden else published,
        leaf=leaf if isinstance(leaf, str) else None,
    )


def _list(page: Mapping[str, Any] | None, key: str) -> list[dict[str, Any]]:
    found = (page or {}).get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


CONFIG_PLACE = "/home/user/.nuget/NuGet/NuGet.Config"
_VERSIONS = re.compile(r"/v3/flat/(?P<name>[^/]+)/index\.json")
_FILE = re.compile(r"/v3/flat/(?P<name>[^/]+)/(?P<version>[^/]+)/(?P<file>[^/]+)\.(?P<kind>nupkg|nuspec)")
_REGISTRATION = re.compile(r"/v3/registrations/(?P<name>[^/]+)/index\.json")
_INDEX = re.compile(re.escape("/v3/index.json"))
_NUSPEC_BYTES = 4 * 1024 * 1024


def nuget_file(address: str) -> str:
    """Return NuGet's configuration for the inside: one source instead of all others."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<configuration>\n  <packageSources>\n    <clear />\n'
        f'    <add key="groundup" value="{address}" protocolVersion="3" allowInsecureConnections="true" />\n'
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
            (_FILE, self._file),
        )

    async def _index(self, request: Request, match: re.Match[str]) -> Response:
        return as_json(_service_index(address_in(request)))

    async def _known(self, name: str) -> list[str]:
        self._admit(name)
        found = await self._registry.versions(name, self._cutoff)
        self._note_page(name, found)
        return [item.version.lower() for item in found.page]

    async def _versions(self, request: Request, match: re.Match[str]) -> Response:
        return as_json({"versions": await self._known(match["name"])})

    async def _registration(self, request: Request, match: re.Match[str]) -> Response:
        name, base = match["name"], address_in(request)
        versions = await self._known(name)
        where, flat = f"{base}/v3/registrations/{name.lower()}", f"{base}/v3/flat/{name.lower()}"
        items = [
            {
                "@id": f"{where}/{version}.json",
                "catalogEntry": {"@id": f"{where}/{version}.json", "id": name, "version": version, "listed": True},
                "packageContent": f"{flat}/{version}/{name.lower()}.{version}.nupkg",
            }
            for version in versions
        ]
        page = {
            "@id": f"{where}/index.json#page",
            "count": len(items),
            "lower": versions[0],
            "upper": versions[-1],
        }
        return as_json({"@id": f"{where}/index.json", "count": 1, "items": [{**page, "items": items}]})

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
    resources = [("PackageBaseAddress/3.0.0", "flat")]
    resources += [
        (f"RegistrationsBaseUrl{version}", "registrations")
        for version in ("", "/3.0.0-beta", "/3.4.0", "/3.6.0", "/Versioned")
    ]
    return {
        "version": "3.0.0",
        "resources": [{"@id": f"{base}/v3/{place}/", "@type": kind} for kind, place in resources],
    }


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
