"""Container images in files, unpacked into a folder without a daemon or root.

A file is what `docker save` or `podman save` wrote, or an OCI layout, packed or as a folder. Layers are laid over
each other first, so that each file is written once. Images are strangers': nothing is written outside the folder,
devices are left out, and no file is anybody's but ours.
"""

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from groundup.domain.errors import UsageError
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.trees.archives import decompressed
from groundup.trees.walking import CHUNK

_HIDDEN, _ALL_HIDDEN = ".wh.", ".wh..wh..opq"
_FAULTS = (OSError, tarfile.TarError, KeyError, IndexError, TypeError, ValueError, AttributeError, EOFError)


class ImageConfig(Record):
    """How the programs of an image run."""

    digest: str
    """Of the configuration, which names all layers: the image's id."""
    environment: dict[str, str] = {}
    user: str = ""
    folder: str = ""
    entrypoint: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    """Digests of the layers before they are compressed."""


class _Entry(NamedTuple):
    layer: int
    member: tarfile.TarInfo


def read_config(image: Path) -> ImageConfig:
    """Return how the image in a file or folder runs. Raises `UsageError`."""
    with _opened(image) as files:
        return files.config


def unpack_image(image: Path, destination: Path) -> ImageConfig:
    """Write the image's files into the absent folder *destination*. Raises `UsageError`."""
    with _opened(image) as files, ExitStack() as stack:
        destination.mkdir()
        opened, merged = list[tarfile.TarFile](), _Merged()
        for name, digest in zip(files.layers, files.config.layers, strict=True):
            packed = stack.enter_context(files.open(name))
            plain = stack.enter_context(_plain(packed, digest))
            opened.append(stack.enter_context(tarfile.TarFile(fileobj=plain, errors="surrogateescape")))
            merged.lay(len(opened) - 1, opened[-1])
        _write(opened, merged.entries, destination)
        return files.config


@contextmanager
def _opened(image: Path) -> Iterator["_ImageFiles"]:
    try:
        with ExitStack() as stack:
            yield _ImageFiles(None if image.is_dir() else stack.enter_context(tarfile.open(image)), image)
    except _FAULTS as error:
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            raise  # of the disk that is written to
        told = str(error).partition(":\n")[0].partition(": - method")[0]  # not how each compression failed
        raise UsageError(
            f"{image} is no image as `docker save`, `podman save` or `skopeo copy` writes it: {told}"
        ) from error


class _ImageFiles:
    """The files of one image, by name, wherever they lie."""

    def __init__(self, tar: tarfile.TarFile | None, folder: Path) -> None:
        self._tar, self._folder = tar, folder
        described = self._json("manifest.json") if self._has("manifest.json") else None
        if described is not None:
            (one,) = described
            packed, self.layers = self._read(one["Config"]), tuple(map(str, one["Layers"]))
        else:
            (index,) = self._json("index.json")["manifests"]
            manifest = self._blob(index["digest"])
            if "manifests" in manifest:  # of several machines
                (index,) = [one for one in manifest["manifests"] if "layers" in self._blob(one["digest"])]
                manifest = self._blob(index["digest"])
            packed = self._read(_place(manifest["config"]["digest"]))
            self.layers = tuple(_place(one["digest"]) for one in manifest["layers"])
        self.config = _config(packed)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        if self._tar is None:
            place = self._folder / name
            if ".." in PurePosixPath(name).parts or not place.resolve().is_relative_to(self._folder.resolve()):
                raise ValueError(f"{printable(name)} lies outside of it")
            with place.open("rb") as file:
                yield file
        else:
            file = self._tar.extractfile(name)  # type: ignore[assignment]  # None only for folders
            if file is None:
                raise KeyError(f"{printable(name)} is no file")
            with file:
                yield file

    def _has(self, name: str) -> bool:
        return (self._folder / name).is_file() if self._tar is None else name in self._tar.getnames()

    def _read(self, name: str) -> bytes:
        with self.open(name) as file:
            return file.read()

    def _json(self, name: str) -> Any:
        return json.loads(self._read(name))

    def _blob(self, digest: str) -> Any:
        return self._json(_place(digest))


