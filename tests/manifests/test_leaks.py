"""Masking whole repositories."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.manifests.discovery import find_manifests
from groundup.manifests.leaks import mask_repository
from groundup.manifests.records import Kind

FILES = {
    "pyproject.toml": '[project]\nname = "x"\ndynamic = ["version"]\ndependencies = ["requests>=2", "click"]\n',
    "setup.py": "from setuptools import setup\nsetup(install_requires=open('deps/main.in').read().split())\n",
    "deps/main.in": "# all\n\nnumpy\n",
    "requirements-dev.txt": "pytest\n",
    "poetry.lock": '[[package]]\nname = "requests"\n',
    "src/x.egg-info/requires.txt": "requests\n",
    "src/x.egg-info/PKG-INFO": "Name: x\nRequires-Dist: requests>=2\nVersion: 1\n\nRequires-Dist: in the text\n",
    "src/x/main.py": "import requests\n",
    "tox.ini": "[testenv]\ndeps =\n    requests\n",
    "Dockerfile": "RUN pip install click\n",
    "Cargo.toml": '[package]\nname = "x"\n[dependencies]\nserde = "1"\n',
    "Cargo.lock": "serde\n",
    "package.json": '{"dependencies": {"left-pad": "1"}}',
    "package-lock.json": "{}",
    "a.csproj": '<Project><ItemGroup><PackageReference Include="N" Version="1" /></ItemGroup></Project>',
    ".git/config": "requests\n",
    "venv/requirements.txt": "requests\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository of four languages in which the answer stands in many places."""
    root = tmp_path / "repository"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return root


def contents(root: Path) -> dict[str, str]:
    """Return all files below *root*."""
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_python(repository: Path, tmp_path: Path) -> None:
    """Manifests and files they read are masked, lock files and metadata go, other languages stay."""
    before = contents(repository)
    report = mask_repository(repository, tmp_path / "masked", "python")
    after = contents(tmp_path / "masked")
    assert contents(repository) == before
    assert after["pyproject.toml"] == '[project]\nname = "x"\ndynamic = ["version"]\ndependencies = []\n'
    assert after["deps/main.in"] == "# all\n\n"
    assert after["requirements-dev.txt"] == ""
    assert after["src/x.egg-info/PKG-INFO"] == "Name: x\nVersion: 1\n\nRequires-Dist: in the text\n"
    assert before.keys() - after.keys() == {"poetry.lock", "src/x.egg-info/requires.txt"}
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"pyproject.toml", "deps/main.in", "requirements-dev.txt", "src/x.egg-info/PKG-INFO"}
    declared = {item.name for file in report.masked for item in file.dependencies}
    assert declared == {"requests", "click", "numpy", "pytest"}
    assert {(leak.path, leak.line, leak.name) for leak in report.leaks} == {
        ("tox.ini", 3, "requests"),
        ("Dockerfile", 1, "click"),
    }


def test_all_languages_in_place(repository: Path) -> None:
    """Without a language, the manifests and lock files of all four are masked and removed."""
    report = mask_repository(repository)
    after = contents(repository)
    assert "serde" not in after["Cargo.toml"]
    assert "left-pad" not in after["package.json"]
    assert 'Include="N"' not in after["a.csproj"]
    assert not {"Cargo.lock", "package-lock.json", "poetry.lock"} & after.keys()
    assert {item.format for item in report.masked} >= {"pyproject.toml", "Cargo.toml", "package.json"}
    assert after[".git/config"] == after["venv/requirements.txt"] == "requests\n"


def test_chosen_kinds(repository: Path) -> None:
    """Only the kinds that are named are masked."""
    mask_repository(repository, None, "python", [Kind.DEV])
    after = contents(repository)
    assert after["requirements-dev.txt"] == ""
    assert after["pyproject.toml"] == FILES["pyproject.toml"]


def test_a_manifest_that_cannot_be_read_is_told(repository: Path) -> None:
    """A manifest that cannot be understood stays, and makes the report unclean with one sentence."""
    (repository / "pyproject.toml").write_text("[project\n")
    report = mask_repository(repository, None, "python")
    assert len(report.refused) == 1
    assert report.refused[0].startswith("pyproject.toml:1: is not valid TOML")
    assert not report.clean


def test_links_and_outside_paths_are_left_alone(repository: Path, tmp_path: Path) -> None:
    """Nothing outside of the repository is written, whatever a manifest refers to or a link points at."""
    outside = tmp_path / "outside.txt"
    outside.write_text("numpy\n")
    (repository / "requirements.txt").symlink_to(outside)
    (repository / "requirements-x.txt").write_text("-r ../outside.txt\n-r /etc/hostname\na\n")
    mask_repository(repository, None, "python")
    assert outside.read_text() == "numpy\n"


def test_bad_folders(repository: Path, tmp_path: Path) -> None:
    """A missing repository and a destination that exists are usage errors."""
    with pytest.raises(UsageError, match="is not a folder"):
        mask_repository(tmp_path / "none")
    with pytest.raises(UsageError, match="exists already"):
        mask_repository(repository, tmp_path)


def test_find_manifests(repository: Path) -> None:
    """Manifests are found by name, in order, of one language or of all; environments are not looked into."""
    assert [item.path for item in find_manifests(repository, "python")] == [
        "pyproject.toml",
        "requirements-dev.txt",
        "setup.py",
    ]
    assert {item.language for item in find_manifests(repository)} == {"python", "rust", "javascript", "csharp"}
