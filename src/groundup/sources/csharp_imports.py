"""Every namespace that one C# file uses or declares."""

import re
from typing import NamedTuple

from groundup.sources.grammars import captures, line_of, parse, text_of

_QUERY = """
(using_directive) @using
(namespace_declaration name: (_) @namespace)
(file_scoped_namespace_declaration name: (_) @namespace)
"""
_USING = re.compile(
    r"(?:global\s+)?using\s+(?:static\s+)?(?:unsafe\s+)?(?:\w+\s*=\s*)?(?:global::)?([A-Za-z_][\w.]*)"
)
_RAZOR = re.compile(rb"^\s*@(?:using|inherits|inject)\s+(?:static\s+)?([A-Za-z_][\w.]*)", re.MULTILINE)


class CSharpFile(NamedTuple):
    """What one file says."""

    usings: list[tuple[str, int]]
    """Namespace (or type, for static and alias usings) and line."""
    namespaces: frozenset[str]


def csharp_imports(source: bytes, suffix: str = ".cs") -> CSharpFile:
    """Return the namespaces of UTF-8 *source*. Never fails: what cannot be parsed is left out."""
    if suffix in {".razor", ".cshtml"}:
        found = [
            (match.group(1).decode("ascii"), source.count(b"\n", 0, match.start(1)) + 1)
            for match in _RAZOR.finditer(source)
        ]
        return CSharpFile(found, frozenset())
    usings: list[tuple[str, int]] = []
    namespaces: set[str] = set()
    for name, node in captures("csharp", _QUERY, parse("csharp", source).root_node):
        if name == "namespace":
            namespaces.add("".join(text_of(node).split()))
        else:
            match = _USING.match(text_of(node))
            if match:
                usings.append((match.group(1), line_of(node)))
    return CSharpFile(usings, frozenset(namespaces))
