"""Which command starts a submitted service in Java: the published search."""

import re
from pathlib import Path

from groundup.grading.services.start import StartCommand, speaks_of, start_script

_MAVEN = re.compile(rb"(?<![\w.-])(mvnw?|maven|gradlew?)(?![\w-])")


def find_java_start(tree: Path) -> StartCommand | None:
    """Return the command that starts the service in *tree*; None when there is nothing to start.

    A start script where Python's is looked for, else Maven runs what pom.xml says is a Spring Boot application.
    """
    script = start_script(tree)
    if script is not None:
        found = speaks_of(_MAVEN, tree / script)
        return StartCommand(found=script, argv=("bash", f"./{script}"), installs=found)
    pom = tree / "pom.xml"
    if pom.is_file() and not pom.is_symlink():
        return StartCommand(found="pom.xml", argv=("mvn", "spring-boot:run", "-q"), installs=True)
    return None
