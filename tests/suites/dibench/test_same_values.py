"""Pairs of declarations: those that mean one thing to the client, and those that do not."""

from collections.abc import Mapping

import pytest

from groundup.languages.formats import FORMATS, format_of
from groundup.manifests.records import Dependency
from groundup.suites.dibench.central import CentralDefinitions
from groundup.suites.dibench.declarations import exact_key, name_key


def declared(path: str, text: str, beside: Mapping[str, str] | None = None) -> list[Dependency]:
    """Return what a build file declares, as its client resolves it."""
    files = {name: content.encode() for name, content in {path: text, **(beside or {})}.items()}
    known = format_of(path)
    assert known is not None
    return list(CentralDefinitions(files.get).written_out(path, known.read(files[path], path).dependencies))


def cargo(lines: str) -> list[Dependency]:
    """Return what these lines of `[dependencies]` declare."""
    return declared("Cargo.toml", f"[dependencies]\n{lines}\n")


def npm(entries: str) -> list[Dependency]:
    """Return what these entries of `dependencies` declare."""
    return declared("package.json", f'{{"dependencies": {{{entries}}}}}')


def pip(line: str) -> list[Dependency]:
    """Return what a line of requirements declares."""
    path = "requirements.txt"
    return list(FORMATS["requirements.txt"].read(line.encode(), path).dependencies)


def poetry(value: str) -> list[Dependency]:
    """Return what Poetry's table declares."""
    return declared("pyproject.toml", f"[tool.poetry.dependencies]\nattrs = {value}\n")


def msbuild(item: str, beside: Mapping[str, str] | None = None) -> list[Dependency]:
    """Return what a project declares."""
    return declared("src/App/App.csproj", f"<Project>{item}</Project>", beside)


CENTRAL = {
    "Directory.Packages.props": "<Project><PropertyGroup><ManagePackageVersionsCentrally>true"
    "</ManagePackageVersionsCentrally></PropertyGroup><ItemGroup>"
    '<PackageVersion Include="A" Version="2.9.3"/></ItemGroup></Project>'
}


def group(item: str, more: str = "") -> str:
    """Return an item group."""
    return f"<ItemGroup{more}>{item}</ItemGroup>"


EITHER = "'$(TargetFramework)' == 'x' Or '$(TargetFramework)' == 'y'"
JSON = "<PropertyGroup><Json>13.0.3</Json></PropertyGroup>"
SAME = [
    (pip("attrs==23.1"), pip("attrs==23.1.0")),
    (pip("attrs >= 3.8, < 4"), pip("attrs<4,>=3.8")),
    (pip('attrs; python_version<"3.10"'), pip("attrs ; python_version < '3.10'")),
    (pip('attrs; (python_version < "3.10")'), pip('attrs; python_version < "3.10"')),
    (pip("-e ./libs/core"), pip("-e libs/core")),
    (poetry('"^3.8"'), poetry('">=3.8,<4"')),
    (poetry('"*"'), poetry('""')),
    (
        cargo('log = { version = "1", default_features = false }'),
        cargo('log = { version = "1", default-features = false }'),
    ),
    (cargo('log = { version = "1", default-features = true }'), cargo('log = "1"')),
    (cargo('log = { version = "1", optional = false }'), cargo('log = "1"')),
    (cargo('log = "^1.0"'), cargo('log = "1"')),
    (cargo('log = "0.4"'), cargo('log = "0.4.0"')),
    (
        declared("Cargo.toml", "[target.'cfg( unix )'.dependencies]\nlog = '1'\n"),
        declared("Cargo.toml", "[target.'cfg(unix)'.dependencies]\nlog = '1'\n"),
    ),
    (npm('"ms": ""'), npm('"ms": "*"')),
    (npm('"ms": ">= 2"'), npm('"ms": ">=2"')),
    (npm('"lib": "file:./../lib"'), npm('"lib": "file:../lib"')),
    (
        msbuild(group('<PackageReference Include="A" Version="[ 2.14.1 ]"/>')),
        msbuild(group('<PackageReference Include="A" Version="[2.14.1]"/>')),
    ),
    (
        msbuild(group('<PackageReference Include="A" Version="13.0"/>')),
        msbuild(group('<PackageReference Include="A" Version="13.0.0"/>')),
    ),
    (
        msbuild(group('<PackageReference Include="A" Version="1" PrivateAssets="All"/>')),
        msbuild(group('<PackageReference Include="A" Version="1" PrivateAssets="all"/>')),
    ),
    (
        msbuild(group('<PackageReference Include="A" Version="1" IncludeAssets="compile; runtime"/>')),
        msbuild(group('<PackageReference Include="A" Version="1" IncludeAssets="runtime;compile"/>')),
    ),
    (
        msbuild(group('<PackageReference Include="A"/>', f' Condition="{EITHER}"')),
        msbuild(group(f'<PackageReference Include="A" Condition="{EITHER.replace(" == ", "==")}"/>')),
    ),
    (
        msbuild(group('<PackageReference Include="A" VersionOverride="2.9.3"/>'), CENTRAL),
        msbuild(group('<PackageReference Include="A"/>'), CENTRAL),
    ),
    (
        msbuild(JSON + group('<PackageReference Include="A" Version="$(Json)"/>')),
        msbuild(group('<PackageReference Include="A" Version="13.0.3"/>')),
    ),
    (
        msbuild(group('<ProjectReference Include="..\\..\\src\\Core\\Core.csproj"/>')),
        msbuild(group('<ProjectReference Include="../Core/Core.csproj"/>')),
    ),
]  # fmt: skip
OTHER = [
    (pip("attrs~=23.1"), pip("attrs~=23.1.0")),
    (pip("attrs==23.1"), pip("attrs==23.1.1")),
    (poetry('"^0.3"'), poetry('">=0.3,<1"')),
    (cargo('log = "0.0"'), cargo('log = "0.0.0"')),
    (cargo('log = { version = "1", default-features = false }'), cargo('log = "1"')),
    (npm('"ms": "^2"'), npm('"ms": "2"')),
    (
        msbuild(group('<PackageReference Include="A" Version="13.0"/>')),
        msbuild(group('<PackageReference Include="A" Version="[13.0]"/>')),
    ),
    (
        msbuild(group('<ProjectReference Include="../core/Core.csproj"/>')),
        msbuild(group('<ProjectReference Include="../Core/Core.csproj"/>')),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two"), SAME)
def test_one_meaning_is_one_declaration(one: list[Dependency], two: list[Dependency]) -> None:
    """In whatever spelling: versions, markers, conditions, details, paths."""
    assert one
    assert [exact_key(item) for item in one] == [exact_key(item) for item in two]


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_two_meanings_are_two_declarations(one: list[Dependency], two: list[Dependency]) -> None:
    """What a client tells apart stays apart."""
    assert [exact_key(item) for item in one] != [exact_key(item) for item in two]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (npm('"react": "^18", "react-16": "npm:react@^16"'), ["react", "react-16 = react"]),
        (npm('"anything": "npm:lodash@^4"'), ["anything = lodash"]),
        (npm('"react": "npm:react@18"'), ["react"]),
        (cargo('rand = "0.8"\nrand07 = { package = "rand", version = "0.7" }'), ["rand", "rand07 = rand"]),
    ],
)
def test_the_name_that_code_uses_is_part_of_the_name(one: list[Dependency], two: list[str]) -> None:
    """Three aliases of one package are three requests, and code cannot import what is there by another name."""
    assert sorted(name_key(item).name for item in one) == two
