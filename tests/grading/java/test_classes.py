"""Tests of groundup.grading.java.testing: what tests get to see of a submission."""

import zipfile
from pathlib import Path

from groundup.grading.java.testing import shown_classes


def test_nothing_stands_in_for_a_library_and_nothing_listens(tmp_path: Path) -> None:
    """Classes in packages of jars, JUnit's services and its configuration are left out; the rest is there."""
    with zipfile.ZipFile(tmp_path / "junit.jar", "w") as jar:
        jar.writestr("org/junit/jupiter/api/Test.class", b"")
    files = [
        *("com/example/App.class", "application.properties", "META-INF/services/com.example.Thing"),
        *("org/junit/jupiter/api/Assertions.class", "junit-platform.properties", "module-info.class"),
        "META-INF/services/org.junit.platform.launcher.TestExecutionListener",
    ]
    for name in files:
        path = tmp_path / "classes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "classes/link").symlink_to("/etc/passwd")
    left_out = shown_classes(tmp_path / "classes", [tmp_path / "junit.jar"], tmp_path / "shown")
    shown = {
        path.relative_to(tmp_path / "shown").as_posix()
        for path in (tmp_path / "shown").rglob("*")
        if not path.is_dir()
    }
    assert shown == set(files[:3])
    assert set(left_out) == set(files[3:])


def test_a_submission_without_classes_shows_an_empty_folder(tmp_path: Path) -> None:
    """Nothing was compiled, or all of it is left out: what is mounted for the tests is there all the same."""
    (tmp_path / "classes").mkdir()
    assert shown_classes(tmp_path / "classes", [], tmp_path / "shown") == ()
    assert (tmp_path / "shown").is_dir()
