"""What one C# source file opens, declares and mentions."""

import re
from collections.abc import Mapping
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
_COMMENT = re.compile(rb"^[ \t]*//[^\n]*|/\*(?s:.*?)\*/", re.MULTILINE)
_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(if|elif|else|endif)\b")
_BESIDE: Mapping[str, Mapping[str, re.Pattern[bytes]]] = {
    ".fs": {
        "using": re.compile(rb"^[ \t]*open[ \t]+(?:type[ \t]+|global\.)?([A-Za-z_][\w.]*)", re.MULTILINE),
        "namespace": re.compile(
            rb"^[ \t]*(?:namespace|module)[ \t]+(?:rec[ \t]+)?([A-Za-z_][\w.]*)", re.MULTILINE
        ),
        "type": re.compile(
            rb"^[ \t]*(?:type|and|module)[ \t]+(?:private[ \t]+|internal[ \t]+)?(\w+)", re.MULTILINE
        ),
    },
    ".vb": {
        "using": re.compile(
            rb"^[ \t]*Imports[ \t]+(?:\w+[ \t]*=[ \t]*)?([A-Za-z_][\w.]*)", re.MULTILINE | re.IGNORECASE
        ),
        "namespace": re.compile(rb"^[ \t]*Namespace[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE | re.IGNORECASE),
        "type": re.compile(
            rb"^[ \t]*(?:\w+[ \t]+){0,4}(?:Class|Module|Structure|Interface|Enum)[ \t]+(\w+)",
            re.MULTILINE | re.IGNORECASE,
        ),
    },
}
"""Languages whose projects stand beside C#'s, without a grammar here: what opens and declares by lines."""
_WORD = re.compile(rb"[A-Za-z_]\w+")
_ATTRIBUTE = re.compile(rb"\[<?\s*(?:\w+\.)*(\w+)")
_ATTRIBUTE_OF_VB = re.compile(rb"<\s*(?:\w+\.)*(\w+)")
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
    if suffix in _BESIDE:
        return _by_lines(source, _BESIDE[suffix])
    usings: list[tuple[str, int]] = []
    namespaces: set[str] = set()
    types: set[str] = set()
    shared: set[str] = set()
    tree = parse("csharp", source)
    if tree.root_node.has_error and _DIRECTIVE.search(source):
        tree = parse("csharp", _with_first_branches(source))
    for name, node in captures("csharp", _QUERY, tree.root_node):
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


def _with_first_branches(source: bytes) -> bytes:
    """Return *source* as it is where each `#if` holds: a declaration in pieces is one again, its lines stay."""
    kept: list[bytes] = []
    taken: list[bool] = []
    for line in source.splitlines(keepends=True):
        directive = _DIRECTIVE.match(line)
        what = directive[1] if directive else b""
        if what == b"if":
            taken.append(True)
        elif what in (b"elif", b"else") and taken:
            taken[-1] = False
        elif what == b"endif" and taken:
            taken.pop()
        kept.append(line if directive is None and all(taken) else b"\n" * line.endswith(b"\n"))
    return b"".join(kept)


def _by_lines(source: bytes, patterns: Mapping[str, re.Pattern[bytes]]) -> CSharpFile:
    found = {
        what: [
            (match[1].decode("ascii", "replace"), source.count(b"\n", 0, match.start(1)) + 1)
            for match in pattern.finditer(source)
            if len(match[1]) <= _LONGEST
        ]
        for what, pattern in patterns.items()
    }
    namespaces = frozenset(name for name, _ in found["namespace"])
    types = frozenset(name for name, _ in found["type"]) if len(namespaces) <= _MOST else frozenset[str]()
    return CSharpFile(found["using"], namespaces, types)


def mentioned(source: SourceFile) -> frozenset[str]:
    """Return the identifiers in a file, without those of comments that fill a line."""
    code = _COMMENT.sub(b"", source.data)
    return frozenset(word.decode("ascii", "replace") for word in _WORD.findall(code))


def test_attributes(source: SourceFile) -> frozenset[str]:
    """Return the attributes by which a test framework would find tests in the file."""
    code = _COMMENT.sub(b"", source.data)
    pattern = _ATTRIBUTE_OF_VB if source.suffix == ".vb" else _ATTRIBUTE
    found = {match[1].decode("ascii", "replace") for match in pattern.finditer(code)}
    return TEST_ATTRIBUTES & found


def line_with(source: SourceFile, word: str) -> int:
    """Return the first line that has *word*, 1 where none has."""
    match = re.search(rb"\b" + re.escape(word.encode()) + rb"\b", source.data)
    return source.data.count(b"\n", 0, match.start()) + 1 if match else 1
