"""Central definitions: what a request inherits counts where it stands, once."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.languages.csharp.msbuild import MsBuild
from groundup.languages.javascript.package_json import PackageJson
from groundup.manifests.records import DependencyKind, Language
from groundup.suites.dibench.answers import answer, submitted
from groundup.suites.dibench.central import CentralDefinitions
from groundup.suites.dibench.declarations import UNDEFINED, name_key
from groundup.suites.dibench.metrics import InstanceScore, score_instance
from tests.suites.dibench.made import write_tree
from tests.suites.dibench.predictions import as_counts
from tests.suites.dibench.test_answers import problem

CATALOGS = {
    "pnpm-workspace.yaml": "packages:\n  - a\ncatalog:\n  ms: ^2.1.3\ncatalogs:\n  old:\n    ms: ^1.0.0\n",
    "a/package.json": '{"dependencies": {"ms": "catalog:"}}',
    "b/package.json": '{"dependencies": {"ms": "catalog:old"}}',
}


def scored(
    tmp_path: Path, masked: Mapping[str, str], whole: Mapping[str, str], handed_in: Mapping[str, str],
    language: Language,
) -> InstanceScore:  # fmt: skip
    """Return the counts of build files that are handed in."""
    found = problem(tmp_path, dict(masked), dict(whole), language)
    submission = write_tree(tmp_path / "submission", handed_in)
    return score_instance(answer(found, submitted(found, submission))[0])


@pytest.mark.parametrize(
    ("changes", "names", "exact"),
    [
        pytest.param({}, (2, 0, 0), (2, 0, 0), id="the original"),
        pytest.param({"a/package.json": {"catalog:": "^2.1.3"}}, (2, 0, 0), (2, 0, 0), id="written out"),
        pytest.param({"pnpm-workspace.yaml": {"^2.1.3": "^2"}}, (2, 0, 0), (1, 1, 1), id="another version"),
        pytest.param({"pnpm-workspace.yaml": {"  ms: ^2.1.3\n": ""}}, (1, 1, 1), (1, 1, 1), id="no definition"),
        pytest.param({"b/package.json": {":old": ":new"}}, (1, 1, 1), (1, 1, 1), id="no such catalog"),
        pytest.param({"a/package.json": {'"ms": "catalog:"': ""}}, (1, 0, 1), (1, 0, 1), id="no request"),
        pytest.param({"a/package.json": {'{"ms"': '{"tape": "catalog:", "ms"'}}, (2, 1, 0), (2, 1, 0), id="more"),
        pytest.param(
            {"pnpm-workspace.yaml": {"catalog:\n": "catalog:\n  x: 1.0.0\n"}}, (2, 0, 0), (2, 1, 0), id="idle"
        ),
    ],
)
def test_catalogs(
    tmp_path: Path, changes: Mapping[str, Mapping[str, str]], names: tuple[int, ...], exact: tuple[int, ...]
) -> None:
    """One mistake in a catalog or in a request of it counts once, by name and exactly."""
    masked = {path: text.partition("catalog:\n")[0] for path, text in CATALOGS.items()}
    masked |= {path: "{}" for path in masked if path.endswith(".json")}
    handed_in = dict(CATALOGS)
    for path, replaced in changes.items():
        for old, new in replaced.items():
            assert old in handed_in[path]
            handed_in[path] = handed_in[path].replace(old, new, 1)
    score = scored(tmp_path, masked, CATALOGS, handed_in, "javascript")
    assert (as_counts(score.total.name_only), as_counts(score.total.exact)) == (names, exact)


def test_a_definition_counts_for_each_build_file_that_inherits_it(tmp_path: Path) -> None:
    """Two crates get the wrong version, or none: two declarations are wrong."""
    member = '[package]\nname = "{}"\n[dependencies]\nlog = {{ workspace = true }}\n'
    whole = {"Cargo.toml": '[workspace.dependencies]\nlog = "0.4"\n'}
    whole |= {f"{name}/Cargo.toml": member.format(name) for name in "ab"}
    masked = {
        path: text.replace('log = "0.4"', "").replace("log = { workspace = true }", "")
        for path, text in whole.items()
    }
    wrong = whole | {"Cargo.toml": '[workspace.dependencies]\nlog = "0.3"\n'}
    score = scored(tmp_path, masked, whole, wrong, "rust")
    assert as_counts(score.total.name_only) == (2, 0, 0)
    assert as_counts(score.total.exact) == (0, 2, 2)
    assert score.expected == 2, "the definition does not count besides"


def test_a_definition_that_the_mask_left_is_inherited(tmp_path: Path) -> None:
    """As in published data, which mask `[dependencies]` only: the root is given, and its version with it."""
    root = '[workspace.dependencies]\nlog = { version = "0.4", path = "../log" }\n'
    whole = {"a/Cargo.toml": '[dependencies]\nlog = { workspace = true, features = ["std"] }\n'}
    found = problem(tmp_path, {"a/Cargo.toml": "[dependencies]\n"}, whole, "rust")
    write_tree(found.repository, {"Cargo.toml": root})
    (file,) = answer(found, None)[0].files
    (log,) = file.expected
    assert (log.constraint, log.extras, log.origin) == ("0.4", ("std",), "../../log")


PROPS = (
    "<Project><PropertyGroup><ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally></PropertyGroup>"
    '<ItemGroup><PackageVersion Include="A" Version="1.0.0"/></ItemGroup></Project>'
)


OFF = "<ManagePackageVersionsCentrally>false</ManagePackageVersionsCentrally>"
CENTRAL = "<Project><PropertyGroup><Central>true</Central></PropertyGroup></Project>"


@pytest.mark.parametrize(
    ("reference", "more", "said"),
    [
        ('Include="a"', {}, "1.0.0"),
        ('Include="A" VersionOverride="3.0.0"', {}, "3.0.0"),
        ('Include="A" Version="3.0.0"', {}, "3.0.0 beside the central ones"),
        ('Include="B"', {}, UNDEFINED),
        (
            'Include="B"',
            {"Directory.Packages.props": PROPS.replace("<ItemGroup>", '<Import Project="x"/><ItemGroup>')},
            "",
        ),
        ('Include="B"', {"Directory.Packages.props": PROPS.replace("true", "false")}, ""),
        ('Include="B"', {"src/Directory.Build.props": PROPS.replace("true", "false")}, UNDEFINED),
        (
            'Include="B"',
            {
                "Directory.Packages.props": PROPS.replace("true", "$(Central)"),
                "src/Directory.Build.props": CENTRAL,
            },
            UNDEFINED,
        ),
        (
            'Include="B"',
            {
                "Directory.Packages.props": PROPS.replace(
                    "<PropertyGroup>", "<PropertyGroup Condition=\"'$(Central)' == 'TRUE'\">"
                ),
                "src/Directory.Build.props": CENTRAL,
            },
            UNDEFINED,
        ),
        (
            'Include="B"',
            {
                "Directory.Packages.props": PROPS.replace(
                    "<PropertyGroup>", "<PropertyGroup Condition=\"'$(Central)' != 'true'\">"
                ),
                "src/Directory.Build.props": CENTRAL,
            },
            "",
        ),
        ('Include="B"', {"Directory.Packages.props": PROPS.replace("<Prop", f"<!-- {OFF} --><Prop")}, UNDEFINED),
        ('Include="A"', {"src/Directory.Packages.props": PROPS.replace("1.0.0", "2.0.0")}, "2.0.0"),
    ],
)
def test_central_package_versions(reference: str, more: Mapping[str, str], said: str) -> None:
    """Properties decide, in the order of the files, if versions are central; what is imported is not missing."""
    project = f"<Project><ItemGroup><PackageReference {reference}/></ItemGroup></Project>"
    files = {"Directory.Packages.props": PROPS, "src/App/App.csproj": project, **more}
    central = CentralDefinitions(lambda path: files[path].encode() if path in files else None)
    read = MsBuild().read(project.encode(), "src/App/App.csproj").dependencies
    (found,) = central.written_out("src/App/App.csproj", read)
    details = dict(found.details)
    words = [found.constraint, UNDEFINED if UNDEFINED in details else "", details.get("Version", "")]
    assert " ".join(filter(None, words)) == said


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ('<PackageReference Include="A"/><PackageReference Remove="A"/>', []),
        ('<PackageReference Remove="A"/><PackageReference Include="A"/>', ["a"]),
        ('<PackageReference Include="A;B" Exclude="B"/>', ["a"]),
        ('<PackageReference Include="A" Condition="false"/>', []),
        ("<PackageReference Include=\"A\" Condition=\"'$(Mode)' == 'slow'\"/>", []),
        ("<PackageReference Include=\"A\" Condition=\"'$(TargetFramework)' == 'net48'\"/>", ["a"]),
        (
            '<PackageReference Include="$(Log)"/><PackageReference Include="$(Log).Sinks"/>',
            ["serilog", "serilog.sinks"],
        ),
        ('<PackageReference Include="$(Unset)X"/>', ["x"]),
        ('<ProjectReference Include="$(MSBuildThisFileDirectory)../Core/Core.csproj"/>', ["src/Core/Core.csproj"]),
        ('<ProjectReference Include="$(Root)src\\Core\\Core.csproj"/>', ["src/Core/Core.csproj"]),
        ('<ProjectReference Include="..\\..\\src\\Core\\Core.csproj"/>', ["src/Core/Core.csproj"]),
    ],
)
def test_items_are_as_msbuild_evaluates_them(items: str, names: list[str]) -> None:
    """What is taken back, excluded or never there declares nothing; properties in names have their values."""
    properties = (
        "<PropertyGroup><Log>Serilog</Log><Mode>fast</Mode><Root>$([MSBuild]::GetDirectoryNameOfFileAbove("
        "$(MSBuildThisFileDirectory), 'Kite.sln'))/</Root></PropertyGroup>"
    )
    project = f"<Project>{properties}<ItemGroup>{items}</ItemGroup></Project>".encode()
    files = {"src/App/App.csproj": project, "Kite.sln": b""}
    read = MsBuild().read(project, "src/App/App.csproj").dependencies
    found = CentralDefinitions(files.get).written_out("src/App/App.csproj", read)
    assert [name_key(item).name for item in found if item.kind is DependencyKind.RUNTIME] == names


def test_properties_come_from_the_next_file_above() -> None:
    """As a file of properties imports the one above it, which would hide that one otherwise."""
    above = "$([MSBuild]::GetPathOfFileAbove('Directory.Build.props', '$(MSBuildThisFileDirectory)../'))"
    project = b'<Project><ItemGroup><PackageReference Include="$(Log)"/></ItemGroup></Project>'
    files = {
        "src/App/App.csproj": project,
        "src/Directory.Build.props": f'<Project><Import Project="{above}"/></Project>'.encode(),
        "Directory.Build.props": b"<Project><PropertyGroup><Log>Serilog</Log></PropertyGroup></Project>",
    }
    read = MsBuild().read(project, "src/App/App.csproj").dependencies
    (found,) = CentralDefinitions(files.get).written_out("src/App/App.csproj", read)
    assert name_key(found).name == "serilog"


def test_items_of_a_target_are_not_there_for_restore() -> None:
    """It runs later, if at all."""
    project = (
        b'<Project><Target Name="T"><ItemGroup><PackageReference Include="A"/></ItemGroup></Target></Project>'
    )
    read = MsBuild().read(project, "App.csproj").dependencies
    assert len(read) == 1
    assert CentralDefinitions({"App.csproj": project}.get).written_out("App.csproj", read) == ()


@pytest.mark.parametrize(
    "workspace",
    [
        "catalog: {ms: ^2.1.3}\n",
        "packages: ['pkgs/*']\ncatalog:\n  ms: ^2.1.3\n",
        "x: &v ^2.1.3\ncatalog:\n  ms: *v\n",
        "catalogs: {default: {ms: ^2.1.3}}\n",
    ],
)
def test_catalogs_are_read_in_every_style_of_yaml(workspace: str) -> None:
    """Flow style, anchors and lists in brackets are what pnpm reads, too."""
    text = b'{"dependencies": {"ms": "catalog:"}}'
    files = {"a/package.json": text, "pnpm-workspace.yaml": workspace.encode()}
    read = PackageJson().read(text, "a/package.json").dependencies
    (found,) = CentralDefinitions(files.get).written_out("a/package.json", read)
    assert (found.constraint, UNDEFINED in dict(found.details)) == ("^2.1.3", False)


def test_yarns_catalogs_are_not_called_missing() -> None:
    """They stand in a file that nothing here reads."""
    text = b'{"dependencies": {"ms": "catalog:"}}'
    files = {"package.json": text, ".yarnrc.yml": b"catalog:\n  ms: ^2\n"}
    read = PackageJson().read(text, "package.json").dependencies
    assert CentralDefinitions(files.get).written_out("package.json", read) == read


def test_a_link_above_a_build_file_is_not_read(tmp_path: Path) -> None:
    """Nothing is inherited from it, and nobody's grading fails for it."""
    whole = {"a/Cargo.toml": "[dependencies]\nlog = { workspace = true }\n"}
    found = problem(tmp_path, {"a/Cargo.toml": "[dependencies]\n"}, whole, "rust")
    (found.repository / "Cargo.toml").symlink_to("/etc/hostname")
    (file,) = answer(found, None)[0].files
    assert [dict(item.details) for item in file.expected] == [{UNDEFINED: ""}]


def test_many_definitions_and_many_requests_are_read_once() -> None:
    """A file with thousands of versions is parsed once, not for each reference."""
    versions = "".join(f'<PackageVersion Include="A{number}" Version="1"/>' for number in range(300))
    asked: list[str] = []
    files = {"Directory.Packages.props": PROPS.replace("</ItemGroup>", f"{versions}</ItemGroup>").encode()}

    def read(path: str) -> bytes | None:
        asked.append(path)
        return files.get(path)

    project = "".join(f'<PackageReference Include="a{number}"/>' for number in range(300))
    text = f"<Project><ItemGroup>{project}</ItemGroup></Project>".encode()
    central = CentralDefinitions(read)
    found = central.written_out("a/b.csproj", MsBuild().read(text, "a/b.csproj").dependencies)
    assert {item.constraint for item in found} == {"1"}
    assert len(asked) == len(set(asked))
