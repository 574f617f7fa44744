"""Sections: what stands where, in the words of each ecosystem."""

import pytest

from groundup.languages.formats import format_of
from groundup.suites.dibench.declarations import is_request, section_of

PYPROJECT = """
[project]
dependencies = ["a"]
[project.optional-dependencies]
Fast_IO = ["b"]
[dependency-groups]
dev = ["c"]
[build-system]
requires = ["d"]
[tool.uv]
constraint-dependencies = ["e"]
"""
PACKAGE = """{"dependencies": {"a": "1"}, "devDependencies": {"b": "1"}, "peerDependencies": {"c": "1"},
"optionalDependencies": {"d": "1"}, "overrides": {"e": "1"}, "bundledDependencies": ["a"]}"""
CARGO = """
[dependencies]
a = "1"
b = { version = "1", optional = true }
[target.'cfg(unix)'.dependencies]
c = "1"
[dev-dependencies]
d = "1"
[workspace.dependencies]
e = "1"
[patch.crates-io]
f = { path = "f" }
"""
PROJECT = """<Project><ItemGroup><PackageReference Include="A"/><ProjectReference Include="..\\B\\B.csproj"/>
<PackageReference Include="C" PrivateAssets="all"/><PackageReference Include="D"><ExcludeAssets>All</ExcludeAssets>
</PackageReference><PackageReference Include="E" IncludeAssets="build; analyzers"/><PackageDownload Include="F"/>
<PackageReference Include="G" IncludeAssets="runtime; build" ExcludeAssets="Runtime"/><Reference Include="H"/>
<PackageVersion Include="I" Version="1"/><PackageReference Update="J" Version="1"/></ItemGroup></Project>"""

UNUSED = "PackageReference, neither compiled nor run with"


@pytest.mark.parametrize(
    ("path", "text", "sections"),
    [
        (
            "pyproject.toml",
            PYPROJECT,
            ["dependencies", "extra fast-io", "group dev", "build requirements", "(constraints)"],
        ),
        ("requirements-dev.txt", "a\n", ["group requirements-dev"]),
        ("requirements.txt", "a\n", ["dependencies"]),
        (
            "package.json",
            PACKAGE,
            [
                "dependencies",
                "devDependencies",
                "peerDependencies",
                "optionalDependencies",
                "(bundledDependencies)",
                "(overrides)",
            ],
        ),
        (
            "Cargo.toml",
            CARGO,
            [
                "[dependencies]",
                "[dependencies], optional",
                "[dependencies]",
                "[dev-dependencies]",
                "([workspace.dependencies])",
                "([patch.crates-io])",
            ],
        ),
        (
            "A.csproj",
            PROJECT,
            [
                "PackageReference",
                "ProjectReference",
                "PackageReference",
                UNUSED,
                UNUSED,
                "PackageDownload",
                UNUSED,
                "Reference",
                "(PackageVersion)",
                "(PackageReference Update)",
            ],
        ),
    ],
)
def test_sections_have_their_own_names(path: str, text: str, sections: list[str]) -> None:
    """In brackets: what says a version, or how to pack, and asks for nothing."""
    known = format_of(path)
    assert known is not None
    found = known.read(text.encode(), path).dependencies
    named = [section_of(item) if is_request(item) else f"({section_of(item)})" for item in found]
    assert sorted(named) == sorted(sections)
