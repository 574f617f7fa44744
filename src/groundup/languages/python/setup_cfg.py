"""setup.cfg: setuptools' and pbr's requirement lists as INI text with spans, read and edited."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from groundup.languages.python.requirement import parse_requirement, render_checked
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, DependencyKind, Language, Note, SectionKey
from groundup.manifests.sections import (
    ManifestEntry,
    ManifestFormat,
    Scan,
    Section,
    deletions,
    inserted_lines,
    with_touching_comments,
)

_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]")
_OPTION = re.compile(r"(?P<key>[^\s=:][^=:]*?)[ \t]*[=:][ \t]*")


@dataclass(frozen=True)
class Line:
    """One line of a value without blanks around it; comments and blank lines are no lines of a value."""

    text: str
    span: Span


@dataclass
class Option:
    """`key = value`, with further lines of the value indented below."""

    key: str
    start: int
    value_start: int
    """Offset after the sign and the blanks behind it."""
    end: int
    """Offset after the last line of the value, line end not included."""
    lines: list[Line] = field(default_factory=list)

    @property
    def inline(self) -> bool:
        """Whether the value starts on the line of the key."""
        return bool(self.lines) and self.lines[0].span.start == self.value_start


@dataclass
class IniSection:
    """What stands below one `[header]`."""

    name: str
    header: Span
    options: list[Option] = field(default_factory=list)
    end: int = 0
    """Offset after the last line that is not blank or a comment, line end included."""

    def option(self, key: str) -> Option | None:
        """Return the option of *key*, where `-` and `_` are the same, or None."""
        return next((item for item in self.options if item.key.replace("-", "_") == key), None)


def parse_ini(source: Text) -> list[IniSection]:
    """Return the sections of *source*. Raises `ManifestError` for a line that configparser would refuse."""
    sections: list[IniSection] = []
    option: Option | None = None
    at = 0
    while at < len(source.text):
        end = source.line_end(at)
        line = source.text[at:end]
        content = line.rstrip()
        stripped = content.strip()
        span = Span(at + len(content) - len(content.lstrip()), at + len(content))
        if not stripped or stripped[0] in "#;":
            pass
        elif line[0] in " \t" and option is not None:
            option.lines.append(Line(stripped, span))
            option.end = span.end
        elif header := _SECTION.match(stripped):
            sections.append(IniSection(header["name"], span))
            option = None
        elif not sections:
            raise source.error("has a line before its first [section]; is this an INI file?", at)
        else:
            option = _option(source, content, span)
            sections[-1].options.append(option)
        if stripped and stripped[0] not in "#;" and sections:
            sections[-1].end = end
        at = end
    return sections


def _option(source: Text, content: str, span: Span) -> Option:
    match = _OPTION.match(source.text, span.start, span.end)
    if match is None:
        raise source.error(
            f"is not valid INI: {content.strip()[:60]!r} is neither a section nor key = value", span.start
        )
    option = Option(match["key"].strip(), span.start, match.end(), span.end)
    if match.end() < span.end:
        option.lines.append(Line(source.text[match.end() : span.end], Span(match.end(), span.end)))
    return option


_OPTIONS = {
    ("options", "install_requires"): DependencyKind.RUNTIME,
    ("options", "setup_requires"): DependencyKind.BUILD,
    ("options", "tests_require"): DependencyKind.TEST,
    ("metadata", "requires_dist"): DependencyKind.RUNTIME,
    ("metadata", "setup_requires_dist"): DependencyKind.BUILD,
}
_EXTRAS = ("options.extras_require", "extras")
_MARKER = re.compile(
    r"\s*\(*\s*(?:python_version|python_full_version|os_name|sys_platform|platform_\w+|implementation_\w+|extra|['\"])"
)
_COMMENT = re.compile(r"\s+#.*$")


class SetupCfg(ManifestFormat):
    """The declarative file of setuptools."""

    name = "setup.cfg"
    language: Language = "python"
    masked_kinds = frozenset(DependencyKind) - {DependencyKind.BUILD}

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called setup.cfg."""
        return path.name == "setup.cfg"

    def scan(self, source: Text) -> Scan:
        """Find the lists of requirements. Raises `ManifestError`."""
        sections: list[Section] = []
        notes: list[Note] = []
        for key, option in _lists(parse_ini(source)):
            file = option.lines[0].text if option.lines else ""
            if file.startswith("file:"):
                notes += _references(source, key, option)
            elif file.startswith("attr:"):
                line = source.line_of(option.start)
                notes.append(Note(topic="cannot-say", message=f"{option.key} is computed: {file}", line=line))
            else:
                sections.append(_section(source, key, option))
                notes += _interpolations(source, key, option)
        return Scan(source, sections, notes)

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Add the option, and its section when there is none. Raises `ManifestError`."""
        source = scan.source
        names = {
            DependencyKind.RUNTIME: "install_requires",
            DependencyKind.BUILD: "setup_requires",
            DependencyKind.TEST: "tests_require",
        }
        section_name = _EXTRAS[0] if key.kind is DependencyKind.OPTIONAL else "options"
        option = key.group if key.kind is DependencyKind.OPTIONAL else names.get(key.kind)
        if not option:
            return super().create(scan, key, added)
        lines = [f"{option} =", *(f"    {render_checked(item, source)}" for item in added)]
        for section in parse_ini(source):
            if section.name == section_name:
                existing = section.option(option.replace("-", "_"))
                if existing is not None:
                    raise source.error(
                        f"{option} is given by other means; add {added[0].name} there", existing.start
                    )
                return inserted_lines(source, section.end, lines)
        blank = [""] if source.text.strip() else []
        return inserted_lines(source, len(source.text), [*blank, f"[{section_name}]", *lines])


@dataclass(frozen=True)
class ValueSection(Section):
    """The value of one option: requirements on lines of their own, or on one line between semicolons."""

    source: Text
    key: SectionKey
    entries: Sequence[ManifestEntry]
    option: Option

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added* on lines of their own."""
        new = [render_checked(item, self.source) for item in added]
        if self.option.inline and kept and not added:
            return deletions([self._footprint(i) for i in range(len(self.entries)) if i not in kept])
        if self.option.inline:
            texts = [self._text(self.entries[i].span) for i in sorted(kept)]
            return [Edit(self.option.value_start, self.option.end, self._laid_out([*texts, *new]))]
        gone = [self._line(entry.span) for i, entry in enumerate(self.entries) if i not in kept]
        if not self.entries:
            return [Edit(self.option.value_start, self.option.end, self._laid_out(new))]
        indent = self.source.indent_at(self.entries[0].span.start)
        return deletions(gone) + inserted_lines(
            self.source, self._line(self.entries[-1].span).end, [indent + t for t in new]
        )

    def _footprint(self, index: int) -> Span:
        """Return what goes with an entry of a value that starts on the line of its key."""
        span = self.entries[index].span
        if self._line(span).start > self.option.value_start:
            return self._line(span)
        if len(self.option.lines) > 1:
            return span
        if index + 1 < len(self.entries):
            return Span(span.start, self.entries[index + 1].span.start)
        return Span(self.entries[index - 1].span.end, span.end)

    def clearing(self) -> list[Edit]:
        """Return the edits that empty the value, comments between and directly below its lines included."""
        start, end = self.option.value_start, self.option.end
        if not self.source.text[start:end].strip():
            return []
        last = self._line(Span(end - 1, end))
        below = Span(last.end, with_touching_comments(self.source, last).end)
        return [Edit(start, end), Edit(*below)]

    def _text(self, span: Span) -> str:
        return self.source.text[span.start : span.end]

    def _line(self, span: Span) -> Span:
        return Span(self.source.line_start(span.start), self.source.line_end(span.start))

    def _laid_out(self, texts: Sequence[str]) -> str:
        indent = self.source.newline + self.source.indent_at(self.option.start) + "    "
        return "".join(indent + text for text in texts)


