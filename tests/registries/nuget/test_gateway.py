"""The NuGet gateway: what a restore gets inside a sandbox, by the protocol."""

import asyncio
import base64
import hashlib
import io
import json
import os
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.nuget import (
    NuGetClient,
    NuGetGateway,
    NuGetSettings,
    _nuspec,
    _registered_version,
    nuget_settings,
)
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


async def test_each_answer_to_the_key(site: Site, registry: NuGetClient) -> None:
    """What NuGet asks for, with the gateway's addresses."""
    del site.pages["/flat/demo.lib/1.0.0/demo.lib.1.0.0.nupkg"]
    gateway = NuGetGateway(registry)
    async with guest(gateway) as client:
        base = str(client.base_url).rstrip("/")
        at = f"{base}/v3/registrations/demo.lib"
        resources = [
            ("flat/", "PackageBaseAddress/3.0.0"),
            ("registrations/", "RegistrationsBaseUrl"),
            ("registrations/", "RegistrationsBaseUrl/3.0.0-beta"),
            ("registrations/", "RegistrationsBaseUrl/3.4.0"),
            ("registrations/", "RegistrationsBaseUrl/3.6.0"),
            ("registrations/", "RegistrationsBaseUrl/Versioned"),
            ("search", "SearchQueryService"),
            ("search", "SearchQueryService/3.0.0-beta"),
            ("search", "SearchQueryService/3.5.0"),
        ]
        assert (await client.get("/v3/index.json")).json() == {
            "version": "3.0.0",
            "resources": [{"@id": f"{base}/v3/{place}", "@type": kind} for place, kind in resources],
        }

        def registered(version: str) -> dict[str, object]:
            leaf = f"{at}/{version}.json"
            package = f"{base}/v3/flat/demo.lib/{version}/demo.lib.{version}.nupkg"
            entry = {"@id": leaf, "id": "Demo.Lib", "version": version, "listed": True, "packageContent": package}
            return {"@id": leaf, "catalogEntry": entry, "packageContent": package}

        assert (await client.get("/v3/registrations/Demo.Lib/index.json")).json() == {
            "@id": f"{at}/index.json",
            "count": 1,
            "items": [
                {
                    "@id": f"{at}/index.json#page",
                    "count": 2,
                    "lower": "1.0.0",
                    "upper": "2.0.0",
                    "items": [registered("1.0.0"), registered("2.0.0")],
                }
            ],
        }
        assert (await client.get("/v3/registrations/Demo.Lib/2.0.0.json")).json() == {
            **registered("2.0.0"),
            "registration": f"{at}/index.json",
        }
        absent = await client.get("/v3/registrations/Demo.Lib/3.0.0.json")
        assert (absent.status_code, absent.text.strip()) == (
            404, "no NuGet source that is configured has version 3.0.0 of Demo.Lib",
        )  # fmt: skip
        hit = {
            "@type": "Package",
            "registration": f"{at}/index.json",
            "id": "Demo.Lib",
            "version": "2.0.0",
            "description": "",
            "authors": [],
            "totalDownloads": 0,
            "packageTypes": [{"name": "Dependency"}],
            "versions": [
                {"@id": f"{at}/{version}.json", "version": version, "downloads": 0}
                for version in ("1.0.0", "2.0.0")
            ],
        }
        for asked in ("Demo.Lib", "packageid:Demo.Lib", "PackageId:Demo.Lib", " Demo.Lib "):
            found = await client.get("/v3/search", params={"q": asked})
            assert found.json() == {"totalHits": 1, "data": [hit]}
        for asked in ("Demo.Lob", "demo lib", ""):
            assert (await client.get("/v3/search/", params={"q": asked})).json() == {"totalHits": 0, "data": []}
        other = await client.get("/v3/flat/demo.lib/2.0.0/demo.lib.3.0.0.nupkg")
        assert (other.status_code, other.text.strip()) == (404, "nothing is here: ask for /v3/index.json")
        manifest = await client.get("/v3/flat/demo.lib/2.0.0/Demo.Lib.nuspec")
        assert (manifest.content, manifest.headers["content-type"]) == (NUSPEC, "application/xml")
    files = [(one.kind, one.name, one.filename, one.version) for one in gateway.fetched if one.kind != "page"]
    assert files == [("metadata", "demo.lib", "demo.lib.2.0.0.nupkg", "2.0.0")]
    async with guest(NuGetGateway(registry, refused=("demo.lib",))) as client:
        for place in ("flat/demo.lib/2.0.0/demo.lib.2.0.0.nupkg", "registrations/demo.lib/2.0.0.json"):
            assert (await client.get(f"/v3/{place}")).status_code == 403


