"""What MSBuild makes of properties and conditions: known as far as the repository's files say it."""

import pytest

from groundup.languages.csharp.evaluation import Evaluation, joined

FILES = {
    "Directory.Build.props": "<Project><PropertyGroup><Own>top</Own><Base>$(Own)/b</Base></PropertyGroup>"
    "</Project>",
    "src/Directory.Build.props": """<Project>
  <Import Project="$([MSBuild]::GetPathOfFileAbove('Directory.Build.props', '$(MSBuildThisFileDirectory)../'))" />
  <Import Project="..\\build\\more.props" Condition="'$(Base)' == 'TOP/B'" />
  <Import Project="absent.props" />
  <Import Project="../broken.props" />
  <Import />
  <PropertyGroup>
    <Empty></Empty>
    <Unknown>$(TargetFramework)</Unknown>
    <Here>$(MSBuildThisFile) in $(MSBuildThisFileDirectory)</Here>
    <Above>$([MSBuild]::GetDirectoryNameOfFileAbove($(MSBuildThisFileDirectory), global.json))</Above>
    <NoneAbove>[$([MSBuild]::GetPathOfFileAbove('no.such'))]</NoneAbove>
    <Function>$([System.IO.Path]::Combine('a', 'b'))</Function>
  </PropertyGroup>
</Project>""",
    "build/more.props": "<Project><PropertyGroup><More>$(own) and $(More2)</More></PropertyGroup></Project>",
    "broken.props": "<Project>",
    "Directory.Packages.props": "<Project><PropertyGroup><Central>yes</Central></PropertyGroup></Project>",
    "global.json": "{}",
    "src/a/A.csproj": """<Project>
  <PropertyGroup Condition="'$(Central)' != 'yes'"><Own>skipped</Own></PropertyGroup>
  <PropertyGroup><Mine>$(MSBuildProjectName) $(MSBuildProjectFile) $(ProjectDir)</Mine></PropertyGroup>
  <Target Name="t"><PropertyGroup><InTarget>1</InTarget></PropertyGroup></Target>
  <ItemGroup><Compile>no property</Compile></ItemGroup>
  <Choose>
    <When Condition="'$(Central)' == 'yes'"><PropertyGroup><Chosen>when</Chosen></PropertyGroup></When>
    <Otherwise><PropertyGroup><Chosen>otherwise</Chosen></PropertyGroup></Otherwise>
  </Choose>
  <Import Project="A.csproj" />
</Project>""",
    "src/a/Directory.Build.targets": "<Project><PropertyGroup><Late>$(Mine)!</Late></PropertyGroup></Project>",
}


def evaluation(**project: str) -> Evaluation:
    """Evaluate the project."""
    files = FILES | {path.replace("__", "/"): text for path, text in project.items()}
    return Evaluation(lambda path: None if path not in files else files[path].encode(), "src/a/A.csproj")


VALUES: dict[str, str | None] = {
    "Own": "top",
    "OWN": "top",
    "Base": "top/b",
    "More": "top and ",
    "Empty": "",
    "Never": "",
    "Unknown": None,
    "TargetFramework": None,
    "Configuration": None,
    "Here": "Directory.Build.props in /src/",
    "Above": "/",
    "NoneAbove": "[]",
    "Function": None,
    "Central": "yes",
    "Mine": "A A.csproj /src/a/",
    "InTarget": "",
    "Compile": "",
    "Chosen": "when",
    "Late": "A A.csproj /src/a/!",
}


@pytest.mark.parametrize("name", VALUES)
def test_the_value_of_a_property(name: str) -> None:
    """The nearest props first, imports where they stand; what an SDK defines is unknown, all else empty."""
    assert evaluation().value(name) == VALUES[name]


CONDITIONS: dict[str, bool | None] = {
    "'$(Own)' == 'top'": True,
    "$(Own) == TOP": True,
    "'$(Own)' != 'top'": False,
    "'$(Own)' == 'other'": False,
    "'$(Own)$(Base)' == 'toptop/b'": True,
    "'$(TargetFramework)' == 'net8.0'": None,
    "'a' == '$(TargetFramework)'": None,
    "true": True,
    "ON": True,
    "'yes'": True,
    "false": False,
    "off": False,
    "no": False,
    "'maybe'": None,
    "": None,
    "!true": False,
    "!false": True,
    "!!true": True,
    "!'$(TargetFramework)'": None,
    "true and true": True,
    "true AND false": False,
    "false and '$(OS)' == 'x'": False,
    "'$(OS)' == 'x' and false": False,
    "true and '$(OS)' == 'x'": None,
    "false or false": False,
    "false Or true": True,
    "'$(OS)' == 'x' or true": True,
    "'$(OS)' == 'x' or false": None,
    "true or false and false": True,
    "(true or false) and false": False,
    "(true": None,
    "true)": None,
    "true true": None,
    "true and": None,
    "Exists('x')": None,
    "Exists('x') or true": True,
    "!Exists('x') and false": False,
    "HasTrailingSlash('$(Own)') == 'x'": None,
    "'10' > '9'": True,
    "10 >= 10": True,
    "9 < 10": True,
    "10 <= 9": False,
    "10 > 10": False,
    "10 < 10": False,
    "a < b": None,
    "'$([System.String]::Copy('x'))' == 'x'": None,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition(condition: str) -> None:
    """`or` binds less than `and`; what is unknown decides where nothing else does."""
    assert evaluation().holds(condition, "src/a/A.csproj") is CONDITIONS[condition]


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$(Own)-$(Central)", "top-yes"),
        ("$( Own )", "top"),
        ("$(MSBuildProjectDirectory)|$(SolutionDir)", "/src/a|/"),
        ("$(Own", None),
        ("$(a.b)", None),
        ("$(Own)$(OS)", None),
        ("$(Own.Replace('(', ')'))", None),
    ],
)
def test_properties_in_a_text(text: str, expanded: str | None) -> None:
    """All or none: a text with one that is unknown is unknown."""
    assert evaluation().expanded(text, "src/a/A.csproj") == expanded


@pytest.mark.parametrize(
    ("path", "target", "found"),
    [
        ("src/a/A.csproj", "..\\b\\B.csproj", "src/b/B.csproj"),
        ("src/a/A.csproj", "/x.props", "x.props"),
        ("A.csproj", "../../x", "x"),
    ],
)
def test_paths_in_projects(path: str, target: str, found: str) -> None:
    """Of either slash, from the root of the repository, which nothing leaves."""
    assert joined(path, target) == found


def test_files_that_import_each_other_end() -> None:
    """Of a chain, forty files are read."""
    chain = {
        f"src__a__{at}.props": f'<Project><Import Project="{at + 1}.props" />'
        f"<PropertyGroup><Last>{at}</Last><P{at}>x</P{at}></PropertyGroup></Project>"
        for at in range(60)
    }
    chain["src__a__A.csproj"] = '<Project><Import Project="0.props" /></Project>'
    found = evaluation(**chain)
    read = [at for at in range(60) if found.value(f"P{at}") == "x"]
    assert read == list(range(len(read)))
    assert len(read) == 40 - 8  # the others
    assert found.value("Last") == "0"
