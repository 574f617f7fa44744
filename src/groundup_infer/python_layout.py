"""Where a Python repository keeps what: packages, import roots, local modules, tests, docs.

Of project files only names, layout and entry points count (`python_project`).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import CYTHON, READ, SourceFiles
from groundup.sources.names import normalised, words
from groundup_infer.python_project import PythonProject, read_project


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
_BESIDE = (SourcePlace.TEST, SourcePlace.DOCS, SourcePlace.EXAMPLE)
_SHARED_ROOT = re.compile(rb"extend_path\(|declare_namespace\(")


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


def below(tree: SourceFiles, folder: str) -> SourceFiles:
    """Return what of *tree* lies in *folder*, with paths relative to it."""
    start = len(folder) + 1
    return tree._replace(
        sources=tuple(
            one._replace(path=one.path[start:]) for one in tree.sources if one.path.startswith(f"{folder}/")
        ),
        manifests={path[start:]: data for path, data in tree.manifests.items() if path.startswith(f"{folder}/")},
    )


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
