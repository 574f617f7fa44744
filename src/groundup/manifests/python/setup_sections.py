"""Editing the places of a setup.py that hold requirements."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from groundup.manifests.brackets import BracketSection, rearranged
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.python.requirement import render_checked, render_requirement
from groundup.manifests.records import Dependency, SectionKey
from groundup.manifests.sections import Entry, Section


@dataclass(frozen=True)
class ListSection(BracketSection):
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
    entries: Sequence[Entry]
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
    entries: Sequence[Entry]
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
    """An expression that cannot be said. A mask empties it where its literals may name dependencies."""

    key: SectionKey
    entries: Sequence[Entry]
    span: Span
    literals: bool

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*."""
        return []

    def clearing(self) -> list[Edit]:
        """Return the edits that leave nothing declared."""
        return [Edit(*self.span, "[]")] if self.literals else []


def quoted(text: str) -> str:
    """Return *text* as a Python string literal."""
    return repr(text) if '"' in text or "\\" in text else f'"{text}"'


def quoted_checked(source: Text, dependency: Dependency, section_marker: str = "") -> str:
    """Return *dependency* as a literal of PEP 508 text, without the marker that its section says for it."""
    if section_marker:
        marker = dependency.marker.removesuffix(section_marker).removesuffix(" and ")
        dependency = dependency.model_copy(update={"marker": marker})
    return quoted(render_checked(dependency, source))
