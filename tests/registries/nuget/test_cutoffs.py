"""What a cut-off hides of NuGet packages, and what it must not hide."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.nuget import NuGetClient, NuGetGateway, NuGetSettings, packages_in
from groundup.registries.settings import Index
from tests.registries.fake_site import Site, guest
from tests.registries.nuget.made import FakeNuGet, put_in_folder

CUTOFF = cutoff_instant("2021-01-01")
NEW = "2022-01-01T00:00:00Z"
UNLISTED = "1900-01-01T00:00:00+00:00"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """An empty site."""
    async with Site.serving() as found:
        yield found


@pytest.fixture
async def registry(site: Site, tmp_path: Path) -> AsyncIterator[NuGetClient]:
    """A client of the source on *site*, and of a folder, for an SDK with one pack."""
    settings = NuGetSettings(
        indexes=(Index(url=f"{site.address}/index.json"),), folders=(tmp_path / "own",), bundled=("some.pack.*",)
    )
    (tmp_path / "own").mkdir()
    found = NuGetClient(settings, FetchCache(tmp_path / "cache"))
    yield found
    await found.close()


async def _versions(gateway: NuGetGateway, name: str) -> list[str]:
    async with guest(gateway) as client:
        reply = await client.get(f"/v3/flat/{name}/index.json")
        return list(reply.json()["versions"]) if reply.status_code == 200 else []


async def test_newer_versions_are_hidden_and_named(site: Site, registry: NuGetClient) -> None:
    """A job's report can say that a cut-off hides something, and from which day on."""
    source = FakeNuGet(site)
    source.add("Demo", "1.0.0")
    source.add("Demo", "2.0.0", NEW)
    source.add("Young", "1.0.0", NEW)
    gateway = NuGetGateway(registry, cutoff=CUTOFF)
    assert await _versions(gateway, "demo") == ["1.0.0"]
    assert await _versions(gateway, "young") == []
    assert {name: day.year for name, day in gateway.hidden.items()} == {"demo": 2022, "young": 2022}
    assert not gateway.is_undated


async def test_what_is_listed_no_longer_can_still_be_named(site: Site, registry: NuGetClient) -> None:
    """A version whose day nobody tells stays there for exact pins; who lists or searches does not see it."""
    source = FakeNuGet(site)
    for version, day in (("1.0.0", UNLISTED), ("1.1.0", "2020-05-05T00:00:00Z"), ("2.0.0", NEW)):
        source.add("Demo", version, day)
    async with guest(NuGetGateway(registry, cutoff=CUTOFF)) as client:
        assert (await client.get("/v3/flat/demo/index.json")).json() == {"versions": ["1.0.0", "1.1.0"]}
        assert (await client.get("/v3/flat/demo/1.0.0/demo.1.0.0.nupkg")).status_code == 200
        (page,) = (await client.get("/v3/registrations/demo/index.json")).json()["items"]
        listed = {item["catalogEntry"]["version"]: item["catalogEntry"]["listed"] for item in page["items"]}
        assert listed == {"1.0.0": False, "1.1.0": True}
        (hit,) = (await client.get("/v3/search?q=Demo")).json()["data"]
        assert [one["version"] for one in hit["versions"]] == ["1.1.0"]


async def test_what_the_sdk_asks_for_is_never_hidden(site: Site, registry: NuGetClient) -> None:
    """The SDK fixes versions of its packs, which are newer than an old project."""
    FakeNuGet(site).add("Some.Pack.linux-x64", "10.0.12", NEW)
    gateway = NuGetGateway(registry, cutoff=CUTOFF)
    assert await _versions(gateway, "some.pack.linux-x64") == ["10.0.12"]
    assert gateway.hidden == {}


async def test_a_source_without_days_hides_nothing(site: Site, registry: NuGetClient) -> None:
    """Where registrations name no days, a cut-off would hide everything; that it hides nothing is reported."""
    FakeNuGet(site, days=False).add("Demo", "1.0.0")
    gateway = NuGetGateway(registry, cutoff=CUTOFF)
    assert await _versions(gateway, "demo") == ["1.0.0"]
    assert gateway.is_undated
    fresh = NuGetClient(registry.settings, registry.cache)  # what is kept still says so
    again = NuGetGateway(fresh, cutoff=CUTOFF)
    assert await _versions(again, "demo") == ["1.0.0"]
    assert again.is_undated
    await fresh.close()


