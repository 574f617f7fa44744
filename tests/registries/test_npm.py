"""Tests of groundup.registries.npm: what npm, yarn and pnpm get inside a sandbox, and what no one gets."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from groundup.domain.errors import NetworkError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.npm import BRIEF_TYPE, NpmClient, NpmGateway, TarballFound
from groundup.registries.settings import Authorization
from tests.registries.fake_npm import FakeNpm
from tests.registries.fake_site import Site, guest

BRIEF = {"Accept": f"{BRIEF_TYPE}; q=1.0, application/json; q=0.8"}


@pytest.fixture
async def npm() -> AsyncIterator[FakeNpm]:
    """An empty npm registry."""
    async with Site.serving() as site:
        yield FakeNpm(site)


@pytest.fixture
async def registry(npm: FakeNpm, tmp_path: Path) -> AsyncIterator[NpmClient]:
    """The host's view of it, with an empty cache."""
    found = NpmClient(npm.configuration(), FetchCache(tmp_path / "cache"))
    yield found
    await found.close()


@pytest.mark.parametrize("name", ["ms", "@types/ms"])
async def test_packuments_lead_to_tarballs(npm: FakeNpm, registry: NpmClient, name: str) -> None:
    """Both forms name the gateway's own addresses only; scoped names may be escaped as npm does."""
    tarball = npm.add(name, "1.0.0", scripts={"install": "make"}, dependencies={"a": "1"})
    gateway = NpmGateway(registry)
    async with guest(gateway) as client:
        brief = await client.get(f"/{name.replace('/', '%2f')}", headers=BRIEF)
        assert brief.headers["content-type"] == BRIEF_TYPE
        version = brief.json()["versions"]["1.0.0"]
        assert (version["dependencies"], version["hasInstallScript"]) == ({"a": "1"}, True)
        assert version["dist"]["tarball"] == f"{client.base_url}/{name}/-/ms-1.0.0.tgz"
        whole = await client.get(f"/{name}")
        assert whole.json()["versions"]["1.0.0"]["readme"] == whole.json()["readme"] == "long"
        assert npm.site.address not in brief.text + whole.text
        assert "readme" not in brief.text
        assert (await client.get(version["dist"]["tarball"])).content == tarball
        assert (await client.get(f"/{name}/latest")).json()["version"] == "1.0.0"
    ended = [(fetched.kind, fetched.name, fetched.version, fetched.verified) for fetched in gateway.fetched]
    assert ended == [("page", name, None, True), ("file", name, "1.0.0", True)]
    assert gateway.troubles == ()


async def test_tarballs_of_lock_files_need_no_packument(npm: FakeNpm, registry: NpmClient) -> None:
    """What a lock file names is served at once, also below another registry's path; one small page verifies it."""
    tarball = npm.add("@types/ms", "2.1.0")
    page = await registry.packument("@types/ms", "whole")
    manifest = page.page.releases["ms-2.1.0.tgz"]
    npm.site.write("/@types/ms/2.1.0", {"version": "2.1.0", "dist": {"tarball": manifest.url, "integrity": ""}})
    npm.site.asked.clear()
    async with guest(NpmGateway(registry)) as client:
        for place in ("/@types/ms/-/ms-2.1.0.tgz", "/api/npm/all/@types/ms/-/@types/ms-2.1.0.tgz"):
            assert (await client.get(place)).content == tarball
    assert npm.site.paths() == ["/files/ms-2.1.0.tgz"]


async def test_a_version_alone_is_enough(npm: FakeNpm, registry: NpmClient) -> None:
    """A tarball whose package no one asked about is verified by its version's own small page."""
    tarball = npm.add("ms", "1.0.0")
    npm.site.write(
        "/ms/1.0.0", {"version": "1.0.0", "dist": {"tarball": f"{npm.site.address}/files/ms-1.0.0.tgz"}}
    )
    gateway = NpmGateway(registry)
    async with guest(gateway) as client:
        assert (await client.get("/ms/-/ms-1.0.0.tgz")).content == tarball
    assert npm.site.paths() == ["/ms/1.0.0", "/files/ms-1.0.0.tgz"]
    assert [fetched.verified for fetched in gateway.fetched] == [False]


async def test_a_changed_tarball_is_never_served(npm: FakeNpm, registry: NpmClient) -> None:
    """Not one byte of a file that is not what its registry says leaves the host, and the record says why."""
    npm.add("ms", "1.0.0")
    npm.site.write("/files/ms-1.0.0.tgz", b"something else")
    gateway = NpmGateway(registry)
    async with guest(gateway) as client:
        answer = await client.get("/ms/-/ms-1.0.0.tgz")
    assert answer.status_code == 502
    assert b"something else" not in answer.content
    assert [(trouble.kind, trouble.name) for trouble in gateway.troubles] == [("network", "ms")]


