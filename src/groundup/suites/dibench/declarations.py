"""When two declarations are the same: by name and section, and exactly.

A section is part of a declaration: `devDependencies` is not `dependencies`, and an extra is not what a package
needs. At run time counts what a client installs with the package, without being asked for more:

    Python      project.dependencies, install_requires, Poetry's table without `optional`, requirements files whose
                names say nothing else
    JavaScript  dependencies; optionalDependencies may be missing, and peerDependencies are the host's
    Rust        [dependencies] and [target.*.dependencies] without `optional = true`
    C#          PackageReference, ProjectReference, FrameworkReference and Reference, unless their assets leave out
                both compiling and running

Conditions (markers, targets, frameworks) are no sections: they count in exact declarations. Constraints and
overrides say a version and ask for nothing, so they count there only, too.
"""

import posixpath
import re
from collections.abc import Hashable
from difflib import SequenceMatcher
from typing import NamedTuple

from groundup.domain.languages import DependencyLanguage
from groundup.languages import canonical_name
from groundup.languages.csharp.msbuild import item_type
from groundup.languages.javascript.package_json import MAIN
from groundup.languages.spelling import python_name
from groundup.manifests.records import Dependency, DependencyKind, DependencySource
from groundup.sources.names import python_provider
from groundup.suites.dibench.same_values import constraint_key, details_key, marker_key

_COMMON_WORDS = frozenset({"python", "lib"})
"""Words of names that say nothing."""
UNDEFINED = "no central definition"
"""A detail of what inherits its version from a central definition that is not there."""
_RUST = {
    DependencyKind.RUNTIME: "[dependencies]",
    DependencyKind.OPTIONAL: "[dependencies], optional",
    DependencyKind.DEV: "[dev-dependencies]",
    DependencyKind.BUILD: "[build-dependencies]",
    DependencyKind.CONSTRAINT: "[workspace.dependencies]",
}
_JAVASCRIPT = {kind: path[0] for path, kind in MAIN.items()}
_PYTHON = {
    DependencyKind.RUNTIME: "dependencies",
    DependencyKind.BUILD: "build requirements",
    DependencyKind.CONSTRAINT: "constraints",
    DependencyKind.OVERRIDE: "overrides",
}
_ASSETS = re.compile(r"[\s;,]+")


class NameKey(NamedTuple):
    """What is equal for two declarations of one package in one section."""

    section: str
    name: str
    defined: bool
    """False: it inherits from a central definition that is not there, and so declares nothing."""


def section_of(dependency: Dependency) -> str:
    """Return the section of a declaration, as people call it; equal for equal sections."""
    kind, group = dependency.kind, dependency.group
    match dependency.language:
        case "javascript":
            return group or _JAVASCRIPT.get(kind, kind.value)
        case "rust":
            return _RUST.get(kind) or f"[{group}]"
        case "csharp":
            return _csharp_section(dependency)
        case "python":
            if kind is DependencyKind.OPTIONAL:
                return f"extra {python_name(group)}" if group else "optional dependencies"
            group = python_name(group)
            return f"{_PYTHON[kind]} {group}".strip() if kind in _PYTHON else f"group {group or kind.value}"


def _csharp_section(dependency: Dependency) -> str:
    details = {name.lower(): value for name, value in dependency.details}
    section = item_type(dependency)
    if dependency.kind is DependencyKind.DEV:
        return f"{section}, developmentDependency"
    if "action" in details:
        return f"{section} {details['action']}"
    included = {item.lower() for item in _ASSETS.split(details.get("includeassets") or "all")}
    excluded = {item.lower() for item in _ASSETS.split(details.get("excludeassets") or "none")}
    used = {"compile", "runtime"} if "all" in included else included & {"compile", "runtime"}
    is_used = used - excluded and "all" not in excluded
    return section if is_used else f"{section}, neither compiled nor run with"


def is_request(dependency: Dependency) -> bool:
    """Whether a declaration asks for a package; others say a version of what is asked for elsewhere."""
    bundled = dependency.language == "javascript" and dependency.kind is DependencyKind.GROUP
    return not bundled and dependency.kind not in (DependencyKind.CONSTRAINT, DependencyKind.OVERRIDE)


def name_key(dependency: Dependency) -> NameKey:
    """Return what is compared by name: the package, and the name by which code finds it where that is another."""
    if dependency.source is DependencySource.PROJECT:
        name = dependency.normalised
    else:
        name = canonical_name(dependency.language, dependency.name) or _origin_key(dependency)
    if dependency.alias and dependency.alias != dependency.name:
        name = f"{dependency.alias} = {name}"
    return NameKey(section_of(dependency), name, UNDEFINED not in dict(dependency.details))


def exact_key(dependency: Dependency) -> Hashable:
    """Return what is compared exactly: everything that matters to a build, in one spelling."""
    extras = map(python_name, dependency.extras) if dependency.language == "python" else dependency.extras
    return (
        name_key(dependency),
        constraint_key(dependency),
        frozenset(extras),
        marker_key(dependency),
        dependency.kind,
        dependency.group if dependency.language == "csharp" else "",
        dependency.source,
        _origin_key(dependency),
        details_key(dependency),
    )


def _origin_key(dependency: Dependency) -> str:
    """Return where something comes from; paths without detours."""
    origin = dependency.origin.replace("\\", "/")
    if dependency.source is DependencySource.PROJECT:
        return ""
    if dependency.source is not DependencySource.PATH or not origin:
        return origin
    head, colon, path = origin.rpartition(":")
    return f"{head}{colon}{posixpath.normpath(path)}"


def likeness(missing: str, declared: str, language: DependencyLanguage) -> float:
    """Return how alike two names of packages are: 1 where one has all words of the other.

    Also 1 where *declared* is what code of Python imports of the missing distribution, such as bs4.
    """
    if language == "python" and python_provider(declared).name == missing:
        return 1.0
    one, two = ({*re.findall(r"[a-z0-9]{3,}", text.lower())} - _COMMON_WORDS for text in (missing, declared))
    if one and two and (one <= two or two <= one):
        return 1.0
    return SequenceMatcher(None, missing.lower(), declared.lower()).ratio()
