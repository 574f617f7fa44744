"""Masking whole repositories."""

import tomllib
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.languages.formats import find_manifests
from groundup.languages.masking import mask_repository
from groundup.manifests.records import DependencyKind

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
    mask_repository(repository, None, "python", [DependencyKind.DEV])
    after = contents(repository)
    assert after["requirements-dev.txt"] == ""
    assert after["pyproject.toml"] == FILES["pyproject.toml"]


def test_a_manifest_that_cannot_be_read_is_reported(repository: Path) -> None:
    """A manifest that cannot be understood stays, and is told in one sentence."""
    (repository / "pyproject.toml").write_text("[project\n")
    report = mask_repository(repository, None, "python")
    assert len(report.refused) == 1
    assert report.refused[0].startswith("pyproject.toml:1: is not valid TOML")


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


OPTIONAL_CRATE = """[package]
name = "x"

[features]
default = ["regex", "diff"]
diff = ["dep:difflib"]
std = ["core?/std", "memchr/std"]

[dependencies]
core = { version = "1", path = "core" }
difflib = { version = "0.4", optional = true }
memchr = { version = "2", optional = true, default-features = false }

[dependencies.regex]
version = "1"
optional = true

[target.'cfg(unix)'.dependencies]
libc = { version = "0.2", optional = true }

[dev-dependencies]
quickcheck = "1"
"""


def test_what_is_optional_goes_with_the_table_it_stands_in(tmp_path: Path) -> None:
    """`optional = true` is no hiding place: the published parser counts it, so a mask of runtime takes it out."""
    (tmp_path / "Cargo.toml").write_text(OPTIONAL_CRATE)
    report = mask_repository(tmp_path, language="rust", kinds={DependencyKind.RUNTIME})
    (masked,) = report.masked
    assert {item.name for item in masked.dependencies} == {"core", "difflib", "memchr", "regex", "libc"}
    left = tomllib.loads((tmp_path / "Cargo.toml").read_text())
    assert left["dependencies"] == {}
    assert left["dev-dependencies"] == {"quickcheck": "1"}
    assert left["features"] == tomllib.loads(OPTIONAL_CRATE)["features"]  # as in the published masks


def test_features_that_name_what_was_masked_are_noted(tmp_path: Path) -> None:
    """A feature's items name optional crates; a note on the manifest names the features."""
    (tmp_path / "Cargo.toml").write_text(OPTIONAL_CRATE)
    report = mask_repository(tmp_path, language="rust", kinds={DependencyKind.RUNTIME})
    (note,) = report.masked[0].notes
    assert (note.topic, note.message) == ("kept", "features name dependencies: default, diff, std")


def test_what_is_optional_in_poetrys_table_goes_with_it(tmp_path: Path) -> None:
    """Poetry's own table is read whole by the published parser; extras of PEP 621 are another place and stay."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.poetry.dependencies]\npython = "^3.9"\nclick = "^8"\nujson = { version = "*", optional = true }\n'
        '[tool.poetry.extras]\nfast = ["ujson"]\n'
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other/pyproject.toml").write_text(
        '[project]\nname = "x"\ndependencies = ["a1"]\n[project.optional-dependencies]\nfast = ["b1"]\n'
    )
    mask_repository(tmp_path, language="python", kinds={DependencyKind.RUNTIME})
    poetry = tomllib.loads((tmp_path / "pyproject.toml").read_text())["tool"]["poetry"]
    assert poetry["dependencies"] == {"python": "^3.9"}
    project = tomllib.loads((tmp_path / "other/pyproject.toml").read_text())["project"]
    assert project["dependencies"] == []
    assert project["optional-dependencies"] == {"fast": ["b1"]}


@pytest.mark.parametrize(
    "path",
    [
        "fuzzer/requirements.txt",
        "tests/fuzzing/requirements.txt",
        "benchmarks/web/requirements.txt",
        "docs/source/requirements.txt",
        ".github/lint/requirements.in",
        "requirements/dev/base.txt",
        "requirements/lint.txt",
        "fuzz-requirements.txt",
        "requirements_bench.txt",
        "docs/environment.yml",
        "environment-docs.yml",
    ],
)
def test_requirements_beside_the_package_are_not_its_runtime(tmp_path: Path, path: str) -> None:
    """What fuzzing, benchmarks, documents, checks and development need is left where it is."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "dependencies:\n  - atheris\n" if path.endswith(".yml") else "atheris==2.3\n"
    file.write_text(text)
    (tmp_path / "requirements").mkdir(exist_ok=True)
    (tmp_path / "requirements/base.txt").write_text("click\n")
    report = mask_repository(tmp_path, language="python", kinds={DependencyKind.RUNTIME})
    assert file.read_text() == text
    assert [item.name for one in report.masked for item in one.dependencies] == ["click"]


def test_a_file_is_what_the_manifest_that_reads_it_says(tmp_path: Path) -> None:
    """Run-time requirements that setup.py reads are masked, whatever their file and folder are called."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/requirements.txt").write_text("numpy\n")
    (tmp_path / "constraints.txt").write_text("numpy<3\n")
    (tmp_path / "requirements.txt").write_text("-c constraints.txt\nclick\n")
    (tmp_path / "bench/setup.py").write_text(
        "from setuptools import setup\nsetup(install_requires=open('requirements.txt').read().split())\n"
    )
    mask_repository(tmp_path, language="python", kinds={DependencyKind.RUNTIME})
    assert (tmp_path / "bench/requirements.txt").read_text() == ""
    assert (tmp_path / "constraints.txt").read_text() == "numpy<3\n"
    assert (tmp_path / "requirements.txt").read_text() == "-c constraints.txt\n"


def test_a_list_of_packages_that_nuget_does_not_read_is_removed(tmp_path: Path) -> None:
    """Beside a project that is SDK-style it is a leftover, and no build file; beside an old one it is masked."""
    listed = '<packages>\n  <package id="Serilog" version="4.0.0" />\n</packages>\n'
    for folder, project in (("new", '<Project Sdk="Microsoft.NET.Sdk" />'), ("old", "<Project></Project>")):
        (tmp_path / "source" / folder).mkdir(parents=True)
        (tmp_path / "source" / folder / "A.csproj").write_text(project)
        (tmp_path / "source" / folder / "packages.config").write_text(listed)
    assert [one.path for one in find_manifests(tmp_path / "source") if one.format == "packages.config"] == [
        "old/packages.config"
    ]
    report = mask_repository(tmp_path / "source", tmp_path / "masked", "csharp")
    assert report.removed == ("new/packages.config",)
    assert "Serilog" not in (tmp_path / "masked/old/packages.config").read_text()


@pytest.mark.parametrize(
    "text", ["packages: ['a/*']\ncatalog: {react: ^18.2.0}\n", "catalog:\n  a: &a ^1\n  b: *a\n"]
)
def test_a_catalog_of_which_nothing_is_masked_is_left_in_any_style(text: str, tmp_path: Path) -> None:
    """It refuses a repository only where catalogs are to be masked, which takes block style."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "pnpm-workspace.yaml").write_text(text)
    (source / "package.json").write_text('{"name": "x", "dependencies": {"react": "catalog:"}}')
    report = mask_repository(source, tmp_path / "masked", "javascript", {DependencyKind.RUNTIME})
    assert report.refused == ()
    assert (tmp_path / "masked/pnpm-workspace.yaml").read_text() == text
    assert mask_repository(source, tmp_path / "all", "javascript").refused
