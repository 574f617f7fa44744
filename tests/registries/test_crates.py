"""Tests of groundup.registries.crates: what Cargo gets inside a sandbox, and what no one gets."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from groundup.domain.errors import NetworkError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.crates import (
    CratePageError,
    CratesClient,
    CratesGateway,
    _address,
    parse_page,
    place,
)
from groundup.registries.ledger import UnknownPackageError
from tests.registries.fake_crates import FakeCrates
from tests.registries.fake_site import Site, guest


@pytest.fixture
async def crates() -> AsyncIterator[FakeCrates]:
    """An empty index."""
    async with Site.serving() as site:
        yield FakeCrates(site)


@pytest.fixture
async def registry(crates: FakeCrates, tmp_path: Path) -> AsyncIterator[CratesClient]:
    """The host's view of it, with an empty cache."""
    found = CratesClient(crates.configuration(), FetchCache(tmp_path / "cache"))
    yield found
    await found.close()


@pytest.mark.parametrize(
    ("name", "where"), [("a", "1/a"), ("ab", "2/ab"), ("abc", "3/a/abc"), ("Serde_JSON", "se/rd/serde_json")]
)
async def test_pages_lead_to_crates(crates: FakeCrates, registry: CratesClient, name: str, where: str) -> None:
    """A crate of any length of name is at its place; lines are the index's own; crates come from the gateway."""
    crate = crates.add(name, "1.0.0")
    crates.add(name, "1.1.0", yanked=True)
    gateway = CratesGateway(registry)
    async with guest(gateway) as client:
        config = (await client.get("/index/config.json")).json()
        assert config == {"dl": f"{client.base_url}/crates"}
        page = await client.get(f"/index/{where}")
        assert [json.loads(line)["vers"] for line in page.text.splitlines()] == ["1.0.0", "1.1.0"]
        assert (await client.get(f"{config['dl']}/{name}/1.0.0/download")).content == crate
        assert (await client.get(f"{config['dl']}/{name}/9.9.9/download")).status_code == 404
    ended = [(fetched.kind, fetched.version, fetched.verified) for fetched in gateway.fetched]
    assert ended == [("page", None, True), ("file", "1.0.0", True)]


async def test_a_changed_crate_is_never_served(crates: FakeCrates, registry: CratesClient) -> None:
    """Not one byte of a crate that is not what the index says leaves the host."""
    crates.add("demo", "1.0.0")
    crates.site.write("/dl/demo/1.0.0", b"something else")
    gateway = CratesGateway(registry)
    async with guest(gateway) as client:
        answer = await client.get("/crates/demo/1.0.0/download")
    assert (answer.status_code, b"something else" in answer.content) == (502, False)
    assert [trouble.kind for trouble in gateway.troubles] == ["network"]


async def test_refused_and_unknown_names(crates: FakeCrates, registry: CratesClient) -> None:
    """Both spellings of a refused name are refused, pages and crates; other places are nothing."""
    crates.add("the-original", "1.0.0")
    gateway = CratesGateway(registry, refused=("The_Original",))
    async with guest(gateway) as client:
        for path in (
            "/index/th/e-/the-original",
            "/index/th/e_/the_original",
            "/crates/the-original/1.0.0/download",
        ):
            assert (await client.get(path)).status_code == 403
        for path in (
            "/index/no/th/nothing",
            "/index/ot/he/nothing",
            "/index/../config.json",
            "/dl/the-original/1.0.0",
        ):
            assert (await client.get(path)).status_code == 404
    assert {trouble.kind for trouble in gateway.troubles} == {"refused", "unknown"}


async def test_what_is_newer_than_the_cut_off_does_not_exist(crates: FakeCrates, registry: CratesClient) -> None:
    """Versions count when the index says that they are old enough; one without a date is not known to be."""
    crates.add("demo", "1.0.0", published="2020-01-01T00:00:00Z")
    crates.add("demo", "1.1.0")
    crates.add("demo", "2.0.0", published="2022-01-01T00:00:00Z")
    gateway = CratesGateway(registry, cutoff=cutoff_instant("2021-01-01"))
    async with guest(gateway) as client:
        page = await client.get("/index/de/mo/demo")
        assert [json.loads(line)["vers"] for line in page.text.splitlines()] == ["1.0.0"]
        assert (await client.get("/crates/demo/2.0.0/download")).status_code == 404
    assert [(name, first.year) for name, first in gateway.hidden.items()] == [("demo", 2022)]


