"""What stands inside what, found in one walk: asking a node for its parent costs its depth every time."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from tree_sitter import Node

_DEEPEST = 600
"""Levels of a syntax tree; nobody writes deeper sources, and reading them takes for ever."""


class Holder(NamedTuple):
    """A node that holds others, with the node that it belongs to."""

    node: Node
    parent: Node | None


def too_deep(root: Node) -> bool:
    """Whether a syntax tree is nested deeper than anybody writes."""
    return any(depth > _DEEPEST for depth, _, _ in _walk(root))


def holders(root: Node, kinds: Collection[str], holds: Callable[[Node, Node | None], bool]) -> dict[int, Holder]:
    """Map the id of every node of *kinds* to the innermost node around it that *holds* (node, its parent)."""
    around: list[tuple[int, Holder]] = []
    found: dict[int, Holder] = {}
    for depth, node, parent in _walk(root):
        while around and around[-1][0] >= depth:
            around.pop()
        if around and node.type in kinds:
            found[node.id] = around[-1][1]
        if holds(node, parent):
            around.append((depth, Holder(node, parent)))
    return found


def _walk(root: Node) -> Iterator[tuple[int, Node, Node | None]]:
    """Yield depth, node and parent, parents first."""
    cursor = root.walk()
    line: list[Node] = []
    while True:
        node = cursor.node
        if node is not None:
            yield len(line), node, line[-1] if line else None
            if cursor.goto_first_child():
                line.append(node)
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            line.pop()
