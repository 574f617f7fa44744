"""Project files: what is declared in every form, and edits that touch nothing else."""

import pytest

from groundup.languages.csharp.msbuild import MsBuild
from groundup.languages.formats import format_of
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, ManifestError
from tests.manifests.span_laws import assert_laws

MSBUILD = MsBuild()
PATH = "src/A/A.csproj"

EVERYTHING = b"""\
<?xml version="1.0" encoding="utf-8"?>
<!-- header <PackageReference Include="Old" Version="1" /> -->
<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFrameworks>net8.0;net48</TargetFrameworks>
    <LogVersion>3.1</LogVersion>
  </PropertyGroup>

  <ItemGroup>
    <!-- for JSON -->
    <PackageReference Include="Newtonsoft.Json" Version="13.0.1" />
    <PackageReference Include="Serilog" Version="$(LogVersion)">
      <PrivateAssets>all</PrivateAssets>
    </PackageReference>
    <PackageReference Include="Child"><Version>1.0</Version></PackageReference>
    <PackageReference Update="Given" VersionOverride="2" />
    <PackageReference Remove="Taken" />
    <PackageReference Include="One; Two ;Three" Version="4" PrivateAssets="all" />
    <PackageReference Include="Cases" Condition=" '$(A)' != '' ">
      <Version Condition="'$(B)' == '1'">1</Version>
      <Version Condition="'$(B)' != '1'">2</Version>
    </PackageReference>
    <!-- a file -->
    <None Include="readme.md" />
    <!-- <PackageReference Include="Commented" Version="1" /> -->
  </ItemGroup>

  <ItemGroup Condition="'$(TargetFramework)' == 'net48'">
    <Reference Include="System.Web" />
    <Reference Include="Lib, Version=1.0.0.0">
      <HintPath>..\\packages\\Lib.1.0.0\\lib\\Lib.dll</HintPath>
    </Reference>
    <ProjectReference Include="..\\B\\B.csproj" /> <!-- near -->
  </ItemGroup>
  <ItemGroup><ProjectReference Include="../C/./C.csproj"/><FrameworkReference Include="AspNetCore"/></ItemGroup>
  <ItemGroup />
  <ItemDefinitionGroup><PackageReference><PrivateAssets>x</PrivateAssets></PackageReference></ItemDefinitionGroup>
  <Target Name="Late" Condition="'$(X)' == 'true'">
    <ItemGroup>
      <PackageDownload Include="Tool" Version="[1.0]" />
      <Reference Remove="@(Unwanted)" />
      <Message Include="x" />
    </ItemGroup>
  </Target>
</Project>
"""


def declared(data: bytes) -> dict[str, Dependency]:
    """Return the dependencies by name."""
    return {item.name: item for item in MSBUILD.read(data, PATH).dependencies}


def test_reads_every_form_of_package_reference() -> None:
    """Version as attribute or child, Include, Update, Remove, lists and metadata are all understood."""
    found = declared(EVERYTHING)
    assert found["Newtonsoft.Json"].constraint == "13.0.1"
    assert found["Newtonsoft.Json"].normalised == "newtonsoft.json"
    assert (found["Serilog"].constraint, found["Serilog"].details) == (
        "$(LogVersion)",
        (("PrivateAssets", "all"),),
    )
    assert found["Child"].constraint == "1.0"
    assert found["Given"].kind is DependencyKind.CONSTRAINT
    assert ("VersionOverride", "2") in found["Given"].details
    assert found["Taken"].kind is DependencyKind.OVERRIDE
    assert {found[name].constraint for name in ("One", "Two", "Three")} == {"4"}
    assert (found["Cases"].constraint, found["Cases"].marker) == ("1", " '$(A)' != '' ")


