"""The NuGet gateway: what a restore gets inside a sandbox, by the protocol."""

import asyncio
import base64
import hashlib
import io
import os
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.nuget import NuGetClient, NuGetGateway, NuGetSettings, nuget_settings
from groundup.registries.settings import Index
from tests.registries.fake_site import Site, guest

NUSPEC = b"<package><metadata><id>Demo.Lib</id></metadata></package>"


def package(version: str) -> bytes:
    """Return a package with a manifest."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for name, content in (("Demo.Lib.nuspec", NUSPEC), ("lib/net8.0/Demo.Lib.dll", version)):
            archive.writestr(zipfile.ZipInfo(name), content)  # without the time of day: the same bytes each time
    return found.getvalue()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A source with two versions of one package, a page of registrations, and a catalog with hashes."""
    async with Site.serving() as found:
        resources = [
            {"@id": f"{found.address}/flat/", "@type": "PackageBaseAddress/3.0.0"},
            {"@id": f"{found.address}/old/", "@type": "RegistrationsBaseUrl"},
            {"@id": f"{found.address}/reg/", "@type": "RegistrationsBaseUrl/3.6.0"},
        ]
        found.write("/index.json", {"version": "3.0.0", "resources": resources})
        found.write("/flat/demo.lib/index.json", {"versions": ["1.0.0", "2.0.0"]})
        items = []
        for version, published in (
            ("1.0.0", "2020-01-01T00:00:00Z"),
            ("2.0.0", "2022-01-01T00:00:00.1234567+00:00"),
        ):
            data = package(version)
            found.write(f"/flat/demo.lib/{version}/demo.lib.{version}.nupkg", data)
            leaf, entry = f"{found.address}/reg/demo.lib/{version}.json", f"{found.address}/catalog/{version}.json"
            found.write(f"/reg/demo.lib/{version}.json", {"catalogEntry": entry})
            digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
            found.write(f"/catalog/{version}.json", {"packageHash": digest, "packageHashAlgorithm": "SHA512"})
            items.append({"@id": leaf, "catalogEntry": {"version": version, "published": published}})
        found.write("/reg/demo.lib/page.json", {"items": items})
        found.write("/reg/demo.lib/index.json", {"items": [{"@id": f"{found.address}/reg/demo.lib/page.json"}]})
        yield found


@pytest.fixture
async def registry(site: Site, tmp_path: Path) -> AsyncIterator[NuGetClient]:
    """The host's view of it, with an empty cache."""
    indexes = (Index(url=f"{site.address}/index.json"),)
    found = NuGetClient(NuGetSettings(indexes=indexes), FetchCache(tmp_path / "cache"))
    yield found
    await found.close()


async def test_a_restore_finds_its_way(site: Site, registry: NuGetClient) -> None:
    """From the service index over versions to a package that was verified, with the gateway's addresses only."""
    gateway = NuGetGateway(registry)
    async with guest(gateway) as client:
        index = (await client.get("/v3/index.json")).json()
        places = {item["@type"]: item["@id"] for item in index["resources"]}
        flat = places["PackageBaseAddress/3.0.0"]
        assert (await client.get(f"{flat}demo.lib/index.json")).json() == {"versions": ["1.0.0", "2.0.0"]}
        found = await client.get(f"{flat}demo.lib/2.0.0/demo.lib.2.0.0.nupkg")
        assert found.content == package("2.0.0")
        assert (await client.get(f"{flat}demo.lib/2.0.0/demo.lib.nuspec")).content == NUSPEC
        registration = (await client.get(f"{places['RegistrationsBaseUrl/3.6.0']}demo.lib/index.json")).text
        assert site.address not in registration
        assert (await client.get("/v3/flat/other/index.json")).status_code == 404
        assert (await client.get("/v3/flat/demo.lib/2.0.0/other.2.0.0.nupkg")).status_code == 404
    assert [fetched.verified for fetched in gateway.fetched if fetched.kind == "file"] == [True]
    assert "/reg/demo.lib/2.0.0.json" in site.paths()


