"""environment.yml of conda, as far as it is a plain block list: packages of conda, and of pip below `- pip:`."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.lines import deletions, inserted_lines, with_touching_comments
from groundup.manifests.python.requirement import normalised, parse_requirement, place_kind, render_requirement
from groundup.manifests.records import Dependency, DependencyKind, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, Scan, Section, SpanFormat

CONDA = "conda"
"""The origin of a package that conda's channels hold; its name need not be the one on the Python package index."""
_PIP = "pip"
_ITEM = re.compile(r"(?P<indent>[ \t]*)-[ \t]+(?P<value>.*)$")
_SPEC = re.compile(r"(?:(?P<channel>[\w./-]+)::)?(?P<name>[A-Za-z0-9_.-]*[A-Za-z0-9_])\s*(?P<constraint>.*)$")
_COMMENT = re.compile(r"\s+#.*$")
_KEPT = frozenset({"python", "pip"})


class EnvironmentYml(SpanFormat):
    """conda's environment file."""

    name = "environment.yml"
    language: Language = "python"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called environment, with a suffix or a word more, and is YAML."""
        stem = path.stem.lower()
        return path.suffix in (".yml", ".yaml") and (
            stem in ("environment", "conda-environment", "conda_environment") or stem.startswith("environment-")
        )

    def scan(self, source: Text) -> Scan:
        """Find the block list of dependencies; one that is written otherwise cannot be said."""
        path = PurePosixPath(source.path)
        kind, _ = place_kind((path.stem, *reversed(path.parts[:-1])))
        entries: dict[str, list[ManifestEntry]] = {CONDA: [], _PIP: []}
        notes: list[Note] = []
        last: dict[str, tuple[int, str]] = {}
        for line in _items(source, notes):
            if line.opens == _PIP:
                last[_PIP] = line.span.end, line.lead.replace("-", " ") + "  - "
                last.setdefault(CONDA, (line.span.start, line.lead))
                continue
            last[line.place] = line.span.end, line.lead
            dependency = None if line.opens else _dependency(line, kind)
            if dependency is not None:
                known = {"text": line.value, "location": source.location(line.span)}
                entries[line.place].append(ManifestEntry(dependency.model_copy(update=known), line.span))
        sections = [
            _ListSection(source, SectionKey(kind, "", place), entries[place], offset, lead)
            for place, (offset, lead) in last.items()
        ]
        return Scan(source, sections, notes)

    def home(self, dependency: Dependency) -> SectionKey:
        """Return conda's list or pip's."""
        return SectionKey(dependency.kind, "", CONDA if dependency.origin == CONDA else _PIP)


@dataclass(frozen=True)
class _Item:
    value: str
    span: Span
    place: str
    lead: str
    """What an item of its list starts with: blanks, the dash, a blank."""
    opens: str = ""
    """Which list the line opens; it is no item of one then."""


@dataclass(frozen=True)
class _ListSection(Section):
    source: Text
    key: SectionKey
    entries: Sequence[ManifestEntry]
    end: int
    lead: str

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        gone = [entry.span for i, entry in enumerate(self.entries) if i not in kept]
        lines = [self.lead + _rendered(item) for item in added]
        return deletions(gone) + inserted_lines(self.source, self.end, lines)

    def clearing(self) -> list[Edit]:
        return deletions([with_touching_comments(self.source, entry.span) for entry in self.entries])


def _items(source: Text, notes: list[Note]) -> Iterator[_Item]:
    """Yield the items of the list; adds a note where it is not a plain block list."""
    at, inside, pip_indent = 0, False, -1
    while at < len(source.text):
        start, at = at, source.line_end(at)
        line = _COMMENT.sub("", source.text[start:at].rstrip())
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = _ITEM.match(line)
        if line[0] not in " \t-":
            inside, pip_indent = line.startswith("dependencies:"), -1
            if inside and line.removeprefix("dependencies:").strip() not in ("", "[]"):
                notes.append(_unclear(source, start))
                inside = False
            elif inside:
                yield _Item("", Span(start, at), CONDA, "  - ", opens=CONDA)
        elif inside and item:
            value = item["value"].strip().strip("\"'").strip()
            deeper = pip_indent >= 0 and len(item["indent"]) > pip_indent
            if not deeper:
                pip_indent = len(item["indent"]) if value == "pip:" else -1
            place = _PIP if deeper else CONDA
            yield _Item(
                value, Span(start, at), place, item["indent"] + "- ", opens=_PIP if value == "pip:" else ""
            )
        elif inside:
            notes.append(_unclear(source, start))


def _unclear(source: Text, offset: int) -> Note:
    message = "dependencies are not written as a plain list; only a YAML reader could tell"
    return Note(topic="cannot-say", message=message, line=source.line_of(offset))


def _dependency(item: _Item, kind: DependencyKind) -> Dependency | None:
    """Return the dependency of an item; None for python, pip and pip's options, which are no dependencies."""
    if item.place == _PIP:
        return None if item.value.startswith("-") else parse_requirement(item.value).dependency(kind)
    match = _SPEC.match(item.value)
    if match is None:
        return Dependency(language="python", name="", normalised="", kind=kind, origin=item.value)
    if match["name"] in _KEPT:
        return None
    return Dependency(
        language="python",
        name=match["name"],
        normalised=normalised(match["name"]),
        constraint=match["constraint"].strip(),
        kind=kind,
        origin=CONDA,
        details=(("channel", match["channel"]),) if match["channel"] else (),
    )


def _rendered(dependency: Dependency) -> str:
    if dependency.origin != CONDA:
        return render_requirement(dependency)
    channel = dict(dependency.details).get("channel")
    return f"{channel}::" * bool(channel) + dependency.name + dependency.constraint
