"""OpenAPI documents among a repository's files, and the functions that they name, as connexion reads them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import JsonValue

from groundup.curation.services.operations import Operation, read_openapi
from groundup.sources.files import SKIPPED_FOLDERS
from groundup.suites.repogenesis.endpoints import as_method
from groundup.trees.walking import read_regular
from groundup.workflows.workflow import WorkflowError, read_yaml

_LARGEST = 512 * 1024
_MOST = 20
_CONTROLLERS = ("x-openapi-router-controller", "x-swagger-router-controller")


class NamedFunction(NamedTuple):
    """What a document says answers an operation."""

    method: str
    path: str
    module: str
    """With dots."""
    function: str


class WrittenDocument(NamedTuple):
    """An OpenAPI document in a file."""

    operations: tuple[Operation, ...]
    functions: tuple[NamedFunction, ...]


def written_documents(root: Path) -> Iterator[WrittenDocument]:
    """Yield the documents below *root*."""
    files = [path for ending in ("yml", "yaml", "json") for path in root.rglob(f"*.{ending}")]
    for path in sorted(files, key=lambda path: (len(path.parts), path))[: _MOST * 10]:
        if SKIPPED_FOLDERS.isdisjoint(path.relative_to(root).parts) and (document := _read(path)) is not None:
            prefix = _prefix(document)
            operations = tuple(
                one.but(path=prefix + one.path) if "basePath" not in document else one
                for one in read_openapi(document)
            )
            yield WrittenDocument(operations, tuple(_functions(document, prefix)))


def _read(path: Path) -> dict[str, JsonValue] | None:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
        return None
    data = read_regular(path)
    if not any(word in data for word in (b"openapi", b"swagger")) or b"paths" not in data:
        return None
    try:
        found = json.loads(data) if path.suffix == ".json" else read_yaml(data, path.name)
    except (ValueError, RecursionError, WorkflowError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("paths"), dict) else None


def _prefix(document: dict[str, JsonValue]) -> str:
    """Return the path before all others."""
    base, servers = document.get("basePath"), document.get("servers")
    if isinstance(base, str):
        return base.rstrip("/")
    first = servers[0] if isinstance(servers, list) and servers else None
    address = first.get("url") if isinstance(first, dict) else None
    return urlsplit(address).path.rstrip("/") if isinstance(address, str) else ""


def _functions(document: dict[str, JsonValue], prefix: str) -> Iterator[NamedFunction]:
    paths = document["paths"]
    assert isinstance(paths, dict)
    for path, item in paths.items():
        for word, described in item.items() if isinstance(item, dict) else ():
            method = as_method(word)
            name = described.get("operationId") if isinstance(described, dict) else None
            if method is None or not isinstance(name, str):
                continue
            given = [one.get(key) for one in (described, item) if isinstance(one, dict) for key in _CONTROLLERS]
            whole = ".".join([*[one for one in given if isinstance(one, str)][:1], name])
            module, _, function = whole.rpartition(".")
            yield NamedFunction(method, prefix + path, module, function)