async def test_an_index_without_dates_cannot_serve_a_cut_off(crates: FakeCrates, registry: CratesClient) -> None:
    """It is the index's fault and said as such: a crate that is merely too young is unknown."""
    crates.add("demo", "1.0.0")
    with pytest.raises(
        NetworkError, match=r"does not say when crates were published; use another index, or no cut"
    ):
        await registry.page("demo", cutoff_instant("2021-01-01"))
    crates.add("demo", "1.1.0", published="2022-01-01T00:00:00Z")
    fresh = CratesClient(crates.configuration(), FetchCache(registry.cache.root.parent / "other"))
    with pytest.raises(UnknownPackageError, match="no version of demo known to be older than 2021-01-02"):
        await fresh.page("demo", cutoff_instant("2021-01-01"))
    await fresh.close()


async def test_what_is_in_the_cache_needs_no_index(
    crates: FakeCrates, registry: CratesClient, tmp_path: Path
) -> None:
    """A second build works while the index is down, also in another process."""
    crate = crates.add("demo", "1.0.0")
    async with guest(CratesGateway(registry)) as client:
        await client.get("/crates/demo/1.0.0/download")
    await crates.site.close()
    later = CratesClient(crates.configuration(), FetchCache(tmp_path / "cache"))
    gateway = CratesGateway(later)
    async with guest(gateway) as client:
        assert (await client.get("/index/de/mo/demo")).status_code == 200
        assert (await client.get("/crates/demo/1.0.0/download")).content == crate
    await later.close()


async def test_a_token_is_sent_where_the_index_needs_it(crates: FakeCrates, tmp_path: Path) -> None:
    """An index that says so gets the token with every question; one that does not never sees it."""
    crates.add("demo", "1.0.0")
    plain = crates.configuration().but(token=SecretStr("secret"))
    for needed in (False, True):
        crates.site.write(
            "/index/config.json",
            {"dl": f"{crates.site.address}/dl/{{crate}}/{{version}}", "auth-required": needed},
        )
        crates.site.asked.clear()
        registry = CratesClient(plain, FetchCache(tmp_path / str(needed)))
        async with guest(CratesGateway(registry)) as client:
            assert (await client.get("/crates/demo/1.0.0/download")).status_code == 200
        await registry.close()
        sent = {request.headers.get("authorization") for request in crates.site.asked[1:]}
        assert sent == ({"secret"} if needed else {None})


def test_pages_that_are_none() -> None:
    """A page whose lines lack what is needed is no page; places follow the length of names."""
    for body in (b"<html>", b"[]", b'{"name": "a"}', b'{"name": "../a", "vers": "1", "cksum": "0"}', b"\xff"):
        with pytest.raises(CratePageError):
            parse_page(body)
    assert [place(name) for name in ("A", "abc", "abcd")] == ["1/a", "3/a/abc", "ab/cd/abcd"]


@pytest.mark.parametrize(
    ("rows", "offered"),
    [
        pytest.param(
            [("0.10.0", 2020, True), ("0.10.1", 2022, True), ("0.10.2", 2023, False)],
            ["0.10.0"],
            id="replaced later",
        ),
        pytest.param(
            [("0.10.0", 2020, False), ("0.10.1", 2020, True), ("0.10.2", 2022, False)],
            ["0.10.0"],
            id="one is left",
        ),
        pytest.param([("0.10.0", 2020, True), ("0.11.0", 2022, False)], [], id="given up"),
        pytest.param(
            [("1.0.0", 2020, True), ("1.2.0", 2020, True), ("1.9.0", 2022, False)], ["1.2.0"], id="the newest"
        ),
        pytest.param([("0.0.1", 2020, True), ("0.0.2", 2022, False)], [], id="no series"),
        pytest.param([("1.0.0-rc.1", 2020, True), ("1.0.0", 2022, False)], [], id="before a release"),
    ],
)
def test_a_version_yanked_for_a_later_one_is_offered_before_it(
    rows: list[tuple[str, int, bool]], offered: list[str]
) -> None:
    """An index says that a version is yanked, not since when: what was usable at the cutoff stays so."""
    lines = (
        json.dumps(
            {
                "name": "moon",
                "vers": version,
                "cksum": "0" * 64,
                "yanked": yanked,
                "pubtime": f"{year}-05-01T00:00:00Z",
            }
        )
        for version, year, yanked in rows
    )
    page = parse_page("\n".join(lines).encode()).by(cutoff_instant("2021-01-01"))
    assert [found.version for found in page.versions if not found.yanked] == offered
    assert [found for found in parse_page(page.text()).versions if not found.yanked] == [
        found for found in page.versions if not found.yanked
    ]


