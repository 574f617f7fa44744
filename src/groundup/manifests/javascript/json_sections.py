"""Sections of a JSON document: objects whose members, and arrays whose elements, are declarations."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.javascript.json_tree import JsonDocument, Node, bracketed
from groundup.manifests.records import Dependency, SectionKey
from groundup.manifests.sections import ManifestEntry, Section


@dataclass(frozen=True)
class BracketedList:
    """The members of one object, or the elements of one array, as spans between two brackets."""

    document: JsonDocument
    inner: Span
    items: Sequence[Span]

    def rewriting(self, kept: Collection[int], added: Sequence[str]) -> list[Edit]:
        """Return the edits that leave the items of index in *kept*, then *added*, laid out as the list was."""
        if len(kept) == len(self.items) and not added:
            return []
        return self._among_kept(kept, added) if kept else self._from_nothing(added)

    def _among_kept(self, kept: Collection[int], added: Sequence[str]) -> list[Edit]:
        last = max(kept)
        edits = [
            Edit(item.start, self.items[i + 1].start) if i < last else Edit(self.items[i - 1].end, item.end)
            for i, item in enumerate(self.items)
            if i not in kept
        ]
        end = self.items[last].end
        between = self._between()
        return [Edit(end, end, "".join(f",{between}{item}" for item in added)), *edits] if added else edits

    def _from_nothing(self, added: Sequence[str]) -> list[Edit]:
        if not added:
            return [Edit(*self.inner)]
        if self.items:
            body = f",{self._between()}".join(added)
            return [Edit(self.items[0].start, self.items[-1].end, body)]
        indent = self.document.source.indent_at(self.inner.start)
        return [Edit(*self.inner, bracketed(added, self.document, indent))]

    def _between(self) -> str:
        """Return what stands after a comma."""
        text: Text = self.document.source
        if len(self.items) > 1:
            return text.text[self.items[-2].end : self.items[-1].start].partition(",")[2]
        lead = text.text[self.inner.start : self.items[0].start]
        return lead if "\n" in lead else self.document.space


@dataclass(frozen=True)
class ListSection(Section):
    """The declarations of one object or array. A key that is written twice counts once: the last one."""

    document: JsonDocument
    key: SectionKey
    node: Node
    entries: Sequence[ManifestEntry]
    render: Callable[[Dependency], str]

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*."""
        new = [self.render(item) for item in added]
        if self.node.members is None and self.node.items is None:  # null stands where an object belongs
            indent = self.document.source.indent_at(self.node.span.start)
            return [Edit(*self.node.span, "{" + bracketed(new, self.document, indent) + "}")] if new else []
        if self.node.members is not None:
            gone = {self._name(entry) for i, entry in enumerate(self.entries) if i not in kept}
            staying = [i for i, item in enumerate(self.node.members) if item.key not in gone]
            spans = [item.span for item in self.node.members]
        else:
            starts = {entry.span.start for i, entry in enumerate(self.entries) if i not in kept}
            staying = [i for i, item in enumerate(self.node.items or ()) if item.span.start not in starts]
            spans = [item.span for item in self.node.items or ()]
        return BracketedList(self.document, self.node.inner, spans).rewriting(staying, new)

    def clearing(self) -> list[Edit]:
        """Return the edits that leave nothing between the brackets."""
        nothing = not (self.node.members or self.node.items)
        return [] if nothing else [Edit(*self.node.inner)]

    def _name(self, entry: ManifestEntry) -> str:
        return next(item.key for item in self.node.members or () if item.span == entry.span)


@dataclass(frozen=True)
class PeerSection(ListSection):
    """`peerDependencies` with their entries in `peerDependenciesMeta`: both go and come together."""

    meta: Node | None
    render_meta: Callable[[Dependency], str | None]

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits to both objects."""
        edits = super().rewriting(kept, added)
        if self.meta is None or self.meta.members is None:
            return edits
        gone = {self._name(entry) for i, entry in enumerate(self.entries) if i not in kept}
        staying = [i for i, item in enumerate(self.meta.members) if item.key not in gone]
        new = [text for text in map(self.render_meta, added) if text is not None]
        spans = [item.span for item in self.meta.members]
        return edits + BracketedList(self.document, self.meta.inner, spans).rewriting(staying, new)

    def clearing(self) -> list[Edit]:
        """Return the edits that empty both objects."""
        meta = [Edit(*self.meta.inner)] if self.meta and self.meta.members else []
        return super().clearing() + meta


@dataclass(frozen=True)
class ShadowedSection(Section):
    """An object that declares nothing: its key is written again below, or nothing refers to it.

    Its names would leak, so a mask empties it. Its key must be no declaration's home.
    """

    key: SectionKey
    node: Node
    entries: Sequence[ManifestEntry] = ()

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return no edits: nothing is declared here."""
        return []

    def clearing(self) -> list[Edit]:
        """Return the edits that leave nothing between the brackets."""
        return [Edit(*self.node.inner)] if self.node.members or self.node.items else []