async def test_a_source_that_is_down_is_as_it_was(
    site: Site, registry: NuGetClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept counts after its time, and is marked; what never was asked for is an error."""
    assert [item.version for item in (await registry.versions("demo.lib")).page] == ["1.0.0", "2.0.0"]
    kept = await registry.versions("demo.lib")
    assert (kept.from_cache, kept.stale) == (True, False)
    await site.close()
    monkeypatch.setattr("groundup.registries.client.FRESH_S", 0)
    old = await registry.versions("demo.lib")
    assert (old.page, old.from_cache, old.stale) == (kept.page, True, True)
    with pytest.raises(NetworkError):
        await registry.versions("other")


@pytest.mark.parametrize(
    ("leaf", "entry", "verified"),
    [
        ({"catalogEntry": "ENTRY"}, {"packageHash": "DIGEST", "packageHashAlgorithm": "sha512"}, True),
        (
            {"catalogEntry": "../../catalog/2.0.0.json"},
            {"packageHash": "DIGEST", "packageHashAlgorithm": "SHA512"},
            True,
        ),
        ({"catalogEntry": {"packageHash": "DIGEST", "packageHashAlgorithm": "SHA512"}}, {}, True),
        ({"catalogEntry": "ENTRY"}, {"packageHash": "not base64!", "packageHashAlgorithm": "SHA512"}, False),
        ({"catalogEntry": "ENTRY"}, {"packageHash": "DIGEST", "packageHashAlgorithm": "CRC"}, False),
        ({"catalogEntry": "ENTRY"}, {"packageHash": "DIGEST"}, False),
        ({"catalogEntry": "ENTRY"}, {"packageHash": "", "packageHashAlgorithm": "SHA512"}, False),
        ({"catalogEntry": "ENTRY"}, {}, False),
        ({"catalogEntry": None}, {}, False),
        ({}, {}, False),
    ],
)
async def test_where_a_hash_is_looked_for(
    site: Site, registry: NuGetClient, leaf: dict[str, object], entry: dict[str, object], verified: bool
) -> None:
    """In the entry that a version's leaf has or names, wherever that is; without one, nothing is vouched for."""
    digest = base64.b64encode(hashlib.sha512(package("2.0.0")).digest()).decode()

    def filled(text: dict[str, object]) -> bytes:
        address = f"{site.address}/catalog/2.0.0.json"
        return json.dumps(text).replace("ENTRY", address).replace("DIGEST", digest).encode()

    site.write("/reg/demo.lib/2.0.0.json", filled(leaf))
    site.write("/catalog/2.0.0.json", filled(entry))
    found = await registry.package("Demo.Lib", "2.0", None)
    assert (found.verified, found.path.read_bytes()) == (verified, package("2.0.0"))
    again = await registry.package("demo.lib", "2.0.0", None)
    assert (again.verified, again.from_cache) == (verified, True)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["Demo.nuspec"], "Demo.nuspec"),
        (["lib/a.nuspec", "read.me", "DEMO.NUSPEC", "b.nuspec"], "DEMO.NUSPEC"),
        (["lib/a.nuspec", "nuspec"], None),
    ],
)
def test_the_manifest_is_at_the_top_of_a_package(tmp_path: Path, names: list[str], found: str | None) -> None:
    """The first of that ending."""
    with zipfile.ZipFile(tmp_path / "p.nupkg", "w") as archive:
        for name in names:
            archive.writestr(name, name)
    if found is not None:
        assert _nuspec(tmp_path / "p.nupkg") == found.encode()
        return
    with pytest.raises(NetworkError) as caught:
        _nuspec(tmp_path / "p.nupkg")
    assert str(caught.value) == "a NuGet source sent a package without a manifest of sensible size"
    (tmp_path / "p.nupkg").write_bytes(b"no archive")
    with pytest.raises(NetworkError) as broken:
        _nuspec(tmp_path / "p.nupkg")
    assert str(broken.value).startswith("a NuGet source sent a package that cannot be read: ")


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"@id": "l", "catalogEntry": {"version": "1.0", "published": "2020-01-01"}}, ("1.0.0", 2020, "l", True)),
        ({"@id": 3, "catalogEntry": {"version": "1.0"}}, ("1.0.0", None, None, True)),
        ({"catalogEntry": {"version": "1.0-RC", "listed": False}}, ("1.0.0-rc", None, None, False)),
        ({"catalogEntry": {"version": "1.0", "published": "1900-01-01T00:00:00"}}, ("1.0.0", 1970, None, False)),
        ({"catalogEntry": {"version": "1.0", "published": "1901-01-01"}}, ("1.0.0", 1901, None, True)),
        ({"catalogEntry": {"version": "x"}}, None),
        ({"catalogEntry": {"version": 1}}, None),
        ({"catalogEntry": {}}, None),
        ({"catalogEntry": "http://x"}, None),
        ({}, None),
    ],
)
def test_what_a_registration_says_of_a_version(
    item: dict[str, object], expected: tuple[object, ...] | None
) -> None:
    """The year 1900 stands for: not listed any more."""
    found = _registered_version(item, "flat/")
    assert expected == (
        found and (found.version, found.published and found.published.year, found.leaf, found.listed)
    )
    assert found is None or found.flat == "flat/"
