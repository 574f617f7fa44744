"""What an original's files declare of its distribution, without running them: name, version, needs, programs."""

import ast
import configparser
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from groundup.domain.records import Record
from groundup.grammars import python_tree
from groundup.languages.formats import format_of
from groundup.languages.python.poetry import specifier
from groundup.languages.python.requirement import render_requirement
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, ManifestError
from groundup.registries.pypi.pages import spelled_version
from groundup.sources.project_files import table_at, toml_of

_VERSION = re.compile(r"""^__version__\s*(?::[^=]+)?=\s*(?:\w+\s*=\s*)?["']([^"']+)["']""", re.MULTILINE)
_SOURCE_FOLDER = re.compile(
    r"""^where\s*=\s*([\w./-]+)\s*$|^\s*=\s*([\w./-]+)\s*$|package_dir\s*=\s*\{\s*["']["']\s*:\s*["']([\w./-]+)"""
    r"""|find_packages\(\s*(?:where\s*=\s*)?["']([\w./-]+)""",
    re.MULTILINE,
)
_LARGEST = 2 * 1024 * 1024
_HEADERS = ("Summary", "Home-page", "Author", "Author-email", "Maintainer", "Maintainer-email", "Project-URL")
_TEST_EXTRAS = frozenset({"test", "tests", "testing"})


class OriginalProject(Record):
    """What could be read; everything may be absent."""

    name: str | None = None
    version: str | None = None
    licence: str | None = None
    requires: tuple[str, ...] = ()
    """At run time."""
    test_requires: tuple[str, ...] = ()
    entry_points: dict[str, dict[str, str]] = {}
    headers: dict[str, tuple[str, ...]] = {}
    """Further fields of its metadata, each on one line."""
    modules: tuple[str, ...] = ()
    """Top-level modules or packages that the project names itself."""


def read_project(root: Path) -> OriginalProject:
    """Return what the files declare: built metadata first, then pyproject.toml, setup.cfg, setup.py."""
    project: dict[str, Any] = {}
    for reader in (_built_metadata, _pyproject, _setup_cfg, _setup_py, _manifests):
        for key, value in reader(root).items():
            if value and not project.get(key):
                project[key] = value
    project["requires"] = tuple(_sound(project.get("requires", ())))
    project["test_requires"] = tuple(_sound(project.get("test_requires", ())))
    if "version" in project and spelled_version(project["version"]) is None:
        del project["version"]
    if "version" not in project:
        project["version"] = _version_in_code(root)
    return OriginalProject.model_validate(project)


def _built_metadata(root: Path) -> Mapping[str, Any]:
    """Read what a source distribution's own build left in it."""
    text = text_at(root / "PKG-INFO")
    if text is None:
        return {}
    folder = next(iter(sorted(root.rglob("*.egg-info"))), None)
    points = text_at(folder / "entry_points.txt") if folder else None
    top = text_at(folder / "top_level.txt") if folder else None
    requires = _of_requires_txt(text_at(folder / "requires.txt") or "") if folder else ()
    return {
        **_metadata(text, requires),
        "entry_points": _ini_points(points) if points else None,
        "modules": tuple(top.split()) if top else None,
    }


def read_metadata(text: str) -> OriginalProject:
    """Return what the metadata of a built distribution declare."""
    return OriginalProject.model_validate({key: value for key, value in _metadata(text).items() if value})


def _metadata(text: str, otherwise: Iterable[str] = ()) -> dict[str, Any]:
    """Read the metadata *text*; where they require nothing, the lines *otherwise* do."""
    from email.parser import HeaderParser

    headers = HeaderParser().parsestr(text)
    every = [str(line) for line in headers.get_all("Requires-Dist", [])] or list(otherwise)
    return {
        "name": headers["Name"],
        "version": headers["Version"],
        "licence": headers["License-Expression"] or _short(headers["License"]),
        "requires": [line for line in every if "extra ==" not in line],
        "test_requires": [without_extra(line) for line in every if _of_test_extra(line)],
        "headers": {name: found for name in _HEADERS if (found := _one_line(headers.get_all(name, [])))},
    }


def _of_requires_txt(text: str) -> Iterator[str]:
    """Yield as `Requires-Dist` what an older setuptools wrote beside the metadata and not into it."""
    marker = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            extra, _, condition = line.strip("[]").partition(":")
            parts = [f"({condition})"] * bool(condition) + [f'extra == "{extra}"'] * bool(extra)
            marker = " and ".join(parts)
        else:
            yield f"{line}; {marker}" if marker else line