def _place(digest: str) -> str:
    kind, _, value = str(digest).partition(":")
    if not (kind.isalnum() and value.isalnum()):
        raise ValueError(f"{printable(str(digest))} is no digest")
    return f"blobs/{kind}/{value}"


def _config(packed: bytes) -> ImageConfig:
    document = json.loads(packed)
    given: Mapping[str, Any] = document.get("config") or {}
    return ImageConfig(
        digest=f"sha256:{hashlib.sha256(packed).hexdigest()}",
        environment=dict(one.split("=", 1) for one in given.get("Env") or ()),
        user=given.get("User") or "",
        folder=given.get("WorkingDir") or "",
        entrypoint=tuple(given.get("Entrypoint") or ()),
        layers=tuple(document["rootfs"]["diff_ids"]),
    )


@contextmanager
def _plain(packed: IO[bytes], digest: str) -> Iterator[IO[bytes]]:
    """Yield a layer without its compression, in a file of its own. Raises `ValueError` for another digest."""
    head = packed.read(6)
    packed.seek(0)
    found = hashlib.sha256()
    with tempfile.TemporaryFile() as plain:
        for piece in decompressed(packed, head):
            found.update(piece)
            plain.write(piece)
        if f"sha256:{found.hexdigest()}" != digest:
            raise ValueError(f"a layer is not {digest[:19]}, as the image says")
        plain.seek(0)
        yield plain


class _Merged:
    """What is left of the layers that were laid, by path."""

    def __init__(self) -> None:
        self.entries: dict[str, _Entry] = {}
        self._folders: set[str] = set()
        """With those that no layer names, and such as are gone."""

    def lay(self, number: int, layer: tarfile.TarFile) -> None:
        """Lay a layer over the others: it replaces and removes what is below it."""
        members = [(_path(member.name), member) for member in layer]
        for path, _ in members:
            parent, _, name = path.rpartition("/")
            if name == _ALL_HIDDEN:
                self._remove_inside(parent)
            elif name.startswith(_HIDDEN):
                self._remove(f"{parent}/{name.removeprefix(_HIDDEN)}".lstrip("/"))
        for path, member in members:
            if not path or PurePosixPath(path).name.startswith(_HIDDEN):
                continue
            if not member.isdir():
                self._remove(path)
            self.entries[path] = _Entry(number, member)
            self._folders.update(_above(path))

    def _remove(self, path: str) -> None:
        self.entries.pop(path, None)
        if path in self._folders:
            self._remove_inside(path)

    def _remove_inside(self, folder: str) -> None:
        for inner in [one for one in self.entries if one.startswith(f"{folder}/" if folder else "")]:
            del self.entries[inner]


def _above(path: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(path).parents][:-1]


def _path(name: str) -> str:
    path = PurePosixPath(name.lstrip("/"))
    if ".." in path.parts:
        raise ValueError(f"{printable(name)} leads out of it")
    return "" if str(path) == "." else str(path)


def _write(layers: list[tarfile.TarFile], entries: dict[str, _Entry], destination: Path) -> None:
    folders = {path for path, entry in entries.items() if entry.member.isdir()}
    for path in sorted(entries):
        if any(parent in entries and parent not in folders for parent in _above(path)):
            raise ValueError(f"{printable(path)} lies below a file or link")
        place, (number, member) = destination / path, entries[path]
        place.parent.mkdir(parents=True, exist_ok=True)
        if member.isdir():
            place.mkdir(exist_ok=True)
        elif member.issym():
            place.symlink_to(member.linkname)
        elif member.isreg() or member.islnk():
            _write_file(layers[number], member, place)


def _write_file(layer: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    content = layer.extractfile(member)  # a hard link's is that of its target in the same layer
    if content is None:
        return
    with content, place.open("xb") as target:
        shutil.copyfileobj(content, target, CHUNK)
    place.chmod(0o755 if member.mode & 0o111 else 0o644)
    os.utime(place, (member.mtime, member.mtime))
