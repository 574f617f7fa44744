"""Under which names a repository may be published: its entry in a registry lists what is to be inferred."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

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
        names.add(full_name.rpartition("/")[2])
    for path in problem.instance.build_files:
        text = (problem.read(path) or b"").decode(errors="replace")
        names.update(name for name in names_in(path, text) if name)
    return tuple(sorted(names))


def _python(path: str, text: str) -> Iterator[str]:
    yield from _NAMED.findall(text)


def _javascript(path: str, text: str) -> Iterator[str]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict) and isinstance(name := document.get("name"), str):
        yield name


def _rust(path: str, text: str) -> Iterator[str]:
    try:
        package = tomllib.loads(text).get("package")
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    if isinstance(package, dict) and isinstance(name := package.get("name"), str):
        yield name


def _csharp(path: str, text: str) -> Iterator[str]:
    """A package without an id is named by its project's file."""
    if path.endswith("proj"):
        yield PurePosixPath(path).stem
    yield from _PACKAGE_ID.findall(text)


_READERS: Mapping[str, Callable[[str, str], Iterator[str]]] = {
    "python": _python,
    "javascript": _javascript,
    "rust": _rust,
    "csharp": _csharp,
}
