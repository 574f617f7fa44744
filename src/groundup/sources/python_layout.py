"""Where a Python repository keeps what: packages, import roots, local modules, entry points, tests, docs.

Reads project files for names, layout and entry points only; declarations of dependencies are never looked at.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import CYTHON, READ, SourceFiles, as_utf8, below
from groundup.sources.names import normalised, words
from groundup.sources.project_files import table_at, toml_of


class SourcePlace(StrEnum):
    """Which part of a repository a file belongs to."""

    PACKAGE = "package"
    SCRIPT = "script"
    """Source outside the package: programs that are not installed."""
    TEST = "test"
    DOCS = "docs"
    EXAMPLE = "example"
    BUILD = "build"


_TEST_FOLDERS = words("test tests testing_tests unit_tests integration_tests e2e testdata test_data")
_DOCS_FOLDERS = words("doc docs documentation website site_docs")
_EXAMPLE_FOLDERS = words(
    """
    example examples sample samples demo demos tutorial tutorials notebooks notebook benchmark benchmarks
    bench perf asv_bench playground recipes cookbook examples_src
    """
)
_EXAMPLES_INSIDE = words("example examples demo demos tutorial tutorials benchmark benchmarks")
"""Such folders of a package are installed with it, but nothing of it needs them."""
_BUILD_FOLDERS = words(
    """
    scripts script tools tool ci .github .circleci dev devtools maintainer build_tools hack release packaging
    news changelog extra utils_dev .devcontainer bin contrib docker
    """
)
_BUILD_FILES = re.compile(
    r"^(setup|noxfile|tasks|fabfile|conf|pavement|bootstrap|build|hatch_build|_?version_?info|release|dodo|"
    r"versioneer|ez_setup|__pkginfo__|SConstruct|pdm_build|dev_bot|test_?runner|runtests|run_?tests)\.py$"
)
_TEST_FILES = re.compile(r"^(conftest|test_\w+|\w+_tests?|tests?|\w+_testcase)\.py$")
_SOURCE_FOLDERS = ("src", "lib", "python", "source", "py", "Lib", "lib3")
_SETUP_ENTRY = re.compile(
    r"[\"']\s*[\w.\- ]+?\s*=\s*([A-Za-z_][\w.]*)\s*(?::\s*[\w.]+)?\s*(?:\[[^\]\"']*\])?\s*[\"']"
)
_BESIDE = (SourcePlace.TEST, SourcePlace.DOCS, SourcePlace.EXAMPLE)
_SHARED_ROOT = re.compile(rb"extend_path\(|declare_namespace\(")
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


class PythonLayout(NamedTuple):
    """Every Python file's place, and the module names of the package's files."""

    project: PythonProject
    places: dict[str, SourcePlace]
    modules: dict[str, str]
    """Dotted name -> path, of files that can be imported from an import root."""
    names: dict[str, str]
    """Path -> dotted name, the inverse."""
    roots: tuple[str, ...]
    """Top-level importable names that the project installs."""
    siblings: frozenset[str]
    """Every other name that some file of the repository can import from beside it."""
    loose: frozenset[str]
    """Those of them that lie neither in an installed package nor among tests, documents and examples.

    A path that is set at run time may lead a package's modules there.
    """
    folders: frozenset[str]
    """Folders at the top that hold Python files, such as `src`: seen from there, they are names, too."""
    namespaces: frozenset[str]
    """Import roots that other distributions may share, and packages below them: they have no module of their own,
    or one that is a namespace package."""


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
    flit = table_at(document, "tool", "flit", "module").get("name")
    found.packages += [flit] if isinstance(flit, str) else []
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


_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


def enclosing_folder(tree: SourceFiles) -> str:
    """Return the folder with a project file that holds all Python and cannot be imported, such as `mylib-1.0`.

    Empty where there is none.
    """
    paths = [source.path for source in tree.sources if source.suffix in READ["python"]]
    tops = {path.partition("/")[0] if "/" in path else "" for path in paths}
    top = tops.pop() if len(tops) == 1 else ""
    is_project = not top.isidentifier() and any(f"{top}/{name}" in tree.manifests for name in _PROJECT_FILES)
    return top if is_project and not any(name in tree.manifests for name in _PROJECT_FILES) else ""


def projects_below(tree: SourceFiles) -> dict[str, PythonLayout]:
    """Return the outermost projects below the top, by folder, where the top is none itself but holds them.

    Sample projects among tests, documents and examples are none of them.
    """
    paths = [source.path for source in tree.sources if source.suffix in READ["python"]]
    aside = _TEST_FOLDERS | _DOCS_FOLDERS | _EXAMPLE_FOLDERS
    found: dict[str, PythonLayout] = {}
    called = _called_as_their_packages(paths)
    folders = {path.rpartition("/")[0] for path in tree.manifests}
    for folder in sorted(folders | called.keys(), key=lambda one: (one.count("/"), one)):
        is_sample = any(part.lower() in aside for part in PurePosixPath(folder).parts)
        if not folder or is_sample or any(folder.startswith(f"{other}/") for other in found):
            continue
        if any(path.startswith(f"{folder}/") for path in paths):
            layout = lay_out(below(tree, folder))
            name = layout.project.name or called.get(folder, "")
            if name and layout.modules:
                found[folder] = layout._replace(project=layout.project._replace(name=name))
    own = outside(tree, found)
    rest = lay_out(own) if found else None
    is_package = rest is not None and SourcePlace.PACKAGE in {rest.places[path] for path in rest.names}
    return {} if is_package else found


def _called_as_their_packages(paths: Iterable[str]) -> dict[str, str]:
    """Return folders that hold one part of a namespace and are called by it: `src/company.foo/company/foo`.

    They need no project file. Each has the name of its distribution.
    """
    found = {}
    for path in paths:
        parts = path.split("/")
        for depth, part in enumerate(parts):
            inner = part.split(".")
            if len(inner) > 1 and all(map(str.isidentifier, inner)) and parts[depth + 1 :][: len(inner)] == inner:
                found["/".join(parts[: depth + 1])] = normalised(part)
    return found


def outside(tree: SourceFiles, folders: Iterable[str]) -> SourceFiles:
    """Return what of *tree* lies in none of *folders*."""
    left_out = tuple(f"{folder}/" for folder in folders)
    return tree._replace(
        sources=tuple(one for one in tree.sources if not one.path.startswith(left_out)),
        manifests={path: data for path, data in tree.manifests.items() if not path.startswith(left_out)},
    )


def modules_beside(projects: Mapping[str, PythonLayout], folder: str) -> dict[str, str]:
    """Return the modules of all *projects* but that in *folder*, each with its distribution."""
    return {
        module: layout.project.name
        for other, layout in projects.items()
        if other != folder
        for module in layout.modules
    }


def lay_out(tree: SourceFiles) -> PythonLayout:
    """Find import roots and give each Python file its place."""
    project = read_project(tree)
    paths = [source.path for source in tree.sources if source.suffix in READ["python"]]
    importable = [path for path in paths if path.endswith((".py", ".pyx"))]
    folder = _source_folder(project, importable)
    tops = _top_names(importable, folder)
    roots = _installed(project, tops, importable, folder)
    modules: dict[str, str] = {}
    for path in importable:
        dotted = _dotted(path, folder)
        if dotted is not None and dotted.partition(".")[0] in roots:
            modules.setdefault(dotted, path)
    names = {path: dotted for dotted, path in modules.items()}
    places = {path: _place(path, names, tree.whole) for path in paths}
    return PythonLayout(
        project=project,
        places=places,
        modules=modules,
        names=names,
        roots=tuple(sorted(roots)),
        siblings=frozenset(_siblings(importable)),
        loose=frozenset(
            (
                *_siblings([path for path in importable if path not in names and places[path] not in _BESIDE]),
                *project.extensions,
                *(PurePosixPath(path).stem for path in paths if path.endswith(CYTHON)),
            )
        ),
        folders=frozenset(PurePosixPath(path).parts[0] for path in importable if "/" in path),
        namespaces=frozenset(_namespaces(tree, roots, modules)),
    )


def _namespaces(tree: SourceFiles, roots: Iterable[str], modules: Mapping[str, str]) -> Iterator[str]:
    data = {source.path: source.data for source in tree.sources}
    for root in roots:
        path = modules.get(root)
        below = [name for name in modules if name.startswith(f"{root}.")]
        if below and (path is None or _SHARED_ROOT.search(data[path])):
            yield root
            yield from (name for name in below if _SHARED_ROOT.search(data[modules[name]]))


def _source_folder(project: PythonProject, paths: list[str]) -> str:
    """Return the folder that holds the import roots; empty: the top. Other than `src`, it must hold packages."""
    known = set(paths)
    for candidate in (*project.source_folders, *_SOURCE_FOLDERS):
        prefix = f"{candidate}/"
        # With an __init__ it is a package that happens to be called so.
        if not candidate or f"{prefix}__init__.py" in known:
            continue
        inside = [path for path in paths if path.startswith(prefix)]
        # `lib` or `python` may hold anything, C sources too; `src` without packages holds single modules.
        certain = candidate == "src" or candidate in project.source_folders
        packages = [path for path in inside if path.endswith("/__init__.py")]
        if inside and (certain or packages):
            return candidate
    return ""


def _dotted(path: str, folder: str) -> str | None:
    parts = list(PurePosixPath(path).parts)
    if folder:
        depth = len(PurePosixPath(folder).parts)
        if parts[:depth] != list(PurePosixPath(folder).parts):
            return None
        parts = parts[depth:]
    parts[-1] = parts[-1].removesuffix(".py").removesuffix(".pyx")
    if parts[-1] == "__init__":
        parts.pop()
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    return ".".join(parts)


def _top_names(paths: list[str], folder: str) -> dict[str, int]:
    """Return each top-level name below the source folder with the number of its files."""
    count: dict[str, int] = defaultdict(int)
    for path in paths:
        dotted = _dotted(path, folder)
        if dotted:
            count[dotted.partition(".")[0]] += 1
    return dict(count)


def _installed(project: PythonProject, tops: dict[str, int], paths: list[str], folder: str) -> set[str]:
    """Choose which top-level names the project installs, rather than keeps for its developers."""
    prefix = f"{folder}/" if folder else ""
    known = set(paths)
    named = {name for name in tops if any(fnmatchcase(name, pattern) for pattern in project.packages)}
    if any(name not in _TEST_FOLDERS for name in named):
        return named - _TEST_FOLDERS
    wanted = {target.partition(".")[0] for target in (*project.scripts, *project.plugins)} & tops.keys()
    # Names often carry a language or a framework: python-slugify installs slugify.
    flat = {re.sub(r"^(python|py|django|flask)-|-(python|py)$|-", "", project.name), project.name.replace("-", "")}
    for name in tops:
        if name.replace("_", "").lower() in flat:
            wanted.add(name)
    candidates = {
        name
        for name in tops
        if name.lower() not in _TEST_FOLDERS | _DOCS_FOLDERS | _EXAMPLE_FOLDERS | _BUILD_FOLDERS
        and not _BUILD_FILES.match(f"{name}.py")
        and not _TEST_FILES.match(f"{name}.py")
    }
    packages = {name for name in candidates if f"{prefix}{name}/__init__.py" in known}
    if folder:  # what lies in a source folder is there to be installed
        return wanted | candidates
    if wanted:
        # A package of about the same size is installed with the main one (attr and attrs), small ones are tools of
        # the developers. Below three files sizes mean nothing.
        largest = max(tops[name] for name in wanted)
        return wanted | {name for name in packages if largest < 3 or tops[name] >= largest / 4}
    if packages:
        return packages
    # No package at the top: either a namespace (google/cloud/x/__init__.py) or a project of single modules.
    namespaces = {
        name for name in candidates if any(f"{name}/" in path and path.endswith("__init__.py") for path in paths)
    }
    first = project.name.partition("-")[0]
    if first in tops and first in candidates:
        return {first}
    return namespaces or candidates


def _place(path: str, names: dict[str, str], whole: bool) -> SourcePlace:
    """Decide by folder and file name; tests inside the package are tests."""
    parts = PurePosixPath(path).parts
    lowered = [part.lower() for part in parts[:-1]]
    if not whole:  # a single file, a notebook or a diff: its folders are not known to be the repository's
        return SourcePlace.PACKAGE
    if any(part in _TEST_FOLDERS for part in lowered) or _TEST_FILES.match(parts[-1]):
        return SourcePlace.TEST
    if path in names:
        if any(part in _EXAMPLES_INSIDE for part in lowered[1:]):
            return SourcePlace.EXAMPLE
        return (
            SourcePlace.PACKAGE if not (len(parts) == 1 and _BUILD_FILES.match(parts[-1])) else SourcePlace.BUILD
        )
    if any(part in _DOCS_FOLDERS for part in lowered):
        return SourcePlace.DOCS
    if any(part in _EXAMPLE_FOLDERS for part in lowered) or path.endswith(".ipynb"):
        return SourcePlace.EXAMPLE
    if any(part in _BUILD_FOLDERS for part in lowered) or _BUILD_FILES.match(parts[-1]):
        return SourcePlace.BUILD
    return SourcePlace.SCRIPT


def _siblings(paths: list[str]) -> Iterator[str]:
    """Yield the names that a script finds beside itself, and of packages anywhere (paths are set at run time)."""
    known = set(paths)
    for path in paths:
        pure = PurePosixPath(path)
        if pure.name == "__init__.py":
            yield pure.parent.name
        elif f"{pure.parent.as_posix()}/__init__.py".removeprefix("./") not in known:
            yield pure.stem
