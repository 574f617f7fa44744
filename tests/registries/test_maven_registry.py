"""Tests of groundup.registries.maven: verification, cache, several repositories."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError
from groundup.registries import upstream
from groundup.registries.cache import FetchCache
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.maven import MavenClient, is_place
from tests.registries.files_served import served
from tests.registries.maven_repositories import JAR, VERSIONS, put, using


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try twice without pauses."""
    monkeypatch.setattr(upstream, "_PAUSES_S", (0.0,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder behind a repository."""
    (tmp_path / "remote").mkdir()
    return tmp_path / "remote"


@asynccontextmanager
async def registry(tmp_path: Path, *urls: str) -> AsyncIterator[MavenClient]:
    """Yield the host's view of these repositories, with a cache in *tmp_path*."""
    found = MavenClient(using(*urls), FetchCache(tmp_path / "cache"))
    try:
        yield found
    finally:
        await found.close()


def age_records(tmp_path: Path) -> None:
    """Make everything that was kept look as if it was asked for long ago."""
    for path in (tmp_path / "cache/records/maven-files").glob("*.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "fetched_at": 1e9}))


@pytest.mark.parametrize("kind", ["sha1", "sha256", "sha512", "md5"])
async def test_a_file_is_checked_against_any_checksum_beside_it(folder: Path, tmp_path: Path, kind: str) -> None:
    """It counts as verified; one with another checksum is refused, and not kept."""
    put(folder, JAR, b"good", kind)
    put(folder, "org/demo/lib/1.0/lib-1.0.pom", b"bad", kind)
    (folder / "org/demo/lib/1.0/lib-1.0.pom").write_bytes(b"changed on the way")
    with served(folder) as url:
        async with registry(tmp_path, url) as found:
            file = await found.file(JAR)
            assert (file.path.read_bytes(), file.verified, file.from_cache) == (b"good", True, False)
            with pytest.raises(NetworkError, match=f"{kind} checksum"):
                await found.file("org/demo/lib/1.0/lib-1.0.pom")


async def test_a_file_without_a_checksum_is_given_and_distinguished(folder: Path, tmp_path: Path) -> None:
    """As Maven warns and goes on."""
    put(folder, JAR, b"bare")
    (folder / f"{JAR}.sha1").unlink()
    with served(folder) as url:
        async with registry(tmp_path, url) as found:
            assert not (await found.file(JAR)).verified


async def test_what_was_released_is_never_asked_for_again_and_lists_are(folder: Path, tmp_path: Path) -> None:
    """Without network, files come from the cache, and an old list of versions says that it is old."""
    put(folder, JAR, b"good")
    put(folder, VERSIONS, b"<metadata>1.0</metadata>")
    with served(folder) as url:
        async with registry(tmp_path, url) as found:
            await found.file(JAR)
            await found.file(VERSIONS)
            age_records(tmp_path)
            put(folder, VERSIONS, b"<metadata>1.0, 2.0</metadata>")
            assert (await found.file(VERSIONS)).path.read_bytes() == b"<metadata>1.0, 2.0</metadata>"
    age_records(tmp_path)
    async with registry(tmp_path, url) as found:
        assert (await found.file(JAR)).from_cache
        list_ = await found.file(VERSIONS)
        assert (list_.from_cache, list_.stale) == (True, True)
        with pytest.raises(NetworkError, match="cannot be reached"):
            await found.file("org/demo/never/1.0/never-1.0.jar")


async def test_the_first_repository_that_has_a_file_is_the_one(folder: Path, tmp_path: Path) -> None:
    """A repository without it is passed over; none with it is an unknown package."""
    put(folder / "a", JAR, b"from a")
    put(folder / "b", JAR, b"from b")
    put(folder / "b", VERSIONS, b"only in b")
    with served(folder) as url:
        async with registry(tmp_path, f"{url}/a", f"{url}/b") as found:
            assert (await found.file(JAR)).path.read_bytes() == b"from a"
            assert (await found.file(VERSIONS)).path.read_bytes() == b"only in b"
            with pytest.raises(UnknownPackageError, match="nowhere"):
                await found.file("org/nowhere/1/nowhere-1.jar")


@pytest.mark.parametrize(
    "place", ["../etc/passwd", "a/../b", "/abs/x", "a//b", "one", "a/b?c", "a/b\\c", "a/" * 50 + "b", "a/%2e"]
)
def test_a_place_leads_nowhere_else(place: str) -> None:
    """Only plain parts below a repository are asked for."""
    assert not is_place(place)


async def test_what_is_kept_of_a_repository_that_is_down(folder: Path, tmp_path: Path) -> None:
    """Absence, too; only what may have changed is marked as old, and a file that is gone is absent."""
    put(folder, JAR, b"good")
    put(folder, VERSIONS, b"<metadata>1.0</metadata>")
    absent, snapshot = "org/demo/lib/9/lib-9.jar", "org/demo/lib/1-SNAPSHOT/lib-1.jar"
    put(folder, snapshot, b"snapshot")
    with served(folder) as url:
        async with registry(tmp_path, url) as found:
            with pytest.raises(UnknownPackageError) as unknown:
                await found.file(absent)
            assert str(unknown.value) == f"no Maven repository that is configured has {absent}"
            sizes = {place: (await found.file(place)).size for place in (JAR, VERSIONS, snapshot)}
            assert sizes == {JAR: 4, VERSIONS: 24, snapshot: 8}
            for place in sizes:
                assert ((await found.file(place)).from_cache, (await found.file(place)).stale) == (True, False)
    async with registry(tmp_path, url) as found:
        with pytest.raises(UnknownPackageError):
            await found.file(absent)  # a moment ago it was not there
    age_records(tmp_path)
    async with registry(tmp_path, url) as found:
        with pytest.raises(NetworkError):
            await found.file(absent)
        with pytest.raises(UnknownPackageError):
            await found.file(absent)  # not asked again while the repository is down
        for place, stale in ((JAR, False), (VERSIONS, True), (snapshot, True)):
            file = await found.file(place)
            assert (file.from_cache, file.stale, file.verified) == (True, stale, True)
        for path in (tmp_path / "cache/files").rglob("*"):
            if path.is_file():
                path.unlink()
        with pytest.raises(NetworkError):
            await found.file(JAR)


async def test_what_is_no_place_is_named_and_not_asked_for(tmp_path: Path) -> None:
    """In short."""
    async with registry(tmp_path, "http://127.0.0.1:1") as found:
        for place in ("../x", "x", "a//b", "a/" * 400 + "b"):
            with pytest.raises(UnknownPackageError) as caught:
                await found.file(place)
            assert str(caught.value) == f"{place[:200]!r} is not the place of a file in a Maven repository"
