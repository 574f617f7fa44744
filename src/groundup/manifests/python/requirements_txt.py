"""Requirements and constraints files of pip: one requirement or option per line, lines joined by backslashes."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.lines import deletions, inserted_lines, with_touching_comments
from groundup.manifests.python.requirement import (
    Requirement508,
    details_of,
    group_kind,
    location_text,
    parse_requirement,
    place_kind,
    render_requirement,
)
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan, Section

_SUFFIXES = (".txt", ".in", ".pip")
_NAMED = re.compile(r"(^|[-_.])(requirements?|reqs?|requires|constraints?)([-_.]|$)")
_RUNTIME = frozenset({"requirements", "requirement", "reqs", "req", "requires", "base", "common", "core", "main",
                      "prod", "production", "install", "default", "runtime", "deploy"})  # fmt: skip
_COMMENT = re.compile(r"(^|\s+)#.*$")
_INCLUDE = re.compile(r"(?:-r|--requirement|-c|--constraint)(?:\s*=?\s*)(?P<target>.*)$")
_EDITABLE = re.compile(r"(?:-e\s*|--editable(?:\s+|=))(?P<target>.*)$")
_PER_REQUIREMENT = re.compile(r"\s+--?[A-Za-z]")
_SELF = re.compile(r"(?:\.|\./|file:\.|file:\./)(?:\[[^\]]*\])?(?:\s*;.*)?$")


class RequirementsTxt(ManifestFormat):
    """What `pip install -r` reads. The file's name shows what its requirements are for."""

    name = "requirements.txt"
    language: Language = "python"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether its name or folder has requirements or constraints in it; not what setuptools generates."""
        if path.suffix not in _SUFFIXES or path.parent.name.endswith(".egg-info"):
            return False
        if _NAMED.search(path.stem.lower()):
            return True
        return any(folder.lower() in ("requirements", "reqs") for folder in path.parts[-3:-1])

    def scan(self, source: Text) -> Scan:
        """Find the requirements; nothing here is too malformed to be read."""
        key = key_of_file(PurePosixPath(source.path))
        entries, notes = [], []
        for line in logical_lines(source):
            if include := _INCLUDE.match(line.text):
                notes.append(_reference(source, line, include["target"].strip("\"' "), key))
            elif parsed := _requirement(line.text):
                dependency = parsed.dependency(
                    key.kind, key.group, text=line.text, location=source.location(line.span)
                )
                entries.append(ManifestEntry(dependency, line.span))
        return Scan(source, [LinesSection(source, key, entries)], notes)

    def home(self, dependency: Dependency) -> SectionKey:
        """Return the kind and group that the file must have by its name."""
        return SectionKey(dependency.kind, "" if dependency.kind is DependencyKind.RUNTIME else dependency.group)


@dataclass(frozen=True)
class LogicalLine:
    """One line after joining; `text` has no comment and no blanks around it."""

    text: str
    span: Span


@dataclass(frozen=True)
class LinesSection(Section):
    """A whole file of requirements."""

    source: Text
    key: SectionKey
    entries: Sequence[ManifestEntry]

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave the lines *kept*, then *added*."""
        gone = [entry.span for i, entry in enumerate(self.entries) if i not in kept]
        at = self.entries[-1].span.end if self.entries else len(self.source.text)
        return deletions(gone) + inserted_lines(self.source, at, [render_line(item) for item in added])

    def clearing(self) -> list[Edit]:
        """Return the edits that remove all requirements and the comments that touch them."""
        return deletions([with_touching_comments(self.source, entry.span) for entry in self.entries])


def key_of_file(path: PurePosixPath) -> SectionKey:
    """Return what the requirements of a file are for: by its name, else by the folders it lies in."""
    stem = path.stem.lower()
    if "constraint" in stem:
        return SectionKey(DependencyKind.CONSTRAINT, path.stem)
    words = set(re.split(r"[-_.]", stem))
    if words <= _RUNTIME | {""}:
        return SectionKey(*place_kind(reversed(path.parts[:-1])))
    return SectionKey(group_kind(stem), path.stem)


def logical_lines(source: Text) -> Iterator[LogicalLine]:
    """Yield the lines that are not blank, joined at backslashes as pip joins them."""
    at, text = 0, source.text
    while at < len(text):
        start = at
        parts: list[str] = []
        while at < len(text):
            end = source.line_end(at)
            line = text[at:end].rstrip("\r\n")
            at = end
            if not line.endswith("\\") or _COMMENT.search(line):
                parts.append(" " + line if parts and _COMMENT.match(line) else line)
                break
            parts.append(line[:-1])
        joined = _COMMENT.sub("", "".join(parts)).strip()
        if joined:
            yield LogicalLine(joined, Span(start, at))


def _requirement(text: str) -> Requirement508 | None:
    """Return the requirement of a line, or None for an option and for the project itself."""
    editable = _EDITABLE.match(text)
    if editable:
        text = editable["target"].strip("\"' ")
    elif text.startswith("-"):
        return None
    if not text or _SELF.match(text):
        return None
    options = _PER_REQUIREMENT.search(text)
    parsed = parse_requirement(text[: options.start()] if options else text)
    more = {"editable": "true"} if editable else {}
    if options:
        more["options"] = " ".join(text[options.start() :].split())
    return parsed.but(details=details_of({**dict(parsed.details), **more})) if more else parsed


def render_line(dependency: Dependency) -> str:
    """Return the line that declares *dependency*."""
    details = dict(dependency.details)
    options = details.pop("options", "")
    editable = details.pop("editable", "") == "true"
    plain = dependency.but(details=details_of(details))
    located = location_text(plain)
    extras = f"[{','.join(plain.extras)}]" if plain.extras else ""
    marker = f" ; {plain.marker}" if plain.marker else ""
    if plain.source is DependencySource.PATH and ":" not in plain.origin:
        text = f"{located}{extras}{marker}"
    elif editable and plain.name and plain.source is not DependencySource.REGISTRY:
        text = f"{located}{'&' if '#' in located else '#'}egg={plain.name}{extras}{marker}"
    else:
        text = render_requirement(plain)
    text = f"-e {text}" if editable else text
    return f"{text} {options}" if options else text


def _reference(source: Text, line: LogicalLine, target: str, key: SectionKey) -> Note:
    return Note(
        topic="reference",
        message=f"reads {target}",
        line=source.line_of(line.span.start),
        target=target,
        kind=key.kind,
        group=key.group,
    )
