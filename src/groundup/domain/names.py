"""Telling a user which names would have been right."""

import difflib
from collections.abc import Iterable


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return a sentence for an unknown *name* of a *kind*: the nearest choice, or all of them."""
    known = sorted(choices)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if near:
        return f"unknown {kind} {name!r}; did you mean {near[0]!r}?"
    listed = ", ".join(known[:30]) + (", ..." if len(known) > 30 else "")
    return f"unknown {kind} {name!r}; choose from: {listed or '(none)'}"
