"""The oldest Python that a package's syntax can run on: what can be seen, and nothing more."""

import re
from collections.abc import Iterable

from groundup.sources.grammars import captures, parse, text_of

_SIMPLE = (
    ("3.12", re.compile(rb"^\s*type \w+(\[[^\]]*\])? = ", re.MULTILINE)),
    ("3.11", re.compile(rb"^\s*except\s*\*", re.MULTILINE)),
    ("3.10", re.compile(rb"^\s*match .+:\s*(#.*)?\n\s+case .+:", re.MULTILINE)),
    ("3.8", re.compile(rb"[(\s]\w+ := ")),
)
_CONFIRMING = {"3.12": "type_alias_statement", "3.10": "match_statement", "3.8": "named_expression"}


def oldest_python(sources: Iterable[bytes]) -> str | None:
    """Return `>=3.x` for the newest syntax found, or None when none newer than 3.7 is seen."""
    best: tuple[int, ...] = (3, 7)
    for source in sources:
        for version, pattern in _SIMPLE:
            number = tuple(map(int, version.split(".")))
            if number > best and pattern.search(source) and _confirmed(source, version):
                best = number
    return f">={best[0]}.{best[1]}" if best > (3, 7) else None


def _confirmed(source: bytes, version: str) -> bool:
    """Whether the syntax tree agrees: the text may stand in a string."""
    kind = _CONFIRMING.get(version)
    root = parse("python", source).root_node
    if kind is None:
        clauses = captures("python", "(except_clause) @found", root)
        return any(re.match(r"except\s*\*", text_of(clause)) for _, clause in clauses)
    return bool(captures("python", f"({kind}) @found", root))
