"""What a sandbox sees of NuGet: one source, which answers as the protocol's version 3 says.

`dotnet restore` asks for the service index, versions and packages; `dotnet tool install` and `dotnet package add`
for registrations; `dotnet package search` for what is found by a whole name.
"""

import re
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from groundup.domain.errors import NetworkError
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, UnknownPackageError, text
from groundup.registries.nuget.client import NuGetClient, NuGetVersion
from groundup.registries.server import Request, Response

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
