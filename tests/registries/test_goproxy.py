"""Tests of groundup.registries.goproxy: what Go gets inside a sandbox, and whom the host asks."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, MachineError
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.goproxy import GoClient, GoGateway, go_settings
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.settings import direct
from tests.registries.fake_site import Site, guest

GIN = "github.com/gin-gonic/gin"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A proxy with two files."""
    async with Site.serving() as found:
        found.write(f"/{GIN}/@v/list", b"v1.0.0\n")
        found.write(f"/{GIN}/@v/v1.0.0.zip", b"archive")
        yield found


@pytest.fixture
async def registry(site: Site, tmp_path: Path) -> AsyncIterator[GoClient]:
    """The host's view of it, with an empty cache."""
    found = GoClient(direct(site.address, {}), FetchCache(tmp_path / "cache"))
    yield found
    await found.close()


async def test_files_come_from_the_proxy_and_archives_once(site: Site, registry: GoClient) -> None:
    """A version never changes, so its archive is asked for once, and is there when the proxy is not."""
    gateway = GoGateway(registry)
    async with guest(gateway) as client:
        assert (await client.get(f"/go/{GIN}/@v/list")).text == "v1.0.0\n"
        assert (await client.get(f"/go/{GIN}/@v/v1.0.0.zip")).content == b"archive"
        assert (await client.get(f"/go/{GIN}/@v/v9.0.0.zip")).status_code == 404
        await site.close()
        assert (await client.get(f"/go/{GIN}/@v/v1.0.0.zip")).content == b"archive"

    assert [(one.kind, one.filename) for one in gateway.fetched] == [("page", "list"), ("file", "v1.0.0.zip")]
    assert gateway.supplies("http://127.0.0.1:1/go/").environment["GOPROXY"] == "http://127.0.0.1:1/go"


async def test_what_a_proxy_said_is_kept_for_a_while(site: Site, tmp_path: Path) -> None:
    """Lists and what is absent are asked for once; later, without the proxy, an old list is better than none."""
    for _ in range(2):
        client = GoClient(direct(site.address, {}), FetchCache(tmp_path / "cache"))
        assert not (await client.file(GIN, "@v/list")).stale
        with pytest.raises(
            UnknownPackageError, match=f"no Go module proxy that is configured has {GIN}/@v/v9.0.0.mod"
        ):
            await client.file(GIN, "@v/v9.0.0.mod")
        await client.close()
    assert site.paths() == [f"/{GIN}/@v/list", f"/{GIN}/@v/v9.0.0.mod"]


@pytest.mark.parametrize(
    "place", ["/go/../x/@v/list", "/go/a/%2e%2e/@v/list", "/go/@v/list", "/go/a/@v/x%2fy", "/a"]
)
async def test_what_is_no_place_of_a_module_is_asked_of_nobody(site: Site, registry: GoClient, place: str) -> None:
    """No way upwards, and nothing but what the protocol has."""
    async with guest(GoGateway(registry)) as client:
        assert (await client.get(place)).status_code == 404

    assert site.paths() == []


async def test_refused_names_and_dates_are_heeded(registry: GoClient) -> None:
    """In whatever spelling; a proxy lists no dates, so a cut-off is refused and not ignored."""
    refusing = GoGateway(registry, refused=["github.com/Gin-Gonic/gin"])
    async with guest(refusing) as client:
        assert (await client.get("/go/github.com/!gin-!gonic/gin/@v/list")).status_code == 403
    async with guest(GoGateway(registry, cutoff=cutoff_instant("2024-01-01"))) as client:
        assert (await client.get(f"/go/{GIN}/@v/list")).status_code == 502


def go_that_says(folder: Path, proxies: str) -> dict[str, str]:
    """Install a Go that names *proxies*; return an environment that finds it."""
    program = folder / "bin/go"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{proxies}'\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.defpath}"}


async def test_go_names_its_proxies(tmp_path: Path) -> None:
    """In its order, without its way to repositories."""
    found = await go_settings(go_that_says(tmp_path, "https://one.invalid,https://two.invalid/go|direct"))

    assert [index.url for index in found.indexes] == ["https://one.invalid", "https://two.invalid/go"]


async def test_without_a_proxy_or_a_go_it_is_said_what_to_do(tmp_path: Path) -> None:
    """One sentence each."""
    with pytest.raises(InfrastructureError, match="name one in GOPROXY"):
        await go_settings(go_that_says(tmp_path, "off"))
    with pytest.raises(MachineError, match="install Go"):
        await go_settings({"PATH": str(tmp_path)})
