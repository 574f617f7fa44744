"""The one tolerant reader of TOML in strangers' projects: what cannot be read, or is of another kind, is empty."""

import tomllib
from collections.abc import Mapping
from typing import Any


def toml_of(text: str | bytes | None) -> dict[str, Any]:
    """Return what *text* holds; nothing where it is no TOML, no UTF-8 or nested deeper than anybody writes."""
    try:
        read = text.decode() if isinstance(text, bytes) else text or ""
        return tomllib.loads(read.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}


def table_at(document: object, *keys: str) -> dict[str, Any]:
    """Return the table below *keys*; an empty one where anything on the way is no table."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return dict(document) if isinstance(document, Mapping) else {}
