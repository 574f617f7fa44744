"""What a Python repository's project files say of its names, what it installs and its entry points.

Declarations of dependencies are never looked at.
"""

import re
from collections.abc import Iterable
from configparser import ConfigParser
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import SourceFiles
from groundup.sources.names import normalised
from groundup.sources.project_files import table_at
from groundup.sources.python_folders import python_project_files, read_folders, texts

_SETUP_ENTRY = re.compile(
    r"[\"']\s*[\w.\- ]+?\s*=\s*([A-Za-z_][\w.]*)\s*(?::\s*[\w.]+)?\s*(?:\[[^\]\"']*\])?\s*[\"']"
)
_SETUP_NAME = re.compile(r"\bname\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_SETUP_PACKAGES = re.compile(
    r"(?:\bpackages|\bpy_modules)\s*=\s*\[([^\]]*)\]|find_(?:namespace_)?packages\([^()]*\binclude\s*=\s*[\[(]([^\])]*)[\])]"
)
"""Literal lists of what is installed."""
_SETUP_EXTENSION = re.compile(r"\b\w*Extension\(\s*(?:name\s*=\s*)?[\"']([\w.]+)[\"']")


class PythonProject(NamedTuple):
    """What the project files hold, apart from dependencies."""

    name: str
    """Normalised; empty when unknown."""
    source_folders: tuple[str, ...]
    extensions: frozenset[str]
    """Top-level names of what it compiles."""
    packages: tuple[str, ...]
    """Patterns of the top-level packages and modules that it says it installs; empty: it does not say."""
    scripts: tuple[str, ...]
    """Modules behind console scripts."""
    plugins: tuple[str, ...]
    """Modules behind other entry points."""


@dataclass
class _Found:
    """What was found in the project files so far. The first name counts."""

    name: str = ""
    extensions: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)

    def add_entry_points(self, group: str, targets: Iterable[object]) -> None:
        (self.scripts if "script" in group else self.plugins).extend(_targets(targets))


def read_project(tree: SourceFiles) -> PythonProject:
    """Read names, layout and entry points from the project files at the top."""
    files = python_project_files(tree.manifests)
    found = _Found()
    _add_pyproject(found, files.pyproject)
    _add_setup_cfg(found, files.setup_cfg)
    _add_setup_py(found, files.setup_py)
    name = normalised(found.name) if found.name else ""
    packages = dict.fromkeys(_top_pattern(package) for package in found.packages)
    extensions = frozenset(extension.partition(".")[0] for extension in found.extensions)
    folders, kept = read_folders(files).source_folders, tuple(filter(None, packages))
    return PythonProject(name, folders, extensions, kept, tuple(found.scripts), tuple(found.plugins))


def _top_pattern(package: str) -> str:
    """Return the pattern of the top-level name that *package* lies below; empty where it may be any."""
    top = re.split(r"[./]", package.strip())[0]
    return top if re.search(r"\w", top) else ""


def _add_pyproject(found: _Found, document: dict[str, object]) -> None:
    for table in (
        table_at(document, "project"),
        table_at(document, "tool", "poetry"),
        table_at(document, "tool", "flit", "metadata"),
    ):
        found.name = found.name or str(table.get("name", "") or table.get("module", ""))
        for key in ("scripts", "gui-scripts"):
            found.scripts += _targets(table_at(table, key).values())
        for key in ("entry-points", "plugins"):
            for group, points in table_at(table, key).items():
                found.add_entry_points(group, points.values() if isinstance(points, dict) else ())
    setuptools = table_at(document, "tool", "setuptools")
    wheel = table_at(document, "tool", "hatch", "build", "targets", "wheel")
    found.packages += texts(setuptools.get("packages")) + texts(setuptools.get("py-modules"))
    found.packages += texts(table_at(setuptools, "packages", "find").get("include"))
    compiled = table_at(document, "tool", "setuptools").get("ext-modules")
    found.extensions += (
        [str(one.get("name")) for one in compiled if isinstance(one, dict)] if isinstance(compiled, list) else []
    )
    found.extensions += texts([table_at(document, "tool", "maturin").get("module-name")])
    found.packages += texts([table_at(document, "tool", "flit", "module").get("name")])
    poetry = table_at(document, "tool", "poetry").get("packages")
    found.packages += (
        [str(one.get("include", "")) for one in poetry if isinstance(one, dict)]
        if isinstance(poetry, list)
        else []
    )
    found.packages += [PurePosixPath(one).name for one in texts(wheel.get("packages"))]


def _add_setup_cfg(found: _Found, config: ConfigParser | None) -> None:
    if config is None:
        return
    found.name = found.name or config.get("metadata", "name", fallback="")
    for section in ("options.entry_points", "entry_points"):  # setuptools' and pbr's
        for group, text in config[section].items() if section in config else ():
            found.add_entry_points(group, (line.partition("=")[2] for line in text.splitlines()))
    for section, key in (("options.packages.find", "include"), ("files", "packages"), ("files", "modules")):
        found.packages += config.get(section, key, fallback="").split()
    for key in ("packages", "py_modules"):
        value = config.get("options", key, fallback="")
        found.packages += [] if "find" in value else re.findall(r"[\w.]+", value)


def _add_setup_py(found: _Found, text: str) -> None:
    """Read by patterns: what most files write, in code that need not even be of this Python."""
    name = _SETUP_NAME.search(text)
    found.name = found.name or (name.group(1) if name else "")
    found.scripts += _targets(_SETUP_ENTRY.findall(text.partition("entry_points")[2]))
    found.extensions += _SETUP_EXTENSION.findall(text)
    for names in _SETUP_PACKAGES.findall(text):
        found.packages += re.findall(r"[\"']([\w.*-]+)[\"']", "".join(names))


def _targets(values: Iterable[object]) -> list[str]:
    texts = [
        value.get("callable", value.get("reference", "")) if isinstance(value, dict) else value for value in values
    ]
    modules = [str(text).partition(":")[0].partition("[")[0].strip() for text in texts]
    return [module for module in modules if re.fullmatch(r"[A-Za-z_][\w.]*", module)]