def _lists(sections: Sequence[IniSection]) -> Iterator[tuple[SectionKey, Option]]:
    for section in sections:
        for option in section.options:
            key = option.key.replace("-", "_")
            if section.name in _EXTRAS:
                yield SectionKey(DependencyKind.OPTIONAL, option.key), option
            elif (section.name, key) in _OPTIONS:
                yield SectionKey(_OPTIONS[section.name, key]), option


def _section(source: Text, key: SectionKey, option: Option) -> Section:
    entries = []
    for line in option.lines:
        inline = option.inline and len(option.lines) == 1
        for piece in _pieces(line.text, line.span.start) if inline else [line.span]:
            text = _COMMENT.sub("", source.text[piece.start : piece.end])
            span = Span(piece.start, piece.start + len(text))
            if text.startswith("%("):
                continue
            parsed = parse_requirement(text)
            dependency = parsed.dependency(key.kind, key.group, text=text, location=source.location(span))
            entries.append(ManifestEntry(dependency, span))
    return ValueSection(source, key, entries, option)


def _pieces(text: str, start: int) -> list[Span]:
    """Return the requirements of a one-line list between semicolons, where a marker does not begin a new one."""
    found: list[Span] = []
    at = 0
    for piece in text.split(";"):
        stripped = piece.strip()
        if found and _MARKER.match(piece):
            found[-1] = Span(found[-1].start, start + at + len(piece.rstrip()))
        elif stripped:
            lead = len(piece) - len(piece.lstrip())
            found.append(Span(start + at + lead, start + at + lead + len(stripped)))
        at += len(piece) + 1
    return found


def _references(source: Text, key: SectionKey, option: Option) -> Iterator[Note]:
    listed = " ".join(line.text for line in option.lines).removeprefix("file:")
    for file in re.split(r"[,\s]+", listed.strip()):
        if file:
            message = f"{key.kind} dependencies are read from {file}"
            line = source.line_of(option.start)
            yield Note(topic="reference", message=message, line=line, target=file, kind=key.kind, group=key.group)


def _interpolations(source: Text, key: SectionKey, option: Option) -> Iterator[Note]:
    for line in option.lines:
        if line.text.startswith("%("):
            message = f"{option.key} includes {line.text}"
            at = source.line_of(line.span.start)
            yield Note(topic="reference", message=message, line=at, kind=key.kind, group=key.group)
