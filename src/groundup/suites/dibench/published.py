"""What the published code reads and compares, faults included: Python files, Poetry's tables, the textual metrics.

Written from its observable behaviour, so that its scores can be reproduced and its faults shown; nothing else uses
it. Where the published code raises on the original, the instance has no official score (`PublishedFailureError`);
where it raises on a prediction, the prediction counts as empty.
"""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from packaging.requirements import InvalidRequirement, Requirement

from groundup.domain.errors import TaskError
from groundup.grammars import captures, parse, python_tree, python_value, text_of
from groundup.languages.python.poetry import specifier
from groundup.manifests import xml_tree
from groundup.manifests.editing import Text
from groundup.manifests.records import Language, ManifestError
from groundup.suites.dibench.metrics import DependencyCounts, compare


def poetry_requirements(table: Mapping[str, object]) -> list[Requirement]:
    """Return the requirements of a `dependencies` table: extras, markers, sources and `optional` are lost.

    Of several constraints for one name only the first counts. Raises `ValueError`.
    """
    found = set()
    for name, said in table.items():
        if name.lower() == "python":
            continue
        first = said[0] if isinstance(said, list) and said else said
        text = first.get("version", "*") if isinstance(first, dict) else first
        if not isinstance(text, str):
            raise ValueError(f"unsupported constraint of {name}")  # noqa: TRY004 - what the reader of it raises
        found.add(f"{name}{specifier(text)}")
    return [Requirement(item) for item in sorted(found)]


Reader = Callable[[str], bytes]
"""Returns the content of a file of a repository by its path; raises `OSError` for a missing one."""

_PASSED = """
(keyword_argument name: (identifier) @_key value: [(identifier) (list)] @value (#eq? @_key "install_requires"))
"""
_SHORT_OPTIONS = frozenset("cefir")
_LONG_OPTIONS = (
    "--constraint", "--editable", "--requirement", "--index-url", "--extra-index-url", "--no-index",
    "--find-links", "--no-binary", "--only-binary", "--prefer-binary", "--require-hashes", "--pre",
    "--trusted-host", "--use-feature", "--pypi-url", "--hash", "--global-option", "--config-settings",
)  # fmt: skip


def python_requirements(path: str, read: Reader) -> list[Requirement]:
    """Return what the published code sees in a build file, whose kind its name says; raises many errors."""
    name = path.rpartition("/")[2]
    if ".txt" in name or ".pip" in name:
        return _requirements_txt(path, read, set())
    if name == "setup.cfg":
        return _setup_cfg(read(path).decode())
    if ".py" in name:
        return _setup_py(read(path))
    if name == "pyproject.toml":
        return _pyproject(read(path).decode())
    raise ValueError(f"unsupported file: {path}")


def _pyproject(text: str) -> list[Requirement]:
    """With `[tool.poetry]` nothing but its dependencies counts; groups and extras never do."""
    data = tomllib.loads(text)
    _refuse_mixed_arrays(data)
    tool = data.get("tool", {})
    if "poetry" in tool:
        return poetry_requirements(tool["poetry"].get("dependencies", {}))
    if "project" not in data:
        raise ValueError("unsupported file: pyproject.toml")
    return [Requirement(item) for item in data["project"].get("dependencies", [])]


def _refuse_mixed_arrays(value: object) -> None:
    """Raise for an array of several types, unknown to the old TOML reader unless it starts with a table."""
    if isinstance(value, dict):
        for item in value.values():
            _refuse_mixed_arrays(item)
    elif isinstance(value, list):
        if len({type(item) for item in value}) > 1 and not isinstance(value[0], dict):
            raise ValueError("an array holds several types")
        for item in value:
            _refuse_mixed_arrays(item)


def _setup_cfg(text: str) -> list[Requirement]:
    """Lines that are no requirement, such as `file: requirements.txt`, are dropped silently."""
    config = configparser.ConfigParser()
    config.read_string(text)
    lines = config.get("options", "install_requires", fallback="").splitlines()
    return _valid(line.strip() for line in lines if line.strip())


def _setup_py(data: bytes) -> list[Requirement]:
    """Only a list literal, or the last list literal that one assigned name got."""
    name = None
    for key, value in captures("python", _PASSED, parse("python", data).root_node):
        if key != "value":
            continue
        if value.type == "list":
            return _listed(text_of(value))
        name = text_of(value)
    return [Requirement(item) for item in _assigned(python_tree(data)).get(name, [])]


def _listed(source: str) -> list[Requirement]:
    try:
        return [Requirement(item) for item in cast(Iterable[str], python_value(source))]
    except (ValueError, TypeError, AttributeError, SyntaxError):
        return [Requirement(item) for item in re.findall(r"['\"](.*?)['\"]", source)]


def _assigned(tree: ast.Module) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        pending += reversed(list(ast.iter_child_nodes(node)))
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name):
                continue
            if isinstance(node.value, ast.Name):
                found[target.id] = found.get(node.value.id, [])
            elif isinstance(node.value, ast.List):
                found[target.id] = [str(item.value) for item in node.value.elts if isinstance(item, ast.Constant)]
    return found


def _requirements_txt(path: str, read: Reader, visited: set[str]) -> list[Requirement]:
    """As pip reads them, constraints included; what is no plain requirement is dropped silently."""
    if path in visited:
        return []
    visited.add(path)
    text = re.sub(r"\\\r?\n", "", read(path).decode())
    found: list[Requirement] = []
    for line in text.splitlines():
        words = re.sub(r"(^|\s)#.*$", "", line).split()
        options = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
        _refuse_unknown_options(words[options:])
        nested = re.match(r"(?:-r|--requirement|-c|--constraint)[ =]?(\S+)", " ".join(words))
        if nested:
            folder = path.rpartition("/")[0]
            found += _requirements_txt(f"{folder}/{nested[1]}" if folder else nested[1], read, visited)
        elif options:
            found += _valid([" ".join(words[:options])])
    return found


def _refuse_unknown_options(words: Sequence[str]) -> None:
    """Raise for what pip stops at: an option that it does not know."""
    for word in words:
        if word.startswith("--") and not any(known.startswith(word.partition("=")[0]) for known in _LONG_OPTIONS):
            raise ValueError(f"no such option: {word}")
        if re.match(r"-(?!-)", word) and word[1:2] not in _SHORT_OPTIONS:
            raise ValueError(f"no such option: {word}")


def _valid(lines: Iterable[str]) -> list[Requirement]:
    found = []
    for line in lines:
        try:
            found.append(Requirement(line))
        except InvalidRequirement:
            continue
    return found


class PublishedFailureError(TaskError):
    """The published code fails on the original itself, so that there is no official score."""


class Seen(NamedTuple):
    """A dependency as the published code tells it from others."""

    name: str
    exact: Hashable


def official_comparison(
    language: Language, build_files: Sequence[str], original: Reader, predicted: Reader | None
) -> DependencyCounts | None:
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
    total = DependencyCounts()
    for path in build_files:
        wanted, got = expected[path], found.get(path, ())
        total += DependencyCounts(
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
