"""What groundup wrote for its users, noted beside it, so that it replaces and removes nothing of anybody else's.

A folder in which it wrote such things holds `.groundup-made`: names, and digests of what was written under them.
What has another digest by now, or stands in no list, is somebody's own. Runs, layers, cached verdicts and pulled
data have a record of their own inside, by which they are known.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from pathlib import Path

from groundup.domain.digests import ALGORITHM, digest_bytes
from groundup.domain.errors import InfrastructureError, UsageError
from groundup.store.files import write_atomically
from groundup.trees.digest import tree_digest
from groundup.trees.walking import open_regular
from groundup.trees.writer import disk_errors

NOTES = ".groundup-made"
_HEAD = b"# What groundup wrote here. It replaces or removes a name only as long as its digest is one of these.\n"
_ADVICE = "move it away, or name another place"


def note_made(path: Path, digest: str) -> None:
    """Note that *path* is groundup's while its digest is *digest*. Where that cannot be noted, it is not."""
    if digest in _noted(path):
        return
    line = json.dumps({"name": path.name, "digest": digest}).encode() + b"\n"
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        descriptor = os.open(path.with_name(NOTES), flags, 0o644)
        try:
            begun = os.pread(descriptor, len(_HEAD), 0)
            if begun in (b"", _HEAD):  # else it is somebody's own file of that name
                os.write(descriptor, line if begun else _HEAD + line)
        finally:
            os.close(descriptor)


def is_made(path: Path) -> bool:
    """Whether groundup wrote what lies at *path*, and it is as it was written."""
    noted = _noted(path)
    return bool(noted) and digest_of_entry(path) in noted


def was_noted(path: Path, digest: str) -> bool:
    return digest in _noted(path)


def was_made(path: Path) -> bool:
    """Whether groundup wrote something under the name *path*, whatever lies there by now."""
    return bool(_noted(path))


def refuse_others(path: Path, advice: str = _ADVICE) -> None:
    """Raise `UsageError` where something lies at *path* that groundup did not write as it is now."""
    if os.path.lexists(path) and not is_made(path):
        raise UsageError(f"{path} is there, and groundup did not write it, or it was changed since; {advice}")


def refuse_full(folder: Path) -> None:
    """Raise `UsageError` where *folder* is neither absent nor an empty folder."""
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        what = "is not empty" if folder.is_dir() else "is no folder"
        raise UsageError(f"{folder} {what}; name a new folder")


def write_made(path: Path, content: bytes, *, makes_folder: bool = False) -> None:
    """Write *content* to *path*, also in a folder that is made, in place of what groundup wrote there before.

    Raises `UsageError` where something else lies there, and `InfrastructureError` where it cannot be written.
    """
    digest = digest_bytes(content)
    with disk_errors(path.parent):
        if makes_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if digest_of_entry(path) == digest:
            return
        refuse_others(path)
        note_made(path, digest)  # before the file: a note that is in vain does no harm
        write_atomically(path, content)


def copy_made(source: Path, path: Path) -> None:
    """Copy the file *source* to *path*, as `write_made` writes."""
    digest = digest_of_file(source)
    if digest_of_entry(path) == digest:
        return
    refuse_others(path)
    note_made(path, digest)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    try:
        shutil.copyfile(source, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def digest_of_entry(path: Path) -> str | None:
    """Return the digest of a file's content or of a tree; None for what is absent, a link, or unreadable."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            return tree_digest(path).digest
        if not stat.S_ISREG(mode):
            return None
        return digest_of_file(path)
    except (OSError, InfrastructureError):
        return None


def digest_of_file(path: Path) -> str:
    """Return the digest of a file's content. Raises `OSError`."""
    with open_regular(path) as file:
        return f"{ALGORITHM}:{hashlib.file_digest(file, ALGORITHM).hexdigest()}"


def _noted(path: Path) -> set[str]:
    try:
        with open_regular(path.with_name(NOTES)) as file:
            if file.read(len(_HEAD)) != _HEAD:
                return set()
            return {digest for line in file if (digest := _digest_in(line, path.name)) is not None}
    except OSError:
        return set()


def _digest_in(line: bytes, name: str) -> str | None:
    try:
        noted = json.loads(line)
        return str(noted["digest"]) if noted["name"] == name else None
    except (ValueError, KeyError, TypeError, RecursionError):  # torn, or not ours
        return None
