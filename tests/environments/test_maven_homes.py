"""Tests of groundup.environments.toolchains: where Maven is found."""

import zipfile
from pathlib import Path

from groundup.environments.toolchains import find_maven


def maven(folder: Path, version: str) -> Path:
    """Make what an installed Maven looks like."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "bin/mvn").write_text("")
    with zipfile.ZipFile(folder / "lib/maven-core-3.x.jar", "w") as jar:
        jar.writestr("META-INF/maven/org.apache.maven/maven-core/pom.properties", f"version={version}\n")
    return folder


def test_maven_home_comes_first_then_what_mvn_on_path_leads_to(tmp_path: Path) -> None:
    """The version is the jar's own word, whatever the jar is called."""
    named, found = maven(tmp_path / "named", "3.9.1"), maven(tmp_path / "found", "3.8.7")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mvn").symlink_to(found / "bin/mvn")
    variables = {"MAVEN_HOME": str(named), "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert (find_maven(variables).home, find_maven(variables).version) == (named, "3.9.1")
    del variables["MAVEN_HOME"]
    assert (find_maven(variables).home, find_maven(variables).version) == (found, "3.8.7")
    variables["PATH"] = f"{'x' * 5000}:{variables['PATH']}"  # raises as a folder does that may not be entered
    assert find_maven(variables).home == found
