"""Jobs in C# run for real: the machine's .NET SDK in a sandbox, packages from NuGet through the gateway."""

import subprocess
from pathlib import Path

import pytest

from groundup.grading.ci.records import JobOutcome
from tests.grading.ci.bench import log_of, run, steps
from tests.shared import once

pytestmark = [pytest.mark.end_to_end, pytest.mark.needs("dotnet", "NuGet")]
CHECKOUT = "uses: actions/checkout@v4"
LIBRARY = {
    "Lib/Lib.csproj": """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>
  <ItemGroup><PackageReference Include="Newtonsoft.Json" Version="13.0.3" /></ItemGroup>
</Project>
""",
    "Lib/Words.cs": "using Newtonsoft.Json;\nnamespace Lib;\n"
    "public static class Words { public static string Say(object what) => JsonConvert.SerializeObject(what); }\n",
}
TESTS = {
    "Tests/Tests.csproj": """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net8.0</TargetFramework>
    <AnalysisLevel>latest-recommended</AnalysisLevel>
    <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Microsoft.NET.Test.Sdk" Version="17.12.0" />
    <PackageReference Include="xunit" Version="2.9.2" />
    <PackageReference Include="xunit.runner.visualstudio" Version="2.8.2" />
    <ProjectReference Include="../Lib/Lib.csproj" />
  </ItemGroup>
</Project>
""",
    "Tests/WordsTests.cs": "using Xunit;\nnamespace Tests;\n"
    'public class WordsTests { [Fact] public void Says() => Assert.Equal("1", Lib.Words.Say(1)); }\n',
}
NEWER = "using System.Collections.Generic;\nclass Newer { static IList<int> Made() => new List<int>(); }\n"
"""Breaks CA1859 of SDK 8."""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that keeps what registries gave for all tests."""
    return once(tmp_path_factory, "nuget", Path.mkdir)


async def test_a_repository_of_last_year_is_tested(tmp_path: Path, cache: Path) -> None:
    """Its SDK, its runtime and the warnings of its time are those of this machine; the record says so.

    Nothing of .NET is left running when a step has ended.
    """
    workflow = steps(
        CHECKOUT,
        "{uses: actions/setup-dotnet@v4, with: {dotnet-version: 8.0.x}}",
        "{name: test, run: dotnet test Tests -warnaserror}",
        "{run: '! grep -lE \"^(dotnet|VBCSCompiler)\" /proc/[0-9]*/comm'}",
    )
    pinned = {"global.json": '{"sdk": {"version": "8.0.100", "rollForward": "latestFeature"}}'}
    result = await run(
        tmp_path, workflow, {**LIBRARY, **TESTS, **pinned, "Tests/Newer.cs": NEWER}, timeout_s=600.0, cache=cache
    )
    assert result.outcome is JobOutcome.PASSED, log_of(result)
    assert "Passed:     1" in log_of(result)
    told = "; ".join(result.substitutes)
    has_old = any(line.startswith("8.0.") for line in _listed("--list-sdks"))
    assert ("for 8.0.100 (global.json)" in told) is not has_old


def _listed(what: str) -> list[str]:
    return subprocess.run(["dotnet", what], capture_output=True, check=True, text=True).stdout.splitlines()


async def test_powershell_is_there_as_on_a_runner(tmp_path: Path, cache: Path) -> None:
    """As the shell of a step and as the program of a script; it comes from NuGet, as new as the SDK."""
    script = (
        "#!/usr/bin/env pwsh\nparam([switch]$ci)\nif (-not $ci) { exit 3 }\ndotnet --version\nexit $LASTEXITCODE\n"
    )
    workflow = steps(
        CHECKOUT,
        "{run: chmod +x build.ps1}",
        '{shell: pwsh, run: \'"one two".Split(" ")[1] > said.txt\'}',
        "{name: test, run: './build.ps1 -ci && grep -qx two said.txt'}",
    )
    result = await run(tmp_path, workflow, {"build.ps1": script}, cache=cache, exclude_newer="2025-01-15")
    assert result.outcome is JobOutcome.PASSED, log_of(result)


SOLUTION = {
    "Directory.Packages.props": """<Project>
  <PropertyGroup><ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally></PropertyGroup>
  <ItemGroup>
    <PackageVersion Include="Newtonsoft.Json" Version="13.0.1" />
    <PackageVersion Include="Microsoft.NET.Test.Sdk" Version="17.12.0" />
    <PackageVersion Include="NUnit" Version="4.2.2" />
    <PackageVersion Include="NUnit3TestAdapter" Version="4.6.0" />
    <PackageVersion Include="coverlet.collector" Version="6.0.2" />
  </ItemGroup>
