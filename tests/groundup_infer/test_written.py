"""`groundup infer`: what the source needs, written into the manifests around it."""

from pathlib import Path

import pytest

from groundup.domain.digests import digest_bytes
from groundup_infer.records import imported_name
from groundup_infer.written import INFERRED_KINDS, write_inferred
from tests.suites.dibench.conftest import Groundup
from tests.suites.dibench.made import INSTANCES, write_tree


def test_each_line_is_explained(groundup: Groundup, tmp_path: Path) -> None:
    """A package stands beside the import that speaks for it, and nothing is written unless it is asked for."""
    root = write_tree(tmp_path / "r", INSTANCES["one_alpha"][1])
    before = digest_bytes((root / "pyproject.toml").read_bytes())
    ended = groundup("infer", root)
    assert ended.code == 0
    assert "imported in alpha/__init__.py:1, eager" in ended.out
    assert digest_bytes((root / "pyproject.toml").read_bytes()) == before


def test_writing_adds_only_what_is_missing(groundup: Groundup, tmp_path: Path) -> None:
    """The second time there is nothing to add; what was declared stays as it was."""
    root = write_tree(tmp_path / "r", INSTANCES["one_alpha"][1])
    manifest = root / "pyproject.toml"
    manifest.write_text(
        manifest.read_text().replace("dependencies = []", 'dependencies = ["requests>=2"]  # why', 1)
    )
    assert "added pyyaml" in groundup("infer", root, "--write").err
    text = manifest.read_text()
    assert '"requests>=2"' in text
    assert "pyyaml" in text
    assert "nothing is missing" in groundup("infer", root, "--write").err
    assert manifest.read_text() == text


def test_crates_of_the_same_repository_are_declared_by_path(groundup: Groundup, tmp_path: Path) -> None:
    """They are on no registry."""
    root = write_tree(tmp_path / "r", INSTANCES["two_beta"][1])
    assert groundup("infer", root, "--write").code == 0
    assert 'beta-core = { path = "core" }' in (root / "Cargo.toml").read_text()


def test_a_crate_is_declared_in_whatever_spelling_it_has(groundup: Groundup, tmp_path: Path) -> None:
    """Code writes `_` for `-`, so a crate that is declared with either is not missing."""
    text = '[package]\nname = "x"\n\n[dependencies]\nmy_own = "1"\nserde_json = "1"\n'
    files = {"Cargo.toml": text, "src/lib.rs": "use my_own::a;\nuse serde_json::Value;\n"}
    root = write_tree(tmp_path / "r", files)
    assert "nothing is missing" in groundup("infer", root, "--write").err
    assert (root / "Cargo.toml").read_text() == text
    assert "nowhere" not in groundup("infer", root, "--declared").out


