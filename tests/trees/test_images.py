"""Images in files, unpacked without a daemon."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.trees.images import read_config, unpack_image
from tests.trees.saved_images import Member, packed_layer, save_image, save_layout


def unpacked(tmp_path: Path, *layers: Sequence[Member]) -> dict[str, str]:
    """Return the files that *layers* leave, by path; links by where they lead."""
    unpack_image(save_image(tmp_path / "image.tar", *layers), tmp_path / "out")
    return {
        str(path.relative_to(tmp_path / "out")): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in sorted((tmp_path / "out").rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_later_layers_replace_and_remove(tmp_path: Path) -> None:
    """A file, a folder, a folder's contents: what a layer hides is gone, and what it adds is there."""
    first = [("a", "1"), ("d/x", "1"), ("d/y", "1"), ("e/x", "1"), ("f", "1"), ("g/x", "1")]
    second = [(".wh.a", ""), ("d/.wh.x", ""), ("e/.wh..wh..opq", ""), ("e/z", "2"), ("f", "2"), (".wh.g", "")]
    assert unpacked(tmp_path, first, second) == {"d/y": "1", "e/z": "2", "f": "2"}


def test_a_folder_becomes_a_file_and_back(tmp_path: Path) -> None:
    """What lay in the folder is gone, whether or not the layer names the folder."""
    assert unpacked(tmp_path, [("a/b", "1")], [("a", "2")]) == {"a": "2"}


def test_links_are_kept(tmp_path: Path) -> None:
    """Symbolic ones lead where they did; hard ones have the file's content."""
    members: list[Member] = [("usr/bin/sh", "shell"), ("bin", ("usr/bin",)), ("usr/bin/dash", ["usr/bin/sh"])]
    assert unpacked(tmp_path, members) == {"bin": "-> usr/bin", "usr/bin/dash": "shell", "usr/bin/sh": "shell"}


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    """Neither by `..`, nor by an absolute name, nor through a link of the image's own."""
    (tmp_path / "victim").mkdir()
    with pytest.raises(UsageError, match="leads out of it"):
        unpacked(tmp_path, [("../victim/a", "1")])
    through: list[Member] = [("out", (str(tmp_path / "victim"),)), ("out/a", "1")]
    with pytest.raises(UsageError, match="lies below a file or link"):
        unpack_image(save_image(tmp_path / "b.tar", through), tmp_path / "b")
    unpack_image(save_image(tmp_path / "c.tar", [(f"{tmp_path}/victim/a", "1")]), tmp_path / "c")
    assert not any((tmp_path / "victim").iterdir())


def test_a_layer_that_was_changed_is_refused(tmp_path: Path) -> None:
    """The image's id is that of its configuration, which names each layer's digest."""
    image = save_image(tmp_path / "image.tar", [("a", "1")], wrong=True)
    with pytest.raises(UsageError, match="as the image says"):
        unpack_image(image, tmp_path / "out")


def test_an_oci_layout_is_the_same_image(tmp_path: Path) -> None:
    """As a folder and with compressed layers, as `skopeo copy` writes it."""
    saved = save_image(tmp_path / "image.tar", [("a", "1")])
    for nested in (False, True):
        layout = save_layout(tmp_path / f"layout-{nested}", [("a", "1")], nested=nested)
        assert read_config(saved).digest == read_config(layout).digest
        unpack_image(layout, tmp_path / f"out-{nested}")
        assert (tmp_path / f"out-{nested}/a").read_text() == "1"


@pytest.mark.parametrize("content", [b"", b"no image", gzip.compress(b"x", mtime=0)])
def test_another_file_is_named(content: bytes, tmp_path: Path) -> None:
    """A file that is no image is one sentence."""
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.tar is no image as `docker save`"):
        read_config(tmp_path / "x.tar")


def test_the_configuration_is_read(tmp_path: Path) -> None:
    """Variables, and what names the image."""
    config = read_config(save_image(tmp_path / "image.tar", [("a", "1")], environment=["PATH=/x", "A=b=c"]))
    assert config.environment == {"PATH": "/x", "A": "b=c"}
    digest = hashlib.sha256(packed_layer([("a", "1")])).hexdigest()
    assert config.layers == (f"sha256:{digest}",)


def test_a_tar_of_something_else_is_named(tmp_path: Path) -> None:
    """What `docker export` wrote has no configuration."""
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        content = json.dumps({}).encode()
        member = tarfile.TarInfo("bin/sh")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    with pytest.raises(UsageError, match="is no image"):
        read_config(tmp_path / "x.tar")