def test_tells_apart_what_references_refer_to() -> None:
    """Packages, projects, assemblies by path and what ships with the platform have their own sources."""
    found = declared(EVERYTHING)
    assert (found["System.Web"].source, found["System.Web"].marker) == (
        DependencySource.FRAMEWORK,
        "'$(TargetFramework)' == 'net48'",
    )
    assert (found["Lib"].source, found["Lib"].origin) == (
        DependencySource.PATH,
        "..\\packages\\Lib.1.0.0\\lib\\Lib.dll",
    )
    assert (found["..\\B\\B.csproj"].source, found["..\\B\\B.csproj"].normalised) == (
        DependencySource.PROJECT,
        "../B/B.csproj",
    )
    assert found["../C/./C.csproj"].normalised == "../C/C.csproj"
    assert found["AspNetCore"].source is DependencySource.FRAMEWORK
    assert (found["Tool"].kind, found["Tool"].marker) == (DependencyKind.BUILD, "'$(X)' == 'true'")


def test_comments_and_defaults_declare_nothing() -> None:
    """A reference in a comment, a default for all references and an item taken from other items are none."""
    names = set(declared(EVERYTHING))
    assert not names & {"Old", "Commented", "", "@(Unwanted)"}
    topics = [note.topic for note in MSBUILD.read(EVERYTHING, PATH).notes]
    assert topics == ["cannot-say", "kept"]


def test_laws_on_every_form() -> None:
    """All laws hold for one file with everything in it, in every encoding that MSBuild reads."""
    assert_laws(MSBUILD, EVERYTHING, PATH, most_removed=30)
    assert_laws(MSBUILD, b"\xef\xbb\xbf" + EVERYTHING.replace(b"\n", b"\r\n"), PATH)
    wide = EVERYTHING.decode().replace("utf-8", "utf-16")
    assert_laws(MSBUILD, b"\xff\xfe" + wide.encode("utf-16-le"), PATH, most_removed=0)
    latin = EVERYTHING.replace(b"utf-8", b"iso-8859-1").replace(b"readme", b"r\xe9adme")
    assert_laws(MSBUILD, latin, PATH)


def test_mask_leaves_groups_and_other_items() -> None:
    """A mask takes references with the comments that speak of them, and nothing else."""
    masked = MSBUILD.mask(EVERYTHING, PATH).decode()
    for gone in ("Newtonsoft", "JSON", "Commented", "Old", "near", "HintPath", "Cases", "Tool"):
        assert gone not in masked
    assert '  <ItemGroup>\n    <!-- a file -->\n    <None Include="readme.md" />\n  </ItemGroup>\n' in masked
    assert (
        "<ItemGroup Condition=\"'$(TargetFramework)' == 'net48'\">\n  </ItemGroup>\n  <ItemGroup></ItemGroup>\n"
        in masked
    )
    assert "<ItemGroup />\n  <ItemDefinitionGroup>" in masked
    assert '      <Reference Remove="@(Unwanted)" />\n      <Message Include="x" />\n' in masked


def test_takes_one_name_out_of_a_list() -> None:
    """An element that names several packages stays for those that are left."""
    kept = [item for item in MSBUILD.read(EVERYTHING, PATH).dependencies if item.name != "Two"]
    assert MSBUILD.write(EVERYTHING, kept, PATH) == EVERYTHING.replace(b'"One; Two ;Three"', b'"One;Three"')


