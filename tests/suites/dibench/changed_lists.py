"""A hundred predictions, 25 a language: lists of declarations that differ from the original's by a change or two.

Renderers of this file write both, so what is right, too many and missing follows by arithmetic from the lists.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from groundup.manifests.records import Language


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


class Written(NamedTuple):
    """How one language writes a build file, and spells one name in two ways."""

    path: str
    written: Callable[[Items], str]
    original: Items
    other: str
    """A version that is not the first one's."""
    same: str
    """The first one's name as its registry also takes it; "" where there is one spelling."""


LANGUAGES: Mapping[Language, Written] = {
    "python": Written(
        "pyproject.toml", pyproject,
        (Item("Zope.Interface", ">=5"), Item("requests", ">=2.31"), Item("click", "==8.1.7"), Item("rich", "")),
        ">=6", "zope_interface",
    ),
    "javascript": Written(
        "package.json", package_json,
        (Item("ws", "^8.0.0"), Item("lodash", "^4.17"), Item("react-17", "^17", "react"), Item("@a/b", "1.0.0")),
        "~8.1.0", "",
    ),
    "rust": Written(
        "Cargo.toml", cargo_toml,
        (Item("serde_json", "1"), Item("log", "0.4"), Item("rand07", "0.7", "rand"), Item("anyhow", "1.0.5")),
        "0.9", "",
    ),
    "csharp": Written(
        "Made.csproj", csproj,
        (Item("Serilog", "4.0.0"), Item("NUnit", "4.2.2"), Item("Polly", "8.0.0"), Item("Moq", "4.20.0")),
        "3.9.0", "SERILOG",
    ),
}  # fmt: skip
PREDICTIONS = 25


def predictions(language: Written) -> Iterator[tuple[Items, Items]]:
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
