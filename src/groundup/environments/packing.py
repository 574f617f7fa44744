"""Folders (layers, interpreters) packed into one file, to be taken elsewhere and unpacked there."""

import os
import secrets
import shutil
import tarfile
from collections.abc import Collection
from pathlib import Path

from groundup.domain.errors import InfrastructureError
from groundup.trees.archives import UNREADABLE
from groundup.trees.digest import tree_digest

_MOST_BYTES = 16 * 1024**3


def pack_folder(tree: Path, destination: Path, without: Collection[str] = ()) -> None:
    """Write what is in *tree*, but for what lies in folders with a name of *without*, to *destination*."""
    from groundup.trees.archives import zstd

    partial = destination.with_name(f".{destination.name}-{secrets.token_hex(4)}")
    with (
        partial.open("wb") as file,
        zstd.ZstdFile(file, "wb", level=3) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(tree.rglob("*")):
            inside = path.relative_to(tree)
            if not any(part in without for part in inside.parts[:-1]):
                _add(tar, path, str(inside))
    partial.replace(destination)


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    info = tar.gettarinfo(path, name)
    if info.islnk():  # a second name of a file is a file of its own
        info.type, info.size, info.linkname = tarfile.REGTYPE, path.stat().st_size, ""
    if info.isreg():
        with path.open("rb") as file:
            tar.addfile(info, file)
    else:
        tar.addfile(info)


def unpack_folder(packed: Path, tree: Path, content: str | None) -> None:
    """Fill *tree*, which is empty or absent, from *packed*; nothing is written outside of it.

    Raises `InfrastructureError` for what is damaged, or has another digest than *content*; None: any.
    """
    from groundup.trees.archives import zstd

    tree.mkdir(exist_ok=True)
    try:
        with (
            packed.open("rb") as file,
            zstd.ZstdFile(file) as plain,
            tarfile.open(fileobj=plain, mode="r|") as tar,
        ):
            size = 0
            for member in tar:
                size += member.size
                if size > _MOST_BYTES:
                    raise ValueError("it is larger than any layer")
                _unpack(tar, member, tree)
        if content is not None and tree_digest(tree).digest != content:
            raise InfrastructureError("a folder was changed on its way: its digest is another one")
    except (*UNREADABLE, zstd.ZstdError, FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        raise InfrastructureError(f"a folder was damaged on its way: {error}") from error


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, tree: Path) -> None:
    """Write a file, folder or link into *tree*. Raises `ValueError` for what is in no layer, or would lie outside.

    By hand: the filters of `tarfile` are younger than the Python of Debian 12.
    """
    place, inside = tree / member.name, os.path.realpath(tree)
    parts = Path(member.name).parts
    if not parts or ".." in parts or not Path(os.path.realpath(place.parent)).is_relative_to(inside):
        raise ValueError(f"{member.name} would lie outside")
    if member.isdir():
        place.mkdir(member.mode & 0o755)
    elif member.issym():
        place.symlink_to(member.linkname)
    elif (content := tar.extractfile(member)) is not None and member.isfile():
        with content, place.open("xb") as file:
            shutil.copyfileobj(content, file)
        place.chmod(member.mode & 0o755)
        os.utime(place, (member.mtime, member.mtime))  # bytecode beside it names this moment
    else:
        raise ValueError(f"{member.name} is in no layer")
