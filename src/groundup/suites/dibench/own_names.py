"""The names of a repository's own packages: what it offers its members, and under which names it may be published.

A registry's entry for a repository's own package lists the very dependencies that are to be inferred, so those
names are withheld.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from groundup.manifests.formats import FORMATS
from groundup.manifests.records import ManifestError
from groundup.suites.dibench.dataset import InstanceProblem

_NAMED = re.compile(r"""^\s*["']?name["']?\s*[=:]\s*["']?([A-Za-z0-9][\w.-]*)["']?\s*,?\s*$""", re.MULTILINE)
"""`name = "x"`, as pyproject.toml, setup.cfg and setup.py write it on a line of its own."""
_PACKAGE_ID = re.compile(r"<(?:PackageId|AssemblyName)>\s*([\w.-]+)\s*</")


def withheld_names(problem: InstanceProblem) -> tuple[str, ...]:
    """Return the names that the build files give what they build, sorted; of a Python repository also its own.

    Raises `TaskError` when the masked repository is not at hand.
    """
    names_in = _READERS[problem.instance.language]
    names: set[str] = set()
    if problem.instance.language == "python":
        full_name = problem.instance.metadata.full_name or problem.instance.instance_id.replace("_", "/", 1)
        names.add(full_name.rpartition("/")[2].partition("@")[0])  # ids of sets have the commit, too
    for path in problem.instance.build_files:
        text = (problem.read(path) or b"").decode(errors="replace")
        names.update(name for name in names_in(path, text) if name)
    return tuple(sorted(names))


def _python_names(path: str, text: str) -> Iterator[str]:
    yield from _NAMED.findall(text)


def _javascript_names(path: str, text: str) -> Iterator[str]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict) and isinstance(name := document.get("name"), str):
        yield name


def _rust_names(path: str, text: str) -> Iterator[str]:
    name = crate_name(text.encode())
    if name is not None:
        yield name


def _csharp_names(path: str, text: str) -> Iterator[str]:
    """A package without an id is named by its project's file."""
    if path.endswith("proj"):
        yield PurePosixPath(path).stem
    yield from _PACKAGE_ID.findall(text)


_READERS: Mapping[str, Callable[[str, str], Iterator[str]]] = {
    "python": _python_names,
    "javascript": _javascript_names,
    "rust": _rust_names,
    "csharp": _csharp_names,
}


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
