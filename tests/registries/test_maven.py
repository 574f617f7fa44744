"""Tests of groundup.registries.maven: what a sandbox's Maven gets, and what is remembered of it."""

import hashlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest

from groundup.registries import upstream
from groundup.registries.cache import FetchCache
from groundup.registries.maven import SETTINGS_PLACE, MavenClient, MavenGateway, settings_file
from tests.patience import patient
from tests.registries.files_served import served
from tests.registries.maven_repositories import JAR, VERSIONS, put, using


@asynccontextmanager
async def guest(
    url: str, tmp_path: Path, max_bytes: int = 10**6
) -> AsyncIterator[tuple[httpx.AsyncClient, MavenGateway]]:
    """Yield a client as a sandbox has it, and the gateway that it knows."""
    registry = MavenClient(using(url), FetchCache(tmp_path / "cache"))
    async with MavenGateway(registry, max_bytes=max_bytes) as gateway:
        listening = socket.create_server(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}/maven"
        await gateway.server.serve(listening)
        async with httpx.AsyncClient(trust_env=False, base_url=base, timeout=patient(60)) as client:
            yield client, gateway
    await registry.close()


async def test_a_guest_gets_files_and_their_checksums_and_all_is_remembered(tmp_path: Path) -> None:
    """Checksums are those of what is given out; what is not there is a 404 and a trouble."""
    put(tmp_path / "remote", JAR, b"good")
    put(tmp_path / "remote", VERSIONS, b"<metadata/>")
    with served(tmp_path / "remote") as url:
        async with guest(url, tmp_path) as (client, gateway):
            assert (await client.get(JAR)).content == b"good"
            for kind in ("sha1", "md5", "sha256"):
                said = (await client.get(f"{JAR}.{kind}")).text.strip()
                assert said == hashlib.new(kind, b"good").hexdigest()
            assert (await client.get(VERSIONS)).status_code == 200
            assert (await client.get("org/demo/lib/2.0/lib-2.0.jar")).status_code == 404
            assert (await client.get("../other/place")).status_code == 404
    assert set(gateway.files) == {JAR, VERSIONS}
    assert [fetched.kind for fetched in gateway.fetched] == ["file", "metadata"]
    assert {trouble.kind for trouble in gateway.troubles} == {"unknown"}


async def test_a_repository_that_is_down_is_no_missing_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The builder must be able to tell a network from a submission that names what is not there."""
    monkeypatch.setattr(upstream, "_PAUSES_S", (0.0,))
    async with guest("http://127.0.0.1:9", tmp_path) as (client, gateway):
        assert (await client.get(JAR)).status_code == 502
    assert [trouble.kind for trouble in gateway.troubles] == ["network"]


async def test_one_sandbox_gets_so_much_and_no_more(tmp_path: Path) -> None:
    """What is over the budget is refused, with a record."""
    put(tmp_path / "remote", JAR, b"x" * 600)
    put(tmp_path / "remote", "org/demo/lib/1.0/lib-1.0-sources.jar", b"y" * 600)
    put(tmp_path / "remote", "org/demo/lib/1.0/lib-1.0-javadoc.jar", b"z" * 600)
    with served(tmp_path / "remote") as url:
        async with guest(url, tmp_path, max_bytes=1000) as (client, gateway):
            answers = [
                (await client.get(f"org/demo/lib/1.0/lib-1.0{kind}.jar")).status_code
                for kind in ("", "-sources", "-javadoc")
            ]
    assert answers == [200, 200, 403]
    assert [trouble.kind for trouble in gateway.troubles] == ["budget"]


def test_inside_maven_sees_one_repository_in_place_of_all(tmp_path: Path) -> None:
    """Its settings are valid XML, mirror everything, and can keep it offline."""
    gateway = MavenGateway(MavenClient(using("https://x.example"), FetchCache(tmp_path)))
    supplies = gateway.supplies("http://127.0.0.1:1234/maven/")
    root = ElementTree.fromstring(supplies.files[SETTINGS_PLACE])
    assert root.findtext("mirrors/mirror/mirrorOf") == "*"
    assert root.findtext("mirrors/mirror/url") == "http://127.0.0.1:1234/maven"
    assert root.findtext("offline") == "false"
    assert ElementTree.fromstring(settings_file("http://x", offline=True)).findtext("offline") == "true"
