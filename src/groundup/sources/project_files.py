"""The one tolerant reader of TOML and JSON in strangers' projects: what cannot be read is empty."""

import json
import re
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


_STRING = r'("(?:\\.|[^"\\])*")'
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(_STRING + r"|,(?=\s*[}\]])")


def json_of(text: str | bytes | None) -> dict[str, Any]:
    """Return the object that *text* holds, with the comments and commas at ends that `tsconfig.json` may have.

    Nothing where it is no JSON object. Bytes of another encoding are U+FFFD.
    """
    read = text.decode("utf-8", "replace") if isinstance(text, bytes) else text or ""
    plain = read.removeprefix("\ufeff")
    for candidate in (plain, _TRAILING.sub(_string_alone, without_comments(plain))):
        try:
            document = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return document if isinstance(document, dict) else {}
    return {}


def without_comments(text: str) -> str:
    """Return JSON without comments; `//` in a string is none."""
    return _COMMENT.sub(_string_alone, text)


def has_trailing_commas(text: str) -> bool:
    """Whether JSON has a comma at the end of a list or an object."""
    return not all(match[1] for match in _TRAILING.finditer(without_comments(text)))


def _string_alone(match: re.Match[str]) -> str:
    return match[1] or ""


def table_at(document: object, *keys: str) -> dict[str, Any]:
    """Return the table below *keys*; an empty one where anything on the way is no table."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return dict(document) if isinstance(document, Mapping) else {}