</Project>
""",
    "Directory.Build.props": """<Project>
  <PropertyGroup>
    <TargetFramework>net8.0</TargetFramework>
    <RestorePackagesWithLockFile>true</RestorePackagesWithLockFile>
  </PropertyGroup>
</Project>
""",
    "All.slnx": '<Solution><Project Path="Lib/Lib.csproj" /><Project Path="Nu/Nu.csproj" /></Solution>\n',
    "Lib/Lib.csproj": """<Project Sdk="Microsoft.NET.Sdk">
  <ItemGroup><PackageReference Include="Newtonsoft.Json" VersionOverride="13.0.3" /></ItemGroup>
</Project>
""",
    "Lib/Words.cs": LIBRARY["Lib/Words.cs"],
    "Nu/Nu.csproj": """<Project Sdk="Microsoft.NET.Sdk">
  <ItemGroup>
    <PackageReference Include="Microsoft.NET.Test.Sdk" />
    <PackageReference Include="NUnit" />
    <PackageReference Include="NUnit3TestAdapter" />
    <PackageReference Include="coverlet.collector" />
    <ProjectReference Include="..\\Lib\\Lib.csproj" />
  </ItemGroup>
</Project>
""",
    "Nu/WordsTests.cs": "using System.Globalization;\nusing NUnit.Framework;\npublic class WordsTests\n{\n"
    '    [Test] public void Says() => Assert.That(Lib.Words.Say(1), Is.EqualTo("1"));\n'
    "    [Test] public void KnowsGerman() =>\n"
    '        Assert.That(1.5.ToString(new CultureInfo("de-DE")), Is.EqualTo("1,5"));\n}\n',
}
PLATFORM = {
    "Mtp/global.json": """{
  "sdk": {"version": "9.0.100", "rollForward": "latestMinor"},
  "msbuild-sdks": {"MSTest.Sdk": "4.4.0"},
  "test": {"runner": "Microsoft.Testing.Platform"}
}
""",
    "Mtp/Directory.Build.props": "<Project />\n",
    "Mtp/Directory.Packages.props": "<Project />\n",
    "Mtp/Mtp.csproj": """<Project Sdk="MSTest.Sdk">
  <PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>
</Project>
""",
    "Mtp/OneTests.cs": "using Microsoft.VisualStudio.TestTools.UnitTesting;\n"
    "[TestClass] public class OneTests\n{\n    [TestMethod] public void Passes() { }\n"
    "    [TestMethod, Ignore] public void Waits() { }\n}\n",
}


async def test_a_solution_goes_all_the_way(tmp_path: Path, cache: Path) -> None:
    """Central versions, locked mode, coverage, packages and tools work, and so does the newer platform of tests.

    Of a solution with two projects, and one on Microsoft.Testing.Platform; three tests pass and are counted.
    """
    workflow = steps(
        CHECKOUT,
        '{uses: actions/setup-dotnet@v4, with: {dotnet-version: "8.0.x\\n9.0.x"}}',
        "{uses: actions/cache@v4, with: {path: ~/.nuget, key: \"${{ hashFiles('**/packages.lock.json') }}\"}}",
        "{run: dotnet restore --locked-mode}",
        "run: dotnet build --no-restore -c ${{ matrix.configuration }}",
        '{run: dotnet test --no-build -c Release --collect "XPlat Code Coverage" --results-directory out -l trx}',
        "{run: 'ls out/*/coverage.cobertura.xml out/*.trx'}",
        "{run: dotnet pack Lib --no-build -c Release -o packages && test -f packages/Lib.1.0.0.nupkg}",
        "{run: dotnet tool install --global minver-cli && minver --help}",
        "{working-directory: Mtp, run: dotnet test}",
        head="    strategy: {matrix: {configuration: [Debug, Release]}}\n",
    )
    leg = {"configuration": "Release"}
    result = await run(tmp_path, workflow, {**SOLUTION, **PLATFORM}, timeout_s=900.0, cache=cache, matrix=leg)
    assert result.outcome is JobOutcome.PASSED, log_of(result)
    assert result.passed_tests == 3
