"""setup.py, read and edited without being run; what only running it would show is noted."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from groundup.domain.errors import MissingExtraError
from groundup.languages.python.requirement import (
    Requirement508,
    is_valid,
    parse_requirement,
    render_checked,
    render_requirement,
)
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, DependencyKind, Language, Note, SectionKey
from groundup.manifests.sections import BracketSection, ManifestEntry, ManifestFormat, Scan, Section, rearranged

if TYPE_CHECKING:
    import libcst

    from groundup.languages.python.setup_values import FoundPlace, Item, SetupModule


@dataclass(frozen=True)
class SetupListSection(BracketSection):
    """A list, tuple or set. A mask takes out all that stands in it but references to other places."""

    references: Sequence[Span] = ()
    bare: bool = False
    """Whether it is a tuple without parentheses."""

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*."""
        if self.bare:
            texts = [entry.dependency.text for i, entry in enumerate(self.entries) if i in kept]
            texts += [self.source.text[span.start : span.end] for span in self.fixed]
            return [
                Edit(*self.inner, "(" + "".join(f"{text}, " for text in [*texts, *map(self.render, added)]) + ")")
            ]
        return super().rewriting(kept, added)

    def clearing(self) -> list[Edit]:
        """Return the edits that leave nothing declared."""
        if self.references and not self.bare:
            items = sorted({entry.span for entry in self.entries} | set(self.fixed))
            gone = [span for span in items if span not in self.references]
            return [rearranged(self.source, self.inner, items, gone, ())] if gone else []
        inside = self.source.text[self.inner.start : self.inner.end]
        return [Edit(*self.inner, "()" if self.bare else "")] if inside.strip() else []


@dataclass(frozen=True)
class TextSection(Section):
    """A string literal with one requirement per line."""

    source: Text
    key: SectionKey
    entries: Sequence[ManifestEntry]
    span: Span

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*."""
        texts = [render_requirement(self.entries[i].dependency) for i in sorted(kept)]
        texts += [render_checked(item, self.source) for item in added]
        newline = self.source.newline
        body = newline + newline.join(texts) + newline if texts else ""
        return [Edit(*self.span, f'"""{body}"""' if body else '""')]


@dataclass(frozen=True)
class ArgumentSection(Section):
    """`requirements.append("…")`, which becomes `requirements.extend([…])` when it changes."""

    source: Text
    key: SectionKey
    entries: Sequence[ManifestEntry]
    span: Span

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*."""
        call = self.source.text[self.span.start : self.span.end]
        owner = call[: call.index("(")].rpartition(".")[0]
        texts = [self.entries[i].dependency.text for i in sorted(kept)]
        texts += [quoted_checked(self.source, item) for item in added]
        return [Edit(*self.span, f"{owner}.extend([{', '.join(texts)}])")]


@dataclass(frozen=True)
class OpaqueSection(Section):
    """An expression whose value is unknown. A mask empties it where its literals may name dependencies."""

    key: SectionKey
    entries: Sequence[ManifestEntry]
    span: Span
    literals: bool

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        return []

    def clearing(self) -> list[Edit]:
        """Return the edits that leave nothing declared."""
        return [Edit(*self.span, "[]")] if self.literals else []


def quoted(text: str) -> str:
    """Return *text* as a Python string literal, whatever is in it."""
    plain = text.isprintable() and '"' not in text and "\\" not in text
    return f'"{text}"' if plain else repr(text)


def quoted_checked(source: Text, dependency: Dependency, section_marker: str = "") -> str:
    """Return *dependency* as a literal of PEP 508 text, without the marker that its section has already."""
    if section_marker:
        marker = dependency.marker.removesuffix(section_marker).removesuffix(" and ")
        dependency = dependency.but(marker=marker)
    return quoted(render_checked(dependency, source))


_ARGUMENTS = {
    "install_requires": DependencyKind.RUNTIME,
    "requires": DependencyKind.RUNTIME,
    "setup_requires": DependencyKind.BUILD,
    "tests_require": DependencyKind.TEST,
}
_COMMENT = re.compile(r"\s+#.*$")
_SHOWN = 60


