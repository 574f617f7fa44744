"""Asking registries for names: where their clients say, with honest answers, or from a file."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.registries.cache import FetchCache
from groundup.registries.names import (
    Ecosystem,
    Listing,
    Live,
    NoNames,
    Snapshot,
    names_of,
    read_snapshot,
    snapshot_lines,
)
from tests.registries.files_served import served

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address where it is served."""
    (tmp_path / "site").mkdir()
    with served(tmp_path / "site") as address:
        yield tmp_path / "site", address


def client(tmp_path: Path, name: str, script: str) -> dict[str, str]:
    """Put a program called *name* in front of all others; return the environment that finds it."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.defpath}", "HOME": str(tmp_path)}


def registry_at(address: str) -> str:
    """Return an npm that knows one registry."""
    return f"echo '{json.dumps({'registry': address})}'"


def write(root: Path, path: str, content: object) -> None:
    """Write a page, as JSON unless it is text."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(content if isinstance(content, str) else json.dumps(content))


async def ask(live: Live, ecosystem: Ecosystem, name: str) -> Listing | None:
    """Ask once."""
    async with live.asking() as asking:
        return await asking.look_up(ecosystem, name)


async def test_half_a_pair_of_surrogates_is_the_name_of_nothing(tmp_path: Path) -> None:
    """JSON and TOML can hold such a name; no address can, so no registry is asked."""
    live = Live(FetchCache(tmp_path / "cache"), {})

    found = [await ask(live, ecosystem, "\ud800x") for ecosystem in ("pypi", "npm", "crates", "nuget")]

    assert [(one.exists, one.name) for one in found if one is not None] == [(False, "?x")] * 4


async def test_npm_says_where_its_registry_is(site: tuple[Path, str], tmp_path: Path) -> None:
    """Names, scoped names at their scope's own registry, and names that do not exist."""
    root, address = site
    tarball = {"dist": {"tarball": "left-pad.tgz"}}
    write(root, "left-pad", {"versions": {"1.0.0": tarball, "1.3.0": tarball}})
    write(root, "own/@own/pkg", {"versions": {"2.0.0": tarball}})
    ended = json.dumps({"registry": f"{address}/", "@own:registry": f"{address}/own/"})
    script = f"echo '{ended}'"
    live = Live(FetchCache(tmp_path / "cache"), client(tmp_path, "npm", script))
    found = await ask(live, "npm", "left-pad")
    assert found is not None
    assert (found.exists, found.versions) == (True, ("1.0.0", "1.3.0"))
    scoped = await ask(live, "npm", "@own/pkg")
    assert scoped is not None
    assert scoped.versions == ("2.0.0",)
    absent = await ask(live, "npm", "nothing")
    assert absent is not None
    assert not absent.exists


async def test_cargo_says_where_its_index_is(site: tuple[Path, str], tmp_path: Path) -> None:
    """Yanked versions do not count; a name in another spelling is another name."""
    root, address = site
    row = {"name": "serde_json", "vers": "1.0.0", "cksum": "0" * 64}
    rows = [row, {**row, "vers": "0.9.0", "yanked": True}]
    write(root, "config.json", {"dl": address})
    write(root, "se/rd/serde_json", "".join(json.dumps(row) + "\n" for row in rows))
    write(root, "3/a/abc", json.dumps({**row, "name": "abc"}))
    script = f'echo "  failed to download from \\`{address}/config.json\\`" >&2; exit 101'
    live = Live(FetchCache(tmp_path / "cache"), client(tmp_path, "cargo", script))
    answers = {name: await ask(live, "crates", name) for name in ("serde_json", "abc", "serde-json", "not a name")}
    assert {name: found.versions if found else None for name, found in answers.items()} == {
        "serde_json": ("1.0.0",),
        "abc": ("1.0.0",),
        "serde-json": (),
        "not a name": (),
    }
    assert [found.exists for found in answers.values() if found] == [True, True, False, False]


