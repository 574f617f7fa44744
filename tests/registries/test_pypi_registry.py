"""Tests of groundup.registries.pypi.client: verification, cache and what happens without network."""

import asyncio
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError
from groundup.registries import upstream
from groundup.registries.cache import FetchCache
from groundup.registries.client import cutoff_instant
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.pypi.client import PyPIClient
from groundup.registries.settings import Index, RegistrySettings
from tests.registries.fake_index import FakeIndex, make_sdist, make_wheel, serving, sha256


def again(registry: PyPIClient, tmp_path: Path) -> PyPIClient:
    """Return what another process would have: the same configuration and cache folder."""
    return PyPIClient(registry.settings, FetchCache(tmp_path / "cache"))


def age_pages(tmp_path: Path) -> None:
    """Make every kept page look as if it was asked for long ago."""
    for path in (tmp_path / "cache/records/pypi-pages").glob("*.json"):
        head, _, _ = path.read_text().rpartition('"fetched_at":')
        path.write_text(f'{head}"fetched_at":1000000000.0}}')


async def test_the_second_time_needs_no_network(index: FakeIndex, registry: PyPIClient, tmp_path: Path) -> None:
    """Pages and files come from the cache when the index is gone, in another process too, and say so."""
    index.add(make_wheel("demo", "1.0"))
    (file,) = (await registry.page("demo")).page.files
    await registry.file(file)
    age_pages(tmp_path)
    index.failing = 503
    other = again(registry, tmp_path)
    found = await other.page("demo")
    assert (found.from_cache, found.stale) == (True, True)
    assert (await other.file(found.page.files[0])).from_cache
    with pytest.raises(NetworkError, match="cannot be reached"):
        await other.page("never-seen")
    await other.close()


async def test_a_page_is_revalidated_not_fetched_again(
    index: FakeIndex, registry: PyPIClient, tmp_path: Path
) -> None:
    """An unchanged page costs an empty answer; a changed one is seen."""
    index.add(make_wheel("demo", "1.0"))
    await registry.page("demo")
    age_pages(tmp_path)
    found = await registry.page("demo")
    assert (found.from_cache, found.stale) == (True, False)
    age_pages(tmp_path)
    index.add(make_wheel("demo", "2.0"))
    assert len((await registry.page("demo")).page.files) == 2
    assert len(index.asked) == 3


async def test_a_page_younger_than_the_cutoff_is_final(
    index: FakeIndex, registry: PyPIClient, tmp_path: Path
) -> None:
    """With a cut-off in the past the index is asked once and never again: nothing new can count."""
    index.add(make_wheel("demo", "1.0"), uploaded="1999-01-01T00:00:00Z")
    cutoff = cutoff_instant("2000-12-31")
    await registry.page("demo", cutoff)
    age_pages(tmp_path)
    index.failing = 500
    found = await registry.page("demo", cutoff)
    assert (found.from_cache, found.stale) == (True, False)
    assert len(index.asked) == 1


async def test_a_file_that_does_not_match_its_page_is_refused(
    index: FakeIndex, registry: PyPIClient, tmp_path: Path
) -> None:
    """A changed file is an error of the network, and nothing of it stays in the cache."""
    name, content = make_wheel("demo", "1.0")
    index.add((name, content))
    index.told_hashes[name] = sha256(b"something else")
    (file,) = (await registry.page("demo")).page.files
    with pytest.raises(NetworkError, match="does not have the sha256 hash"):
        await registry.file(file)
    assert list((tmp_path / "cache").glob("files/*/*")) == []


async def test_a_file_without_hash_is_marked(index: FakeIndex, registry: PyPIClient, tmp_path: Path) -> None:
    """What an index names no hash for is passed on and cached, and never counts as verified."""
    name, content = make_wheel("demo", "1.0")
    index.add((name, content))
    index.told_hashes[name] = ""
    (file,) = (await registry.page("demo")).page.files
    first, second = await registry.file(file), await registry.file(file)
    assert (first.sha256, first.verified, first.from_cache) == (sha256(content), False, False)
    assert (second.verified, second.from_cache) == (False, True)


