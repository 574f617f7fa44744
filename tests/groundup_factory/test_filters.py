"""Which repositories a set takes: facts of a tree, and every rule with its sentence."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from groundup.suites.dibench.sizes import Size
from groundup_factory.filters import (
    FilteredError,
    FilterRules,
    RepositoryFacts,
    allows_copies,
    facts_of,
    licence_of,
    refuse,
)
from groundup_factory.set_entries import EntryWalk, parse_wish
from tests.grading.library.laboratory import write_tree

FACTS = RepositoryFacts(
    language="rust", licence="MIT", size=Size(lines=100, tests=5), moment="2026-03-01T23:00:00+00:00", stars=7
)


def test_facts_are_read_from_the_tree(tmp_path: Path) -> None:
    """The language is that of most source among those with a build file; a licence is known by its text."""
    write_tree(
        tmp_path,
        {
            "Cargo.toml": "[package]\n",
            "src/lib.rs": "#[test]\nfn a() { one(two, three); }\n",
            "tool.py": "x = 1\n" * 500,
            "LICENSE": "MIT\n\nPermission is hereby granted, free of charge,\nto any person obtaining a copy",
            ".github/workflows/ci.yml": "on: push\n",
        },
    )
    found = facts_of(tmp_path, "2026-01-02T00:00:00Z")
    assert (found.language, found.licence, found.has_workflows) == ("rust", "MIT", True)
    assert (found.size.lines, found.size.tests, found.day) == (2, 1, date(2026, 1, 2))
    (tmp_path / "LICENSE").unlink()
    assert facts_of(tmp_path).licence == "unknown"
    (tmp_path / "pyproject.toml").write_text('[project]\nlicense = { text = "BSD" }\n')
    assert facts_of(tmp_path).licence == "BSD"


@pytest.mark.parametrize(
    ("rules", "rule"),
    [
        ({"languages": ("python",)}, "language"),
        ({"licences": ("BSD*", "unknown")}, "licence"),
        ({"min_lines": 101}, "size"),
        ({"max_lines": 99}, "size"),
        ({"min_tests": 6}, "tests"),
        ({"ci": True}, "CI"),
        ({"since": date(2026, 3, 2)}, "date"),
        ({"until": date(2026, 2, 28)}, "date"),
        ({"min_stars": 8}, "stars"),
    ],
)
def test_each_rule_refuses_with_its_option(rules: dict[str, Any], rule: str) -> None:
    """The sentence has what was found and the option that asks for something else."""
    with pytest.raises(FilteredError, match=r"--[a-z-]+ ") as refused:
        refuse(FACTS, FilterRules(**rules))
    assert refused.value.rule == rule


LICENCES = {
    "AGPL-3.0": "GNU AFFERO GENERAL PUBLIC LICENSE\n  Version 3, beside the GNU General Public License, Version 3",
    "LGPL": "GNU Lesser General Public License, as it adds to the GNU General Public License Version 3",
    "GPL-3.0": "GNU GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007",
    "GPL-2.0": "GNU General Public License (Version 2)",
    "MPL-2.0": "Mozilla Public License Version 2.0",
    "Apache-2.0": "Apache License\n   Version 2.0, January 2004",
    "ISC": "Permission to use, copy, modify, and/or distribute this software for any purpose",
    "BSD-3-Clause": "Redistribution and use in source and binary forms, ... used to endorse or promote products",
    "BSD-2-Clause": "Redistribution and use in source and binary forms, with or without modification",
    "Unlicense": "This is free and unencumbered software released into the public domain.",
    "unknown": "All rights reserved.",
}


@pytest.mark.parametrize("licence", LICENCES)
def test_a_licence_is_known_by_its_text(tmp_path: Path, licence: str) -> None:
    """Which may quote another one, in a file of any such name; no link is read."""
    write_tree(tmp_path, {"Copying.txt": LICENCES[licence]})
    (tmp_path / "licence").symlink_to("Copying.txt")
    assert licence_of(tmp_path) == licence
    write_tree(tmp_path, {"UNLICENSE": LICENCES["Unlicense"], "notes": LICENCES["MPL-2.0"]})
    both = {licence: None, "Unlicense": None}.keys() - {"unknown"}
    assert licence_of(tmp_path) == " OR ".join(one for one in LICENCES if one in both)


@pytest.mark.parametrize(
    ("files", "licence"),
    [
        ({"package.json": '{\n  "name": "a",\n  "license": "ISC"\n}'}, "ISC"),
        ({"setup.cfg": "[metadata]\nlicense = 'BSD 3-Clause '\n"}, "BSD 3-Clause"),
        ({"Cargo.toml": 'license = "MIT OR Apache-2.0"\n', "package.json": '{\n"license": "ISC"}'}, "ISC"),
        ({"setup.py": "setup(\n  license='MIT',\n)"}, "MIT"),
        ({"other.toml": "license = 'MIT'\n"}, "unknown"),
        ({"pyproject.toml": "license = 'x'\n"}, "unknown"),
    ],
)
def test_without_a_text_a_licence_is_what_project_files_state(
    tmp_path: Path, files: dict[str, str], licence: str
) -> None:
    """The first that states one, as it is written there."""
    assert licence_of(write_tree(tmp_path, files)) == licence


def test_rules_take_what_is_at_their_bounds() -> None:
    """As many lines, tests and stars as are asked for, or as are allowed, and both days."""
    rules = FilterRules(min_lines=100, max_lines=100, min_tests=5, min_stars=7, since=FACTS.day, until=FACTS.day)
    refuse(FACTS, rules)
    with pytest.raises(FilteredError, match="its language is none that is known; --language takes go, rust"):
        refuse(FACTS.but(language=None), FilterRules(languages=("go", "rust")))


def test_what_is_not_known_is_not_held_against_it() -> None:
    """A folder has no stars, and a tree without history no date."""
    unknown = FACTS.but(stars=None, moment=None)
    refuse(unknown, FilterRules(min_stars=100, since=date(2026, 6, 1)))
    refuse(FACTS, FilterRules(licences=("mit",), languages=("rust",), since=date(2026, 3, 1)))


@pytest.mark.parametrize(
    ("licence", "free"),
    [("MIT", True), ("BSD-3-Clause", True), ("LGPL", True), ("unknown", False), ("Proprietary", False)],
)
def test_a_copy_needs_a_licence_that_allows_it(licence: str, free: bool) -> None:
    """What nobody licensed is not given away."""
    assert allows_copies(licence) == free


@pytest.mark.parametrize(
    ("sentence", "cause"),
    [
        ("the source holds no tests that pytest could be given; name a source that does", "no tests"),
        ("sdist:x==1 holds no tests; name the library's Git repository instead", "no tests"),
        ("no package or module was found in the source; name another source", "no package found"),
        ("3 of 3 tests pass, and a task needs 10", "too few tests"),
        (
            "74 of 100 tests pass; 26 would be left out, more than --left-out 0.2",
            "too many tests left out",
        ),
        ("a stub without behaviour passes 9 of 10 tests of x: they measure next to nothing", "a stub passes"),
        ("tests/test_a.py has an empty set of parameters: what its cases", "empty parameter sets"),
        ("something new", "other"),
    ],
)
def test_sentences_of_libraries_are_counted_by_cause(tmp_path: Path, sentence: str, cause: str) -> None:
    """The yield counts rejections that differ in names and numbers as one cause."""
    walk = EntryWalk(parse_wish("inflection"), tmp_path, lambda *_: None)
    walk.at("fetched" if sentence.startswith("sdist:") else "proven")
    assert walk.ended("rejected", sentence).cause == cause
