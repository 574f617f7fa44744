"""Tests of groundup.grading.services.install: how a service in Java is started."""

from pathlib import Path

from groundup.grading.services.install import find_java_start


def test_a_script_comes_before_maven_and_gets_repositories_when_it_speaks_of_maven(tmp_path: Path) -> None:
    """Without a script Spring Boot is tried; without build files there is nothing."""
    assert find_java_start(tmp_path) is None
    (tmp_path / "pom.xml").write_text("<project/>")
    fallback = find_java_start(tmp_path)
    assert fallback is not None
    assert (fallback.argv, fallback.installs) == (("mvn", "spring-boot:run", "-q"), True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/start.sh").write_text("exec java -jar target/app.jar\n")
    script = find_java_start(tmp_path)
    assert script is not None
    assert (script.found, script.installs) == ("bin/start.sh", False)
    (tmp_path / "start.sh").write_text("./mvnw -q package && java -jar target/app.jar\n")
    script = find_java_start(tmp_path)
    assert script is not None
    assert (script.found, script.installs) == ("start.sh", True)