async def test_many_askers_download_once(index: FakeIndex, registry: PyPIClient) -> None:
    """A hundred builders that need one file cause one request for its page and one for it."""
    index.add(make_wheel("demo", "1.0"))

    async def one() -> bytes:
        (file,) = (await registry.page("demo")).page.files
        return (await registry.file(file)).path.read_bytes()

    assert len(set(await asyncio.gather(*(one() for _ in range(100))))) == 1
    assert len(index.asked) == 2


async def test_the_first_index_that_knows_a_name_decides(tmp_path: Path) -> None:
    """A public index cannot add versions to a private project's name."""
    with serving() as private, serving() as public:
        private.add(make_wheel("demo", "1.0"))
        public.add(make_wheel("demo", "9.0"))
        public.add(make_wheel("other", "1.0"))
        indexes = (Index(url=f"{private.url}/simple"), Index(url=f"{public.url}/simple"))
        registry = PyPIClient(RegistrySettings(indexes=indexes, trust_environment=False), FetchCache(tmp_path))
        assert [file.version for file in (await registry.page("demo")).page.files] == ["1.0"]
        assert [file.version for file in (await registry.page("other")).page.files] == ["1.0"]
        await registry.close()


async def test_sources_are_fetched_by_hash(index: FakeIndex, registry: PyPIClient) -> None:
    """A source is had by name, version and hash, then without network; a damaged copy is fetched again."""
    name, content = make_sdist("demo", "1.0")
    index.add((name, content))
    index.add(make_wheel("demo", "1.0"))
    path = await registry.fetch_file("demo", "1.0", sha256(content))
    assert path.read_bytes() == content
    asked = len(index.asked)
    assert await registry.fetch_file("Demo", "1.0.0", sha256(content)) == path
    assert len(index.asked) == asked
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    assert (await registry.fetch_file("demo", "1.0", sha256(content))).read_bytes() == content


@pytest.mark.parametrize(
    ("version", "digest", "expected"),
    [
        ("2.0", None, "no source distribution of version 2.0"),
        ("1.0", "0" * 64, "has another hash on the package index"),
    ],
)
async def test_sources_that_are_not_there(
    index: FakeIndex, registry: PyPIClient, version: str, digest: str | None, expected: str
) -> None:
    """An unknown version and another hash are distinguished."""
    name, content = make_sdist("demo", "1.0")
    index.add((name, content))
    with pytest.raises(UnknownPackageError, match=expected):
        await registry.fetch_file("demo", version, digest or sha256(content))


async def test_an_index_that_is_none_says_so(index: FakeIndex, registry: PyPIClient) -> None:
    """A captive portal or a wrong address is a network failure with its address, not an unknown package."""
    index.answer = lambda path, headers: (200, {"Content-Type": "image/png"}, b"logo")  # type: ignore[method-assign]  # a fake's behaviour
    with pytest.raises(NetworkError, match="check that it is a package index"):
        await registry.page("demo")


async def test_an_unreachable_index_is_not_waited_for_twice(
    registry: PyPIClient, index: FakeIndex, tmp_path: Path
) -> None:
    """When the index just failed, pages that are at hand are given at once."""
    index.add(make_wheel("demo", "1.0"))
    await registry.page("demo")
    age_pages(tmp_path)
    index.failing = 500
    assert (await registry.page("demo")).stale
    asked = len(index.asked)
    assert (await registry.page("demo")).stale
    assert len(index.asked) == asked


def test_addresses_are_shown_without_secrets() -> None:
    """Messages never hold a password or a signed query."""
    assert upstream.shown("https://user:pw@host.test:8443/a/b?sig=1#x") == "https://host.test:8443/a/b"


async def test_a_page_is_read_once_and_not_kept_for_ever(
    registry: PyPIClient, index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sandboxes that ask for the same pages share them, until there are too many or the cache has another."""
    index.add(make_wheel("demo", "1.0"))
    index.add(make_wheel("other", "1.0"))
    page = (await registry.page("demo")).page
    assert (await registry.page("demo")).page is page
    monkeypatch.setattr("groundup.registries.pypi.client._FILES_IN_MEMORY", 1)
    await registry.page("other")
    assert (await registry.page("demo")).page is not page
    assert len(index.asked) == 2
