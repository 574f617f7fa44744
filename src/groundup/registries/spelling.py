"""When two names are one package: the rule of each language's client, in one place.

A client decides, not the registry: crates.io gives nobody `serde-derive` beside `serde_derive`, and Cargo finds
nothing under the other spelling. npm has old names with capitals beside those without.
"""

import re
from collections.abc import Callable, Mapping

from groundup.languages import DependencyLanguage


def python_name(name: str) -> str:
    """Return the one spelling of PEP 503: lower case, and `-` for runs of `-`, `_` and `.`."""
    return re.sub(r"[-_.]+", "-", name).lower()


_RULES: Mapping[DependencyLanguage, Callable[[str], str]] = {
    "python": python_name,
    "csharp": str.lower,
    "javascript": str,
    "rust": str,
}


def canonical_name(language: DependencyLanguage, name: str) -> str:
    """Return what is equal for two names exactly when a manifest of *language* means one package by both."""
    return _RULES[language](name)


def imported_name(language: DependencyLanguage, name: str) -> str:
    """Return the same for names of which one may come from source code: Rust writes `-` as `_` there."""
    return name.replace("-", "_") if language == "rust" else canonical_name(language, name)


def name_in_index(name: str) -> str:
    """Return what all spellings of a crate's name have in common: an index takes no two of them."""
    return name.lower().replace("_", "-")
