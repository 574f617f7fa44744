"""Tests of groundup.registries.cache."""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.registries.cache import FetchCache, PrioritySemaphore, SharedResource


class Note(Record):
    """Something to keep."""

    text: str


def put(cache: FetchCache, content: bytes) -> Path:
    """Keep *content* and return where it lies."""
    with cache.incoming() as incoming:
        incoming.write(content)
        return incoming.keep()


def test_files_lie_under_their_hash(tmp_path: Path) -> None:
    """What is kept is found by its sha256, readable by everybody, and nothing else is left behind."""
    cache = FetchCache(tmp_path)
    path = put(cache, b"content")
    assert cache.file(hashlib.sha256(b"content").hexdigest()) == path
    assert path.stat().st_mode & 0o777 == 0o644
    assert list((tmp_path / "incoming").iterdir()) == []


def test_what_is_not_kept_is_gone(tmp_path: Path) -> None:
    """A download that fails in its middle leaves no file."""
    cache = FetchCache(tmp_path)
    with contextlib.suppress(ValueError), cache.incoming() as incoming:
        incoming.write(b"half")
        raise ValueError
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_another_try_starts_from_nothing(tmp_path: Path) -> None:
    """After a restart only the new bytes count, in the file and in its hashes."""
    cache = FetchCache(tmp_path)
    with cache.incoming() as incoming:
        incoming.expect({"md5": ""})
        incoming.write(b"a longer first try")
        incoming.restart()
        incoming.write(b"second")
        assert incoming.digests()["md5"] == hashlib.md5(b"second").hexdigest()
        assert incoming.keep().read_bytes() == b"second"


def test_many_writers_of_one_name_leave_one_whole_file(tmp_path: Path) -> None:
    """Caches that share a folder, as processes do, never leave a torn file."""
    content = os.urandom(300_000)
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: put(FetchCache(tmp_path), content), range(40)))
    (path,) = paths
    assert path.read_bytes() == content


def test_records_are_kept_by_key(tmp_path: Path) -> None:
    """A record comes back under its key; a damaged or absent one is none."""
    cache = FetchCache(tmp_path)
    cache.keep_record("notes", ["a", 1], Note(text="hello"))
    assert cache.record("notes", ["a", 1], Note) == Note(text="hello")
    assert cache.record("notes", ["a", 2], Note) is None
    (path,) = (tmp_path / "records").rglob("*.json")
    path.write_text("{torn")
    assert cache.record("notes", ["a", 1], Note) is None


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    """Old temporary files go with the next download; young ones, which somebody may be writing, stay."""
    folder = tmp_path / "incoming"
    folder.mkdir()
    (folder / "old").write_bytes(b"x")
    (folder / "young").write_bytes(b"x")
    os.utime(folder / "old", (0, 0))
    put(FetchCache(tmp_path), b"new")
    assert [path.name for path in folder.iterdir()] == ["young"]


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """The error names the folder."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InfrastructureError, match="cannot write "):
        put(FetchCache(tmp_path / "file"), b"x")


async def test_of_what_waits_for_a_place_the_largest_is_next() -> None:
    """Two work at a time; who leaves the line costs no place, also in the moment in which its turn comes."""
    places, begun, ends = PrioritySemaphore(2), list[int](), dict[int, asyncio.Event]()

    async def work(size: int) -> None:
        async with places.place(size):
            begun.append(size)
            await ends.setdefault(size, asyncio.Event()).wait()

    async def settled(*expected: int) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert begun == [*expected]

    tasks = {}
    for size in (1, 2, 3, 9, 5, 8):
        tasks[size] = asyncio.create_task(work(size))
        await asyncio.sleep(0)
    await settled(1, 2)
    tasks[9].cancel()
    await settled(1, 2)
    ends[1].set()
    await settled(1, 2, 8)
    ends[2].set()
    await asyncio.sleep(0)
    tasks[5].cancel()  # its turn may have come
    await settled(1, 2, 8, 3)
    ends[8].set()
    ends[3].set()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    tasks = {size: asyncio.create_task(work(size)) for size in (20, 21, 22)}
    await settled(1, 2, 8, 3, 20, 21)
    ends[20].set()
    await settled(1, 2, 8, 3, 20, 21, 22)
    for size in (21, 22):
        ends[size].set()
    await asyncio.gather(*tasks.values())


async def test_what_is_shared_is_open_while_it_is_used() -> None:
    """All users of a time have one; after the last it is closed, and the next opens another."""
    told: list[str] = []

    @contextlib.asynccontextmanager
    async def opening() -> AsyncIterator[int]:
        told.append("opened")
        yield len(told)
        told.append("closed")

    shared = SharedResource(opening)
    async with shared.use() as one, shared.use() as other:
        assert one == other == 1
    assert told == ["opened", "closed"]
    async with shared.use() as later:
        assert later == 3
    assert told == ["opened", "closed"] * 2