class SetupPy(ManifestFormat):
    """The program that setuptools runs."""

    name = "setup.py"
    language: Language = "python"
    masked_kinds = frozenset(DependencyKind) - {DependencyKind.BUILD}

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called setup.py."""
        return path.name == "setup.py"

    def scan(self, source: Text) -> Scan:
        """Follow the arguments of setup(). Raises `ManifestError` for a file that is no Python."""
        if "setup" not in source.text:
            return Scan(source)
        module = _parsed(source)
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
        names[DependencyKind.OPTIONAL] = "extras_require"
        module = _parsed(scan.source)
        call = module.setup_call()
        if key.kind not in names or call is None:
            return super().create(scan, key, added)
        if names[key.kind] in call.keywords:
            return self._new_extra(scan, module, key, added)
        indent = call.indent or "    "
        body = "".join(f"{indent}    {quoted_checked(scan.source, item)},\n" for item in added)
        value = f"[\n{body}{indent}]"
        if key.kind is DependencyKind.OPTIONAL:
            value = f"{{{quoted(key.group)}: {value}}}"
        lead = "" if call.comma else ","
        text = f"{lead}\n{indent}{names[key.kind]}={value},".replace("\n", scan.source.newline)
        return [Edit(call.insertion, call.insertion, text)]

    def _new_extra(
        self, scan: Scan, module: "SetupModule", key: SectionKey, added: Sequence[Dependency]
    ) -> list[Edit]:
        """Return the edit that adds a key to the dictionary of extras. Raises `ManifestError` without one."""
        found = module.extras_dictionary() if key.kind is DependencyKind.OPTIONAL else None
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

    def take(self, key: SectionKey, place: "FoundPlace") -> None:
        """Add one place; a list that others pick from holds versions, not requests."""
        key = SectionKey(DependencyKind.CONSTRAINT) if place.shape == "pool" else key
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

    def _list(self, key: SectionKey, place: "FoundPlace") -> Section:
        entries = self._entries(key, place.items)
        declared = {entry.span for entry in entries}
        bare = place.shape == "bare"
        return SetupListSection(
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
        """Return the sections without unknown expressions that others stand inside of, or inside of others."""
        followed = [span for span, section in self._spans if not isinstance(section, OpaqueSection)]
        return [
            section
            for span, section in self._spans
            if not isinstance(section, OpaqueSection)
            or not any(span.start < other.end and other.start < span.end for other in followed)
        ]

    def cannot_say(self, key: SectionKey, span: Span) -> None:
        """Note an expression that only running the file would show."""
        text = " ".join(self.source.text[span.start : span.end].split())
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        self.note("cannot-say", f"{key.kind} dependencies are computed: {shown}", span, key)

    def note(self, topic: str, message: str, span: Span, key: SectionKey, target: str = "") -> None:
        values = {"topic": topic, "message": message, "line": self.source.line_of(span.start)}
        self.notes.append(Note.model_validate({**values, "kind": key.kind, "group": key.group, "target": target}))

    def _entries(self, key: SectionKey, items: Sequence["Item"]) -> list[ManifestEntry]:
        entries = []
        for item in items:
            text = None if item.text is None else _COMMENT.sub("", item.text).strip()
            if text:
                entries.append(ManifestEntry(self._dependency(key, parse_requirement(text), item.span), item.span))
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

    def _lines(self, key: SectionKey, place: "FoundPlace") -> list[ManifestEntry]:
        """Return the requirements in a text: one per line, or words where a line is no requirement."""
        entries = []
        for line in (place.items[0].text or "").splitlines():
            text = _COMMENT.sub("", " " + line).strip()
            words = text.split()
            pieces = words if len(words) > 1 and not is_valid(text) and all(map(is_valid, words)) else [text]
            found = (parse_requirement(piece) for piece in pieces if piece and not piece.startswith("#"))
            entries += [ManifestEntry(self._dependency(key, item, place.span), place.span) for item in found]
        return entries


def require_reader() -> None:
    """Raise `MissingExtraError` where what reads setup.py is not installed."""
    if find_spec("libcst") is None:
        raise MissingExtraError("setup.py is read by libcst; install it with pip install 'groundup[dibench]'")


def _parsed(source: Text) -> "SetupModule":
    """Return the module. Raises `ManifestError` for no Python, `MissingExtraError` without libcst."""
    require_reader()
    from groundup.languages.python.setup_values import SetupModule

    return SetupModule(source)


def _values(module: "SetupModule", found: _Findings) -> Iterator[tuple[SectionKey, "libcst.BaseExpression"]]:
    """Yield the expressions that are lists of requirements, with their keys."""
    for name, node in module.arguments():
        if name in _ARGUMENTS:
            yield SectionKey(_ARGUMENTS[name]), node
        elif name == "extras_require":
            for extra, value in module.members(node):
                yield _extra_key(extra), value
            if not module.is_readable_dictionary(node):
                found.cannot_say(SectionKey(DependencyKind.OPTIONAL), module.span(node))


def _named(key: SectionKey) -> str:
    return f"{key.kind} dependencies" + (f" of {key.group!r}" if key.group else "")


def _extra_key(extra: str) -> SectionKey:
    group, _, marker = extra.partition(":")
    return SectionKey(DependencyKind.OPTIONAL if group else DependencyKind.RUNTIME, group, marker)
