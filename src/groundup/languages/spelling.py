"""When two names mean one package: the rules from which each language's record has its own.

A client decides, not the registry: crates.io gives nobody `serde-derive` beside `serde_derive`, and Cargo finds
nothing under the other spelling. npm has old names with capitals beside those without.
"""

import re


def as_written(name: str) -> str:
    """Return the name itself: Cargo's and npm's rule."""
    return name


def lower(name: str) -> str:
    """Return it in lower case: NuGet's rule."""
    return name.lower()


def python_name(name: str) -> str:
    """Return the one spelling of PEP 503: lower case, and `-` for runs of `-`, `_` and `.`."""
    return re.sub(r"[-_.]+", "-", name).lower()
