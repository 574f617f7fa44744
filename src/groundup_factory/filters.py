"""Which repositories a set takes before anything is made of them: facts of a tree, and rules that a user sets.

A fact that is not known, such as the stars of a folder, breaks no rule: there is nothing to hold against it.
"""

import fnmatch
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.languages.formats import find_manifests
from groundup.manifests.records import Language
from groundup.suites.dibench.dataset import LANGUAGES
from groundup.suites.dibench.sizes import Size, source_size
from groundup.trees.walking import read_regular

UNKNOWN = "unknown"
_LICENCE_FILES = re.compile(r"(?:un)?licen[cs]e|copying", re.IGNORECASE)
_LICENCE_TEXTS = (
    ("AGPL-3.0", "gnu affero general public license version 3"),
    ("LGPL", "gnu lesser general public license"),
    ("GPL-3.0", "gnu general public license version 3"),
    ("GPL-2.0", "gnu general public license version 2"),
    ("MPL-2.0", "mozilla public license version 2 0"),
    ("Apache-2.0", "apache license version 2 0"),
    ("MIT", "permission is hereby granted free of charge to any person obtaining a copy"),
    ("ISC", "permission to use copy modify and or distribute this software for any purpose"),
    ("ISC", "permission to use copy modify and distribute this software for any purpose"),
    ("BSD-3-Clause", "redistribution and use in source and binary forms", "endorse or promote products"),
    ("BSD-2-Clause", "redistribution and use in source and binary forms"),
    ("Unlicense", "this is free and unencumbered software released into the public domain"),
    ("CC0-1.0", "cc0 1 0 universal"),
    ("BSL-1.0", "boost software license version 1 0"),
    ("Zlib", "the origin of this software must not be misrepresented"),
    ("PSF-2.0", "python software foundation license version 2"),
)
"""SPDX identifier, and what stands in its text, which other licences may quote: the first that fits."""
_STATED = re.compile(
    r"""^\s*["']?(?:license|PackageLicenseExpression)["']?\s*[=:]\s*(?:\{\s*text\s*=\s*)?["']([^"'\n]{2,40})["']"""
    r"|<PackageLicenseExpression>([^<\n]{2,40})<",
    re.MULTILINE,
)
_STATING = ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "Cargo.toml")
_FREE = re.compile(r"(?:MIT|Apache|0?BSD|ISC|MPL|[AL]?GPL|Unlicense|CC0|BSL|Zlib|PSF|Python)\b", re.IGNORECASE)


def licence_of(root: Path) -> str:
    """Return the licence of the repository at *root*: SPDX identifiers of its texts, or what its files state."""
    names = sorted(path.name for path in root.iterdir() if path.is_file() and not path.is_symlink())
    found = []
    for name in names:
        if _LICENCE_FILES.match(name):
            text = re.sub(r"[\W_]+", " ", read_regular(root / name).decode(errors="replace")).lower()
            found += [one[0] for one in _LICENCE_TEXTS if all(part in text for part in one[1:])][:1]
    if found:
        return " OR ".join(dict.fromkeys(found))
    for name in _STATING:
        if name in names:
            stated = _STATED.search(read_regular(root / name).decode(errors="replace"))
            if stated is not None:
                return (stated[1] or stated[2]).strip()
    return UNKNOWN


def allows_copies(licence: str) -> bool:
    """Whether a set that is given away may hold a copy: a licence that is known to allow it."""
    return _FREE.match(licence) is not None


class RepositoryFacts(Record):
    """What is known of a repository before anything is made of it."""

    language: Language | None = Field(default=None, description="of most of its source, of the known ones")
    licence: str = UNKNOWN
    size: Size = Size()
    has_workflows: bool = False
    moment: str | None = Field(default=None, description="of the commit or release, RFC 3339")
    stars: int | None = None

    @property
    def day(self) -> date | None:
        """The day of *moment*."""
        try:
            return datetime.fromisoformat(self.moment or "").date()
        except ValueError:
            return None


