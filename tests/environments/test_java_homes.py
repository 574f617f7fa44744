"""Tests of groundup.environments.toolchains: which JDK is taken, and what is said where none fits."""

from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.environments.toolchains import find_jdk, jdks


def jdk(folder: Path, version: str) -> Path:
    """Make what a JDK looks like."""
    (folder / "bin").mkdir(parents=True)
    for name in ("java", "javac"):
        (folder / "bin" / name).write_text("")
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def test_java_home_comes_first_then_path(tmp_path: Path) -> None:
    """Of two that fit, the one that the user named counts; links are followed to the true home."""
    named, found = jdk(tmp_path / "named", "17.0.9"), jdk(tmp_path / "found", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/javac").symlink_to(found / "bin/javac")
    variables = {"JAVA_HOME": str(named), "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert find_jdk(17, variables).home == named
    del variables["JAVA_HOME"]
    assert find_jdk(17, variables).home == found


def test_versions_of_both_styles_have_a_major_one(tmp_path: Path) -> None:
    """1.8.0_402 is 8, and 25 is 25."""
    variables = {"JAVA_HOME": str(jdk(tmp_path / "old", "1.8.0_402")), "HOME": str(tmp_path)}
    jdk(tmp_path / ".jdks/new", "25")
    majors = [found.major for found in jdks(variables) if found.home.is_relative_to(tmp_path)]
    assert majors == [8, 25]


def test_a_runtime_without_a_compiler_is_no_jdk(tmp_path: Path) -> None:
    """Hidden tests must be compiled."""
    home = jdk(tmp_path / "jre", "17.0.9")
    (home / "bin/javac").unlink()
    assert all(found.home != home for found in jdks({"JAVA_HOME": str(home), "HOME": str(tmp_path)}))


def test_where_none_fits_the_error_names_the_others_and_what_to_do(tmp_path: Path) -> None:
    """A missing JDK is the machine's fault, never the submission's."""
    variables = {"JAVA_HOME": str(jdk(tmp_path / "jdk", "99.0.1")), "HOME": str(tmp_path)}
    with pytest.raises(InfrastructureError, match=r"no JDK 98 .*99\.0\.1.*JAVA_HOME"):
        find_jdk(98, variables)