def without_extra(line: str) -> str:
    """Return a requirement without the extra that it belongs to; what else its marker says stays."""
    head, _, marker = line.partition(";")
    left = re.sub(
        r"""\s*\band\s+extra\s*==\s*['"][\w.-]+['"]|extra\s*==\s*['"][\w.-]+['"](?:\s*and\b)?""", "", marker
    )
    return f"{head.strip()}; {left.strip()}" if left.strip() else head.strip()


def _of_test_extra(line: str) -> bool:
    found = re.search(r"""extra == ['"]([\w-]+)['"]""", line)
    return found is not None and found[1].lower() in _TEST_EXTRAS


def _pyproject(root: Path) -> Mapping[str, Any]:
    document = toml_of(text_at(root / "pyproject.toml"))
    project, poetry = table_at(document, "project"), table_at(document, "tool", "poetry")
    licence = project.get("license", poetry.get("license"))
    points = {str(group): _strings(table) for group, table in table_at(project, "entry-points").items()}
    for name, group in (("scripts", "console_scripts"), ("gui-scripts", "gui_scripts")):
        points |= {group: _strings(project[name])} if project.get(name) else {}
    if poetry.get("scripts"):
        points["console_scripts"] = _strings(poetry["scripts"])
    extras = {**table_at(project, "optional-dependencies"), **table_at(document, "dependency-groups")}
    return {
        "name": project.get("name", poetry.get("name")),
        "version": project.get("version", poetry.get("version")),
        "licence": licence.get("text") if isinstance(licence, dict) else licence,
        "headers": _headers(project),
        "requires": _list(project.get("dependencies")),
        "test_requires": [
            line for name, lines in extras.items() if name.lower() in _TEST_EXTRAS for line in _list(lines)
        ],
        "entry_points": {group: table for group, table in points.items() if table},
    }


