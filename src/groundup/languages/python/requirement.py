"""One requirement as PEP 508 text, to a record and back, the kind that a group shows, and files of pip with them.

Such a file has one requirement or option per line, lines joined by backslashes.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from groundup.domain.records import Record
from groundup.languages.spelling import python_name
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, Note, SectionKey
from groundup.manifests.sections import (
    ManifestEntry,
    ManifestFormat,
    Scan,
    Section,
    deletions,
    inserted_lines,
    with_touching_comments,
)

_NAMED = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*"
    r"(?:\[(?P<extras>[^\]]*)\])?\s*(?P<rest>.*)$",
    re.DOTALL,
)
_URL_MARKER = re.compile(r"\s+;\s*|;\s+")
_VCS = ("git", "hg", "svn", "bzr")
_SDIST = re.compile(r"(?P<name>.+?)-\d[^-]*(?:\.tar\.\w+|\.tgz|\.zip)$")
INVALID = "invalid"
"""Key of the detail of a declaration that is not valid PEP 508; its name is still read."""
_INVALID_DETAILS = ((INVALID, "not PEP 508"),)


class Requirement508(Record):
    """The parts of one requirement."""

    name: str = ""
    extras: tuple[str, ...] = ()
    constraint: str = ""
    marker: str = ""
    source: DependencySource = DependencySource.REGISTRY
    origin: str = ""
    details: tuple[tuple[str, str], ...] = ()

    def dependency(self, kind: DependencyKind, group: str = "", **more: object) -> Dependency:
        """Return the record of this requirement in a section of *kind* and *group*."""
        fields = {**self.model_dump(), "kind": kind, "group": group, **more}
        return Dependency.model_validate({"language": "python", "normalised": python_name(self.name), **fields})


def details_of(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def parse_requirement(text: str) -> Requirement508:
    """Return the parts of *text*; never raises. A name that cannot be read is empty."""
    bare = text.strip()
    match = _NAMED.match(bare)
    if match is None or match["rest"][:1] in (":", "/", "+", "\\") or _is_path(bare):
        return parse_location(bare)
    extras = tuple(item.strip() for item in (match["extras"] or "").split(",") if item.strip())
    rest = match["rest"].strip()
    if rest.startswith("@"):
        located = parse_location(rest[1:].strip())
        return located.but(name=match["name"], extras=extras or located.extras)
    constraint, _, marker = rest.partition(";")
    constraint = constraint.strip()
    if constraint.startswith("(") and constraint.endswith(")"):
        constraint = constraint[1:-1].strip()
    return Requirement508(
        name=match["name"],
        extras=extras,
        constraint=constraint,
        marker=marker.strip(),
        details=() if is_valid(bare) else _INVALID_DETAILS,
    )


def is_valid(text: str) -> bool:
    """Whether *text* is valid PEP 508."""
    try:
        Requirement(text)
    except InvalidRequirement:
        return False
    return True


def parse_location(text: str) -> Requirement508:
    """Return the parts of a URL or a path with a marker; the name from `#egg=` or a file name, else empty."""
    parts = _URL_MARKER.split(text, maxsplit=1)
    where, marker = parts[0].strip(), parts[1].strip() if len(parts) > 1 else ""
    extras: tuple[str, ...] = ()
    if "://" not in where and where.endswith("]") and "[" in where:
        where, _, listed = where[:-1].rpartition("[")
        extras = tuple(item.strip() for item in listed.split(",") if item.strip())
    details: dict[str, str] = {}
    base, _, fragment = where.partition("#")
    named = ""
    for part in fragment.split("&") if fragment else ():
        key, _, value = part.partition("=")
        if key == "egg":
            named, _, listed = unquote(value).partition("[")
            extras = tuple(item.strip() for item in listed.rstrip("]").split(",") if item.strip()) or extras
        elif key:
            details[key] = value
    source, origin = _source_of(base, details)
    if source is DependencySource.PATH and not re.search(r"[/\\.]", base):
        details[INVALID] = _INVALID_DETAILS[0][1]
    name = named or (name_of_file(base) if source in (DependencySource.URL, DependencySource.PATH) else "")
    return Requirement508(
        name=name, extras=extras, marker=marker, source=source, origin=origin, details=details_of(details)
    )


def _source_of(base: str, details: dict[str, str]) -> tuple[DependencySource, str]:
    scheme = base.partition("://")[0] if "://" in base else ""
    if scheme.startswith("file") or (not scheme and not base.startswith("git+")):
        return DependencySource.PATH, base
    vcs, plus, _ = scheme.partition("+")
    if not (plus and vcs in _VCS) and scheme not in _VCS:
        return DependencySource.URL, base
    address = base[len(vcs) + 1 :] if plus else base
    host_end = address.find("/", address.find("://") + 3)
    at = address.find("@", host_end) if host_end >= 0 else -1
    if at >= 0:
        details["rev"] = address[at + 1 :]
        address = address[:at]
    if vcs != "git":
        details["vcs"] = vcs
        return DependencySource.URL, address
    return DependencySource.GIT, address


def _is_path(text: str) -> bool:
    where = _URL_MARKER.split(text, maxsplit=1)[0].partition("[")[0].strip()
    if "@" in where:
        return False
    return where.startswith((".", "/", "~")) or where.endswith((".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz"))


def name_of_file(address: str) -> str:
    """Return the project that a wheel or an sdist is named after, or an empty string."""
    file = unquote(address.partition("?")[0].rpartition("/")[2])
    if file.endswith(".whl"):
        try:
            return str(parse_wheel_filename(file)[0])
        except InvalidWheelFilename:
            return ""
    match = _SDIST.fullmatch(file)
    return match["name"] if match else ""


def location_text(dependency: Dependency) -> str:
    """Return the URL or path of *dependency* as a requirement writes it."""
    details = dict(dependency.details)
    rev = details.get("rev") or details.get("tag") or details.get("branch")
    address = dependency.origin
    if dependency.source is DependencySource.GIT:
        address = address if address.startswith("git://") else f"git+{address}"
    elif "vcs" in details:
        address = f"{details['vcs']}+{address}"
    if rev and (dependency.source is DependencySource.GIT or "vcs" in details):
        address += f"@{rev}"
    plain = {"rev", "tag", "branch", "vcs", INVALID}
    fragment = "&".join(f"{key}={value}" for key, value in dependency.details if key not in plain)
    return f"{address}#{fragment}" if fragment else address


def render_requirement(dependency: Dependency) -> str:
    """Return *dependency* as PEP 508 text."""
    extras = f"[{','.join(dependency.extras)}]" if dependency.extras else ""
    if dependency.source in (DependencySource.REGISTRY, DependencySource.WORKSPACE, DependencySource.PROJECT):
        marker = f"; {dependency.marker}" if dependency.marker else ""
        space = " " if dependency.constraint[:1].isalnum() else ""
        return f"{dependency.name}{extras}{space}{dependency.constraint}{marker}"
    marker = f" ; {dependency.marker}" if dependency.marker else ""
    if not dependency.name:
        return f"{location_text(dependency)}{extras}{marker}"
    return f"{dependency.name}{extras} @ {location_text(dependency)}{marker}"


def render_checked(dependency: Dependency, source: Text) -> str:
    """Return *dependency* as PEP 508 text; raise `ManifestError` where PEP 508 cannot express it."""
    text = render_requirement(dependency)
    if dependency.source is DependencySource.WORKSPACE:
        raise source.error(
            f"{dependency.name} comes from a workspace, which PEP 508 cannot express; add it by hand"
        )
    if not is_valid(text) and INVALID not in dict(dependency.details):
        raise source.error(f"{text!r} is not valid PEP 508; give a constraint like '>=1.2,<2' and a full URL")
    return text


_WORD = re.compile(r"[a-z0-9]+")
_DEV = frozenset({"dev", "devel", "develop", "development"})
_TEST = frozenset({"test", "tests", "testing", "unittest", "unittests", "pytest"})
_BESIDE = frozenset({
    "doc", "docs", "documentation", "sphinx", "mkdocs", "website", "example", "examples", "demo", "demos",
    "tutorial", "tutorials", "notebook", "notebooks", "fuzz", "fuzzer", "fuzzers", "fuzzing", "bench", "benches",
    "benchmark", "benchmarks", "benchmarking", "perf", "profiling", "lint", "linter", "linters", "linting", "ci",
    "devcontainer", "github", "circleci",
})  # fmt: skip
"""Names of what is neither a part of a package nor its tests."""


def group_kind(name: str, default: DependencyKind = DependencyKind.GROUP) -> DependencyKind:
    """Return the kind that a group's or a file's *name* shows: test, dev, or the default."""
    words = set(_WORD.findall(name.lower()))
    if words & _TEST:
        return DependencyKind.TEST
    return DependencyKind.DEV if words & _DEV else default


def place_kind(names: Iterable[str]) -> tuple[DependencyKind, str]:
    """Return the kind that the first of *names* shows, of a file and its folders, and that name.

    A package's own requirements stand at the root or in folders without such a name.
    """
    for name in names:
        kind = group_kind(name, DependencyKind.RUNTIME)
        if kind is DependencyKind.RUNTIME and set(_WORD.findall(name.lower())) & _BESIDE:
            kind = DependencyKind.GROUP
        if kind is not DependencyKind.RUNTIME:
            return kind, name
    return DependencyKind.RUNTIME, ""


_SUFFIXES = (".txt", ".in", ".pip")
_FILE_NAME = re.compile(r"(^|[-_.])(requirements?|reqs?|requires|constraints?)([-_.]|$)")
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
        if _FILE_NAME.search(path.stem.lower()):
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
