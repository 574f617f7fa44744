"""NuGet sources as one sandbox sees them: the v3 protocol on its own loopback, with one task's rules applied.

Serves what a restore needs: the service index, the flat container, and registrations with what is known here.
Addresses and passwords stay in `NuGetRegistry` on the host.
"""

import json
import re
import zipfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from groundup.domain.errors import NetworkError
from groundup.registries.gateway import RegistryGateway, Supplies
from groundup.registries.ledger import MAX_BYTES, Fetched, RegistryRefusedError, UnknownPackageError, text
from groundup.registries.nuget.client import NuGetRegistry, is_name
from groundup.registries.server import Request, Response, ServerLimits

CONFIG_PLACE = "/home/user/.nuget/NuGet/NuGet.Config"
_VERSIONS = re.compile(r"/v3/flat/(?P<name>[^/]+)/index\.json")
_FILE = re.compile(r"/v3/flat/(?P<name>[^/]+)/(?P<version>[^/]+)/(?P<file>[^/]+)\.(?P<kind>nupkg|nuspec)")
_REGISTRATION = re.compile(r"/v3/registrations/(?P<name>[^/]+)/index\.json")
_HOST = re.compile(r"[\w.:\[\]-]{1,100}")
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

    port = 29104
    entrance = "/v3/index.json"

    def __init__(
        self,
        registry: NuGetRegistry,
        *,
        refused: Iterable[str] = (),
        cutoff: datetime | None = None,
        limits: ServerLimits | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(limits=limits, max_bytes=max_bytes)
        self.refused = frozenset(name.lower() for name in refused)
        self._registry = registry
        self._cutoff = cutoff

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

    def silence_s(self) -> float:
        """Return for how long the registry has sent nothing."""
        return self._registry.silence_s()

    async def _handle(self, request: Request) -> Response:
        path = unquote(urlsplit(request.path).path)
        host = request.headers.get("host", "")
        base = f"http://{host}" if _HOST.fullmatch(host) else ""
        if path == self.entrance:
            return _json(_service_index(base))
        if match := _VERSIONS.fullmatch(path):
            name = match["name"]
            return await self._ledger.answered(name, lambda: self._versions(name))
        if match := _REGISTRATION.fullmatch(path):
            name = match["name"]
            return await self._ledger.answered(name, lambda: self._registration(name, base))
        if match := _FILE.fullmatch(path):
            name, version, kind = match["name"], match["version"], match["kind"]
            if match["file"].lower() == (f"{name}.{version}" if kind == "nupkg" else name).lower():
                return await self._ledger.answered(name, lambda: self._file(name, version, kind))
        return text(404, "nothing is here: ask for /v3/index.json")

    def _check(self, name: str) -> None:
        if not is_name(name):
            raise UnknownPackageError(f"{name[:200]!r} is no name of a NuGet package")
        if name.lower() in self.refused:
            raise RegistryRefusedError(f"the task forbids to use {name!r}")
        self._ledger.admit(name.lower())

    async def _known(self, name: str) -> list[str]:
        self._check(name)
        found = await self._registry.versions(name, self._cutoff)
        self._ledger.note(Fetched(kind="page", name=name, from_cache=found.from_cache, stale=found.stale))
        return [item.version.lower() for item in found.versions]

    async def _versions(self, name: str) -> Response:
        return _json({"versions": await self._known(name)})

    async def _registration(self, name: str, base: str) -> Response:
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
        return _json({"@id": f"{where}/index.json", "count": 1, "items": [{**page, "items": items}]})

    async def _file(self, name: str, version: str, kind: str) -> Response:
        self._check(name)
        place = f"{name}/{version}".lower()
        self._ledger.charge(place, 0)
        found = await self._registry.package(name, version, self._cutoff)
        self._ledger.correct(place, found.size)
        self._ledger.charge(place, found.size)
        self._ledger.note(
            Fetched(
                kind="file" if kind == "nupkg" else "metadata",
                name=name.lower(),
                filename=f"{name}.{version}.nupkg".lower(),
                version=version,
                sha256=found.sha256,
                bytes=found.size,
                from_cache=found.from_cache,
                verified=found.verified,
            )
        )
        if kind == "nuspec":
            return Response(200, _nuspec(found.path), content_type="application/xml")
        return Response(200, found.path, content_type="application/octet-stream")


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


def _json(content: object) -> Response:
    return Response(200, json.dumps(content).encode(), content_type="application/json")
