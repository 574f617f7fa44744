"""A hundred predictions, 25 a language, whose rows follow by arithmetic from what is handed in.

Each is a list of declarations that differs from the original's by one or two changes. Renderers of this file write
both; right, too many and missing are counted on the lists, and `strict` reads the build files.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from groundup.suites.dibench.answers import submitted
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.missed import text_score
from tests.suites.dibench.executed import Tiny, write_tiny
from tests.suites.dibench.made import diff


class Item(NamedTuple):
    """A declaration: the name in code, the version, and the package where that has another name."""

    name: str
    version: str
    package: str = ""


Items = tuple[Item, ...]


def pyproject(items: Items) -> str:
    """Return a pyproject.toml."""
    listed = ", ".join(json.dumps(one.name + one.version) for one in items)
    return f'[project]\nname = "made"\nversion = "1"\ndependencies = [{listed}]\n'


def package_json(items: Items) -> str:
    """Return a package.json; a renamed package is an alias."""
    table = {one.name: f"npm:{one.package}@{one.version}" if one.package else one.version for one in items}
    return json.dumps({"name": "made", "version": "1.0.0", "dependencies": table}, indent=2) + "\n"


def cargo_toml(items: Items) -> str:
    """Return a Cargo.toml; a renamed package says so."""
    lines = "".join(
        f'{one.name} = {{ package = "{one.package}", version = "{one.version}" }}\n'
        if one.package
        else f'{one.name} = "{one.version}"\n'
        for one in items
    )
    return f'[package]\nname = "made"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n{lines}'


def csproj(items: Items) -> str:
    """Return a project."""
    lines = "".join(f'    <PackageReference Include="{one.name}" Version="{one.version}" />\n' for one in items)
    group = f"  <ItemGroup>\n{lines}  </ItemGroup>\n" if items else ""
    return f'<Project Sdk="Microsoft.NET.Sdk">\n{group}</Project>\n'


class Language(NamedTuple):
    """How one language writes a build file, and spells one name in two ways."""

    path: str
    written: Callable[[Items], str]
    original: Items
    other: str
    """A version that is not the first one's."""
    same: str
    """The first one's name as its registry also takes it; "" where there is one spelling."""


LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        "pyproject.toml", pyproject,
        (Item("Zope.Interface", ">=5"), Item("requests", ">=2.31"), Item("click", "==8.1.7"), Item("rich", "")),
        ">=6", "zope_interface",
    ),
    "javascript": Language(
        "package.json", package_json,
        (Item("ws", "^8.0.0"), Item("lodash", "^4.17.0"), Item("react-17", "^17", "react"), Item("@a/b", "1.0.0")),
        "~8.1.0", "",
    ),
    "rust": Language(
        "Cargo.toml", cargo_toml,
        (Item("serde_json", "1"), Item("log", "0.4"), Item("rand07", "0.7", "rand"), Item("anyhow", "1.0.5")),
        "0.9", "",
    ),
    "csharp": Language(
        "Made.csproj", csproj,
        (Item("Serilog", "4.0.0"), Item("NUnit", "4.2.2"), Item("Polly", "8.0.0"), Item("Moq", "4.20.0")),
        "3.9.0", "SERILOG",
    ),
}  # fmt: skip
PREDICTIONS = 25


def predictions(language: Language) -> Iterator[tuple[Items, Items]]:
    """Yield predictions, each with the same one in the original's spelling where it is one."""
    own = language.original
    extra = Item("made-up-one", own[1].version)
    for count in range(len(own) + 1):
        for left in itertools.combinations(own, count):
            yield left, left
    first = own[0]._replace(version=language.other)
    yield (first, *own[1:]), (first, *own[1:])
    yield (*own, extra), (*own, extra)
    yield (extra, *own[2:]), (extra, *own[2:])
    yield own[::-1], own
    if language.same:
        yield (own[0]._replace(name=language.same), *own[1:]), own
    else:
        yield (own[1], extra), (own[1], extra)
    renamed = own[2]._replace(name=own[2].package or "renamed", package="")
    yield (*own[:2], renamed, own[3]), (*own[:2], renamed, own[3])
    both = (first, own[1]._replace(version=own[1].version + ".1"))
    yield (*both, extra), (*both, extra)
    yield (own[3], own[1]), (own[3], own[1])
    yield (own[0], extra), (own[0], extra)


CASES = [
    (name, number, *pair)
    for name, language in LANGUAGES.items()
    for number, pair in enumerate(itertools.islice(predictions(language), PREDICTIONS))
]


def row(expected: Sequence[object], predicted: Sequence[object]) -> str:
    """Return right, too many and missing."""
    right = sum((Counter(expected) & Counter(predicted)).values())
    return f"{right} {len(predicted) - right} {len(expected) - right}"


@pytest.mark.parametrize(("name", "number", "handed_in", "meant"), CASES)
async def test_each_row_is_as_counted(
    name: str, number: int, handed_in: Items, meant: Items, tmp_path: Path
) -> None:
    """By name, which is the name in code, and exactly."""
    language = LANGUAGES[name]
    masked = {language.path: language.written(())}
    tiny = Tiny(name, masked, {language.path: language.written(language.original)}, "on: push\njobs: {}\n")
    (problem,) = read_dataset(write_tiny(tmp_path / "data", {f"made{number}": tiny})).problems
    submission = tmp_path / "submission"
    submission.mkdir()
    patch = diff(masked, {language.path: language.written(handed_in)})
    if "@@" in patch:
        (submission / "patch.diff").write_text(patch)
    counts = (await text_score(problem, submitted(problem, submission), None)).counts.total
    told = [
        f"{one.true_positives} {one.false_positives} {one.false_negatives}"
        for one in (counts.name_only, counts.exact)
    ]
    assert told == [
        row([one.name for one in language.original], [one.name for one in meant]),
        row(language.original, meant),
    ]


def test_there_are_a_hundred() -> None:
    """Of each language as many, none twice."""
    assert Counter(name for name, *_ in CASES) == dict.fromkeys(LANGUAGES, PREDICTIONS)
