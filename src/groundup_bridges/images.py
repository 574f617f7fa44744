"""Container images written file by file, without a daemon or root: the same files make the same bytes.

An image is a folder in OCI's layout, with two additions: `manifest.json`, by which Docker before version 25 loads
it, and a Dockerfile that only adds the layers. Everything in a layer belongs to root.
"""

import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import stat
import struct
import tarfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import JsonValue

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.trees.archives import anonymous
from groundup.trees.walking import remove_tree

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LEVEL = 5
"""Of compression: further ones take much longer and save little."""
_CHUNK = 1024 * 1024
_MODULE = re.compile(r"([^.]+)\.cpython-\d+\.pyc")
_HEADER = struct.Struct("<4sIII")
"""Of bytecode: its version, how it is checked (0: by the next two), its source's time and size."""
_WORD = 0xFFFFFFFF
_FOLDERS = {"tmp": 0o1777, "var/tmp": 0o1777}
"""Modes of folders that other layers have, too."""


class LayerFile(NamedTuple):
    """A file, folder or link of a layer: by its source on this machine, its content, or where it leads."""

    mode: int
    source: Path | None = None
    content: bytes | None = None
    target: str | None = None
    is_bytecode: bool = False


class LayerFiles:
    """The files of one layer, by their paths in the image. What is added later replaces what was there."""

    def __init__(self) -> None:
        self._files: dict[str, LayerFile] = {}

    def __iter__(self) -> Iterator[tuple[str, LayerFile]]:
        """Yield them, with all folders that they lie in: Docker 20.10 closes those that a layer does not name."""
        files = dict(self._files)
        for path in self._files:
            for folder in map(str, PurePosixPath(path).parents[:-1]):
                files.setdefault(folder, LayerFile(_FOLDERS.get(folder, 0o755)))
        return iter(sorted(files.items()))

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Add an empty folder."""
        self._files[_plain(path)] = LayerFile(mode)

    def text(self, path: str, content: str, mode: int = 0o644) -> None:
        self._files[_plain(path)] = LayerFile(mode, content=content.encode())

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        self._files[_plain(path)] = LayerFile(0o777, target=target)

    def tree(self, source: Path, target: str, without: Collection[str] = (), *, bytecode: bool = False) -> None:
        """Add what lies at *source*, but what would come to a path in *without* or below one.

        *bytecode*: also that of the modules that were added.
        """
        hidden, compiled = {_plain(path) for path in without}, list[tuple[Path, str]]()
        waiting = [(source, _plain(target))]
        while waiting:
            path, place = waiting.pop()
            if place in hidden:
                continue
            status = path.lstat()
            if path.name == "__pycache__":
                inner = path.iterdir() if bytecode and stat.S_ISDIR(status.st_mode) else ()
                compiled += [(one, f"{place}/{one.name}") for one in inner]
            elif stat.S_ISLNK(status.st_mode):
                self._files[place] = LayerFile(0o777, target=str(path.readlink()))
            elif stat.S_ISDIR(status.st_mode):
                self._files[place] = LayerFile(0o755)
                waiting += [(inner, f"{place}/{inner.name}") for inner in path.iterdir()]
            elif stat.S_ISREG(status.st_mode):
                self._files[place] = LayerFile(0o755 if status.st_mode & stat.S_IXUSR else 0o644, source=path)
        for one, place in compiled:
            self.bytecode(one, place)

    def bytecode(self, compiled: Path, target: str) -> None:
        """Add bytecode where the layer has the module that it fits. There it fits a source without a time."""
        place, module = _plain(target), _MODULE.fullmatch(compiled.name)
        if module is None or not compiled.is_file():
            return
        added = self._files.get(str(PurePosixPath(place).parents[1] / f"{module[1]}.py"))
        with compiled.open("rb") as file:
            header = file.read(_HEADER.size)
        if added is None or added.source is None or len(header) < _HEADER.size:
            return
        status = added.source.stat()
        if _HEADER.unpack(header)[1:] == (0, int(status.st_mtime) & _WORD, status.st_size & _WORD):
            self._files[place] = LayerFile(0o644, source=compiled, is_bytecode=True)


def _plain(path: str) -> str:
    plain = str(PurePosixPath(path)).lstrip("/")
    assert ".." not in PurePosixPath(plain).parts, path
    return plain


class ImageLayer(Record):
    """A layer in the store."""

    digest: str
    """Of the file as it is stored, `sha256:...`."""
    diff_id: str
    """Of the archive before it is compressed."""
    size: int
    compressed: bool = True

    @property
    def blob(self) -> str:
        return _blob(self.digest)


@dataclass(frozen=True)
class Image:
    """Layers, the lowest first, and how its commands run."""

    layers: Sequence[ImageLayer]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/"

    def config(self) -> bytes:
        """Return the image's configuration."""
        machine = platform.machine()
        return _json(
            {
                "architecture": _ARCHITECTURES.get(machine, machine),
                "os": "linux",
                "config": {
                    "Env": [f"{name}={value}" for name, value in sorted(self.environment.items())],
                    "Cmd": ["/bin/bash"],
                    "WorkingDir": self.folder,
                },
                "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in self.layers]},
            }
        )

    def dockerfile(self) -> str:
        """Return the lines that make the same image from the layout's folder; nothing is run or fetched."""
        lines = ["FROM scratch", *(f"ADD {layer.blob} /" for layer in self.layers)]
        lines += [f"ENV {name}={json.dumps(value)}" for name, value in sorted(self.environment.items())]
        return "\n".join([*lines, f"WORKDIR {self.folder}", 'CMD ["/bin/bash"]', ""])


