"""What of .NET keeps a job from being run, before anything runs."""

from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from groundup.grading.ci.records import Obstacle
from tests.grading.ci.test_obstacles import needs

SDK = '<Project Sdk="Microsoft.NET.Sdk">{}</Project>'
TEST = '<ItemGroup><PackageReference Include="Microsoft.NET.Test.Sdk" /></ItemGroup>'


def project(properties: str, items: str = "") -> str:
    """Return a project file."""
    return SDK.format(f"<PropertyGroup>{properties}</PropertyGroup>{items}")


def frameworks(*names: str) -> str:
    """Return the property that names frameworks."""
    return f"<TargetFrameworks>{';'.join(names)}</TargetFrameworks>"


def obstacles(script: str, files: Mapping[str, str], leg: Mapping[str, JsonValue] | None = None) -> list[Obstacle]:
    """Return what keeps a job that runs *script* from being run in a repository of *files*."""
    return list(needs({"steps": [{"run": script}]}, leg, files).obstacles)


APP = {"App.sln": 'Project("{F}") = "App.Tests", "test\\App.Tests\\App.Tests.csproj", "{A}"\n'}
TESTS = "test/App.Tests/App.Tests.csproj"


@pytest.mark.parametrize(
    ("script", "text", "kind"),
    [
        ("dotnet test", project(frameworks("net48", "net8.0"), TEST), ".NET Framework"),
        ("dotnet test", project("<TargetFramework>net472</TargetFramework>", TEST), ".NET Framework"),
        ("dotnet test App.sln -f net462", project(frameworks("net462", "net8.0"), TEST), ".NET Framework"),
        ("dotnet build", project(frameworks("net8.0-windows")), "Windows Desktop"),
        ("cd test/App.Tests && dotnet test", project("<UseWPF>true</UseWPF>", TEST), "Windows Desktop"),
        (
            "dotnet test -p:EnableWindowsTargeting=true",
            project(frameworks("net8.0-windows"), TEST),
            "Windows Desktop",
        ),
        ("dotnet build", project(frameworks("net8.0-android")), "workload"),
        ("dotnet workload install maui", project(frameworks("net8.0")), "workload"),
        ("dotnet tool restore\ndotnet paket restore", project(frameworks("net8.0")), "paket"),
        ("mono tests.exe", project(frameworks("net8.0")), "mono"),
        ("powershell -File build.ps1", project(frameworks("net8.0")), "shell"),
        (
            "dotnet nuget add source https://nuget.example/v3 -n ours -p ${{ secrets.T }} -u x\ndotnet test",
            project(frameworks("net8.0"), TEST),
            "private feed",
        ),
    ],
)
def test_what_no_job_has_is_named(script: str, text: str, kind: str) -> None:
    """Windows, Mono, workloads, PowerShell and feeds of others are obstacles by their kind."""
    assert [one.kind for one in obstacles(script, {**APP, TESTS: text})] == [kind]


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("dotnet test -f net8.0", project(frameworks("net48", "net8.0"), TEST)),
        ("dotnet test --framework ${{ matrix.tfm }}", project(frameworks("net48", "net8.0"), TEST)),
        ("dotnet build", project(frameworks("net48", "net8.0"), TEST)),
        ("dotnet test", project(frameworks("netstandard2.0", "net472"))),
        (
            "dotnet test",
            project("<TargetFrameworks Condition=\"'$(OS)'=='Windows_NT'\">net48</TargetFrameworks>", TEST),
        ),
        ("dotnet test", project(frameworks("$(Elsewhere)"), TEST)),
        ("dotnet build -p:EnableWindowsTargeting=true", project(frameworks("net8.0-windows"))),
        ("dotnet test test/Other", project(frameworks("net48"), TEST)),
        ("./build.ps1 -ci", project(frameworks("net8.0"))),
        ("echo dotnet paket, mono and powershell", project(frameworks("net8.0"))),
        ("dotnet nuget add source https://api.nuget.org/v3/index.json", project(frameworks("net8.0"))),
    ],
)
def test_what_may_run_is_left_to_the_run(script: str, text: str) -> None:
    """Another framework, a library, a condition and a property of elsewhere are no obstacle."""
    central = '<ItemGroup><PackageVersion Include="xunit" Version="2.9.0" /></ItemGroup>'
    files = {
        **APP,
        TESTS: text,
        "test/Other/Other.csproj": project(""),
        "Directory.Packages.props": project("", central),
    }
    assert not obstacles(script, files, {"tfm": "net8.0"})