async def test_refused_and_unknown_names(npm: FakeNpm, registry: NpmClient) -> None:
    """A refused name is refused in every form and spelling; an unknown one is unknown; paths are no way out."""
    npm.add("original", "1.0.0")
    gateway = NpmGateway(registry, refused=("Original",))
    async with guest(gateway) as client:
        for path in ("/original", "/ORIGINAL", "/original/latest", "/original/-/original-1.0.0.tgz"):
            assert (await client.get(path)).status_code == 403
        for path in ("/nothing", "/files/original-1.0.0.tgz", "/..%2ffiles", "/%2e%2e", "/.hidden"):
            assert (await client.get(path)).status_code == 404
    assert ("refused", "original") in [(trouble.kind, trouble.name) for trouble in gateway.troubles]
    assert not any("original" in path.lower() for path in npm.site.paths() if not path.startswith("/files"))


async def test_what_is_newer_than_the_cut_off_does_not_exist(npm: FakeNpm, registry: NpmClient) -> None:
    """Versions, tags, times and tarballs are those of then; `latest` is the newest that was no pre-release."""
    npm.add("ms", "1.0.0", published="2020-01-01T00:00:00.000Z")
    npm.add("ms", "1.1.0", published="2021-01-01T12:00:00.000Z")
    npm.add("ms", "2.0.0-beta.1", published="2021-01-01T00:00:00.000Z")
    npm.add("ms", "2.0.0", published="2022-01-01T00:00:00.000Z")
    npm.add("late", "1.0.0", published="2022-01-01T00:00:00.000Z")
    gateway = NpmGateway(registry, cutoff=cutoff_instant("2021-01-01"))
    async with guest(gateway) as client:
        for headers in (BRIEF, {}):
            found = (await client.get("/ms", headers=headers)).json()
            assert list(found["versions"]) == ["1.0.0", "1.1.0", "2.0.0-beta.1"]
            assert found["dist-tags"] == {"latest": "1.1.0"}
            assert "2.0.0" not in found["time"]
        assert (await client.get("/ms/-/ms-1.1.0.tgz")).status_code == 200
        assert (await client.get("/ms/-/ms-2.0.0.tgz")).status_code == 404
        assert (await client.get("/late")).status_code == 404
    assert {name: first.year for name, first in gateway.hidden.items()} == {"ms": 2022, "late": 2022}
    async with guest(NpmGateway(registry)) as client:
        assert (await client.get("/ms/-/ms-2.0.0.tgz")).status_code == 200
    async with guest(NpmGateway(registry, cutoff=cutoff_instant("2021-01-01"))) as client:
        assert (await client.get("/ms/-/ms-2.0.0.tgz")).status_code == 404


async def test_of_two_cut_offs_at_once_each_has_its_own(npm: FakeNpm, registry: NpmClient) -> None:
    """What one sandbox may not have is not withheld from another that asks in the same moment."""
    npm.add("ms", "2.0.0", published="2022-01-01T00:00:00.000Z")
    asked = (registry.tarball("ms", "ms-2.0.0.tgz", cutoff_instant(f"{year}-01-01")) for year in (2021, 2023))
    early, late = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(early, UnknownPackageError)
    assert isinstance(late, TarballFound)


async def test_dates_of_first_fetching_hide_nothing(npm: FakeNpm, registry: NpmClient) -> None:
    """A mirror that dates old versions by when it first fetched them knows no days.

    Hiding by its dates would hide the very versions that a project of the time names.
    """
    npm.add("inherits", "1.0.0", published="2024-11-23T00:00:00.000Z")
    npm.add("ms", "1.0.0", published="2025-10-03T00:00:00.000Z")
    npm.add("ms", "2.0.0", published="2024-02-23T00:00:00.000Z")
    npm.add("ms", "3.0.0", published="2025-12-01T00:00:00.000Z")
    gateway = NpmGateway(registry, cutoff=cutoff_instant("2023-01-01"))
    async with guest(gateway) as client:
        found = (await client.get("/ms", headers=BRIEF)).json()
        assert (list(found["versions"]), found["dist-tags"]) == (
            ["1.0.0", "2.0.0", "3.0.0"], {"latest": "3.0.0"},
        )  # fmt: skip
        assert (await client.get("/ms/-/ms-1.0.0.tgz")).status_code == 200
    assert gateway.is_undated
    assert not gateway.hidden
    async with guest(NpmGateway(registry, cutoff=cutoff_instant("2024-06-01"))) as client:
        assert list((await client.get("/ms", headers=BRIEF)).json()["versions"]) == ["1.0.0", "2.0.0", "3.0.0"]