def test_files_notebooks_and_diffs(groundup: Groundup, tmp_path: Path) -> None:
    """One file, a notebook and a diff are enough to say something."""
    (tmp_path / "one.py").write_text("import numpy\n")
    (tmp_path / "n.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["import numpy\\n"]}]}')
    (tmp_path / "d.diff").write_text("--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n import os\n+import numpy\n")
    for name in ("one.py", "n.ipynb", "d.diff"):
        document = groundup("infer", tmp_path / name, "--json").document
        assert [item["name"] for item in document["languages"][0]["dependencies"]] == ["numpy"], name
    assert groundup("infer", tmp_path / "one.py", "--write").code == 2


def test_what_cannot_be_read_is_said(groundup: Groundup, tmp_path: Path) -> None:
    """A language that is unknown, a folder without source, a path that is not there."""
    (tmp_path / "empty").mkdir()
    for arguments in (["empty"], ["missing"], [".", "--language", "cobol"]):
        assert groundup("infer", *arguments).code == 2


def test_a_package_of_an_extra_may_be_needed_besides(groundup: Groundup, tmp_path: Path) -> None:
    """What only an extra brings is not there when the code imports it always."""
    manifest = (
        '[project]\nname = "alpha"\nversion = "1"\n\n[project.optional-dependencies]\nfast = ["requests[socks]"]\n'
    )
    root = write_tree(tmp_path / "r", {**INSTANCES["one_alpha"][1], "pyproject.toml": manifest})
    assert "requests" in groundup("infer", root, "--write").err
    text = (root / "pyproject.toml").read_text()
    assert 'fast = ["requests[socks]"]' in text
    assert "dependencies = [" in text


def test_what_extras_name_differs_from_requirements(tmp_path: Path) -> None:
    """What an extra names is required only where loading surely imports it; what extras leave out counts."""
    files = {
        "pyproject.toml": '[project]\nname = "alpha"\ndependencies = []\n[project.optional-dependencies]\n'
        'web = ["jinja2", "itsdangerous", "httpx"]\n',
        "alpha/__init__.py": "import httpx\n",
        "alpha/sessions.py": "import itsdangerous\n",
        "alpha/pages.py": "try:\n    import jinja2\nexcept ImportError:\n    jinja2 = None\n",
        **{f"alpha/tasks_{number}.py": "import anyio\n" for number in range(9)},
    }
    root = write_tree(tmp_path / "r", files)
    (written,) = write_inferred(
        root,
        "python",
        ["pyproject.toml"],
        lambda path: (root / path).read_bytes() if (root / path).exists() else None,
    )
    assert sorted(written.added) == ["anyio", "httpx"]


def test_extras_tell_of_what_they_leave_out(tmp_path: Path) -> None:
    """What one of several files imports is optional by that alone, and required beside extras without it."""
    extras = '[project.optional-dependencies]\nweb = ["jinja2", "itsdangerous", "httpx"]\n'
    root = write_tree(
        tmp_path / "r",
        {
            "pyproject.toml": '[project]\nname = "alpha"\ndependencies = []\n',
            "alpha/__init__.py": "import httpx\nfrom alpha import one, two, three\n",
            **{f"alpha/{name}.py": "import os\n" for name in ("one", "two", "three")},
            "alpha/tasks.py": "import anyio\n",
        },
    )
    added = []
    for more in ("", extras):
        with (root / "pyproject.toml").open("a") as file:
            file.write(more)
        (written,) = write_inferred(root, "python", ["pyproject.toml"], lambda path: (root / path).read_bytes())
        added.append(sorted(written.added))
    assert added == [["httpx"], ["anyio", "httpx"]]


PROJECT = b"""<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net9.0</TargetFramework>
  </PropertyGroup>
</Project>
"""


def test_projects_of_csharp_get_packages_and_references(tmp_path: Path) -> None:
    """Each project gets what its own files need; references to projects are written as .NET writes them."""
    files = {
        "src/Core/Core.csproj": PROJECT.decode(),
        "src/Core/A.cs": "using Newtonsoft.Json;\nusing Microsoft.AspNetCore.Http;\nnamespace Core; class A {}",
        "tests/Core.Tests/Core.Tests.csproj": PROJECT.decode(),
        "tests/Core.Tests/T.cs": "using Xunit;\nusing Core;\nclass T { [Fact] void F() { new A(); } }",
    }
    root = write_tree(tmp_path / "r", files)
    paths = ["src/Core/Core.csproj", "tests/Core.Tests/Core.Tests.csproj"]
    core, tests = write_inferred(
        root, "csharp", paths, lambda path: (root / path).read_bytes(), INFERRED_KINDS["csharp"]
    )
    assert sorted(core.added) == ["Microsoft.AspNetCore.App", "Newtonsoft.Json"]
    assert b'<FrameworkReference Include="Microsoft.AspNetCore.App" />' in core.content
    assert b'<PackageReference Include="Newtonsoft.Json" Version="*" />' in core.content
    assert {"xunit", "xunit.runner.visualstudio", "Microsoft.NET.Test.Sdk"} <= set(tests.added)
    assert b'<ProjectReference Include="..\\..\\src\\Core\\Core.csproj" />' in tests.content


def test_a_version_that_nuget_takes_is_written_where_versions_are_central(tmp_path: Path) -> None:
    """There it is an override: NuGet refuses a reference without a version, and one beside the central ones."""
    central = "<Project><PropertyGroup><ManagePackageVersionsCentrally>true</ManagePackageVersionsCentrally>"
    files = {
        "Directory.Packages.props": f"{central}</PropertyGroup></Project>",
        "Core/Core.csproj": PROJECT.decode(),
        "Core/A.cs": "using Newtonsoft.Json;\nnamespace Core; class A {}",
    }
    root = write_tree(tmp_path / "r", files)
    (core,) = write_inferred(root, "csharp", ["Core/Core.csproj"], lambda path: (root / path).read_bytes())
    assert b'<PackageReference Include="Newtonsoft.Json" VersionOverride="*" />' in core.content


def test_what_tests_need_is_written_only_when_asked_for(groundup: Groundup, tmp_path: Path) -> None:
    """`--write` adds what the program needs; with `--optional` also what its tests do."""
    files = {
        "A.Tests/A.Tests.csproj": PROJECT.decode(),
        "A.Tests/T.cs": "using Xunit;\nclass T { [Fact] void F() {} }",
    }
    root = write_tree(tmp_path / "r", files)
    assert groundup("infer", root, "--write").code == 0
    assert (root / "A.Tests/A.Tests.csproj").read_bytes() == PROJECT
    assert groundup("infer", root, "--write", "--optional").code == 0
    assert b'Include="xunit"' in (root / "A.Tests/A.Tests.csproj").read_bytes()


@pytest.mark.parametrize(
    ("files", "manifest"),
    [
        (
            {"a.py": "import oddthing\n", "pyproject.toml": '[project]\nname = "a"\ndependencies = []\n'},
            "pyproject.toml",
        ),
        (
            {
                "src/lib.rs": "use oddthing::x;\n",
                "Cargo.toml": '[package]\nname = "a"\nedition = "2021"\n[dependencies]\n',
            },
            "Cargo.toml",
        ),
    ],
)
def test_a_guess_is_never_written(
    groundup: Groundup, tmp_path: Path, files: dict[str, str], manifest: str
) -> None:
    """A name that is only a guess is left out of manifests and named; the exit code says so."""
    root = write_tree(tmp_path / "r", files)
    ended = groundup("infer", root, "--write")
    assert ended.code == 2
    assert f"{manifest}: left out oddthing" in ended.err
    assert (root / manifest).read_text() == files[manifest]


def test_what_is_not_shown_is_counted(groundup: Groundup, tmp_path: Path) -> None:
    """A repository that needs nothing at run time says that there is more to see."""
    root = write_tree(tmp_path / "r", {"tests/test_a.py": "import pytest\n"})
    ended = groundup("infer", root)
    assert "0 packages" in ended.out
    assert "--optional shows 1 more: optional, for building or for tests" in ended.err


def test_projects_of_one_folder_and_what_props_declare(groundup: Groundup, tmp_path: Path) -> None:
    """Each project of a folder is written; what a file above declares is not declared again."""
    project = '<Project Sdk="Microsoft.NET.Sdk">\n  <ItemGroup>\n  </ItemGroup>\n</Project>\n'
    item = '<PackageReference Include="Serilog" Version="4.0.0" />'
    props = f"<Project>\n  <ItemGroup>\n    {item}\n  </ItemGroup>\n</Project>\n"
    (tmp_path / "Directory.Build.props").write_text(props)
    for name in ("App", "App - Backup"):
        (tmp_path / f"{name}.csproj").write_text(project)
    (tmp_path / "A.cs").write_text("using Serilog;\nusing Newtonsoft.Json;\nclass A {}\n")
    groundup("infer", str(tmp_path), "--write")
    for name in ("App", "App - Backup"):
        text = (tmp_path / f"{name}.csproj").read_text()
        assert "Newtonsoft.Json" in text
        assert "Serilog" not in text


def test_another_project_of_the_repository_is_declared_by_its_name(tmp_path: Path) -> None:
    """Not by what is imported of it."""
    root = write_tree(
        tmp_path / "r",
        {
            "libs/foo/pyproject.toml": '[project]\nname = "acme-foo"\ndependencies = []\n',
            "libs/foo/company/foo/__init__.py": "",
            "libs/bar/pyproject.toml": '[project]\nname = "acme-bar"\ndependencies = []\n',
            "libs/bar/company/bar/__init__.py": "import click\nfrom company.foo import get\n",
        },
    )
    paths = ["libs/bar/pyproject.toml", "libs/foo/pyproject.toml"]
    bar, foo = write_inferred(root, "python", paths, lambda path: (root / path).read_bytes())
    assert set(bar.added) == {"acme-foo", "click"}
    assert foo.added == ()


def test_code_takes_more_spellings_of_a_crate_for_one() -> None:
    """It writes `_` for `-`."""
    assert imported_name("rust", "serde-derive") == imported_name("rust", "serde_derive")
    assert imported_name("javascript", "a-b") != imported_name("javascript", "a_b")
