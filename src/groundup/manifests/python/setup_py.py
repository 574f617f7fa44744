"""setup.py, read without being run: lists, names, joined and conditional values; the rest is said to be unsaid."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from groundup.manifests.brackets import rearranged
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.python.requirement import Requirement508, is_valid, parse_requirement
from groundup.manifests.python.setup_sections import (
    ArgumentSection,
    ListSection,
    OpaqueSection,
    TextSection,
    quoted,
    quoted_checked,
)
from groundup.manifests.records import Dependency, Kind, Language, Note, SectionKey
from groundup.manifests.sections import Entry, Scan, Section, SpanFormat

if TYPE_CHECKING:
    import libcst

    from groundup.manifests.python.setup_values import Found, Item, SetupModule

_ARGUMENTS = {
    "install_requires": Kind.RUNTIME,
    "requires": Kind.RUNTIME,
    "setup_requires": Kind.BUILD,
    "tests_require": Kind.TEST,
}
_COMMENT = re.compile(r"\s+#.*$")
_SHOWN = 60


class SetupPy(SpanFormat):
    """The program that setuptools runs."""

    name = "setup.py"
    language: Language = "python"
    masked_kinds = frozenset(Kind) - {Kind.BUILD}

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called setup.py."""
        return path.name == "setup.py"

    def scan(self, source: Text) -> Scan:
        """Follow the arguments of setup(). Raises `ManifestError` for a file that is no Python."""
        if "setup" not in source.text:
            return Scan(source)
        from groundup.manifests.python.setup_values import SetupModule

        module = SetupModule(source)
        found = _Findings(source)
        for key, node in _values(module, found):
            for place in module.places(node):
                found.take(key, place)
        return Scan(source, found.apart(), found.notes)

    def home_in(self, scan: Scan, dependency: Dependency) -> SectionKey:
        """Return the argument or the extra, that for its marker (`"extra:marker"`) where there is one."""
        for section in scan.sections:
            key = section.key
            fits = (key.kind, key.group) == (dependency.kind, dependency.group)
            if fits and key.marker and dependency.marker.endswith(key.marker):
                return key
        return SectionKey(dependency.kind, dependency.group)

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Add a keyword argument to the call of setup(). Raises `ManifestError`."""
        names = {kind: name for name, kind in _ARGUMENTS.items() if name != "requires"}
        names[Kind.OPTIONAL] = "extras_require"
        from groundup.manifests.python.setup_values import SetupModule

        module = SetupModule(scan.source)
        call = module.setup_call()
        if key.kind not in names or call is None:
            return super().create(scan, key, added)
        if names[key.kind] in call.keywords:
            return self._new_extra(scan, module, key, added)
        indent = call.indent or "    "
        body = "".join(f"{indent}    {quoted_checked(scan.source, item)},\n" for item in added)
        value = f"[\n{body}{indent}]"
        if key.kind is Kind.OPTIONAL:
            value = f"{{{quoted(key.group)}: {value}}}"
        lead = "" if call.comma else ","
        text = f"{lead}\n{indent}{names[key.kind]}={value},".replace("\n", scan.source.newline)
        return [Edit(call.insertion, call.insertion, text)]

    def _new_extra(
        self, scan: Scan, module: "SetupModule", key: SectionKey, added: Sequence[Dependency]
    ) -> list[Edit]:
        """Return the edit that adds a key to the dictionary of extras. Raises `ManifestError` without one."""
        found = module.extras_dictionary() if key.kind is Kind.OPTIONAL else None
        if found is None:
            return super().create(scan, key, added)
        inner, items = found
        texts = ", ".join(quoted_checked(scan.source, item) for item in added)
        return [rearranged(scan.source, inner, items, (), [f"{quoted(key.group)}: [{texts}]"])]


class _Findings:
    """Turns places into sections and notes; a place that several arguments share counts for the first."""

    def __init__(self, source: Text) -> None:
        self.source = source
        self._spans: list[tuple[Span, Section]] = []
        self.notes: list[Note] = []
        self._taken: dict[Span, SectionKey] = {}

    def take(self, key: SectionKey, place: "Found") -> None:
        """Add one place; a list that others pick from holds versions, not requests."""
        key = SectionKey(Kind.CONSTRAINT) if place.shape == "pool" else key
        if place.span in self._taken:
            other = self._taken[place.span]
            if other != key:
                self.note("reference", f"{_named(key)} are also those of {_named(other)}", place.span, key)
            return
        self._taken[place.span] = key
        if place.shape == "file":
            for file in place.files:
                self.note("reference", f"{key.kind} dependencies are read from {file}", place.span, key, file)
        elif place.shape == "opaque":
            self.cannot_say(key, place.span)
            self._add(place.span, OpaqueSection(key, (), place.span, literals=place.literals))
        elif place.shape == "text":
            self._add(place.span, TextSection(self.source, key, self._lines(key, place), place.span))
        elif place.shape == "argument":
            self._add(place.span, ArgumentSection(self.source, key, self._entries(key, place.items), place.span))
        else:
            self._add(place.span, self._list(key, place))

    def _list(self, key: SectionKey, place: "Found") -> Section:
        entries = self._entries(key, place.items)
        declared = {entry.span for entry in entries}
        bare = place.shape == "bare"
        return ListSection(
            self.source,
            key,
            entries,
            inner=place.span if bare else Span(place.span.start + 1, place.span.end - 1),
            render=partial(quoted_checked, self.source, section_marker=key.marker),
            fixed=[item.span for item in place.items if item.span not in declared],
            references=[item.span for item in place.items if item.reference],
            bare=bare,
        )

    def _add(self, span: Span, section: Section) -> None:
        self._spans.append((span, section))

    def apart(self) -> list[Section]:
        """Return the sections without unsaid expressions that others stand inside of, or inside of others."""
        said = [span for span, section in self._spans if not isinstance(section, OpaqueSection)]
        return [
            section
            for span, section in self._spans
            if not isinstance(section, OpaqueSection)
            or not any(span.start < other.end and other.start < span.end for other in said)
        ]

    def cannot_say(self, key: SectionKey, span: Span) -> None:
        """Note an expression that only running the file would tell."""
        text = " ".join(self.source.text[span.start : span.end].split())
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        self.note("cannot-say", f"{key.kind} dependencies are computed: {shown}", span, key)

    def note(self, topic: str, message: str, span: Span, key: SectionKey, target: str = "") -> None:
        """Add a note."""
        values = {"topic": topic, "message": message, "line": self.source.line_of(span.start)}
        self.notes.append(Note.model_validate({**values, "kind": key.kind, "group": key.group, "target": target}))

    def _entries(self, key: SectionKey, items: Sequence["Item"]) -> list[Entry]:
        entries = []
        for item in items:
            text = None if item.text is None else _COMMENT.sub("", item.text).strip()
            if text:
                entries.append(Entry(self._dependency(key, parse_requirement(text), item.span), item.span))
            elif item.text is None and not item.reference:
                self.cannot_say(key, item.span)
        return entries

    def _dependency(self, key: SectionKey, parsed: Requirement508, span: Span) -> Dependency:
        marker = " and ".join(part for part in (parsed.marker, key.marker) if part)
        return parsed.dependency(
            key.kind,
            key.group,
            marker=marker,
            text=self.source.text[span.start : span.end],
            location=self.source.location(span),
        )

    def _lines(self, key: SectionKey, place: "Found") -> list[Entry]:
        """Return the requirements in a text: one per line, or words where a line is no requirement."""
        entries = []
        for line in (place.items[0].text or "").splitlines():
            text = _COMMENT.sub("", " " + line).strip()
            words = text.split()
            pieces = words if len(words) > 1 and not is_valid(text) and all(map(is_valid, words)) else [text]
            found = (parse_requirement(piece) for piece in pieces if piece and not piece.startswith("#"))
            entries += [Entry(self._dependency(key, item, place.span), place.span) for item in found]
        return entries


def _values(module: "SetupModule", found: _Findings) -> Iterator[tuple[SectionKey, "libcst.BaseExpression"]]:
    """Yield the expressions that are lists of requirements, with their keys."""
    for name, node in module.arguments():
        if name in _ARGUMENTS:
            yield SectionKey(_ARGUMENTS[name]), node
        elif name == "extras_require":
            for extra, value in module.members(node):
                yield _extra_key(extra), value
            if not module.is_readable_dictionary(node):
                found.cannot_say(SectionKey(Kind.OPTIONAL), module.span(node))


def _named(key: SectionKey) -> str:
    return f"{key.kind} dependencies" + (f" of {key.group!r}" if key.group else "")


def _extra_key(extra: str) -> SectionKey:
    group, _, marker = extra.partition(":")
    return SectionKey(Kind.OPTIONAL if group else Kind.RUNTIME, group, marker)
