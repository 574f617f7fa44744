"""Which packages a repository offers to its own members, as far as a manifest says."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from groundup.manifests.formats import FORMATS
from groundup.manifests.records import ManifestError


def offered_names(path: str, data: bytes) -> Iterator[str]:
    """Yield the package's name and what members of its workspace can inherit; nothing if unreadable."""
    name = PurePosixPath(path).name
    try:
        text = data.decode("utf-8-sig")
        if name == "pnpm-workspace.yaml":
            yield from (item.name for item in FORMATS[name].read(data, path).dependencies)
        elif name == "package.json":
            yield from _text(json.loads(text), "name")
        elif name in ("Cargo.toml", "pyproject.toml"):
            yield from _of_toml(tomllib.loads(text))
    except (ValueError, RecursionError, ManifestError):
        return


def crate_name(data: bytes) -> str | None:
    """Return the name of a Cargo.toml's own package; None where it has none or cannot be read."""
    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except ValueError:
        return None
    return next(_text(_table(document, "package"), "name"), None)


def _of_toml(document: Mapping[str, object]) -> Iterator[str]:
    for keys in (("package",), ("project",), ("tool", "poetry")):
        yield from _text(_table(document, *keys), "name")
    yield from _table(document, "workspace", "dependencies")


def _table(document: object, *keys: str) -> Mapping[str, object]:
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document if isinstance(document, Mapping) else {}


def _text(table: object, key: str) -> Iterator[str]:
    value = table.get(key) if isinstance(table, Mapping) else None
    if isinstance(value, str):
        yield value
