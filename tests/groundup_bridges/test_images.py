"""Images: complete layouts, the same bytes each time, and only what was added."""

import gzip
import hashlib
import json
import os
import py_compile
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup_bridges.images import Image, ImageStore, LayerFiles


def a_tree(root: Path) -> Path:
    """Write a tree with a program, a link and a folder to hide."""
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "run").write_text("#!/bin/sh\n")
    (root / "bin" / "run").chmod(0o700)
    (root / "link").symlink_to("bin/run")
    (root / "hidden").mkdir()
    (root / "hidden" / "secret").write_text("answer")
    return root


def files_of(tree: Path) -> LayerFiles:
    """Return the files of a layer."""
    files = LayerFiles()
    files.folder("/tmp", 0o1777)
    files.tree(tree, "/opt/tree", ["/opt/tree/hidden"])
    files.text("/etc/name", "groundup\n")
    return files


def written(root: Path, tree: Path) -> Path:
    """Write an image of one layer and return its layout."""
    with ImageStore(root / "store") as store:
        image = Image([store.layer(files_of(tree))], {"PATH": "/bin"}, "/opt")
        store.write(image, "groundup/test", root / "layout")
    return root / "layout"


def test_every_blob_is_what_its_name_says(tmp_path: Path) -> None:
    """Index, manifest, configuration and layer name each other by digest and size, and all are there."""
    layout = written(tmp_path, a_tree(tmp_path / "tree"))
    for blob in (layout / "blobs" / "sha256").iterdir():
        assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    manifest = json.loads(blob_of(layout, entry["digest"]))
    for described in (manifest["config"], *manifest["layers"]):
        assert len(blob_of(layout, described["digest"])) == described["size"]
    config = json.loads(blob_of(layout, manifest["config"]["digest"]))
    (layer,) = manifest["layers"]
    plain = gzip.decompress(blob_of(layout, layer["digest"]))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(plain).hexdigest()}"]
    (old,) = json.loads((layout / "manifest.json").read_text())
    assert (layout / old["Config"]).is_file()
    assert f"ADD {old['Layers'][0]} /" in (layout / "Dockerfile").read_text()


def test_a_layer_names_every_folder_before_what_lies_in_it(tmp_path: Path) -> None:
    """Docker 20.10 closes folders that no entry names to all but root; what others may write stays so."""
    files = LayerFiles()
    for path in ("/usr/lib/x/deep", "/tmp/one", "/usr/bin-x"):
        files.text(path, "")
    assert [(path, oct(file.mode)) for path, file in files if file.content is None] == [
        ("tmp", "0o1777"),
        ("usr", "0o755"),
        ("usr/lib", "0o755"),
        ("usr/lib/x", "0o755"),
    ]


def test_a_layer_holds_what_was_added_and_nothing_hidden(tmp_path: Path) -> None:
    """Modes are those of everybody's programs and files, all of it is root's, links stay links."""
    layout = written(tmp_path, a_tree(tmp_path / "tree"))
    (old,) = json.loads((layout / "manifest.json").read_text())
    with tarfile.open(layout / old["Layers"][0]) as tar:
        found = {one.name: (one.mode, one.uid, one.linkname) for one in tar}
    assert found == {
        "etc": (0o755, 0, ""),
        "etc/name": (0o644, 0, ""),
        "opt": (0o755, 0, ""),
        "opt/tree": (0o755, 0, ""),
        "opt/tree/bin": (0o755, 0, ""),
        "opt/tree/bin/run": (0o755, 0, ""),
        "opt/tree/link": (0o777, 0, "bin/run"),
        "tmp": (0o1777, 0, ""),
    }


def test_bytecode_that_fits_its_source_does_so_in_the_layer(tmp_path: Path) -> None:
    """Programs start without compiling anything; what is out of date, hidden or without a source stays away."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("fits", "old", "hidden", "gone"):
        (tree / f"{name}.py").write_text("FOUND = 'bytecode'")
        py_compile.compile(str(tree / f"{name}.py"))
        (tree / f"{name}.py").write_text("FOUND = 'the text'")
    for name in ("fits", "hidden", "gone"):
        compiled = tree / "__pycache__" / f"{name}.{sys.implementation.cache_tag}.pyc"
        status, content = (tree / f"{name}.py").stat(), compiled.read_bytes()
        compiled.write_bytes(content[:8] + struct.pack("<II", int(status.st_mtime), status.st_size) + content[16:])
    (tree / "gone.py").unlink()
    os.utime(tree / "old.py", (1, 1))
    files = LayerFiles()
    files.tree(tree, "/opt/tree", ["/opt/tree/hidden.py"], bytecode=True)
    with ImageStore(tmp_path / "store") as store:
        store.write(Image([store.layer(files)]), "groundup/test", tmp_path / "layout")
    (old,) = json.loads((tmp_path / "layout" / "manifest.json").read_text())
    with tarfile.open(tmp_path / "layout" / old["Layers"][0]) as tar:
        # Not `filter=`, which Debian 12's Python 3.11.2 has not yet.
        tar.extraction_filter = staticmethod(lambda member, path: member)
        tar.extractall(tmp_path / "root")
    place = tmp_path / "root" / "opt" / "tree"
    assert [path.name.partition(".")[0] for path in (place / "__pycache__").iterdir()] == ["fits"]
    program = "import sys; sys.path[:0] = sys.argv[1:]; import fits, old; print(fits.FOUND, old.FOUND)"
    told = subprocess.run([sys.executable, "-I", "-B", "-c", program, place], capture_output=True, check=True)
    assert told.stdout == b"bytecode the text\n"


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    """Neither when nor where it is written decides anything."""
    names = []
    for name in ("one", "two"):
        layout = written(tmp_path / name, a_tree(tmp_path / name / "tree"))
        names.append(sorted(path.name for path in (layout / "blobs" / "sha256").iterdir()))
    assert names[0] == names[1]


def test_a_base_comes_from_an_archive(tmp_path: Path) -> None:
    """What was written is a base for others; an archive of something else is refused."""
    layout = written(tmp_path / "first", a_tree(tmp_path / "tree"))
    renamed = tmp_path / "renamed.tar"
    with tarfile.open(renamed, "w") as tar:
        for path in sorted(layout.rglob("*")):
            tar.add(path, str(path.relative_to(layout)), recursive=False)
    with ImageStore(tmp_path / "store") as store:
        base = store.base(renamed)
        assert dict(base.environment) == {"PATH": "/bin"}
        assert len(base.layers) == 1
        with pytest.raises(UsageError, match="docker save"):
            store.base(layout / "index.json")


def blob_of(layout: Path, digest: str) -> bytes:
    """Return the content of a blob."""
    return (layout / "blobs" / "sha256" / digest.partition(":")[2]).read_bytes()
