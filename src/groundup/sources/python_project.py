"""What a Python repository's project files say of its names, its layout and its entry points.

Declarations of dependencies are never looked at.
"""

import re
from collections.abc import Iterable, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import SourceFiles, as_utf8
from groundup.sources.names import normalised
from groundup.sources.project_files import table_at, toml_of

_SETUP_ENTRY = re.compile(
    r"[\"']\s*[\w.\- ]+?\s*=\s*([A-Za-z_][\w.]*)\s*(?::\s*[\w.]+)?\s*(?:\[[^\]\"']*\])?\s*[\"']"
)
_SETUP_NAME = re.compile(r"\bname\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_SETUP_PACKAGES = re.compile(
    r"(?:\bpackages|\bpy_modules)\s*=\s*\[([^\]]*)\]|find_(?:namespace_)?packages\([^()]*\binclude\s*=\s*[\[(]([^\])]*)[\])]"
)
"""Literal lists of what is installed."""
_SETUP_EXTENSION = re.compile(r"\b\w*Extension\(\s*(?:name\s*=\s*)?[\"']([\w.]+)[\"']")
_FIND_PACKAGES = re.compile(r"find_packages\(\s*(?:where\s*=\s*)?[\"']([\w./-]+)[\"']")
_SETUP_FOLDER = re.compile(r"package_dir\s*=\s*\{[^}]*[\"'][\"']\s*:\s*[\"']([\w./-]+)[\"']")

_SETUP_FOLDERS = re.compile(r"package_dir\s*=\s*\{([^}]*)\}")


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
    package_folders: Mapping[str, str]
    """Top-level package -> the folder that it says is installed under that name, which may have another one."""


@dataclass
class _Found:
    """What was found in the project files so far. The first name counts."""

    name: str = ""
    folders: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)
    package_folders: dict[str, str] = field(default_factory=dict)

    def add_entry_points(self, group: str, targets: Iterable[object]) -> None:
        (self.scripts if "script" in group else self.plugins).extend(_targets(targets))

    def add_package_folders(self, pairs: Iterable[tuple[object, object]]) -> None:
        """Take in which folder is installed as which package; the first word on a package counts."""
        for package, folder in pairs:
            if str(package).isidentifier() and isinstance(folder, str):
                self.package_folders.setdefault(str(package), folder)


def read_project(tree: SourceFiles) -> PythonProject:
    """Read names, layout and entry points from the project files at the top."""
    found = _Found()
    _add_pyproject(found, toml_of(as_utf8(tree.manifests.get("pyproject.toml", b""))))
    _add_setup_cfg(found, _config(tree.manifests.get("setup.cfg", b"")))
    _add_setup_py(found, as_utf8(tree.manifests.get("setup.py", b"")).decode("utf-8", "replace"))
    clean = [folder.strip("./") for folder in found.folders]
    name = normalised(found.name) if found.name else ""
    packages = dict.fromkeys(_top_pattern(package) for package in found.packages)
    extensions = frozenset(extension.partition(".")[0] for extension in found.extensions)
    folders, kept = tuple(dict.fromkeys(clean)), tuple(filter(None, packages))
    renamed = {package: folder.removeprefix("./").strip("/") for package, folder in found.package_folders.items()}
    return PythonProject(name, folders, extensions, kept, tuple(found.scripts), tuple(found.plugins), renamed)


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
    found.folders += _declared_folders(document)
    setuptools = table_at(document, "tool", "setuptools")
    wheel = table_at(document, "tool", "hatch", "build", "targets", "wheel")
    found.add_package_folders(table_at(setuptools, "package-dir").items())
    for table in (table_at(wheel, "sources"), table_at(wheel, "force-include")):
        found.add_package_folders((package, folder) for folder, package in table.items())
    found.packages += _texts(setuptools.get("packages")) + _texts(setuptools.get("py-modules"))
    found.packages += _texts(table_at(setuptools, "packages", "find").get("include"))
    compiled = table_at(document, "tool", "setuptools").get("ext-modules")
    found.extensions += (
        [str(one.get("name")) for one in compiled if isinstance(one, dict)] if isinstance(compiled, list) else []
    )
    found.extensions += _texts([table_at(document, "tool", "maturin").get("module-name")])
    found.packages += _texts([table_at(document, "tool", "flit", "module").get("name")])
    poetry = table_at(document, "tool", "poetry").get("packages")
    found.packages += (
        [str(one.get("include", "")) for one in poetry if isinstance(one, dict)]
        if isinstance(poetry, list)
        else []
    )
    found.packages += [PurePosixPath(one).name for one in _texts(wheel.get("packages"))]


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
    for section, key in (("options.packages.find", "where"), ("options", "package_dir")):
        found.folders += re.findall(r"[\w./-]+", config.get(section, key, fallback="").split("=")[-1])
    renamed = config.get("options", "package_dir", fallback="")
    found.add_package_folders(re.findall(r"(\w+)\s*=\s*([\w./-]+)", renamed))


