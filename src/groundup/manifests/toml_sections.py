"""Editing TOML: tables whose keys are dependencies, companions of other declarations, and places for new keys."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from groundup.manifests import toml
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.lines import (
    deletions,
    inserted_lines,
    rearranged,
    whole_lines,
    with_blank_lines_below,
    with_touching_comments,
)
from groundup.manifests.records import Dependency, SectionKey
from groundup.manifests.sections import Companion, ManifestEntry, Section
from groundup.manifests.toml import Child, Table, TomlDocument, TomlMember, Value

Assignment = tuple[str, str]
"""A key, unquoted, and the text of its value."""


@dataclass(frozen=True)
class KeySection(Section):
    """A table whose keys are dependencies: `[dependencies]`, `[tool.poetry.dependencies]`, `[packages]`."""

    document: TomlDocument
    path: toml.Path
    key: SectionKey
    entries: Sequence[ManifestEntry]
    children: Sequence[Child]
    """One for each entry; an array of alternatives gives one child for several entries."""
    render: Callable[[Sequence[Dependency]], Assignment]
    """Makes one key of all dependencies of one name; called with one where a name stands once."""
    key_of: Callable[[Dependency], str] = lambda dependency: dependency.name

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave the entries *kept*, then *added*.

        A key that keeps only some of its alternatives, or gets another one, is written anew.
        """
        names = {self.key_of(item) for item in added}
        torn = {child.start for i, child in enumerate(self.children) if i not in kept or child.name in names}
        gone = [child for child in self.children if child.start in torn]
        renewed = [self.entries[i].dependency for i in kept if self.children[i].start in torn]
        by_key: dict[str, list[Dependency]] = {}
        for item in [*renewed, *added]:
            by_key.setdefault(self.key_of(item), []).append(item)
        new = [self.render(items) for items in by_key.values()]
        return removal(self.document, gone, new, self.path, comments=False)

    def clearing(self) -> list[Edit]:
        """Return the edits that remove all entries and the comments that touch them."""
        return removal(self.document, self.children, [], self.path, comments=True)


@dataclass(frozen=True)
class KeyCompanion(Companion):
    """A table with more about dependencies declared elsewhere, by name: `[tool.uv.sources]`."""

    document: TomlDocument
    path: toml.Path
    children: Mapping[str, Child]
    """By normalised name."""

    def pruning(self, is_gone: Callable[[str], bool]) -> list[Edit]:
        """Return the edits that remove the entries of the names that are gone."""
        gone = [child for name, child in self.children.items() if is_gone(name)]
        return removal(self.document, gone, [], self.path, comments=True) if gone else []


def removal(
    document: TomlDocument, gone: Sequence[Child], added: Sequence[Assignment], path: toml.Path, *, comments: bool
) -> list[Edit]:
    """Return the edits that take children out of the table at *path*, with *comments* on request, and add keys."""
    source = document.source
    spans: list[Span] = []
    owners: dict[int, tuple[Value, set[TomlMember]]] = {}
    for child in gone:
        if child.owner is not None:
            owners.setdefault(child.owner.span.start, (child.owner, set()))[1].update(child.members)
            continue
        spans += child_spans(source, child, comments=comments)
    home = inline_home(document, path) if added else None
    if home is not None:
        owners.setdefault(home.span.start, (home, set()))
    edits = deletions(spans)
    for owner, members in owners.values():
        new = [f"{toml.key(name)} = {value}" for name, value in added] if owner == home else []
        starts = {item.span.start for item in members}
        items = [item.span for item in owner.members or ()]
        edits.append(
            rearranged(source, owner.inner, items, [i for i in items if i.start in starts], new, inline=True)
        )
    return edits if home is not None or not added else edits + assignments(document, path, added)


def child_spans(source: Text, child: Child, *, comments: bool) -> list[Span]:
    """Return the lines that declare *child*: of its keys, and of its own tables with the blank lines below."""
    headed = [Span(table.header.start, table.content_end) for table in child.tables if table.header]
    spans = []
    for span in [member.span for member in child.members] + headed:
        lines = whole_lines(source, span)
        lines = with_touching_comments(source, lines) if comments else lines
        spans.append(with_blank_lines_below(source, lines) if span in headed else lines)
    return spans


def inline_home(document: TomlDocument, path: toml.Path) -> Value | None:
    """Return the inline table that is the value at *path*, or None."""
    value = document.value(*path) if path else None
    return value if value is not None and value.members is not None else None


def assignments(document: TomlDocument, path: toml.Path, added: Sequence[Assignment]) -> list[Edit]:
    """Return the edits that set new keys in the table at *path*, wherever that is, made when it is missing."""
    source = document.source
    inline = inline_home(document, path)
    if inline is not None:
        items = [item.span for item in inline.members or ()]
        new = [f"{toml.key(name)} = {value}" for name, value in added]
        return [rearranged(source, inline.inner, items, (), new, inline=True)]
    table = document.table(*path)
    if table is not None:
        lines = [f"{toml.key(name)} = {value}" for name, value in added]
        return inserted_lines(source, _after_content(source, table), _in_newlines(source, lines))
    dotted = _dotted_home(document, path)
    if dotted is not None:
        table, prefix, offset = dotted
        lines = [".".join(map(toml.key, (*prefix, name))) + f" = {value}" for name, value in added]
        return inserted_lines(source, offset, _in_newlines(source, lines))
    return _new_table(document, path, added)


def _after_content(source: Text, table: Table) -> int:
    return source.line_end(max(table.content_end - 1, 0)) if table.content_end else 0


def _in_newlines(source: Text, lines: Sequence[str]) -> list[str]:
    return [line.replace("\n", source.newline) for line in lines]


def _dotted_home(document: TomlDocument, path: toml.Path) -> tuple[Table, toml.Path, int] | None:
    """Return the table, the relative key and the offset where dotted keys below *path* stand, if any do."""
    for table in document.tables:
        rest = path[len(table.path) :]
        if table.array or not rest or path[: len(table.path)] != table.path:
            continue
        below = [member for member in table.members if member.keys[: len(rest)] == rest]
        if below:
            return table, rest, document.source.line_end(below[-1].span.end - 1)
    return None


def _new_table(document: TomlDocument, path: toml.Path, added: Sequence[Assignment]) -> list[Edit]:
    source = document.source
    lines = ["[" + ".".join(map(toml.key, path)) + "]", *(f"{toml.key(name)} = {value}" for name, value in added)]
    siblings = [table for table in document.tables if path[:-1] and table.path[: len(path) - 1] == path[:-1]]
    if siblings:
        offset = _after_content(source, siblings[-1])
        return inserted_lines(source, offset, _in_newlines(source, ["", *lines]))
    offset = len(source.text)
    blank = [""] if source.text.strip() and not source.text.endswith(("\n\n", "\r\n\r\n")) else []
    return inserted_lines(source, offset, _in_newlines(source, [*blank, *lines]))