async def test_a_source_that_dates_by_its_first_fetch_hides_nothing(site: Site, registry: NuGetClient) -> None:
    """A package of 2011 that is of last week shows that the source's days say nothing of publication."""
    source = FakeNuGet(site)
    source.add("Demo", "1.0.0", NEW)
    site.write("/reg/newtonsoft.json/index.json", {"items": [{"items": [_item("13.0.1", NEW)]}]})
    gateway = NuGetGateway(registry, cutoff=CUTOFF)
    assert await _versions(gateway, "demo") == ["1.0.0"]
    assert gateway.is_undated


async def test_folders_are_sources(site: Site, registry: NuGetClient, tmp_path: Path) -> None:
    """Packages of a folder are served beside a source's, in order, whatever the cut-off."""
    FakeNuGet(site).add("Demo", "1.0.0", NEW)
    put_in_folder(tmp_path / "own", "Demo", "1.5")
    put_in_folder(tmp_path / "own", "Own.Package", "2.0.0-beta")
    below = tmp_path / "own" / "other.package" / "3.0.0"
    below.mkdir(parents=True)
    put_in_folder(below, "other.package", "3.0.0")
    async with guest(NuGetGateway(registry)) as client:
        assert (await client.get("/v3/flat/demo/index.json")).json() == {"versions": ["1.0.0", "1.5.0"]}
        found = await client.get("/v3/flat/demo/1.5.0/demo.1.5.0.nupkg")
        assert found.content == (tmp_path / "own/Demo.1.5.nupkg").read_bytes()
    gateway = NuGetGateway(registry, cutoff=CUTOFF)
    async with guest(gateway) as client:
        for name, version in (("own.package", "2.0.0-beta"), ("other.package", "3.0.0"), ("demo", "1.5.0")):
            assert (await client.get(f"/v3/flat/{name}/index.json")).json() == {"versions": [version]}
        assert (await client.get("/v3/flat/demo/1.0.0/demo.1.0.0.nupkg")).status_code == 404
    assert gateway.is_undated


def _item(version: str, published: str) -> dict[str, object]:
    return {
        "@id": f"https://x.example/{version}.json",
        "catalogEntry": {"version": version, "published": published},
    }


def test_which_files_of_a_folder_are_packages(tmp_path: Path) -> None:
    """At the top, in a folder with the package's name, and below its versions; files alone, in any case."""
    folder = tmp_path / "feed"
    for place in (
        *(
            "Demo.1.0.nupkg",
            "demo.2.0.0-RC.NUPKG",
            "demo.extra.1.0.nupkg",
            "demo.nupkg",
            "demo.x.nupkg",
            "demo.3.0.zip",
        ),
        *("DEMO/demo.4.0.nupkg", "DEMO/notes.txt", "DEMO/5.0/demo.5.0.nupkg", "DEMO/5.0/demo.nuspec"),
        *("DEMO/6.0/deep/demo.6.0.nupkg", "other/demo.7.0.nupkg", "DEMO/1.0/demo.1.0.nupkg"),
    ):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(place)
    (folder / "demo.8.0.nupkg").mkdir()
    assert {version: path.read_text() for version, path in packages_in(folder, "demo").items()} == {
        "1.0.0": "DEMO/1.0/demo.1.0.nupkg",
        "2.0.0-rc": "demo.2.0.0-RC.NUPKG",
        "4.0.0": "DEMO/demo.4.0.nupkg",
        "5.0.0": "DEMO/5.0/demo.5.0.nupkg",
    }
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "demo").write_text("a file with a package's name")
    assert packages_in(tmp_path / "flat", "demo") == {}


async def test_a_package_of_a_folder_is_vouched_for_by_no_one(registry: NuGetClient, tmp_path: Path) -> None:
    """It is that file; a folder or a package that goes away says what to do."""
    registry.settings = registry.settings.but(indexes=())
    put_in_folder(tmp_path / "own", "Demo", "1.5")
    path = tmp_path / "own/Demo.1.5.nupkg"
    found = await registry.package("demo", "1.5")
    assert (found.path, found.size, found.verified, found.from_cache) == (path, path.stat().st_size, False, True)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(UnknownPackageError) as absent:
        await registry.package("demo", "1.6")
    assert str(absent.value) == "no NuGet source that is configured has version 1.6 of demo"
    with pytest.raises(UnknownPackageError) as unknown:
        await registry.versions("other")
    assert str(unknown.value) == "no NuGet source that is configured has a version of other"
    (tmp_path / "own").rename(tmp_path / "gone")
    with pytest.raises(NetworkError) as caught:
        await registry.versions("demo")
    assert str(caught.value) == (
        f"the package source {tmp_path / 'own'} cannot be read: No such file or directory; mend it, or disable it "
        "with `dotnet nuget disable source`"
    )