def _headers(project: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the metadata that a build backend makes of a `project` table."""
    people = [person for person in project.get("authors", []) if isinstance(person, dict)]
    mails = [
        f"{person['name']} <{person['email']}>" if person.get("name") else person["email"]
        for person in people
        if person.get("email")
    ]
    names = [person["name"] for person in people if person.get("name") and not person.get("email")]
    urls = [f"{name}, {address}" for name, address in _strings(project.get("urls")).items()]
    headers = {
        "Summary": _one_line([project.get("description")]),
        "Author": _one_line([", ".join(names)]),
        "Author-email": _one_line([", ".join(mails)]),
        "Project-URL": _one_line(urls),
    }
    return {name: values for name, values in headers.items() if values}


def _one_line(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values if value and "\n" not in str(value))


def _setup_cfg(root: Path) -> Mapping[str, Any]:
    text = text_at(root / "setup.cfg")
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return {}
    points = {}
    if parser.has_section("options.entry_points"):
        points = {
            group: dict(_assignments(parser["options.entry_points"][group]))
            for group in parser["options.entry_points"]
        }
    return {
        "name": parser.get("metadata", "name", fallback=None),
        "version": parser.get("metadata", "version", fallback=None),
        "licence": parser.get("metadata", "license", fallback=None),
        "requires": parser.get("options", "install_requires", fallback="").splitlines(),
        "entry_points": points,
    }


def _setup_py(root: Path) -> Mapping[str, Any]:
    """Read the literal arguments of setup(), and those that are literals under a name."""
    text = text_at(root / "setup.py")
    try:
        tree = python_tree(text or "")
    except (SyntaxError, ValueError, RecursionError):
        return {}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "setup"]
    named = {
        ast.unparse(target): node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    }
    given: dict[str, Any] = {}
    for call in calls:
        for keyword in call.keywords:
            try:
                given[keyword.arg or ""] = ast.literal_eval(named.get(ast.unparse(keyword.value), keyword.value))
            except (ValueError, TypeError, MemoryError, RecursionError):
                continue
    points = given.get("entry_points")
    if isinstance(points, str):
        points = _ini_points(points)
    elif isinstance(points, dict):
        tables = {group: dict(_assignments(_lines(lines))) for group, lines in points.items()}
        points = {group: table for group, table in tables.items() if table}
    modules = [*_list(given.get("py_modules")), *_list(given.get("packages"))]
    return {
        "name": _string(given.get("name")),
        "version": _string(given.get("version")),
        "licence": _string(given.get("license")),
        "requires": _list(given.get("install_requires")),
        "test_requires": _list(given.get("tests_require")),
        "entry_points": points if isinstance(points, dict) else None,
        "modules": tuple(dict.fromkeys(name.partition(".")[0] for name in modules)),
    }


def _manifests(root: Path) -> Mapping[str, Any]:
    """Read what other tools' files and files of requirements at the root ask for at run time."""
    found: list[Dependency] = []
    for name in ("pyproject.toml", "requirements.txt"):
        path = root / name
        known = format_of(name)
        if known is None or path.is_symlink() or not path.is_file():
            continue
        with contextlib.suppress(ManifestError, OSError):
            found += known.read(path.read_bytes(), name).dependencies
    return {
        "requires": [
            requirement_line(one)
            for one in found
            if one.source is DependencySource.REGISTRY and one.kind is DependencyKind.RUNTIME
        ]
    }


_WILDCARD = re.compile(r"[\^~]?\s*v?(\d+(?:\.\d+)*\.\*)")
_POETRY = re.compile(r"(?:\^|~(?!=))?\s*v?\d+(?:\.\d+)*(?:[a-z]+\d+)?")


def requirement_line(one: Dependency) -> str:
    """Return a declaration as pip reads it, without a constraint that pip has no form for."""
    if one.constraint in ("", "*"):
        return render_requirement(one.but(constraint=""))
    try:
        constraint = ",".join(_as_pip(part.strip()) for part in one.constraint.split(","))
        return str(Requirement(render_requirement(one.but(constraint=constraint))))
    except (ValueError, ManifestError):
        return render_requirement(one.but(constraint=""))


def _as_pip(part: str) -> str:
    """Return a part of a constraint, perhaps of Poetry's, as a version specifier. Raises `ValueError`."""
    if wildcard := _WILDCARD.fullmatch(part):
        return f"=={wildcard[1]}"
    return specifier(part) if _POETRY.fullmatch(part) else part


def source_folders(root: Path) -> tuple[str, ...]:
    """Return the folders below *root* from which the project's build takes its packages, by what declares them."""
    tool = table_at(toml_of(text_at(root / "pyproject.toml")), "tool")
    wheel = table_at(tool, "hatch", "build", "targets", "wheel")
    found: list[Any] = [table_at(tool, "setuptools", "package-dir").get("")]
    found += table_at(tool, "setuptools", "packages", "find").get("where", [])
    found += [table_at(tool, "maturin").get("python-source"), table_at(tool, "pdm", "build").get("package-dir")]
    found += [one.get("from") for one in table_at(tool, "poetry").get("packages", []) if isinstance(one, dict)]
    found += [str(Path(str(one)).parent) for one in wheel.get("packages", [])]
    for name in ("setup.cfg", "setup.py"):
        found += ["".join(groups) for groups in _SOURCE_FOLDER.findall(text_at(root / name) or "")]
    usual = [str(one).strip("/").removeprefix("./") for one in found if one]
    return tuple(one for one in dict.fromkeys(usual) if one and ".." not in one and (root / one).is_dir())


def _version_in_code(root: Path) -> str | None:
    for pattern in ("*/__init__.py", "*/*version*.py", "src/*/__init__.py", "src/*/*version*.py", "*.py"):
        for path in sorted(root.glob(pattern)):
            found = _VERSION.search(text_at(path) or "")
            if found and spelled_version(found[1]) is not None:
                return found[1]
    return None


def _ini_points(text: str) -> dict[str, dict[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    group = ""
    for line in text.splitlines():
        if line.strip().startswith("["):
            group = line.strip().strip("[]")
        elif group:
            groups.setdefault(group, {}).update(_assignments(line))
    return {name: table for name, table in groups.items() if table}


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, separator, target = line.partition("=")
        if separator and name.strip() and target.strip():
            yield name.strip(), target.strip()


def _sound(lines: Any) -> Iterator[str]:
    for line in lines:
        try:
            found = Requirement(str(line).strip())
        except InvalidRequirement:
            continue
        if not found.url:
            yield str(found)


def _strings(table: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        return {}
    return {str(name): value for name, value in table.items() if isinstance(value, str)}


def _list(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _lines(value: Any) -> str:
    return value if isinstance(value, str) else "\n".join(_list(value))


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _short(text: str | None) -> str | None:
    return text if text and len(text) <= 60 else None


def text_at(path: Path, most_bytes: float = _LARGEST) -> str | None:
    """Return a file's text; None for a link, for what is no file, and for what is larger."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > most_bytes:
        return None
    return path.read_text(encoding="utf-8", errors="replace")