async def test_a_changed_package_is_never_served(site: Site, registry: NuGetClient) -> None:
    """A package that is not what the catalog says is an error; a source without hashes leaves it unverified."""
    site.write("/flat/demo.lib/1.0.0/demo.lib.1.0.0.nupkg", b"something else")
    del site.pages["/catalog/2.0.0.json"]
    gateway = NuGetGateway(registry)
    async with guest(gateway) as client:
        assert (await client.get("/v3/flat/demo.lib/1.0.0/demo.lib.1.0.0.nupkg")).status_code == 502
        assert (await client.get("/v3/flat/demo.lib/2.0.0/demo.lib.2.0.0.nupkg")).status_code == 200
    assert [fetched.verified for fetched in gateway.fetched if fetched.kind == "file"] == [False]


async def test_cut_off_refusal_and_cache(site: Site, registry: NuGetClient) -> None:
    """What is newer does not exist, what is refused is refused, and a second restore needs no source."""
    async with guest(NuGetGateway(registry, cutoff=cutoff_instant("2021-01-01"))) as client:
        assert (await client.get("/v3/flat/demo.lib/index.json")).json() == {"versions": ["1.0.0"]}
        assert (await client.get("/v3/flat/demo.lib/2.0.0/demo.lib.2.0.0.nupkg")).status_code == 404
        assert (await client.get("/v3/flat/demo.lib/1.0.0/demo.lib.1.0.0.nupkg")).status_code == 200
    async with guest(NuGetGateway(registry, refused=("demo.LIB",))) as client:
        assert (await client.get("/v3/flat/Demo.Lib/index.json")).status_code == 403
    await site.close()
    async with guest(NuGetGateway(registry, cutoff=cutoff_instant("2021-01-01"))) as client:
        assert (await client.get("/v3/flat/demo.lib/1.0.0/demo.lib.1.0.0.nupkg")).status_code == 200


async def test_many_jobs_download_a_package_once(site: Site, registry: NuGetClient) -> None:
    """Restores that ask at the same time, in whatever case, share one download; so does a later one."""
    async with guest(NuGetGateway(registry)) as one, guest(NuGetGateway(registry)) as other:
        found = await asyncio.gather(
            *(client.get("/v3/flat/demo.lib/2.0.0/demo.lib.2.0.0.nupkg") for client in (one, other, one)),
            other.get("/v3/flat/Demo.Lib/2.0.0/Demo.Lib.2.0.0.nupkg"),
        )
    assert {reply.content for reply in found} == {package("2.0.0")}
    assert [path for path in site.paths() if path.endswith(".nupkg")] == [
        "/flat/demo.lib/2.0.0/demo.lib.2.0.0.nupkg"
    ]


async def test_sources_and_passwords_are_the_users(tmp_path: Path) -> None:
    """Enabled sources count, with the passwords that NuGet.Config has in clear text."""
    (tmp_path / "bin").mkdir()
    script = '#!/bin/sh\necho "E https://a.example/v3/index.json"\necho "D https://off.example/v3/index.json"\n'
    (tmp_path / "bin" / "dotnet").write_text(script)
    (tmp_path / "bin" / "dotnet").chmod(0o755)
    config = tmp_path / ".nuget/NuGet/NuGet.Config"
    config.parent.mkdir(parents=True)
    config.write_text(
        '<configuration><packageSources><add key="my feed" value="https://a.example/v3/index.json"/></packageSources>'
        '<packageSourceCredentials><my_x0020_feed><add key="Username" value="me"/>'
        '<add key="ClearTextPassword" value="pw"/></my_x0020_feed></packageSourceCredentials></configuration>'
    )
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.defpath}", "HOME": str(tmp_path)}
    found = await nuget_settings(environment)
    assert [index.url for index in found.indexes] == ["https://a.example/v3/index.json"]
    credentials = found.credentials_for("https://a.example/v3/flat/x")
    assert credentials is not None
    assert (credentials.username, credentials.password.get_secret_value()) == ("me", "pw")
    with pytest.raises(InfrastructureError, match=r"install a \.NET SDK"):
        await nuget_settings({"PATH": str(tmp_path), "HOME": str(tmp_path)})
