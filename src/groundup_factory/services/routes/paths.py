"""Declared routes: their paths in one form, `{}` for a parameter, and what stands inside what."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from tree_sitter import Node

_ANY_REST = "{*}"
_LONGEST = 1000

_ANGLES = re.compile(r"<(?:([^<>:/]+)(?:\([^<>]*\))?:)?([^<>/]+)>")
_BRACES = re.compile(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>(?:[^()]|\([^()]*\))*\)|\((?!\?)(?:[^()]|\([^()]*\))*\)")

_WORDS = re.compile(r"\((?:\?:|\?P<\w+>)?([\w-]+(?:\|[\w-]+)+)\)")
_MOST_WORDS = 20


def join(parts: Iterable[str]) -> str:
    """Join *parts* with one slash between them; a trailing slash stays, "" stands for nothing."""
    whole = ""
    for part in parts:
        if part:
            whole = f"{whole.rstrip('/')}/{part.lstrip('/')}"
    return whole[:_LONGEST] or "/"


def from_angles(path: str) -> str:
    """Read `<id>`, `<int:id>` and `<path:rest>`, of Flask and Django."""
    return _ANGLES.sub(lambda match: _ANY_REST if match.group(1) == "path" else "{}", path)


def from_braces(path: str) -> str:
    """Read `{id}`, `{id:[0-9]+}`, `{rest:path}`, `{+rest}`, `{?query}` and `**`."""
    read = _BRACES.sub(_one_brace, path)
    if read != path and read.endswith("/") and path.endswith("}"):
        read = read.removesuffix("/")  # an optional query stood there
    return re.sub(r"/\*\*?(?=$|/)", "/" + _ANY_REST, read)


def _one_brace(match: re.Match[str]) -> str:
    name, _, kind = match.group(1).partition(":")
    if name.startswith(("?", "&")):
        return ""
    if name == "*" or name.startswith(("+", "*")) or kind.strip() in ("path", ".*", ".+"):
        return _ANY_REST
    return "{}"


def from_regex(pattern: str) -> str:
    """Read a regular expression whose groups are parameters, of Django."""
    bare = pattern.removeprefix("^").removesuffix("$").removesuffix("\\Z").removesuffix("/?")
    return re.sub(r"\\(.)", r"\1", _NAMED_GROUP.sub("{}", bare))


def from_alternatives(pattern: str) -> list[str]:
    """Read a regular expression as `from_regex` does, once for each word of a group such as `(start|stop)`."""
    spelt = [pattern]
    while len(spelt) < _MOST_WORDS and (found := _WORDS.search(spelt[0])):
        words = found[1].split("|")[:_MOST_WORDS]
        spelt = [_WORDS.sub(word, one, count=1) for one in spelt for word in words]
    return [from_regex(one) for one in spelt]


_DEEPEST = 600
"""Levels of a syntax tree. People do not write deeper sources; generated ones would take minutes."""


class Holder(NamedTuple):
    """A node that holds others, with the node that it belongs to."""

    node: Node
    parent: Node | None


def too_deep(root: Node) -> bool:
    """Whether a syntax tree is nested deeper than real code is."""
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


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
ANY = "*"
"""Every method: the handler decides."""


class Route(NamedTuple):
    """One method on one path. Parameters are `{}`; `{*}` stands for any rest, slashes included."""

    method: str
    path: str
    framework: str
    file: str
    line: int