def test_properties_come_from_above_and_from_each_other() -> None:
    """`Directory.Build.props` counts, the nearest first, with the properties that it names."""
    files = {
        **APP,
        TESTS: project("", TEST),
        "Directory.Build.props": project("<New>net8.0;net9.0</New><TargetFrameworks>$(New)</TargetFrameworks>"),
    }
    assert not obstacles("dotnet test", files)
    files["test/Directory.Build.props"] = project("<TargetFrameworks>net48;$(New)</TargetFrameworks>")
    (found,) = obstacles("dotnet test", files)
    assert (found.kind, found.what) == (
        ".NET Framework",
        f"{TESTS}: its tests are for .NET Framework, and there is no Mono",
    )


def test_files_beside_a_project_say_who_installs_its_packages() -> None:
    """packages.config and paket.references are read by other programs, which jobs do not have."""
    plain = {**APP, TESTS: project(frameworks("net8.0"), TEST)}
    assert not obstacles("dotnet test", {**plain, "test/App.Tests/packages.config": ""}), (
        "NuGet reads no such file"
    )
    plain[TESTS] = plain[TESTS].replace(' Sdk="Microsoft.NET.Sdk"', "")
    for name, kind in (("packages.config", "packages.config"), ("paket.references", "paket")):
        assert [one.kind for one in obstacles("dotnet test", {**plain, f"test/App.Tests/{name}": ""})] == [kind]
        assert not obstacles("dotnet test", {**plain, f"samples/{name}": ""})


CONFIGURATION = """<configuration>
  <packageSources><add key="nuget" value="https://api.nuget.org/v3/index.json" />
    <add key="ours one" value="https://feeds.example/v3/index.json" /></packageSources>
  {}
</configuration>
"""
SECRET = "<packageSourceCredentials><ours_x0020_one><add key='Username' value='x'/></ours_x0020_one>" + (
    "</packageSourceCredentials>"
)
MAPPED = "<packageSourceMapping><packageSource key='nuget'><package pattern='*'/></packageSource>" + (
    "<packageSource key='ours one'><package pattern='{}'/></packageSource></packageSourceMapping>"
)


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ("", False),
        (SECRET, True),
        (SECRET + MAPPED.format("Microsoft.NET.*"), True),
        (SECRET + MAPPED.format("Contoso.*"), False),
        (
            SECRET + "<disabledPackageSources><add key='ours one' value='true'/></disabledPackageSources>",
            False,
        ),
    ],
)
def test_a_feed_that_wants_credentials_is_named(more: str, refused: bool) -> None:
    """It refuses the job, unless it is off or mapped to packages that nobody asks for; public feeds give way."""
    files = {**APP, TESTS: project(frameworks("net8.0"), TEST), "NuGet.config": CONFIGURATION.format(more)}
    expected = ["ours one of NuGet.config (https://feeds.example/v3/index.json) wants credentials"]
    assert [one.what for one in obstacles("dotnet test", files)] == (expected if refused else [])


def test_a_step_that_may_fail_is_no_obstacle() -> None:
    """`continue-on-error` lets the job pass, whatever the step wants."""
    step = {"run": "dotnet workload restore", "continue-on-error": True}
    assert not needs({"steps": [step]}, None, APP).obstacles


def test_a_broken_project_is_left_to_the_build() -> None:
    """What is no XML, is missing, or is listed but not there is no obstacle: the build names it."""
    files = {**APP, "Lib/Lib.csproj": "<Project", "NuGet.config": "<"}
    assert not obstacles("dotnet test\ndotnet build Lib\ndotnet test absent.csproj", files)
