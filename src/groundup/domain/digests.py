"""Digests: `sha256:<hex>` of canonical JSON or of bytes."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

ALGORITHM = "sha256"


def digest_bytes(data: bytes) -> str:
    """Return `sha256:<hex>` of *data*."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def canonical_json(value: object) -> bytes:
    """Return the one JSON text of *value*: sorted keys, no spaces, UTF-8; records become their fields."""
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest_of(value: object) -> str:
    """Return the digest of *value*'s canonical JSON."""
    return digest_bytes(canonical_json(value))


def short(digest: str) -> str:
    """Return the first 16 hexadecimal digits, enough for names of folders."""
    return digest.partition(":")[2][:16]


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(str(item) for item in value)
    return value
