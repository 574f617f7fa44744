"""The `official` textual metrics: what the published code reads and compares, faults included.

Written from its observable behaviour, so that its scores can be reproduced and its faults shown; nothing else uses
it. Where the published code raises on the original, the instance has no official score (`PublishedFailureError`);
where it raises on a prediction, the prediction counts as empty.
"""

import configparser
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from groundup.domain.errors import TaskError
from groundup.manifests.csharp import xml_tree
from groundup.manifests.editing import Text
from groundup.manifests.records import Language, ManifestError
from groundup.suites.dibench.metrics import Comparison, compare
from groundup.suites.dibench.published_python import Reader, python_requirements


class PublishedFailureError(TaskError):
    """The published code fails on the original itself, so that there is no official score."""


class Seen(NamedTuple):
    """A dependency as the published code tells it from others."""

    name: str
    exact: Hashable


def official_comparison(
    language: Language, build_files: Sequence[str], original: Reader, predicted: Reader | None
) -> Comparison | None:
    """Return the published counts; None for a missing prediction, which the published code skips.

    Raises `PublishedFailureError`.
    """
    if predicted is None:
        return None
    try:
        expected = _seen(language, build_files, original)
    except _RAISED as error:
        raise PublishedFailureError(f"the published parser fails on the original: {error}") from error
    if list(expected) != list(build_files):
        raise PublishedFailureError(
            "the published parser reads only the first Python build file, and then gives up"
        )
    try:
        found: Mapping[str, Sequence[Seen]] = _seen(language, build_files, predicted)
    except _RAISED:
        found = {}
    total = Comparison()
    for path in build_files:
        wanted, got = expected[path], found.get(path, ())
        total += Comparison(
            exact=compare([item.exact for item in wanted], [item.exact for item in got]),
            name_only=compare([_folded(item) for item in wanted], [_folded(item) for item in got]),
        )
    return total


_RAISED = (
    ValueError,  # of JSON, TOML, UTF-8 and requirements
    TypeError,
    KeyError,
    AttributeError,
    OSError,
    SyntaxError,
    RecursionError,
    configparser.Error,
    ManifestError,
)
"""What reading a malformed file may raise here."""


def official_names(language: Language, build_files: Sequence[str], read: Reader) -> Mapping[str, Sequence[Seen]]:
    """Return what the published code would look up, by build file; nothing where it raises."""
    try:
        return _seen(language, build_files, read)
    except _RAISED:
        return {}


def is_project(seen: Seen) -> bool:
    """Whether the published code looks for a path instead of asking a registry (C# project references)."""
    return isinstance(seen.exact, tuple) and seen.exact[-1] is False


def _folded(seen: Seen) -> str:
    return seen.name.lower().replace("-", "_")


def _seen(language: Language, build_files: Sequence[str], read: Reader) -> dict[str, list[Seen]]:
    if language == "python":
        return {build_files[0]: [Seen(item.name, item) for item in python_requirements(build_files[0], read)]}
    reading = {"rust": _rust, "javascript": _javascript, "csharp": _csharp}[language]
    return {path: list(reading(read(path))) for path in build_files}


def _rust(data: bytes) -> Iterable[Seen]:
    """Only `[dependencies]`; two that are equal are counted apart when they are written with other keys."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        table = tomlkit.parse(data.decode()).unwrap().get("dependencies", {})
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
    for name, value in table.items():
        said = value if isinstance(value, dict) else {"version": value}
        yield Seen(name, (name, json.dumps(said, sort_keys=True)))


def _javascript(data: bytes) -> Iterable[Seen]:
    """Only `dependencies`; names are compared as written; a file with a BOM fails."""
    for name, text in json.loads(data.decode()).get("dependencies", {}).items():
        hash(text)
        yield Seen(name, (name, text))


def _csharp(data: bytes) -> Iterable[Seen]:
    """Versions from attributes only, `Include` or `Update`, names and paths as they are written."""
    root = xml_tree.parse(Text.decode(data, "build file"))
    for group in root.walk():
        if group.name != "ItemGroup" or group is root:
            continue
        for item in group.children:
            said = {attribute.name: attribute.value for attribute in item.attributes}
            name = said.get("Include", said.get("Update"))
            if name is not None and item.name == "PackageReference":
                yield Seen(name, (name, said.get("Version", ""), True))
            elif name is not None and item.name == "ProjectReference":
                yield Seen(name, (name, "", False))
