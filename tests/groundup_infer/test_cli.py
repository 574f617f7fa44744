"""`groundup infer --write`: what could not be written is an error, and what was is reported."""

import json
from pathlib import Path

from groundup_infer.api import declared, infer
from tests.suites.dibench.conftest import Groundup


def repository(tmp_path: Path, **files: str) -> Path:
    """Return a repository that imports requests."""
    root = tmp_path / "repository"
    root.mkdir()
    (root / "a.py").write_text("import requests\n")
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    return root


def test_what_is_missing_is_written(groundup: Groundup, tmp_path: Path) -> None:
    """The manifest has it afterwards, with its mode; a second time nothing is missing."""
    root = repository(tmp_path, requirements_txt="click\n")
    (root / "requirements.txt").chmod(0o640)
    assert groundup("infer", root, "--write").code == 0
    assert (root / "requirements.txt").read_text().split() == ["click", "requests"]
    assert (root / "requirements.txt").stat().st_mode & 0o777 == 0o640
    again = groundup("infer", root, "--write")
    assert again.code == 0
    assert "nothing is missing" in again.err


def test_declarations_stand_beside_what_is_imported(groundup: Groundup, tmp_path: Path) -> None:
    """What manifests lack and what they declare for nothing is told, with the line, in any spelling."""
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = [\n    "Requests>=2",\n    "attrs",\n]\n'
    root = repository(tmp_path, pyproject_toml=project)
    (root / "b.py").write_text("import yaml\n")
    ended = groundup("infer", root, "--declared")
    assert ended.code == 0
    said = " ".join(ended.out.split())
    assert "requests pyproject.toml:5 (runtime)" in said
    assert "PyYAML nowhere" in said or "pyyaml nowhere" in said
    assert "attrs pyproject.toml:6 (runtime)" in said.partition("imported nowhere")[2]
    (found,) = json.loads(groundup("infer", root, "--declared", "--json").out)["declared"]
    assert [one["name"] for one in found["declarations"]] == ["Requests", "attrs"]
    (root / "setup.cfg").write_text("[metadata\n")
    assert "setup.cfg" in groundup("infer", root, "--declared").err
    assert groundup("infer", root / "a.py", "--declared").code == 2


def test_the_manifests_of_all_languages_are_read_together(tmp_path: Path) -> None:
    """Each language asked for has its own, also one without manifests."""
    root = repository(tmp_path, requirements_txt="click\n", package_json='{"dependencies": {"react": "1"}}')
    found = declared(root, ["python", "javascript", "rust"])
    assert {language: [one.name for one in item.declarations] for language, item in found.items()} == {
        "python": ["click"], "javascript": ["react"], "rust": [],
    }  # fmt: skip


def test_what_could_not_be_written_ends_with_an_error(groundup: Groundup, tmp_path: Path) -> None:
    """No manifest, or one that cannot be understood, is no success, for people and for programs."""
    root = repository(tmp_path)
    ended = groundup("infer", root, "--write")
    assert ended.code == 2
    assert "no manifest to write requests to" in ended.err

    (root / "pyproject.toml").write_text("[project\n")
    ended = groundup("infer", root, "--write", "--json")
    assert ended.code == 2
    assert "pyproject.toml: left as it is" in json.loads(ended.out)["not_written"][0]
    assert (root / "pyproject.toml").read_text() == "[project\n"


def test_a_reference_that_is_inferred_is_not_left_over(tmp_path: Path) -> None:
    """A declared project is listed among what nothing imports only where nothing uses it."""
    library = '<Project Sdk="Microsoft.NET.Sdk"></Project>'
    used = "".join(f'<ProjectReference Include="..\\{one}\\{one}.csproj" />' for one in ("Core", "Idle"))
    files = {
        "Core/Core.csproj": library,
        "Core/C.cs": "namespace Core { public class Heart {} }",
        "Idle/Idle.csproj": library,
        "App/App.csproj": library.replace("></", f"><ItemGroup>{used}</ItemGroup></"),
        "App/A.cs": "using Core;\nclass A { Heart h; }",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    found = infer(tmp_path)
    unused = declared(tmp_path, ["csharp"])["csharp"].unused(found[0])
    assert [one.name for one in unused] == ["..\\Idle\\Idle.csproj"]
