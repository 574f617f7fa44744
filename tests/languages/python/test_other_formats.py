"""setup.cfg, Pipfile and environment.yml."""

import pytest

from groundup.languages.python.environment_yml import CONDA, EnvironmentYml
from groundup.languages.python.poetry import Pipfile
from groundup.languages.python.setup_cfg import SetupCfg
from groundup.manifests.records import Dependency, DependencyKind, ManifestError
from groundup.manifests.sections import ManifestFormat
from tests.manifests.span_laws import assert_laws

SETUP_CFG = b"""\
[metadata]
name = x

[options]
setup_requires = setuptools_scm
install_requires =
    # the web
    requests>=2; python_version < "3.9"
    click  # why
    # six
tests_require = pytest; mock>=1; python_version < "3"
python_requires = >=3.8

[options.extras_require]
dev =
    ruff
    black
docs = file: docs/requirements.txt
"""
PIPFILE = b"""\
[[source]]
url = "https://example.org/simple"
name = "other"

[packages]
requests = {extras = ["socks"], version = "~=2.8"}
click = "*"
mine = {git = "https://example.org/mine.git", ref = "main", editable = true}

[dev-packages]
pytest = ">=7"

[docs]
sphinx = "*"

[requires]
python_version = "3.11"
"""
ENVIRONMENT = b"""\
name: x
channels:
  - conda-forge
dependencies:
  - python=3.11
  - numpy=1.26  # arrays
  - conda-forge::scipy>=1.10
  - pip
  - pip:
    - requests[socks]>=2
    - -r more.txt
variables:
  a: b
"""
CASES: list[tuple[ManifestFormat, bytes, str]] = [
    (SetupCfg(), SETUP_CFG, "setup.cfg"),
    (Pipfile(), PIPFILE, "Pipfile"),
    (EnvironmentYml(), ENVIRONMENT, "environment.yml"),
]


@pytest.mark.parametrize(("manifest_format", "data", "path"), CASES, ids=[case[2] for case in CASES])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_laws(manifest_format: ManifestFormat, data: bytes, path: str, ends: bytes) -> None:
    """The laws hold with either line end, and without a line end at the file's end."""
    changed = data.replace(b"\n", ends)
    assert_laws(manifest_format, changed, path, most_removed=20)
    assert_laws(manifest_format, changed.rstrip(), path)


def test_setup_cfg() -> None:
    """Lists on lines and between semicolons, extras, `file:` and build requirements are distinguished."""
    manifest = SetupCfg().read(SETUP_CFG, "setup.cfg")
    found = {(item.kind, item.group, item.name): item for item in manifest.dependencies}
    assert found[DependencyKind.RUNTIME, "", "requests"].marker == 'python_version < "3.9"'
    assert found[DependencyKind.TEST, "", "mock"].marker == 'python_version < "3"'
    assert (DependencyKind.OPTIONAL, "dev", "black") in found
    assert (DependencyKind.BUILD, "", "setuptools_scm") in found
    assert [(note.topic, note.target) for note in manifest.notes] == [("reference", "docs/requirements.txt")]
    masked = SetupCfg().mask(SETUP_CFG, "setup.cfg").decode()
    assert "six" not in masked
    assert "the web" not in masked
    assert "setup_requires = setuptools_scm\ninstall_requires =\ntests_require = \npython_requires" in masked


def test_setup_cfg_sections_are_made() -> None:
    """A new extra gets an option, and the section for it."""
    new = Dependency(language="python", name="a", normalised="a", kind=DependencyKind.OPTIONAL, group="b")
    written = SetupCfg().write(b"[metadata]\nname = x\n", [new], "setup.cfg")
    assert written == b"[metadata]\nname = x\n\n[options.extras_require]\nb =\n    a\n"


@pytest.mark.parametrize(("data", "line"), [(b"a = b\n", 1), (b"[x]\nnonsense\n", 2)])
def test_setup_cfg_malformed(data: bytes, line: int) -> None:
    """A file that configparser would refuse gives one error that names file and line."""
    with pytest.raises(ManifestError, match=rf"a/setup\.cfg:{line}: "):
        SetupCfg().read(data, "a/setup.cfg")


def test_pipfile() -> None:
    """Packages, dev-packages and further categories are read; pipenv's own tables are none."""
    found = {(item.kind, item.group, item.name): item for item in Pipfile().read(PIPFILE, "Pipfile").dependencies}
    assert found[DependencyKind.RUNTIME, "", "requests"].extras == ("socks",)
    assert dict(found[DependencyKind.RUNTIME, "", "mine"].details) == {"editable": "true", "ref": "main"}
    assert set(found) >= {(DependencyKind.DEV, "dev", "pytest"), (DependencyKind.GROUP, "docs", "sphinx")}
    assert len(found) == 5


def test_environment() -> None:
    """Conda's packages name conda as their origin, so that no one looks them up on the package index."""
    found = {item.name: item for item in EnvironmentYml().read(ENVIRONMENT, "environment.yml").dependencies}
    assert found["numpy"].origin == CONDA
    assert found["numpy"].constraint == "=1.26"
    assert dict(found["scipy"].details) == {"channel": "conda-forge"}
    assert found["requests"].origin == ""
    assert set(found) == {"numpy", "scipy", "requests"}


def test_environment_of_another_form() -> None:
    """A list on one line is not guessed at."""
    manifest = EnvironmentYml().read(b"dependencies: [numpy, {pip: [a]}]\n", "environment.yml")
    assert not manifest.complete


def test_a_dependency_stands_there_as_often_as_it_is_asked_for() -> None:
    """One of two was there, so one comes."""
    data = b"[options]\ninstall_requires =\n    click\n"
    (click,) = SetupCfg().read(data, "setup.cfg").dependencies
    assert SetupCfg().write(data, [click, click], "setup.cfg") == data + b"    click\n"
