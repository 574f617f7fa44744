"""One dependency of Cargo: from the plain value of a key to the record, and back to a key and its value."""

import json
import math
from collections.abc import Mapping

from groundup.manifests import toml
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, SectionKey
from groundup.manifests.toml_sections import Assignment

_SPOKEN_FOR = ("version", "features", "package")
"""Keys that always become fields of the record; what is left becomes details."""

_ORDER = ("workspace", "package", "version", "path", "git", "branch", "tag", "rev", "registry", "registry-index")


class UnusableError(ValueError):
    """A value that declares no dependency; its text continues "dependencies.foo ..."."""


def key_of(dependency: Dependency) -> str:
    """Return the key that a dependency stands under."""
    return dependency.alias or dependency.name


def normalised(name: str) -> str:
    """Return a crate's name in one spelling: the registry treats `-` and `_` as the same."""
    return name.lower().replace("_", "-")


def parse(key: str, value: object, section: SectionKey) -> Dependency:
    """Return the dependency that `key = value` declares. Raises `UnusableError`."""
    if isinstance(value, str):
        value = {"version": value}
    if not isinstance(value, dict):
        raise UnusableError("must be a version or a table")
    table: dict[str, object] = dict(value)
    version, package, features = table.get("version", ""), table.get("package", key), table.get("features", [])
    if not isinstance(version, str) or not isinstance(package, str):
        raise UnusableError("must give its version and its package as strings")
    if not isinstance(features, list) or not all(isinstance(item, str) for item in features):
        raise UnusableError("must list its features as strings")
    name, alias = (package, key if package != key else "") if "package" in table else _named(key, section)
    rest = {name: item for name, item in table.items() if name not in _SPOKEN_FOR}
    if "package" in table and not alias:
        rest["package"] = package
    source, origin = _origin(rest)
    kind = section.kind
    if kind is DependencyKind.RUNTIME and rest.get("optional") is True:
        kind = DependencyKind.OPTIONAL
        del rest["optional"]
    return Dependency(
        language="rust",
        name=name,
        normalised=normalised(name),
        constraint=version,
        extras=tuple(features),
        marker=section.marker,
        kind=kind,
        group=section.group,
        source=source,
        origin=origin,
        alias=alias,
        details=tuple(sorted((name, _detail(item)) for name, item in rest.items())),
    )


def render(dependency: Dependency) -> Assignment:
    """Return key and value: the inverse of `parse`."""
    table: dict[str, object] = {name: _from_detail(text) for name, text in dependency.details}
    if dependency.alias and dependency.group != "replace":
        table["package"] = dependency.name
    if dependency.constraint:
        table["version"] = dependency.constraint
    if dependency.source is DependencySource.WORKSPACE:
        table["workspace"] = True
    elif dependency.source in (DependencySource.PATH, DependencySource.PROJECT):
        table["path"] = dependency.origin
    elif dependency.source is DependencySource.GIT:
        table["git"] = dependency.origin
    elif dependency.origin:
        table.setdefault("registry", dependency.origin)
    if dependency.extras:
        table["features"] = list(dependency.extras)
    if dependency.kind is DependencyKind.OPTIONAL:
        table["optional"] = True
    key = key_of(dependency)
    if table.keys() <= {"version"}:
        return key, toml.quoted(dependency.constraint or "*")
    names = sorted(table, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    return key, _inline({name: table[name] for name in names})


def _named(key: str, section: SectionKey) -> tuple[str, str]:
    """Return name and alias of a key without `package`: `[replace]` has package specifications as keys."""
    if section.group != "replace":
        return key, ""
    name = key.rpartition("#")[2].partition(":")[0].partition("@")[0]
    return (name, key) if name and name != key else (key, "")


def _origin(rest: dict[str, object]) -> tuple[DependencySource, str]:
    """Take out of *rest* where the dependency comes from."""
    if rest.get("workspace") is True:
        del rest["workspace"]
        return DependencySource.WORKSPACE, ""
    for name, source in (("git", DependencySource.GIT), ("path", DependencySource.PATH)):
        if isinstance(rest.get(name), str):
            return source, str(rest.pop(name))
    if isinstance(rest.get("registry"), str):
        return DependencySource.REGISTRY, str(rest.pop("registry"))
    return DependencySource.REGISTRY, ""


def _detail(value: object) -> str:
    """Return a text as it is, unless it would read as JSON, and everything else as JSON."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def _from_detail(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _inline(value: object) -> str:
    """Return *value* as TOML on one line."""
    if isinstance(value, Mapping):
        members = ", ".join(f"{toml.key(str(name))} = {_inline(item)}" for name, item in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, int) else toml.quoted(str(value))