@pytest.mark.parametrize(
    ("name", "template", "address"),
    [
        ("abc", "https://d.test/", "https://d.test/abc/1.0.0/download"),
        ("abc", "https://d.test/{crate}-{version}", "https://d.test/abc-1.0.0"),
        ("A", "{prefix}|{lowerprefix}|{sha256-checksum}", f"1|1|{'0' * 64}"),
        ("Ab", "{prefix}|{lowerprefix}", "2|2"),
        ("Abc", "{prefix}|{lowerprefix}", "3/a|3/a"),
        ("AbCd", "{prefix}|{lowerprefix}", "Ab/Cd|ab/cd"),
        ("Serde_JSON", "{prefix}|{lowerprefix}", "Se/rd|se/rd"),
    ],
)
def test_where_an_index_keeps_its_crates(name: str, template: str, address: str) -> None:
    """By the form that it names."""
    (wanted,) = parse_page(json.dumps({"name": name, "vers": "1.0.0", "cksum": "0" * 64}).encode()).versions
    assert _address(template, wanted) == address


async def test_versions_for_who_asks_the_client(crates: FakeCrates, registry: CratesClient) -> None:
    """All but yanked ones, of a crate with this very name."""
    crates.add("some-crate", "1.0.0")
    crates.add("some-crate", "2.0.0", yanked=True)
    crates.add("gone", "1.0.0", yanked=True)
    assert await registry._versions_of("some-crate") == ("1.0.0",)
    assert await registry._versions_of("gone") == ()
    crates.site.write("/index/so/me/some_crate", crates.site.pages["/index/so/me/some-crate"])
    assert await registry._versions_of("some_crate") is None


async def test_an_index_that_is_down_is_where_it_was(
    crates: FakeCrates, registry: CratesClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its settings are kept, and asked for once; without them it cannot be said where crates are."""
    monkeypatch.setattr("groundup.registries.upstream._PAUSES_S", (0.0,))
    crates.add("demo", "1.0.0")
    await registry.crate("demo", "1.0.0")
    assert crates.site.paths().count("/index/config.json") == 1
    other = CratesClient(crates.configuration(), FetchCache(tmp_path / "cache"))
    crates.site.write("/index/config.json", {"no": "address"})
    crates.site.asked.clear()
    assert (await other._index_settings()).download.startswith(crates.site.address)
    assert (await other._index_settings()).token_needed is False
    await other.close()
    new = CratesClient(crates.configuration(), FetchCache(tmp_path / "new"))
    with pytest.raises(NetworkError) as caught:
        await new.crate("demo", "1.0.0")
    assert str(caught.value) == (
        f"{crates.site.address}/index/config.json does not say where crates are; check that it is a sparse index"
    )
    await new.close()
    gateway = CratesGateway(registry)
    supplies = gateway.supplies("http://10.0.0.1:1/index/")
    assert supplies.environment == {"CARGO_HOME": "/home/user/.cargo", "CARGO_TERM_PROGRESS_WHEN": "never"}
    assert supplies.files == {
        "/home/user/.cargo/config.toml": """[source.crates-io]
replace-with = "groundup"

[source.groundup]
registry = "sparse+http://10.0.0.1:1/index/"

[registries.groundup]
index = "sparse+http://10.0.0.1:1/index/"

[net]
retry = 2

[http]
timeout = 900
multiplexing = false
"""
    }
