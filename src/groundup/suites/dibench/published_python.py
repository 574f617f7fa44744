"""Python build files as the published code reads them: one file, plain requirements, the obvious forms only."""

import ast
import configparser
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence

from packaging.requirements import InvalidRequirement, Requirement

from groundup.sources.grammars import captures, parse, text_of
from groundup.suites.dibench.published_poetry import poetry_requirements

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
    """Return what the published code sees in a build file, told by the look of its name; raises many errors."""
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
    return [Requirement(item) for item in _assigned(ast.parse(data)).get(name, [])]


def _listed(source: str) -> list[Requirement]:
    try:
        return [Requirement(item) for item in ast.literal_eval(source)]
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
