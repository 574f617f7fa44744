"""What npm, pnpm, Yarn and Bun write after a package's name: ranges, aliases, paths, repositories, tarballs."""

import re
from typing import NamedTuple

from groundup.manifests.records import DependencySource

_ALIAS = re.compile(r"npm:(?P<name>(?:@[^/@\s]+/)?[^/@\s]+)(?:@(?P<constraint>.*))?", re.DOTALL)
_WORKSPACE_ALIAS = re.compile(r"workspace:(?P<name>(?:@[^/@\s]+/)?[^/@\s]+)@(?P<constraint>.+)", re.DOTALL)
_PATH = re.compile(r"(?:file:|link:|portal:|\.{1,2}(?:/|\\|$)|~/|/|[A-Za-z]:[\\/])")
_HOSTED = re.compile(r"(?:github|gitlab|bitbucket|gist):|[A-Za-z0-9_-][\w.-]*/[\w.-]+(?:#.*)?$")
_GIT = re.compile(r"git(?:\+\w+)?:|git@|ssh:|https?://[^#]*\.git(?:#|$)|https?://github\.com/[^/]+/[^/#]+(?:#|$)")
_SHARED = re.compile(r"(?:workspace|catalog):")


class SpecifierFields(NamedTuple):
    """The parts of a specifier, as the fields of a `Dependency`."""

    source: DependencySource
    name: str
    constraint: str = ""
    origin: str = ""
    alias: str = ""


def parse(key: str, text: str) -> SpecifierFields:
    """Return what `"key": "text"` asks for. Everything has a meaning: what is nothing else is a range or a tag."""
    alias = _ALIAS.fullmatch(text)
    if alias:
        return SpecifierFields(DependencySource.REGISTRY, alias["name"], alias["constraint"] or "", alias=key)
    aliased = _WORKSPACE_ALIAS.fullmatch(text)
    if aliased:
        return SpecifierFields(DependencySource.WORKSPACE, aliased["name"], aliased["constraint"], text, key)
    if _SHARED.match(text):
        return SpecifierFields(DependencySource.WORKSPACE, key, _shared_constraint(text), text)
    if _PATH.match(text):
        return SpecifierFields(DependencySource.PATH, key, origin=text)
    if _GIT.match(text) or _HOSTED.match(text):
        return SpecifierFields(DependencySource.GIT, key, origin=text)
    if re.match(r"[a-z]+:", text):  # http:, https:, jsr:, patch:, exec: and what else managers invent
        return SpecifierFields(DependencySource.URL, key, origin=text)
    return SpecifierFields(DependencySource.REGISTRY, key, text)


def render(found: SpecifierFields) -> tuple[str, str]:
    """Return key and text of a specifier: the inverse of `parse` wherever the text has the usual form."""
    key = found.alias or found.name
    if found.source is not DependencySource.REGISTRY:
        return key, found.origin
    if found.alias:
        return key, f"npm:{found.name}" + (f"@{found.constraint}" if found.constraint else "")
    return key, found.constraint


def selected(selector: str) -> str:
    """Return the package that a selector ends with, without its version."""
    last = selector.rpartition(">")[2]
    parts = [part for part in last.split("/") if part not in ("", "**")]
    name = "/".join(parts[-2:]) if len(parts) > 1 and parts[-2].startswith("@") else (parts or [last])[-1]
    return name[0] + name[1:].partition("@")[0] if name else name


def _shared_constraint(text: str) -> str:
    """Return the range of `workspace:^1`; a path or a catalog's name is none."""
    rest = text.partition(":")[2]
    return "" if text.startswith("catalog:") or "/" in rest else rest
