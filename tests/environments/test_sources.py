"""Tests of groundup.environments.layers."""

import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.layers import LayerStore
from groundup.environments.requests import SourceRequest
from groundup.environments.sources import source_layer
from groundup.registries.cache import FetchCache
from groundup.registries.pypi.client import PyPIClient
from groundup.trees.digest import tree_digest
from tests.registries.fake_index import FakeIndex, make_sdist, sha256


@pytest.fixture
async def registry(index: FakeIndex, tmp_path: Path) -> AsyncIterator[PyPIClient]:
    """The local index with an empty cache."""
    found = PyPIClient(index.configuration(), FetchCache(tmp_path / "registry"))
    yield found
    await found.close()


def archive(*members: str) -> bytes:
    """Return a tar.gz with these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in members:
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
    return buffer.getvalue()


def source(content: bytes, version: str = "1.0") -> SourceRequest:
    """Return a request for *content*."""
    return SourceRequest(name="demo", version=version, sha256=sha256(content))


async def test_a_source_is_unpacked_without_its_top_folder(
    index: FakeIndex, registry: PyPIClient, tmp_path: Path
) -> None:
    """The layer is the tree inside the one folder, with its digest on record; the second time needs no network."""
    name, content = make_sdist("demo", "1.0")
    index.add((name, content))
    layer = await source_layer(source(content), registry, LayerStore(tmp_path / "layers"))
    assert (layer.path / "demo.py").read_text() == "version = '1.0'\n"
    assert layer.built["tree"] == tree_digest(layer.path).digest
    index.failing = 503
    again = await source_layer(source(content), registry, LayerStore(tmp_path / "others"))
    assert again.digest == layer.digest


@pytest.mark.parametrize("members", [(), ("a.py",), ("one/a.py", "two/b.py"), ("demo-1.0/../../evil",)])
async def test_what_is_no_source_distribution_is_the_tasks_fault(
    index: FakeIndex, registry: PyPIClient, tmp_path: Path, members: tuple[str, ...]
) -> None:
    """An archive without exactly one top folder is refused, and nothing is written outside."""
    content = archive(*members)
    index.add(("demo-1.0.tar.gz", content))
    with pytest.raises(TaskError, match=r"the source of demo 1\.0"):
        await source_layer(source(content), registry, LayerStore(tmp_path / "layers"))
    assert not list(tmp_path.rglob("evil"))


async def test_a_damaged_archive_is_the_tasks_fault(
    index: FakeIndex, registry: PyPIClient, tmp_path: Path
) -> None:
    """Bytes that match their hash and are no archive are reported."""
    index.add(("demo-1.0.tar.gz", b"not an archive"))
    with pytest.raises(TaskError, match="cannot be read"):
        await source_layer(source(b"not an archive"), registry, LayerStore(tmp_path / "layers"))


async def test_an_absent_source_and_an_absent_network_are_distinguished(
    index: FakeIndex, registry: PyPIClient, tmp_path: Path
) -> None:
    """A version that the index does not have is the task's fault; an index that does not answer is not."""
    name, content = make_sdist("demo", "1.0")
    index.add((name, content))
    store = LayerStore(tmp_path / "layers")
    with pytest.raises(TaskError, match=r"no source distribution of version 2\.0"):
        await source_layer(source(content, version="2.0"), registry, store)
    index.failing = 503
    with pytest.raises(NetworkError):
        await source_layer(SourceRequest(name="other", version="1.0", sha256="0" * 64), registry, store)
