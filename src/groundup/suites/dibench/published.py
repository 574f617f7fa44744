"""The `official` textual metrics: what the published code reads and compares, faults included.

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
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement

from groundup.domain.errors import TaskError
from groundup.manifests.csharp import xml_tree
from groundup.manifests.editing import Text
from groundup.manifests.records import Language, ManifestError
from groundup.suites.dibench.metrics import Comparison, compare
from groundup.suites.dibench.published_poetry import poetry_requirements

Reader = Callable[[str], bytes]
"""Returns the content of a file of a repository by its path; raises `OSError` for a missing one."""


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


def _folded(seen: Seen) -> str:
    return seen.name.lower().replace("-", "_")


def _seen(language: Language, build_files: Sequence[str], read: Reader) -> dict[str, list[Seen]]:
    if language == "python":
        return {build_files[0]: _python(build_files[0], read)}
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


def _python(path: str, read: Reader) -> list[Seen]:
    """Only the first build file, by the look of its name; one invalid requirement fails all."""
    name = path.rpartition("/")[2]
    if ".txt" in name or ".pip" in name:
        found = _requirements_txt(path, read, set())
    elif name == "setup.cfg":
        found = _setup_cfg(read(path).decode())
    elif ".py" in name:
        found = _setup_py(read(path).decode())
    elif name == "pyproject.toml":
        found = _pyproject(read(path).decode())
    else:
        raise ValueError(f"unsupported file: {path}")
    return [Seen(item.name, item) for item in found]


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
    """Raise for an array of several types, which the old TOML reader does not know."""
    if isinstance(value, dict):
        for item in value.values():
            _refuse_mixed_arrays(item)
    elif isinstance(value, list):
        if len({type(item) for item in value}) > 1:
            raise ValueError("an array holds several types")
        for item in value:
            _refuse_mixed_arrays(item)


def _setup_cfg(text: str) -> list[Requirement]:
    """Lines that are no requirement, such as `file: requirements.txt`, are dropped silently."""
    config = configparser.ConfigParser()
    config.read_string(text)
    lines = config.get("options", "install_requires", fallback="").splitlines()
    return _valid(line.strip() for line in lines if line.strip())


def _setup_py(text: str) -> list[Requirement]:
    """Only a list literal, or the last list literal that one assigned name got."""
    tree = ast.parse(text)
    passed = [
        (node.value.lineno, node.value.col_offset, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "install_requires"
    ]
    variable = None
    for *_, value in sorted(passed, key=lambda item: item[:2]):
        if isinstance(value, ast.List):
            return _listed(text, value)
        if isinstance(value, ast.Name):
            variable = value.id
    return [Requirement(item) for item in _assigned(tree).get(variable, [])]


def _listed(text: str, value: ast.List) -> list[Requirement]:
    try:
        return [Requirement(item) for item in ast.literal_eval(value)]
    except (ValueError, TypeError, AttributeError):
        source = ast.get_source_segment(text, value) or ""
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
        said = re.sub(r"(^|\s)#.*$", "", line).strip()
        nested = re.match(r"(?:-r|--requirement|-c|--constraint)[ =]?\s*(\S+)", said)
        if nested:
            folder = path.rpartition("/")[0]
            found += _requirements_txt(f"{folder}/{nested[1]}" if folder else nested[1], read, visited)
        elif said and not said.startswith("-"):
            found += _valid([re.split(r"\s--?[a-z]", said)[0]])
    return found


def _valid(lines: Iterable[str]) -> list[Requirement]:
    found = []
    for line in lines:
        try:
            found.append(Requirement(line))
        except InvalidRequirement:
            continue
    return found
