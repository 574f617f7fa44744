"""NuGet sources that tests make: on loopback by the protocol, or as files in a folder."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.registries.fake_site import Site

_NUSPEC = """<?xml version="1.0"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd"><metadata><id>{name}</id>
<version>{version}</version><authors>groundup</authors><description>made for a test</description>
<dependencies><group targetFramework="netstandard2.0">{dependencies}</group></dependencies></metadata></package>
"""


def made_package(name: str, version: str, needs: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return a package without code that needs others, by name and version."""
    dependencies = "".join(f'<dependency id="{need}" version="{lowest}"/>' for need, lowest in needs)
    nuspec = _NUSPEC.format(name=name, version=version, dependencies=dependencies)
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for place, content in ((f"{name}.nuspec", nuspec), ("lib/netstandard2.0/_._", "")):
            archive.writestr(zipfile.ZipInfo(place), content)  # without the time of day: the same bytes each time
    return found.getvalue()


def put_in_folder(folder: Path, name: str, version: str) -> None:
    """Write a package beside others, as `dotnet pack -o` does."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.{version}.nupkg").write_bytes(made_package(name, version))


class FakeNuGet:
    """A source of version 3 of the protocol, on a site."""

    def __init__(self, site: Site, *, days: bool = True) -> None:
        """Begin an empty source; without *days*, its registrations name no days."""
        self.address = f"{site.address}/index.json"
        self._site = site
        self._days = days
        self._items: dict[str, list[Mapping[str, object]]] = {}
        self._versions: dict[str, list[str]] = {}
        resources = [
            {"@id": f"{site.address}/flat/", "@type": "PackageBaseAddress/3.0.0"},
            {"@id": f"{site.address}/reg/", "@type": "RegistrationsBaseUrl/3.6.0"},
        ]
        site.write("/index.json", {"version": "3.0.0", "resources": resources})
        self.add("Newtonsoft.Json", "3.5.8", "2011-01-08T22:12:57Z")

    def add(
        self,
        name: str,
        version: str,
        published: str = "2020-01-01T00:00:00Z",
        needs: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Publish a version; one that is listed no longer is of the year 1900, as at nuget.org."""
        site, lower = self._site, name.lower()
        data = made_package(name, version, needs)
        leaf, entry = f"/reg/{lower}/{version}.json", f"/catalog/{lower}.{version}.json"
        digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
        site.write(f"/flat/{lower}/{version}/{lower}.{version}.nupkg", data)
        site.write(entry, {"packageHash": digest, "packageHashAlgorithm": "SHA512"})
        site.write(leaf, {"catalogEntry": site.address + entry})
        day = {"published": published} if self._days else {}
        item = {"@id": site.address + leaf, "catalogEntry": {"version": version, **day}}
        items = self._items.setdefault(lower, [])
        items.append(item)
        versions = self._versions.setdefault(lower, [])
        versions.append(version)
        site.write(f"/flat/{lower}/index.json", {"versions": versions})
        # Large packages have pages of their own.
        site.write(f"/reg/{lower}/page.json", {"items": items})
        site.write(f"/reg/{lower}/index.json", {"items": [{"@id": f"{site.address}/reg/{lower}/page.json"}]})
