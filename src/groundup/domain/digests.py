"""Digests: `sha256:<hex>` of canonical JSON or of bytes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import PurePath

from pydantic import BaseModel

ALGORITHM = "sha256"
LATER = "digested unless it is the default"
"""Marks a field that a record got after digests of it were written: `field: Annotated[int, LATER] = 1`."""


def digest_bytes(data: bytes) -> str:
    """Return `sha256:<hex>` of *data*."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def canonical_json(value: object) -> bytes:
    """Return the one JSON text of *value*: sorted keys, no spaces, UTF-8; records become their fields.

    Strangers' texts may hold halves of surrogate pairs, which stay what they are.
    """
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="surrogatepass")


def digest_of(value: object) -> str:
    return digest_bytes(canonical_json(value))


def short(digest: str) -> str:
    """Return the first 16 hexadecimal digits, enough for names of folders."""
    return digest.partition(":")[2][:16]


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _plain(value: object) -> object:
    """Return *value* as JSON has it, the same in every process: sets have no order, bytes no encoding."""
    if type(value) in _SCALARS:  # most are, and the abstract classes below answer slowly
        return value
    if isinstance(value, BaseModel):
        return {
            name: _plain(said)
            for name, field in type(value).model_fields.items()
            if (said := getattr(value, name)) != field.default or LATER not in field.metadata
        }
    if isinstance(value, Enum | PurePath | datetime):
        return value.value if isinstance(value, Enum) else str(value)
    if isinstance(value, bytes):
        return digest_bytes(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(item) for item in value), key=canonical_json)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
