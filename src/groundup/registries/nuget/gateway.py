"""NuGet sources as one sandbox sees them: what a restore needs of the v3 protocol.

That is the service index, the flat container, and registrations with what is known here.
"""

import re
import zipfile
from pathlib import Path

from groundup.domain.errors import NetworkError
from groundup.registries.gateway import RegistryGateway, Route, Supplies, address_in, as_json
from groundup.registries.ledger import Fetched, text
from groundup.registries.nuget.client import NuGetClient
from groundup.registries.server import Request, Response

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
