"""Layers go from node to node whole, checked, and only to places of theirs."""

import asyncio
import io
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.environments.layers import NEIGHBOURS, Built, LayerStore
from groundup.environments.packing import pack_folder, unpack_folder
from groundup.environments.requests import Layer
from groundup.trees.archives import zstd
from groundup.trees.digest import tree_digest
from groundup_fleet.orders import LayerShelf, OtherNodes
from tests.groundup_fleet.test_orders import a_tree


def a_layer(folder: Path) -> Layer:
    """Return a layer with a link that leads out, as that of an environment does to its interpreter."""
    tree = a_tree(folder)
    (tree / "python").symlink_to("/opt/python/bin/python")
    return Layer(digest="sha256:1", kind="toys", path=tree, built={"python": "3.11.1"})


class OneOther:
    """A worker that reaches the shelf of another."""

    address = "tcp://me"

    def __init__(self, shelf: LayerShelf) -> None:
        self.handlers: dict[str, Any] = {}
        self.loop = SimpleNamespace(asyncio_loop=asyncio.get_running_loop())
        shelf.offer(self)

    def rpc(self, address: str) -> SimpleNamespace:
        """Return that one, whatever its address."""
        return SimpleNamespace(groundup_layer=self.handlers["groundup_layer"])


async def test_a_layer_that_another_node_has_is_not_built(tmp_path: Path) -> None:
    """It arrives as it was there, and counts as used; nodes without it, or with another content, are passed by."""
    layer, shelf = a_layer(tmp_path), LayerShelf(tmp_path)
    contents = shelf.contents({"toys/sha256:1": layer})
    built: list[str] = []

    async def build(room: Path) -> Built:
        built.append("here")
        (room / "tree").mkdir()
        return Built()

    async def got(number: int, contents: dict[str, str]) -> Layer:
        others = OtherNodes(OneOther(shelf), contents, ("tcp://me", "tcp://other"))
        NEIGHBOURS.set(others)
        found = await LayerStore(tmp_path / str(number)).get("toys", "sha256:1", build)
        assert list(others.layers) == ["toys/sha256:1"]
        return found

    found = await got(1, contents)
    assert (tree_digest(found.path), found.built) == (tree_digest(layer.path), layer.built)
    assert built == []
    await got(2, {"toys/sha256:1": "sha256:another"})
    await got(3, {})
    assert built == ["here", "here"]


@pytest.mark.parametrize("name", ["../outside", "{top}/outside", "in/outside", "in", "no/folder"])
def test_a_hostile_layer_stays_inside(tmp_path: Path, name: str) -> None:
    """Neither its names nor its links lead to other places, and it is refused."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        link = tarfile.TarInfo("in")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        tar.addfile(link)
        tar.addfile(tarfile.TarInfo(name.replace("{top}", str(tmp_path))))
    packed, room = tmp_path / "packed", tmp_path / "room"
    packed.write_bytes(zstd.compress(buffer.getvalue()))
    room.mkdir()
    with pytest.raises(InfrastructureError, match="a folder was"):
        unpack_folder(packed, room / "tree", "sha256:1")
    assert not (tmp_path / "outside").exists()


def test_a_layer_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Half of a layer is none."""
    layer = a_layer(tmp_path)
    pack_folder(layer.path, tmp_path / "packed")
    data = (tmp_path / "packed").read_bytes()
    (tmp_path / "packed").write_bytes(data[: len(data) // 2])
    (tmp_path / "room").mkdir()
    with pytest.raises(InfrastructureError, match="damaged"):
        unpack_folder(tmp_path / "packed", tmp_path / "room", tree_digest(layer.path).digest)


def test_what_says_to_be_larger_than_any_layer_is_refused_unread(tmp_path: Path) -> None:
    """By its own headers: no byte of it is waited for, and nothing is written."""
    huge = tarfile.TarInfo("huge")
    huge.size = 1 << 40
    (tmp_path / "packed").write_bytes(zstd.compress(huge.tobuf()))
    with pytest.raises(InfrastructureError, match="larger than any layer"):
        unpack_folder(tmp_path / "packed", tmp_path / "tree", None)
    assert list((tmp_path / "tree").iterdir()) == []