async def test_dotnet_says_which_sources_it_has(site: tuple[Path, str], tmp_path: Path) -> None:
    """Every enabled source is asked; disabled ones are not."""
    root, address = site
    base = {"@id": f"{address}/flat/", "@type": "PackageBaseAddress/3.0.0"}
    write(root, "index.json", {"resources": [{"@id": "x", "@type": "Other"}, base]})
    write(root, "flat/newtonsoft.json/index.json", {"versions": ["13.0.1"]})
    script = f'echo "E {address}/index.json"; echo "D http://127.0.0.1:9/off/index.json"'
    live = Live(FetchCache(tmp_path / "cache"), client(tmp_path, "dotnet", script))
    found = await ask(live, "nuget", "Newtonsoft.Json")
    assert found is not None
    assert found.versions == ("13.0.1",)
    absent = await ask(live, "nuget", "Made.Up")
    assert absent is not None
    assert not absent.exists


async def test_a_client_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    """Without the client no one knows the registry: the name is not called absent."""
    (tmp_path / "bin").mkdir()
    live = Live(FetchCache(tmp_path / "cache"), {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)})
    ecosystems: tuple[Ecosystem, ...] = ("npm", "crates", "nuget")
    for ecosystem in ecosystems:
        assert await ask(live, ecosystem, "anything") is None


async def test_failures_are_not_absence(site: tuple[Path, str], tmp_path: Path) -> None:
    """A page that is none, or a registry that is down, leaves the name unknown; what was kept is used."""
    root, address = site
    write(root, "broken", "<html>busy</html>")
    cache = FetchCache(tmp_path / "cache")
    environment = client(tmp_path, "npm", registry_at(address))
    assert await ask(Live(cache, environment), "npm", "broken") is None
    old = Listing(ecosystem="npm", name="broken", exists=True, fetched_at=datetime.now(UTC) - timedelta(days=3))
    live = Live(cache, environment)
    live.keep(old)
    assert await ask(live, "npm", "broken") == old
    assert live.is_down("npm")


async def test_answers_are_kept(site: tuple[Path, str], tmp_path: Path) -> None:
    """A name is asked for once a day."""
    root, address = site
    write(root, "left-pad", {"versions": {"1.0.0": {}}})
    cache = FetchCache(tmp_path / "cache")
    environment = client(tmp_path, "npm", registry_at(address))
    first = await ask(Live(cache, environment), "npm", "left-pad")
    (root / "left-pad").unlink()
    assert await ask(Live(cache, environment), "npm", "left-pad") == first


async def test_a_snapshot_answers_what_it_holds(tmp_path: Path) -> None:
    """Names in the file are known, others are not; its digest is what is pinned."""
    listings = [
        Listing(ecosystem="npm", name="a", exists=True, versions=("1.0.0",), fetched_at=NOW),
        Listing(ecosystem="crates", name="b", exists=False, fetched_at=NOW),
    ]
    path = tmp_path / "names.jsonl"
    path.write_bytes(snapshot_lines(listings))
    assert sorted(read_snapshot(path), key=lambda item: item.name) == listings
    snapshot = names_of(str(path), tmp_path, {})
    assert isinstance(snapshot, Snapshot)
    async with snapshot.asking() as asking:
        assert await asking.look_up("npm", "a") == listings[0]
        assert await asking.look_up("npm", "c") is None
    before = snapshot.identity()
    path.write_bytes(snapshot_lines(listings[:1]))
    assert Snapshot(path).identity() != before


async def test_no_one_knows_anything(tmp_path: Path) -> None:
    """`none` asks no one."""
    nobody = names_of("none", tmp_path, {})
    assert isinstance(nobody, NoNames)
    async with nobody.asking() as asking:
        assert await asking.look_up("pypi", "requests") is None


@pytest.mark.parametrize(
    "line", ["{", '{"ecosystem": "apt", "name": "x", "exists": true, "fetched_at": "2026-01-01"}']
)
def test_a_damaged_snapshot_names_the_line(tmp_path: Path, line: str) -> None:
    """So that it can be mended or made again."""
    path = tmp_path / "names.jsonl"
    path.write_text(f"\n{line}\n")
    with pytest.raises(UsageError, match=r"names\.jsonl, line 2"):
        read_snapshot(path)
    with pytest.raises(UsageError, match="groundup registry snapshot"):
        read_snapshot(tmp_path / "missing.jsonl")
