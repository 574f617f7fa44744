"""Predictions for two small repositories in C#, each with the row that it must get, counted by hand.

One repository has versions in its projects, the other one central versions; both have a library that needs one
package, and a project of tests with a test framework, its adapter, and a reference to the library.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.suites.dibench.executed import Tiny, workflow
from tests.suites.dibench.made import Files, diff

SHOP, TESTS, CENTRAL = "src/Shop/Shop.csproj", "tests/Shop.Tests/Shop.Tests.csproj", "Directory.Packages.props"
JSON = ("Newtonsoft.Json", "13.0.1")
TEST_SDK, XUNIT, ADAPTER = (
    ("Microsoft.NET.Test.Sdk", "17.12.0"),
    ("xunit", "2.9.2"),
    ("xunit.runner.visualstudio", "2.8.2"),
)
LIBRARY = "../../src/Shop/Shop.csproj"
Package = tuple[str, str]


def project(*packages: Package, references: tuple[str, ...] = (), more: str = "", inline: bool = True) -> str:
    """Return a project with these packages; *inline*: with their versions."""
    items = [
        f'    <PackageReference Include="{name}"' + (f' Version="{version}" />' if inline else " />")
        for name, version in packages
    ]
    items += [f'    <ProjectReference Include="{path}" />' for path in references]
    group = "\n".join(("  <ItemGroup>", *items, "  </ItemGroup>\n")) if items else ""
    return (
        '<Project Sdk="Microsoft.NET.Sdk">\n  <PropertyGroup>\n    <TargetFramework>net10.0</TargetFramework>\n'
        f"  </PropertyGroup>\n{group}{more}</Project>\n"
    )


def central(*packages: Package) -> str:
    """Return the file of central versions."""
    items = [f'    <PackageVersion Include="{name}" Version="{version}" />' for name, version in packages]
    group = "\n".join(("  <ItemGroup>", *items, "  </ItemGroup>\n")) if items else ""
    return (
        "<Project>\n  <PropertyGroup>\n    <ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally>\n"
        f"  </PropertyGroup>\n{group}</Project>\n"
    )


def of_tests(*packages: Package, references: tuple[str, ...] = (LIBRARY,), inline: bool = True) -> str:
    """Return the project of tests."""
    return project(*packages, references=references, inline=inline)


_SOURCES = {
    "src/Shop/Prices.cs": "using Newtonsoft.Json;\n\nnamespace Shop;\n\npublic static class Prices\n{\n"
    "    public static string Written(object price) => JsonConvert.SerializeObject(price);\n}\n",
    "tests/Shop.Tests/PricesTests.cs": "using Xunit;\n\nnamespace Shop.Tests;\n"
    'public class PricesTests\n{\n    [Fact]\n    public void IsWritten() => Assert.Equal("4", '
    "Shop.Prices.Written(4));\n}\n",
}
_WORKFLOW = workflow(
    "      - uses: actions/setup-dotnet@v4\n        with:\n          dotnet-version: 10.0.x\n",
    "run: dotnet test tests/Shop.Tests",
)
_ALL = (TEST_SDK, XUNIT, ADAPTER)
PLAIN = Tiny(
    "csharp",
    {SHOP: project(), TESTS: project(), **_SOURCES},
    {SHOP: project(JSON), TESTS: of_tests(*_ALL)},
    _WORKFLOW,
)
MANAGED = Tiny(
    "csharp",
    {SHOP: project(), TESTS: project(), CENTRAL: central(), **_SOURCES},
    {SHOP: project(JSON, inline=False), TESTS: of_tests(*_ALL, inline=False), CENTRAL: central(JSON, *_ALL)},
    _WORKFLOW,
)
REPOSITORIES = {"plain": PLAIN, "managed": MANAGED}
KNOWN = {
    "newtonsoft.json": ["13.0.1", "13.0.3"],
    "microsoft.net.test.sdk": ["17.12.0"],
    "xunit": ["2.9.2", "2.9.3"],
    "xunit.runner.visualstudio": ["2.8.2"],
    "humanizer.core": ["2.14.1"],
}
ABSENT = ("groundup.made.this.up", "newtonsoft_json")


class Row(NamedTuple):
    """What a prediction must get."""

    repository: str
    changed: Files
    """What differs from the original."""
    names: str
    """Right, too many and missing, by name."""
    exact: str
    passes: bool
    said: str = ""
    """A pattern of why the job fails."""
    absent: str = ""
    """Which fact counts a dependency that does not exist."""
    official: str = ""
    """The published counts, by name and exact; empty: as by `strict`."""


_BUILD = "missing dependency in build: "
_NO_JSON = _BUILD + r"src/Shop/Prices\.cs\(1,7\): error CS0246: .*'Newtonsoft'.*\[src/Shop/Shop\.csproj"
_NO_SHOP = (
    _BUILD + r"tests/Shop\.Tests/PricesTests\.cs\(\d+,\d+\): error CS.*\[tests/Shop\.Tests/Shop\.Tests\.csproj"
)
_NOT_RUN = "tests not run: "
_TARGET = '  <Target Name="Own" BeforeTargets="Build"><Exec Command="exit 9" /></Target>\n'
ROWS: Mapping[str, Row] = {
    "right": Row("plain", {}, "5 0 0", "5 0 0", True),
    "other-versions": Row(
        "plain",
        {SHOP: project(("Newtonsoft.Json", "13.0.3")), TESTS: of_tests(TEST_SDK, ("xunit", "2.9.3"), ADAPTER)},
        "5 0 0", "3 2 2", True,
    ),
    "nothing": Row("plain", {SHOP: project(), TESTS: project()}, "0 0 5", "0 0 5", False, _NOT_RUN),
    "one-missing": Row("plain", {SHOP: project()}, "4 0 1", "4 0 1", False, _NO_JSON),
    "made-up": Row(
        "plain", {SHOP: project(JSON, ("Groundup.Made.This.Up", "1.0.0"))}, "5 1 0", "5 1 0", False,
        "dependency not found in build: .*NU1101.*Groundup.Made.This.Up", "fake",
    ),
    "no-adapter": Row("plain", {TESTS: of_tests(TEST_SDK, XUNIT)}, "4 0 1", "4 0 1", False, _NOT_RUN),
    "no-test-sdk": Row(
        "plain", {TESTS: of_tests(XUNIT, ADAPTER)}, "4 0 1", "4 0 1", False,
        "missing dependency in test: .*application dependencies manifest",
    ),
    "wrong-project": Row(
        "plain", {SHOP: project(), TESTS: of_tests(JSON, *_ALL)}, "4 1 1", "4 1 1", False, _NO_JSON
    ),
    "other-case": Row(
        "plain",
        {SHOP: project(("newtonsoft.json", "13.0.1")), TESTS: of_tests(TEST_SDK, ("XUnit", "2.9.2"), ADAPTER)},
        "5 0 0", "5 0 0", True, official="5 0 0 3 2 2",
    ),
    "other-name": Row(
        "plain", {SHOP: project(("Newtonsoft_Json", "13.0.1"))}, "4 1 1", "4 1 1", False,
        "dependency not found in build: .*NU1101.*Newtonsoft_Json", "fake",
    ),
    "wrong-reference": Row(
        "plain", {TESTS: of_tests(*_ALL, references=("../../src/Store/Store.csproj",))}, "4 1 1", "4 1 1", False,
        _NO_SHOP, "internal-missing",
    ),
    "no-reference": Row("plain", {TESTS: of_tests(*_ALL, references=())}, "4 0 1", "4 0 1", False, _NO_SHOP),
    "no-such-version": Row(
        "plain", {SHOP: project(("Newtonsoft.Json", "99.0.0"))}, "5 0 0", "4 1 1", False,
        "invalid version in build: .*NU1102.*Newtonsoft.Json", "version-missing",
    ),
    "range": Row("plain", {SHOP: project(("Newtonsoft.Json", "[13.0.1,14.0.0)"))}, "5 0 0", "4 1 1", True),
    "floating": Row("plain", {SHOP: project(("Newtonsoft.Json", "13.0.*"))}, "5 0 0", "4 1 1", True),
    "one-too-many": Row("plain", {SHOP: project(JSON, ("Humanizer.Core", "2.14.1"))}, "5 1 0", "5 1 0", True),
    "own-target": Row("plain", {SHOP: project(JSON, more=_TARGET)}, "5 0 0", "5 0 0", True),
    "managed-right": Row("managed", {}, "5 0 0", "5 0 0", True),
    "managed-inline": Row(
        "managed", {SHOP: project(JSON), TESTS: of_tests(*_ALL)}, "5 0 0", "1 4 4", False,
        "invalid version in build: .*NU1008",
    ),
    "managed-undefined": Row(
        "managed", {CENTRAL: central(*_ALL)}, "4 1 1", "4 1 1", False, "invalid version in build: .*NU1010",
        "internal-missing", official="5 0 0 5 0 0",
    ),
    "managed-other-version": Row(
        "managed", {CENTRAL: central(("Newtonsoft.Json", "13.0.3"), *_ALL)}, "5 0 0", "4 1 1", True,
        official="5 0 0 5 0 0",
    ),
    "managed-unused": Row("managed", {SHOP: project()}, "4 0 1", "4 0 1", False, _NO_JSON),
}  # fmt: skip


def write_submission(folder: Path, row: Row) -> Path:
    """Write what a prediction hands in: a patch, or nothing."""
    folder.mkdir()
    tiny = REPOSITORIES[row.repository]
    patch = diff(tiny.masked, {**tiny.original, **row.changed})
    if "@@" in patch:
        (folder / "patch.diff").write_text(patch)
    return folder
