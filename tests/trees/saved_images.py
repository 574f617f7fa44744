"""Images as `docker save` and `skopeo copy` write them, made file by file."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

Member = tuple[str, str | tuple[str] | list[str]]
"""A path and what is there: text (executable where it begins with `#!`), a symbolic or a hard link."""


def packed_layer(members: Sequence[Member]) -> bytes:
    """Return a layer's archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.size, member.mode = len(content.encode()), 0o755 if content.startswith("#!") else 0o644
                tar.addfile(member, io.BytesIO(content.encode()))
            else:
                member.type = tarfile.SYMTYPE if isinstance(content, tuple) else tarfile.LNKTYPE
                member.linkname = content[0]
                tar.addfile(member)
    return packed.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _config(layers: Sequence[bytes], environment: Sequence[str], *, wrong: bool = False) -> bytes:
    digests = [f"sha256:{_digest(b'' if wrong else layer)}" for layer in layers]
    return json.dumps(
        {"config": {"Env": [*environment], "WorkingDir": "/workspace"}, "rootfs": {"diff_ids": digests}}
    ).encode()


def save_image(
    path: Path, *layers: Sequence[Member], environment: Sequence[str] = (), wrong: bool = False
) -> Path:
    """Write an image of *layers* to *path*."""
    packed = [packed_layer(one) for one in layers]
    config = _config(packed, environment, wrong=wrong)
    files = {"config.json": config} | {f"{number}/layer.tar": one for number, one in enumerate(packed)}
    described = [{"Config": "config.json", "RepoTags": ["x:1"], "Layers": [*files][1:]}]
    with tarfile.open(path, "w") as tar:
        for name, content in {**files, "manifest.json": json.dumps(described).encode()}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def save_layout(folder: Path, *layers: Sequence[Member], nested: bool = False) -> Path:
    """Write the same as an OCI layout, with compressed layers; *nested*: in an index beside a signature."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(content: bytes) -> dict[str, object]:
        (blobs / _digest(content)).write_bytes(content)
        return {"digest": f"sha256:{_digest(content)}", "size": len(content)}

    packed = [packed_layer(one) for one in layers]
    manifest = {
        "config": blob(_config(packed, ())),
        "layers": [blob(gzip.compress(one, mtime=0)) for one in packed],
    }
    own = blob(json.dumps(manifest).encode())
    if nested:
        signature = blob(json.dumps({"subject": own}).encode())
        own = blob(json.dumps({"manifests": [signature, own]}).encode())
    (folder / "index.json").write_text(json.dumps({"manifests": [own]}))
    return folder