class ImageStore:
    """Writes layers once, and layouts that share them by hard links. Removes its own folder at the end."""

    def __init__(self, folder: Path) -> None:
        """Use the absent *folder*, which must be on the disk of the layouts."""
        self._folder = folder
        (folder / "blobs" / "sha256").mkdir(parents=True)

    def __enter__(self) -> "ImageStore":
        return self

    def __exit__(self, *error: object) -> None:
        remove_tree(self._folder)

    def layer(self, files: LayerFiles) -> ImageLayer:
        partial = self._folder / "partial"
        with partial.open("wb") as raw:
            stored = _Hashing(raw)
            # Neither time nor file name: the same files make the same digest on each machine.
            with gzip.GzipFile("", "wb", _LEVEL, stored, mtime=0) as packed:
                plain = _Hashing(packed)
                with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as tar:  # type: ignore[call-overload]
                    for path, file in files:
                        _add(tar, path, file)
        layer = ImageLayer(digest=stored.digest, diff_id=plain.digest, size=stored.size)
        partial.rename(self._folder / layer.blob)
        return layer

    def base(self, archive: Path) -> Image:
        """Take in an image that `docker save` or `skopeo copy docker-archive:` wrote. Raises `UsageError`."""
        try:
            with tarfile.open(archive) as tar:
                (described,) = json.loads(_member(tar, "manifest.json"))
                config = json.loads(_member(tar, described["Config"]))
                diffs = config["rootfs"]["diff_ids"]
                layers = [
                    self._taken(tar, name, diff) for name, diff in zip(described["Layers"], diffs, strict=True)
                ]
        except (OSError, tarfile.TarError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{archive} is not one image as `docker save` writes it: {error}") from error
        variables = dict(one.split("=", 1) for one in config.get("config", {}).get("Env") or ())
        return Image(layers, variables)

    def _taken(self, tar: tarfile.TarFile, name: str, diff_id: str) -> ImageLayer:
        source = tar.extractfile(name)
        if source is None:
            raise KeyError(name)
        partial = self._folder / "partial"
        with partial.open("wb") as raw:
            stored = _Hashing(raw)
            shutil.copyfileobj(source, stored, _CHUNK)
        with tarfile.open(partial) as layer:
            # Docker's `ADD` of a layer, as in our Dockerfile, would write these marks as files and remove
            # nothing.
            if any(PurePosixPath(member.name).name.startswith(".wh.") for member in layer):
                raise UsageError(f"{name} removes files of lower layers; flatten the image: docker export, import")
        compressed = stored.digest != diff_id
        taken = ImageLayer(digest=stored.digest, diff_id=diff_id, size=stored.size, compressed=compressed)
        partial.rename(self._folder / taken.blob)
        return taken

    def write(self, image: Image, name: str, folder: Path) -> str:
        """Write *image* into *folder* as `name:<digest>`; return that reference's digest, `sha256:...`."""
        (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        config = image.config()
        manifest = _json(
            {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": _described(config, _CONFIG),
                "layers": [
                    {
                        "mediaType": f"{_LAYER}+gzip" if layer.compressed else _LAYER,
                        "digest": layer.digest,
                        "size": layer.size,
                    }
                    for layer in image.layers
                ],
            }
        )
        digest = _digest(manifest)
        for content in (config, manifest):
            (folder / _blob(_digest(content))).write_bytes(content)
        for layer in image.layers:
            target = folder / layer.blob
            # Hard links: the images of a hundred tasks share most of their gigabytes.
            if not target.exists():
                os.link(self._folder / layer.blob, target)
        reference = tagged(name, digest)
        named: JsonValue = {
            "org.opencontainers.image.ref.name": reference.rpartition(":")[2],
            "io.containerd.image.name": reference,
        }
        entry = {**_described(manifest, _MANIFEST), "annotations": named}
        old: JsonValue = [
            {
                "Config": _blob(_digest(config)),
                "RepoTags": [reference],
                "Layers": [layer.blob for layer in image.layers],
            }
        ]
        (folder / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
        (folder / "index.json").write_bytes(_json({"schemaVersion": 2, "manifests": [entry]}))
        (folder / "manifest.json").write_bytes(_json(old))
        (folder / "Dockerfile").write_text(image.dockerfile(), encoding="utf-8")
        return digest


def tagged(name: str, digest: str) -> str:
    """Return *name* with a tag by which the image with *digest* is known where digests are not."""
    return f"{name}:{digest.partition(':')[2][:12]}"


class _Hashing:
    """Hands on what is written, and knows its digest and size."""

    def __init__(self, target: "io.BufferedWriter | gzip.GzipFile") -> None:
        self._target = target
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._target.write(data)

    def flush(self) -> None:
        self._target.flush()

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


def _add(tar: tarfile.TarFile, path: str, file: LayerFile) -> None:
    member = tarfile.TarInfo(path)
    member.mode = file.mode
    if file.target is not None:
        member.type, member.linkname = tarfile.SYMTYPE, file.target
        tar.addfile(member)
    elif file.source is not None and file.is_bytecode:
        code = file.source.read_bytes()
        version, flags, _, size = _HEADER.unpack_from(code)
        member.size = len(code)
        tar.addfile(member, io.BytesIO(_HEADER.pack(version, flags, 0, size) + code[_HEADER.size :]))
    elif file.source is not None:
        with file.source.open("rb") as content:
            member.size = os.fstat(content.fileno()).st_size
            tar.addfile(member, content)
    elif file.content is not None:
        member.size = len(file.content)
        tar.addfile(member, io.BytesIO(file.content))
    else:
        member.type = tarfile.DIRTYPE
        tar.addfile(member)


def pack(tree: Path, archive: Path) -> None:
    """Write what lies in the folder *tree* to the new file *archive*, a `.tar.gz`."""
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(tree.iterdir()):
            tar.add(path, path.name, filter=anonymous)


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    if file is None:
        raise KeyError(name)
    return file.read()


def _json(document: JsonValue) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _described(content: bytes, media_type: str) -> dict[str, JsonValue]:
    return {"mediaType": media_type, "digest": _digest(content), "size": len(content)}


def _blob(digest: str) -> str:
    return f"blobs/sha256/{digest.partition(':')[2]}"
