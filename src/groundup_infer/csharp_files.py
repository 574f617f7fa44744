"""What one C# source file opens, declares and mentions."""

import re
from typing import NamedTuple

from groundup.grammars import captures, line_of, parse, text_of
from groundup.sources.files import SourceFile
from groundup_infer.csharp_packages import TEST_ATTRIBUTES

_QUERY = """
(using_directive) @using
(namespace_declaration name: (_) @namespace)
(file_scoped_namespace_declaration name: (_) @namespace)
(class_declaration name: (identifier) @type)
(struct_declaration name: (identifier) @type)
(interface_declaration name: (identifier) @type)
(enum_declaration name: (identifier) @type)
(record_declaration name: (identifier) @type)
(delegate_declaration name: (identifier) @type)
(method_declaration name: (identifier) @type parameters: (parameter_list . (parameter . (modifier) @this))
  (#eq? @this "this"))
"""
_USING = re.compile(
    r"(global\s+)?using\s+(?:static\s+)?(?:unsafe\s+)?(?:\w+\s*=\s*)?(?:global::)?([A-Za-z_][\w.]*)"
)
_RAZOR = re.compile(rb"^[ \t]*@(?:using|inherits|inject)\s+(?:static\s+)?([A-Za-z_][\w.]*)", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*//[^\n]*", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w+")
_ATTRIBUTE = re.compile(rb"\[\s*(?:\w+\.)*(\w+)")
_LONGEST = 300
"""Characters of a namespace; nobody writes a longer one."""
_MOST = 100
"""Namespaces that a file may declare before its types count for none of them; their products would be large."""


class CSharpFile(NamedTuple):
    """What one file opens, declares and mentions."""

    usings: list[tuple[str, int]]
    """Namespace (or type, for static and alias usings) and line."""
    namespaces: frozenset[str]
    types: frozenset[str] = frozenset()
    """Names of types and of extension methods."""
    shared: frozenset[str] = frozenset()
    """Those of `usings` that are open in all files of the project."""


def csharp_imports(source: bytes, suffix: str = ".cs") -> CSharpFile:
    """Return what UTF-8 *source* opens and declares. Never fails: what cannot be parsed is left out."""
    if suffix in {".razor", ".cshtml"}:
        found = [
            (match.group(1).decode("ascii"), source.count(b"\n", 0, match.start(1)) + 1)
            for match in _RAZOR.finditer(source)
        ]
        return CSharpFile(found, frozenset())
    usings: list[tuple[str, int]] = []
    namespaces: set[str] = set()
    types: set[str] = set()
    shared: set[str] = set()
    for name, node in captures("csharp", _QUERY, parse("csharp", source).root_node):
        if name == "namespace":
            namespaces.update(name for name in ["".join(text_of(node).split())] if len(name) <= _LONGEST)
        elif name == "type":
            types.add(text_of(node))
        elif name == "using":
            match = _USING.match(text_of(node))
            if match and len(match.group(2)) <= _LONGEST:
                usings.append((match.group(2), line_of(node)))
                if match.group(1):
                    shared.add(match.group(2))
    counted = types if len(namespaces) <= _MOST else ()
    return CSharpFile(usings, frozenset(namespaces), frozenset(counted), frozenset(shared))


def mentioned(source: SourceFile) -> frozenset[str]:
    """Return the identifiers in a file, without those of comments that fill a line."""
    code = _COMMENT.sub(b"", source.data)
    return frozenset(word.decode("ascii", "replace") for word in _WORD.findall(code))


def test_attributes(source: SourceFile) -> frozenset[str]:
    """Return the attributes by which a test framework would find tests in the file."""
    found = {match[1].decode("ascii", "replace") for match in _ATTRIBUTE.finditer(source.data)}
    return TEST_ATTRIBUTES & found


def line_with(source: SourceFile, word: str) -> int:
    """Return the first line that has *word*, 1 where none has."""
    match = re.search(rb"\b" + re.escape(word.encode()) + rb"\b", source.data)
    return source.data.count(b"\n", 0, match.start()) + 1 if match else 1
