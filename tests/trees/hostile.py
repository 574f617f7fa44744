"""Trees and archives as strangers might make them, and a look at what came of them."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

from hypothesis import strategies as st

Tree = dict[str, bytes | str | None]
"""Path -> content of a file, target of a link, or None for a folder."""

names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..") and len(name.encode()) <= 60
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
targets = st.lists(st.one_of(names, st.just(".."), st.just(".")), min_size=1, max_size=5).map("/".join) | st.just(
    "/etc/passwd"
)
trees = st.dictionaries(paths, st.one_of(st.binary(max_size=64), targets, st.none()), max_size=8)


def write(root: Path, tree: Tree) -> None:
    """Put *tree* on the disk, leaving out what conflicts with an earlier entry."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in tree.items():
        path = root / name
        above = [root.joinpath(*path.relative_to(root).parts[:count]) for count in range(1, len(name.split("/")))]
        if any(os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()) for folder in above):
            continue
        if os.path.lexists(path):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir()
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.symlink_to(content)


def snapshot(root: Path) -> dict[str, str]:
    """Return every path below *root* with what it is, following nothing."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder) / name
            relative = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[relative] = "link " + str(path.readlink())
            elif path.is_dir():
                found[relative] = "folder"
            else:
                found[relative] = "file " + path.read_bytes().hex()
    return found


def stays_inside(root: Path) -> bool:
    """Whether no link below *root* leads out of it, as the kernel follows links."""
    top = root.resolve()
    links = [Path(folder) / name for folder, folders, files in os.walk(root) for name in folders + files]
    return all(path.resolve().is_relative_to(top) for path in links if path.is_symlink())


def tar_of(members: list[tuple[tarfile.TarInfo, bytes]], mode: str = "w") -> bytes:
    """Return a tar of exactly these members, in this order, whatever they are called."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]  # mode is a plain str here
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    """Return a tar member's header."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    return info


def zip_of(members: list[tuple[str, bytes, int]]) -> bytes:
    """Return a zip of (name, content, mode with file type)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return buffer.getvalue()
