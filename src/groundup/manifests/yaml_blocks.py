"""YAML whose entries have lines of their own: block mappings and lists, edited by whole lines.

ruamel.yaml parses, and so judges validity. Flow style, anchors and explicit keys (`? a`) are valid, but an edit by
lines could tear them: `blocks` refuses them by line.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, SectionKey
from groundup.manifests.sections import ManifestEntry, Section, deletions, inserted_lines, with_touching_comments

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

_LEAD = re.compile(r" *(?:-[ \t]+)?")


@dataclass(frozen=True)
class YamlBlock:
    """A key with its value, or an item of a list, on lines of its own."""

    text: str
    """The key, or the item; empty for an item that is neither a scalar nor `key: value`."""
    value: "Node | None"
    """What stands behind the key; None for a scalar item."""
    lead: str
    """What the first line starts with: blanks, and the dash of an item."""
    span: Span
    """All lines, those of the value included."""

    @property
    def scalar(self) -> str | None:
        """The value where it is a scalar; None for a mapping or a list."""
        return None if self.value is None or isinstance(self.value.value, list) else str(self.value.value)


@dataclass(frozen=True)
class BlockSection(Section):
    """A list or a mapping of declarations."""

    source: Text
    key: SectionKey
    entries: Sequence[ManifestEntry]
    end: int
    """Where lines are added."""
    lead: str
    """What an added line starts with."""
    render: Callable[[Dependency], str]
    brackets: Span | None = None
    """Where nothing is declared and `[]` or `{}` is written, with the blanks before it."""

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*, a line for each."""
        gone = [entry.span for i, entry in enumerate(self.entries) if i not in kept]
        lines = [self.lead + self.render(item) for item in added]
        edits = deletions(gone) + inserted_lines(self.source, self.end, lines)
        return [Edit(*self.brackets), *edits] if added and self.brackets else edits

    def clearing(self) -> list[Edit]:
        """Return the edits that remove all entries and the comments that touch them."""
        return deletions([with_touching_comments(self.source, entry.span) for entry in self.entries])


def top_level(source: Text) -> Iterator[YamlBlock]:
    """Yield the keys of all documents. Raises `ManifestError`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        documents = list(YAML(typ="safe", pure=True).compose_all(source.text))
    except MarkedYAMLError as error:
        offset = error.problem_mark.index if error.problem_mark else None
        raise source.error(
            f"is not valid YAML: {error.problem or error.context}; mend the file", offset
        ) from error
    except (YAMLError, ValueError) as error:
        raise source.error(f"is not valid YAML: {str(error).splitlines()[0]}; mend the file") from error
    except RecursionError as error:
        raise source.error("is nested too deeply to be read as YAML") from error
    for document in documents:
        yield from blocks(source, document)


def blocks(source: Text, node: "Node | None") -> list[YamlBlock]:
    """Return the entries of a mapping or a list; none where nothing is written. Raises `ManifestError`."""
    if node is None or (not node.value and node.anchor is None):
        return []
    if node.anchor is not None or not _is_block(node):
        raise source.error("is not written in block style; write one name per line", node.start_mark.index)
    return [_block(source, item if isinstance(item, tuple) else (item,)) for item in node.value]


def brackets(source: Text, block: YamlBlock) -> Span | None:
    """Return the span of the `[]` or `{}` behind a key, with the blanks before it, or None."""
    if block.value is None or block.value.value != []:
        return None
    start, end = block.value.start_mark.index, block.value.end_mark.index
    return Span(len(source.text[:start].rstrip()), end)


def _block(source: Text, nodes: "tuple[Node, ...]") -> YamlBlock:
    """Return the entry of a key and its value, or of the one node of an item."""
    head = nodes[0]
    start = source.line_start(head.start_mark.index)
    lead = source.text[start : head.start_mark.index]
    if not _LEAD.fullmatch(lead) or ("-" in lead) == (len(nodes) == 2):
        raise source.error(
            "has an entry without a line of its own; write one name per line", head.start_mark.index
        )
    span = Span(start, source.line_end(max(_end(source, node) for node in nodes) - 1))
    if len(nodes) == 1 and _is_block(head) and len(head.value) == 1 and isinstance(head.value[0], tuple):
        nodes = head.value[0]
    text = nodes[0].value
    value = nodes[1] if len(nodes) == 2 else None if isinstance(text, str) else nodes[0]
    return YamlBlock(text if isinstance(text, str) else "", value, lead, span)


def _is_block(node: "Node") -> bool:
    """Whether *node* is a mapping or a list without brackets."""
    return isinstance(node.value, list) and getattr(node, "flow_style", None) is False


def _end(source: Text, node: "Node") -> int:
    """Return where the text of *node* ends. The end mark of a block lies behind the comments that follow it."""
    if node.anchor is not None:
        raise source.error("uses an anchor, which cannot be edited; write the value out", node.start_mark.index)
    if _is_block(node):
        below = (part for item in node.value for part in (item if isinstance(item, tuple) else (item,)))
        return max((_end(source, part) for part in below), default=0)
    start, end = node.start_mark.index, node.end_mark.index
    return len(source.text[:end].rstrip()) if end > start else 0