def facts_of(
    root: Path, moment: str | None = None, stars: int | None = None, language: Language | None = None
) -> RepositoryFacts:
    """Return the facts of the tree at *root*; without a *language* that of its largest part with a build file."""
    wanted = LANGUAGES if language is None else (language,)
    sizes = {one: source_size(root, one) for one in wanted if language is not None or find_manifests(root, one)}
    main = max(sizes, key=lambda one: (sizes[one].tokens, one), default=None)
    workflows = root / ".github" / "workflows"
    return RepositoryFacts(
        language=main,
        licence=licence_of(root),
        size=Size() if main is None else sizes[main],
        has_workflows=workflows.is_dir() and any(path.suffix in (".yml", ".yaml") for path in workflows.iterdir()),
        moment=moment,
        stars=stars,
    )


class FilterRules(Record):
    """What a set takes; the default takes everything."""

    languages: tuple[str, ...] = ()
    licences: tuple[str, ...] = Field(default=(), description="patterns, such as MIT and BSD*")
    min_lines: int = 0
    max_lines: int | None = None
    min_tests: int = Field(default=0, description="places where one is declared, as its sources show")
    ci: bool = Field(default=False, description="whether it must have workflows of GitHub")
    since: date | None = None
    until: date | None = None
    min_stars: int = 0


class FilteredError(TaskError):
    """A repository that a rule leaves out; *rule* names it."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


def refuse(facts: RepositoryFacts, rules: FilterRules) -> None:
    """Raise `FilteredError` where *facts* break one of *rules*: the first, in the order of the record."""
    for rule, broken in _RULES:
        sentence = broken(facts, rules)
        if sentence:
            raise FilteredError(rule, sentence)


def _by_language(facts: RepositoryFacts, rules: FilterRules) -> str:
    if rules.languages and facts.language not in rules.languages:
        found = facts.language or "none that is known"
        return f"its language is {found}; --language takes {_listed(rules.languages)}"
    return ""


def _by_licence(facts: RepositoryFacts, rules: FilterRules) -> str:
    folded = facts.licence.casefold()
    if rules.licences and not any(fnmatch.fnmatch(folded, one.casefold()) for one in rules.licences):
        return f"its licence is {facts.licence}; --licence takes {_listed(rules.licences)}"
    return ""


def _by_size(facts: RepositoryFacts, rules: FilterRules) -> str:
    lines = facts.size.lines
    if lines < rules.min_lines:
        return f"it has {lines} lines of source; --min-lines asks for {rules.min_lines}"
    if rules.max_lines is not None and lines > rules.max_lines:
        return f"it has {lines} lines of source; --max-lines allows {rules.max_lines}"
    return ""


def _by_tests(facts: RepositoryFacts, rules: FilterRules) -> str:
    found = facts.size.tests
    return f"its sources declare {found} tests; --min-tests asks for {rules.min_tests}" * (found < rules.min_tests)


def _by_ci(facts: RepositoryFacts, rules: FilterRules) -> str:
    return "it has no workflow of GitHub; --ci asks for one" * (rules.ci and not facts.has_workflows)


def _by_date(facts: RepositoryFacts, rules: FilterRules) -> str:
    day = facts.day
    if day is not None and rules.since is not None and day < rules.since:
        return f"its commit is of {day}; --since takes those from {rules.since} on"
    if day is not None and rules.until is not None and day > rules.until:
        return f"its commit is of {day}; --until takes those up to {rules.until}"
    return ""


def _by_stars(facts: RepositoryFacts, rules: FilterRules) -> str:
    if facts.stars is not None and facts.stars < rules.min_stars:
        return f"it has {facts.stars} stars; --min-stars asks for {rules.min_stars}"
    return ""


_RULES: Sequence[tuple[str, Callable[[RepositoryFacts, FilterRules], str]]] = (
    ("language", _by_language),
    ("licence", _by_licence),
    ("size", _by_size),
    ("tests", _by_tests),
    ("CI", _by_ci),
    ("date", _by_date),
    ("stars", _by_stars),
)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
