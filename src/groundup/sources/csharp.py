"""C#: from namespaces to packages, by a list of well-known packages."""

import re
from collections import defaultdict
from typing import NamedTuple

from groundup.grammars import captures, line_of, parse, text_of
from groundup.sources.files import SUFFIXES, SourceFiles
from groundup.sources.names import table
from groundup.sources.records import (
    EVIDENCE_KEPT,
    Evidence,
    Inference,
    InferredDependency,
    InferredKind,
    SourcePlace,
)

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
    """What one file uses and declares."""

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


_LIMITS = (
    "A namespace does not name its package: only well-known packages are recognised, and several packages can "
    "share one namespace.",
    "Analyzers, build tools, test adapters, source generators and packages reached by extension methods in a "
    "shared namespace leave no `using` and are missing.",
    "Versions and target frameworks are not inferred; references between projects are not dependencies here.",
)
_TEST = re.compile(
    r"(^|[/.])(tests?|specs?|unittests?|integrationtests?|testing|benchmarks?)([/.]|$)|tests?/|tests?\.cs$",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"(^|/)(samples?|examples?|demos?|docs?)/", re.IGNORECASE)


class CSharpUse(NamedTuple):
    """One using of a namespace."""

    path: str
    namespace: str
    line: int
    place: SourcePlace


def place_of(path: str, whole: bool) -> SourcePlace:
    """Decide by folder and project names."""
    if not whole:
        return SourcePlace.PACKAGE
    if _TEST.search(path):
        return SourcePlace.TEST
    return SourcePlace.EXAMPLE if _EXAMPLE.search(path) else SourcePlace.PACKAGE


def package_of(namespace: str) -> str | None:
    """Return the package that provides *namespace*; empty: the framework; None: not known."""
    known = table("csharp_names")
    parts = namespace.split(".")
    for length in range(len(parts), 0, -1):
        found = known.get(".".join(parts[:length]))
        if found is not None:
            return found
    return None


def infer_csharp(tree: SourceFiles) -> Inference:
    """Infer the packages that the C# part of *tree* needs."""
    sources = [source for source in tree.sources if source.suffix in SUFFIXES["csharp"]]
    files = {source.path: csharp_imports(source.data, source.suffix) for source in sources}
    own = frozenset().union(*(file.namespaces for file in files.values())) if files else frozenset[str]()
    parents = own | {namespace[:end] for namespace in own for end in _dots(namespace)}
    grouped: dict[str, list[CSharpUse]] = defaultdict(list)
    unknown: set[str] = set()
    for source in sources:
        for namespace, line in files[source.path].usings:
            if (source.lines is not None and line not in source.lines) or namespace in parents:
                continue
            package = package_of(namespace)
            if package:
                grouped[package].append(CSharpUse(source.path, namespace, line, place_of(source.path, tree.whole)))
            elif package is None and not any(namespace.startswith(f"{name}.") for name in own):
                unknown.add(namespace)
    return Inference(
        language="csharp",
        dependencies=tuple(
            sorted(
                (_judge(*item) for item in grouped.items()),
                key=lambda found: (list(InferredKind).index(found.kind), found.name),
            )
        ),
        unknown=tuple(sorted(unknown)),
        local=tuple(sorted({namespace.partition(".")[0] for namespace in own})),
        files=len(sources),
        cannot_know=_LIMITS,
    )


def _dots(namespace: str) -> list[int]:
    return [position for position, letter in enumerate(namespace) if letter == "."]


def _judge(name: str, uses: list[CSharpUse]) -> InferredDependency:
    uses = sorted(uses, key=lambda use: (list(SourcePlace).index(use.place), use.path, use.line))
    return InferredDependency(
        name=name,
        kind=InferredKind.RUNTIME if uses[0].place is SourcePlace.PACKAGE else InferredKind.DEV,
        imported=tuple(sorted({use.namespace for use in uses})[:20]),
        evidence=tuple(
            Evidence(path=use.path, line=use.line, imported=use.namespace, place=use.place)
            for use in uses[:EVIDENCE_KEPT]
        ),
        uses=len(uses),
    )
