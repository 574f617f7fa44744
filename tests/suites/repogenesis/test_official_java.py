"""What the published container does with Java, as far as it can be tried without Maven."""

from pathlib import Path

import pytest

from groundup.grading.services.records import Lifecycle
from groundup.inside.official_driver import java_command
from groundup.suites.repogenesis.tasks import java_lifecycle


def test_the_service_is_started_by_a_script_or_by_maven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the published order, saying what was found."""
    monkeypatch.chdir(tmp_path)
    assert java_command() is None
    (tmp_path / "pom.xml").write_text("<project/>")
    assert java_command() == ["mvn", "spring-boot:run", "-q"]
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/start.sh").write_text("true\n")
    assert java_command() == ["bash", "./scripts/start.sh"]
    assert "No Java entry point found" in capsys.readouterr().out


def test_javas_published_limits_differ_from_pythons() -> None:
    """300 s to build, 20 s to be ready, 600 s for tests."""
    limits: Lifecycle = java_lifecycle()
    assert (limits.install_s, limits.ready_s, limits.tests_s, limits.overall_s) == (300, 20, 600, 900)
