"""Where a Python repository's project files say that its packages lie.

Declarations of dependencies are never looked at.
"""

import re
from collections.abc import Iterable, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import as_utf8
from groundup.sources.project_files import table_at, toml_of

_FIND_PACKAGES = re.compile(r"find_packages\(\s*(?:where\s*=\s*)?[\"']([\w./-]+)[\"']")
_SETUP_FOLDER = re.compile(r"package_dir\s*=\s*\{[^}]*[\"'][\"']\s*:\s*[\"']([\w./-]+)[\"']")
_SETUP_FOLDERS = re.compile(r"package_dir\s*=\s*\{([^}]*)\}")


class PythonProjectFiles(NamedTuple):
    """The project files at the top, as far as they can be read."""

    pyproject: dict[str, object]
    setup_cfg: ConfigParser | None
    setup_py: str


class PythonFolders(NamedTuple):
    """What they say of folders."""

    source_folders: tuple[str, ...]
    package_folders: Mapping[str, str]
    """Top-level package -> the folder that it says is installed under that name, which may have another one."""


def python_project_files(manifests: Mapping[str, bytes]) -> PythonProjectFiles:
    """Return those of *manifests* that lie at the top, by their paths."""
    pyproject = toml_of(as_utf8(manifests.get("pyproject.toml", b"")))
    text = as_utf8(manifests.get("setup.py", b"")).decode("utf-8", "replace")
    return PythonProjectFiles(pyproject, _config(manifests.get("setup.cfg", b"")), text)


def read_folders(files: PythonProjectFiles) -> PythonFolders:
    """Return where sources lie; the first word on a package counts."""
    folders = [*_of_pyproject(files.pyproject), *_of_setup_cfg(files.setup_cfg)]
    folders += _SETUP_FOLDER.findall(files.setup_py) + _FIND_PACKAGES.findall(files.setup_py)
    packages: dict[str, str] = {}
    for package, folder in _renamed(files):
        if str(package).isidentifier() and isinstance(folder, str):
            packages.setdefault(str(package), folder.removeprefix("./").strip("/"))
    return PythonFolders(tuple(dict.fromkeys(folder.strip("./") for folder in folders)), packages)


def texts(value: object) -> list[str]:
    """Return the texts of what should be a list of them."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _renamed(files: PythonProjectFiles) -> Iterable[tuple[object, object]]:
    """Yield packages with their folders."""
    yield from table_at(files.pyproject, "tool", "setuptools", "package-dir").items()
    wheel = table_at(files.pyproject, "tool", "hatch", "build", "targets", "wheel")
    for table in (table_at(wheel, "sources"), table_at(wheel, "force-include")):
        yield from ((package, folder) for folder, package in table.items())
    if files.setup_cfg is not None:
        text = files.setup_cfg.get("options", "package_dir", fallback="")
        yield from re.findall(r"(\w+)\s*=\s*([\w./-]+)", text)
    for pairs in _SETUP_FOLDERS.findall(files.setup_py):
        yield from re.findall(r"[\"'](\w+)[\"']\s*:\s*[\"']([\w./-]+)[\"']", pairs)


def _of_pyproject(document: dict[str, object]) -> list[str]:
    tool = table_at(document, "tool")
    setuptools, hatch, pdm = table_at(tool, "setuptools"), table_at(tool, "hatch", "build"), table_at(tool, "pdm")
    folders = texts(table_at(setuptools, "packages", "find").get("where"))
    folders += [_root_of(*one) for one in table_at(setuptools, "package-dir").items() if isinstance(one[1], str)]
    poetry = table_at(tool, "poetry").get("packages")
    folders += (
        [str(one.get("from", "")) for one in poetry if isinstance(one, dict)] if isinstance(poetry, list) else []
    )
    for table in (hatch, table_at(hatch, "targets", "wheel")):
        sources = table.get("sources")
        folders += _above(table.get("packages")) + (_above([*sources]) if isinstance(sources, dict) else [])
        folders += texts(sources)
    folders += _above(table_at(tool, "scikit-build", "wheel").get("packages"))
    named = [pdm.get("package-dir"), table_at(pdm, "build").get("package-dir")]
    uv, maturin = table_at(tool, "uv", "build-backend"), table_at(tool, "maturin")
    named += [uv.get("module-root"), maturin.get("python-source")]
    return [folder for folder in folders + texts(named) if folder]


def _of_setup_cfg(config: ConfigParser | None) -> list[str]:
    if config is None:
        return []
    where = config.get("options.packages.find", "where", fallback="")
    places = re.findall(r"(\w*)[ \t]*=\s*([\w./-]+)", config.get("options", "package_dir", fallback=""))
    found = [_root_of(package, folder) for package, folder in places]
    return [*re.findall(r"[\w./-]+", where), *(folder for folder in found if folder)]


def _root_of(package: str, folder: str) -> str:
    """Return the folder of sources that a package's folder tells of; nothing where it has another name."""
    place = PurePosixPath(folder)
    return str(place.parent if package else place) if package in ("", place.name) else ""


def _config(data: bytes) -> ConfigParser | None:
    # Entry points are `name = module:function` and versions hold `%`: neither may be taken for syntax.
    parser = ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    try:
        parser.read_string(as_utf8(data).decode("utf-8", "replace"))
    except ConfigError:
        return None
    return parser


def _above(packages: object) -> list[str]:
    """Return the folders in which the named packages lie."""
    return [str(PurePosixPath(one).parent) for one in texts(packages)]