async def test_dates_of_an_honest_registry_hold(npm: FakeNpm, registry: NpmClient) -> None:
    """Where an old package is as old as it should be, the cut-off hides what came later."""
    npm.add("inherits", "1.0.0", published="2011-04-07T00:00:00.000Z")
    npm.add("ms", "1.0.0", published="2024-02-23T00:00:00.000Z")
    gateway = NpmGateway(registry, cutoff=cutoff_instant("2023-01-01"))
    async with guest(gateway) as client:
        assert (await client.get("/ms", headers=BRIEF)).status_code == 404
    assert not gateway.is_undated


async def test_days_are_asked_of_the_whole_packument(npm: FakeNpm, registry: NpmClient) -> None:
    """The brief form of real registries has none; without a cut-off it is asked for, being many times smaller."""
    cutoff = cutoff_instant("2023-01-01")
    for name, gateway in {"ms": NpmGateway(registry, cutoff=cutoff), "yn": NpmGateway(registry)}.items():
        npm.add(name, "1.0.0")
        async with guest(gateway) as client:
            await client.get(f"/{name}", headers=BRIEF)
    accepted = {one.path: one.headers["accept"] for one in npm.site.asked}
    assert BRIEF_TYPE not in accepted["/ms"]
    assert BRIEF_TYPE in accepted["/yn"]


async def test_what_is_in_the_cache_needs_no_registry(npm: FakeNpm, registry: NpmClient) -> None:
    """A second install works while the registry is down, also with a client that wants another form."""
    tarball = npm.add("ms", "1.0.0")
    async with guest(NpmGateway(registry)) as client:
        await client.get("/ms", headers=BRIEF)
        await client.get("/ms/-/ms-1.0.0.tgz")
    await npm.site.close()
    gateway = NpmGateway(registry)
    async with guest(gateway) as client:
        assert (await client.get("/ms")).json()["versions"].keys() == {"1.0.0"}
        assert (await client.get("/ms", headers=BRIEF)).status_code == 200
        assert (await client.get("/ms/-/ms-1.0.0.tgz")).content == tarball
        assert (await client.get("/other")).status_code == 502
    assert all(fetched.from_cache for fetched in gateway.fetched)


async def test_questions_about_advisories_are_answered(registry: NpmClient) -> None:
    """An audit does not end an install: nothing is known here. Nothing else can be posted or put."""
    async with guest(NpmGateway(registry)) as client:
        bulk = await client.post("/-/npm/v1/security/advisories/bulk", json={"ms": ["1.0.0"]})
        assert (bulk.status_code, bulk.json()) == (200, {})
        quick = (await client.post("/-/npm/v1/security/audits/quick", json={})).json()
        assert (quick["advisories"], quick["metadata"]["vulnerabilities"]["critical"]) == ({}, 0)
        assert (await client.post("/ms", json={})).status_code == 404
        assert (await client.put("/ms", json={})).status_code == 405


async def test_tokens_stay_on_the_host(npm: FakeNpm, tmp_path: Path) -> None:
    """A registry that wants a token gets it from the host; the guest sees none of it."""
    npm.add("ms", "1.0.0")
    npm.site.password = "Bearer secret-token"
    place = npm.site.address.removeprefix("http:")
    token = Authorization(place=place, header=SecretStr("Bearer secret-token"))
    plain = npm.configuration()
    known = NpmClient(plain.but(authorizations=(token,)), FetchCache(tmp_path / "known"))
    unknown = NpmClient(plain, FetchCache(tmp_path / "unknown"))
    async with guest(NpmGateway(known)) as client:
        answer = await client.get("/ms/-/ms-1.0.0.tgz")
        assert answer.status_code == 200
        assert "secret" not in str(answer.headers) + (await client.get("/ms")).text
    async with guest(NpmGateway(unknown)) as client:
        refusal = await client.get("/ms")
        assert refusal.status_code == 502
        assert "npm's configuration" in refusal.text or "credentials" in refusal.text
    await known.close()
    await unknown.close()