def test_adds_beside_items_of_the_same_type_and_condition() -> None:
    """A package goes to the packages, a project to the projects, a condition to its own group or a new one."""
    data = (
        b'<Project>\r\n\t<ItemGroup>\r\n\t\t<PackageReference Include="A" Version="1" /> <!-- a -->\r\n'
        b'\t</ItemGroup>\r\n\t<ItemGroup>\r\n\t\t<ProjectReference Include="..\\B.csproj" />\r\n'
        b"\t</ItemGroup>\r\n</Project>"
    )
    new = [
        Dependency(language="csharp", name="C", normalised="c", constraint="[1,2)"),
        Dependency(language="csharp", name="D<", normalised="d<", marker="'$(X)' == '&'"),
        Dependency(
            language="csharp",
            name="../E.csproj",
            normalised="../E.csproj",
            source=DependencySource.PROJECT,
            origin="../E.csproj",
        ),
    ]
    assert MSBUILD.write(data, [*MSBUILD.read(data, PATH).dependencies, *new], PATH) == (
        b'<Project>\r\n\t<ItemGroup>\r\n\t\t<PackageReference Include="A" Version="1" /> <!-- a -->\r\n'
        b'\t\t<PackageReference Include="C" Version="[1,2)" />\r\n'
        b'\t</ItemGroup>\r\n\t<ItemGroup>\r\n\t\t<ProjectReference Include="..\\B.csproj" />\r\n'
        b'\t\t<ProjectReference Include="../E.csproj" />\r\n\t</ItemGroup>\r\n\r\n'
        b"\t<ItemGroup Condition=\"'$(X)' == '&amp;'\">\r\n"
        b'\t\t<PackageReference Include="D&lt;" />\r\n\t</ItemGroup>\r\n</Project>'
    )


@pytest.mark.parametrize(
    "data", [b"<Project/>", b"<Project />", b"<Project></Project>", b"<Project>\n</Project>\n"]
)
def test_adds_to_an_empty_project(data: bytes) -> None:
    """A project without any group gets one."""
    new = Dependency(language="csharp", name="A", normalised="a", constraint="1")
    changed = MSBUILD.write(data, [new], PATH)
    assert [item.identity for item in MSBUILD.read(changed, PATH).dependencies] == [new.identity]
    assert (
        b'>\n  <ItemGroup>\n    <PackageReference Include="A" Version="1" />\n  </ItemGroup>\n</Project>'
        in changed
    )


def test_central_versions() -> None:
    """Directory.Packages.props gives versions (constraints) and packages for every project."""
    data = (
        b'<Project>\n <ItemGroup>\n  <PackageVersion Include="A" Version="1" />\n'
        b'  <GlobalPackageReference Include="B" Version="2" />\n </ItemGroup>\n</Project>\n'
    )
    found = declared(data)
    assert (found["A"].kind, found["B"].kind) == (DependencyKind.CONSTRAINT, DependencyKind.RUNTIME)
    assert (
        MSBUILD.mask(data, "Directory.Packages.props") == b"<Project>\n <ItemGroup>\n </ItemGroup>\n</Project>\n"
    )
    assert_laws(MSBUILD, data, "Directory.Packages.props")


@pytest.mark.parametrize(
    ("data", "line", "text"),
    [
        (b"<Project>\n<ItemGroup>\n\n</Project>", 2, "not valid XML: mismatched tag"),
        (b"<Project>\n<ItemGroup>\n</ItemGruppe>\n</Project>", 3, "not valid XML: mismatched tag"),
        (b"<Project>\n<ItemGroup>\n\n", 2, "not valid XML"),
        (b"", 1, "not valid XML"),
        (b"<Project>\xff</Project>", 1, "not valid XML"),
        (b'<?xml version="1.0" encoding="nonsense"?>\n<a/>', 1, "XML"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>', 1, "document type"),
        (b"<a>\n&nbsp;</a>", 2, "undefined entity"),
    ],
)
def test_malformed_files_name_file_and_line(data: bytes, line: int, text: str) -> None:
    """A file that cannot be understood is one clear error with its path and line."""
    with pytest.raises(ManifestError) as caught:
        MSBUILD.read(data, PATH)
    assert str(caught.value).startswith(f"{PATH}:{line}: ")
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["a/B.csproj", "B.fsproj", "B.vbproj", "Directory.Build.props", "x.targets"])
def test_is_found_by_name(name: str) -> None:
    """Projects of three languages and what they import are recognised."""
    found = format_of(name)
    assert found is not None
    assert found.name == "msbuild"
