"""The build files that are executed: what a submission declares, and nothing else that it changed in them.

A build file can hold more than declarations: scripts, code, switches. A submission that turns `npm test` into
`true` has not inferred anything. So where a file differs from the masked one in more than what it declares, its
declarations are written into the masked one, and that is executed.
"""

import json
import re
import tomllib
from collections.abc import Callable

from groundup.domain.records import Record
from groundup.manifests.formats import format_of
from groundup.manifests.protocol import ManifestFormat
from groundup.manifests.records import Kind, ManifestError
from groundup.suites.dibench.answers import Edited, original
from groundup.suites.dibench.dataset import Problem

_EMPTY_ARGUMENT = re.compile(
    r"(?:install_requires|extras_require|tests_require|setup_requires)=(?:\[\]|\{\}|\(\)|None|\"\"|'')"
)
_EMPTY_GROUP = re.compile(r"<ItemGroup[^>]*/>|<ItemGroup[^>]*></ItemGroup>")


class ExecutedFiles(Record):
    """Contents by path; None: the file is removed."""

    contents: dict[str, bytes | None]
    taken_back: tuple[str, ...] = ()
    """Files in which changes of something else than declarations were not executed."""


def executed_files(problem: Problem, edited: Edited) -> ExecutedFiles:
    """Return the build files to execute."""
    contents: dict[str, bytes | None] = {}
    taken_back = []
    wanted = original(problem)
    for path in problem.instance.build_files:
        masked, data = problem.read(path), edited.read(path)
        if data in (masked, wanted(path)) or path in edited.broken:
            contents[path] = masked if path in edited.broken else data
            continue
        contents[path], changed = _declarations_only(path, masked, data)
        if changed:
            taken_back.append(path)
    return ExecutedFiles(contents=contents, taken_back=tuple(taken_back))


def _declarations_only(path: str, masked: bytes | None, data: bytes | None) -> tuple[bytes | None, bool]:
    """Return what is executed of *data*, and whether that is less than it."""
    known = format_of(path)
    if known is None or masked is None or data is None:
        return (data, False) if known is None and data is not None else (masked, True)
    try:
        present = known.read(data, path)
        if _skeleton(known, masked, path) == _skeleton(known, data, path):
            return data, False
    except (ManifestError, ValueError, RecursionError):
        return data, False  # no installer reads what is no manifest
    try:
        return known.write(masked, present.dependencies, path), True
    except ManifestError:
        return masked, True


def _skeleton(known: ManifestFormat, data: bytes, path: str) -> object:
    """Return what a file says besides its declarations, however it is laid out."""
    bare = known.mask(data, path, frozenset(Kind)).decode("utf-8-sig", errors="replace")
    return _READERS.get(path.rpartition(".")[2], _compact)(bare)


def _pruned(value: object) -> object:
    """Return *value* without anything empty: an empty section says as little as none."""
    if isinstance(value, dict):
        found = {key: _pruned(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in ({}, [], None)}
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    return value


def _compact(text: str) -> str:
    bare = _EMPTY_GROUP.sub("", re.sub(r"[\s,]+", "", re.sub(r"(?m)^\s*#.*$", "", text)))
    return _EMPTY_ARGUMENT.sub("", bare)


_READERS: dict[str, Callable[[str], object]] = {
    "json": lambda text: _pruned(json.loads(text)),
    "toml": lambda text: _pruned(tomllib.loads(text)),
}