def _add_setup_py(found: _Found, text: str) -> None:
    """Read by patterns: what most files write, in code that need not even be of this Python."""
    name = _SETUP_NAME.search(text)
    found.name = found.name or (name.group(1) if name else "")
    found.folders += _SETUP_FOLDER.findall(text) + _FIND_PACKAGES.findall(text)
    for pairs in _SETUP_FOLDERS.findall(text):
        found.add_package_folders(re.findall(r"[\"'](\w+)[\"']\s*:\s*[\"']([\w./-]+)[\"']", pairs))
    found.scripts += _targets(_SETUP_ENTRY.findall(text.partition("entry_points")[2]))
    found.extensions += _SETUP_EXTENSION.findall(text)
    for names in _SETUP_PACKAGES.findall(text):
        found.packages += re.findall(r"[\"']([\w.*-]+)[\"']", "".join(names))


def _config(data: bytes) -> ConfigParser | None:
    # Entry points are `name = module:function` and versions hold `%`: neither may be taken for syntax.
    parser = ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    try:
        parser.read_string(as_utf8(data).decode("utf-8", "replace"))
    except ConfigError:
        return None
    return parser


def _targets(values: Iterable[object]) -> list[str]:
    texts = [
        value.get("callable", value.get("reference", "")) if isinstance(value, dict) else value for value in values
    ]
    modules = [str(text).partition(":")[0].partition("[")[0].strip() for text in texts]
    return [module for module in modules if re.fullmatch(r"[A-Za-z_][\w.]*", module)]


def _declared_folders(document: dict[str, object]) -> list[str]:
    tool = table_at(document, "tool")
    setuptools, hatch, pdm = table_at(tool, "setuptools"), table_at(tool, "hatch", "build"), table_at(tool, "pdm")
    folders = _texts(table_at(setuptools, "packages", "find").get("where"))
    for package, folder in table_at(setuptools, "package-dir").items():
        place = PurePosixPath(str(folder))
        folders += [str(place.parent if package else place)] if package in ("", place.name) else []
    poetry = table_at(tool, "poetry").get("packages")
    folders += (
        [str(one.get("from", "")) for one in poetry if isinstance(one, dict)] if isinstance(poetry, list) else []
    )
    for table in (hatch, table_at(hatch, "targets", "wheel")):
        sources = table.get("sources")
        folders += _above(table.get("packages")) + (_above([*sources]) if isinstance(sources, dict) else [])
        folders += _texts(sources)
    folders += _above(table_at(tool, "scikit-build", "wheel").get("packages"))
    named = [pdm.get("package-dir"), table_at(pdm, "build").get("package-dir")]
    uv, maturin = table_at(tool, "uv", "build-backend"), table_at(tool, "maturin")
    named += [uv.get("module-root"), maturin.get("python-source")]
    return [folder for folder in folders + _texts(named) if folder]


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _above(packages: object) -> list[str]:
    """Return the folders in which the named packages lie."""
    return [str(PurePosixPath(one).parent) for one in _texts(packages)]
