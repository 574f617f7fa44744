"""Bundles that were changed: by somebody careless, or by somebody who makes all digests fit again."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

from groundup.store.lines import Chain
from groundup.store.records import ConfigFile, LockFile

Change = Callable[[str], str]
"""What becomes of the text of a file."""
Files = dict[str, bytes]


def files_of(bundle: Path) -> Files:
    """Return the files of a bundle by name."""
    with tarfile.open(bundle) as tar:
        return {member.name: file.read() for member in tar if (file := tar.extractfile(member)) is not None}


def write(files: Files, path: Path) -> Path:
    """Write files as a bundle."""
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def changed(bundle: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """Return a copy of *bundle* whose files are what *change* makes of them; None leaves one out."""
    made = {name: change(name, data) for name, data in files_of(bundle).items()}
    kept = {name: data for name, data in made.items() if data is not None}
    return write(kept, bundle.with_name("changed.tar.gz"))


def forged(bundle: Path, *, seal: bool = True, **changes: Change) -> Path:
    """Return a copy in which the files `config` and `lock` and the lines of `verdicts` are changed.

    Its manifest names them as they are, and its configuration has the digest of what it holds; with *seal*, so
    have its lines.
    """
    files = files_of(bundle)
    for name, change in changes.items():
        (file,) = (file for file in files if file.startswith(f"run/{name}."))
        made = change(files[file].decode())
        assert made != files[file].decode()
        files[file] = made.encode()
    return write(consistent(files, seal=seal), bundle.with_name("changed.tar.gz"))


def consistent(files: Files, *, seal: bool = True) -> Files:
    """Let every digest fit: of the configuration, with *seal* of the lines, and of the manifest."""
    config = ConfigFile.model_validate_json(files["run/config.json"])
    digest = ConfigFile.digest_for(config.configuration, config.planned, config.pinned)
    if config.digest != digest:
        config = config.but(digest=digest)
        files["run/config.json"] = config.model_dump_json(indent=1).encode()
    if seal and "run/verdicts.jsonl" in files and "run/lock.json" in files:
        _seal(files, config)
    manifest = json.loads(files["manifest.json"])
    manifest["files"] = {
        name.removeprefix("run/"): hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name.startswith("run/")
    }
    folders = {name.split("/")[1] for name in files if name.startswith("submissions/")}
    manifest["submissions"] = sorted({*manifest["submissions"], *(name.replace("-", ":") for name in folders)})
    files["manifest.json"] = json.dumps(manifest).encode()
    return files


def _seal(files: Files, config: ConfigFile) -> None:
    lock = LockFile.model_validate_json(files["run/lock.json"])
    chain = Chain(config)
    chain.know(lock.starts)
    sealed = []
    for line in files["run/verdicts.jsonl"].splitlines():
        said = {name: value for name, value in json.loads(line).items() if name != "chain"}
        data = json.dumps(said, separators=(",", ":")).encode()
        sealed.append(chain.seal(data, said.get("start", 0)))
        chain.add(sealed[-1])
    files["run/verdicts.jsonl"] = b"".join(line + b"\n" for line in sealed)
    if lock.journal is not None:
        end = lock.journal.but(lines=chain.lines, chain=chain.end)
        files["run/lock.json"] = lock.but(journal=end).model_dump_json(indent=1).encode()