@pytest.mark.parametrize("address", ["http://10.0.0.1:29102/", "http://[::1]:1"])
def test_what_a_sandbox_s_clients_are_told(registry: NpmClient, address: str) -> None:
    """npm, yarn of both kinds and corepack ask the gateway alone, with patience, and tell nobody of it."""
    bare = address.rstrip("/")
    supplies = NpmGateway(registry).supplies(address)
    assert supplies.files == {}
    assert supplies.environment == {
        "npm_config_registry": address,
        "npm_config_replace_registry_host": "always",
        "npm_config_omit_lockfile_registry_resolved": "true",
        **dict.fromkeys(("npm_config_audit", "npm_config_fund", "npm_config_update_notifier"), "false"),
        "npm_config_fetch_retries": "2",
        "npm_config_fetch_retry_mintimeout": "200",
        "npm_config_fetch_timeout": "900000",
        "YARN_REGISTRY": address,
        "YARN_NPM_REGISTRY_SERVER": bare,
        "YARN_UNSAFE_HTTP_WHITELIST": "::1" if "[" in address else "10.0.0.1",
        "YARN_ENABLE_TELEMETRY": "0",
        "YARN_HTTP_TIMEOUT": "900000",
        "COREPACK_NPM_REGISTRY": bare,
        "COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
    }


async def test_each_way_to_ask_for_what_is_not_there(npm: FakeNpm, registry: NpmClient) -> None:
    """A sentence for each; nothing but advisories can be posted, and a page that is known is not sent again."""
    npm.add("ms", "1.0.0")
    npm.add("ms", "2.0.0", published="2022-01-01T00:00:00Z")
    async with guest(NpmGateway(registry)) as client:
        for place, says in (
            ("/ms/-/other-1.0.0.tgz", "the npm registry has no other-1.0.0.tgz of ms"),
            ("/ms/-/ms-9.0.0.tgz", "the npm registry has no ms-9.0.0.tgz of ms"),
            ("/ms/9.0.0", "the npm registry has no ms@9.0.0"),
            ("/ms/none", "the npm registry has no ms@none"),
        ):
            answer = await client.get(place)
            assert (answer.status_code, answer.text.strip()) == (404, says)
        for place in ("/ms", "/ms/-/ms-1.0.0.tgz", "/-/ping"):
            answer = await client.post(place, json={})
            assert (answer.status_code, answer.text.strip()) == (404, "nothing is taken here")
        assert (await client.get("/-/ping")).json() == {}
        whole = await client.get("/ms")
        assert (whole.headers["vary"], whole.headers["cache-control"]) == ("Accept", "max-age=300")
        assert whole.headers["content-type"] == "application/json"
        again = await client.get("/ms", headers={"If-None-Match": whole.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert (await client.get("/ms", headers={"If-None-Match": '"other"'})).status_code == 200
    async with guest(NpmGateway(registry, cutoff=cutoff_instant("2021-01-01"))) as client:
        assert (await client.get("/ms/latest")).json()["version"] == "1.0.0"
        for place in ("/ms/-/ms-2.0.0.tgz", "/ms/2.0.0"):
            assert (await client.get(place)).status_code == 404
        assert (await client.get("/ms/-/ms-1.0.0.tgz")).status_code == 200
    with pytest.raises(UnknownPackageError) as caught:
        await registry.tarball("ms", "ms-2.0.0.tgz", cutoff_instant("2021-01-01"))
    assert str(caught.value) == "ms-2.0.0.tgz of ms is not known to be older than 2021-01-02T00:00:00+00:00"


async def test_when_a_page_is_asked_for_again(
    npm: FakeNpm, registry: NpmClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not while it is fresh; then with its tag, and what did not change counts anew; not where a host is down."""
    monkeypatch.setattr("groundup.registries.upstream._PAUSES_S", (0.0,))
    npm.add("ms", "1.0.0")
    first = await registry.packument("ms", "brief")
    assert (first.from_cache, first.stale) == (False, False)
    again = await registry.packument("ms", "brief")
    assert (again.page, again.from_cache, again.stale) == (first.page, True, False)
    assert npm.site.paths() == ["/ms"]
    monkeypatch.setattr("groundup.registries.client.FRESH_S", 0)
    unchanged = await registry.packument("ms", "brief")
    assert (unchanged.page, unchanged.from_cache, unchanged.stale) == (first.page, True, False)
    assert [request.headers.get("if-none-match", "") != "" for request in npm.site.asked] == [False, True]
    npm.add("ms", "1.1.0")
    changed = await registry.packument("ms", "brief")
    assert (len(changed.page.releases), changed.from_cache) == (2, False)
    npm.site.pages["/ms"] = b"[]"
    with pytest.raises(NetworkError) as caught:
        await registry.packument("ms", "brief")
    address = npm.site.address
    assert str(caught.value) == f"{address}/ms: it is no JSON object; check that it is an npm registry"
    with pytest.raises(UnknownPackageError) as unknown:
        await registry.packument("none", "brief")
    assert str(unknown.value) == "the npm registry that is configured does not know 'none'"
    await npm.site.close()
    for _ in range(2):
        old = await registry.packument("ms", "brief")
        assert (old.page, old.from_cache, old.stale) == (changed.page, True, True)
    assert registry._upstream.seems_down(f"{address}/ms")
