"""Finding the user's Maven on this machine."""

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.domain.errors import MachineError
from groundup.domain.records import Record

_CORE = "META-INF/maven/org.apache.maven/maven-core/pom.properties"
_PLACES = ("/usr/share/maven", "/usr/local/share/maven", "/opt/maven", "/usr/local/maven")
_HOME_PLACES = (".sdkman/candidates/maven/current",)
_DEPTH = 3
"""How many folders above `mvn` its home may be: links of distributions differ."""


class MavenHome(Record):
    """A Maven of this machine."""

    home: Path
    version: str


def find_maven(environment: Mapping[str, str]) -> MavenHome:
    """Return the user's Maven: MAVEN_HOME's, PATH's, or one in a usual place. Raises `InfrastructureError`."""
    for place in _places(environment):
        home = place.resolve()
        version = _version(home)
        if version is not None:
            return MavenHome(home=home, version=version)
    raise MachineError(
        "no Maven is installed here; install one, such as Debian's maven, or name its folder in MAVEN_HOME"
    )


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in ("MAVEN_HOME", "M2_HOME"):
        if named := environment.get(name):
            yield Path(named)
    for folder in filter(None, environment.get("PATH", "").split(":")):
        program = Path(folder, "mvn")
        if program.is_file():
            yield from list(program.resolve().parents)[:_DEPTH]
    yield from map(Path, _PLACES)
    home = Path(environment.get("HOME") or "/nonexistent")
    yield from (home / place for place in _HOME_PLACES)


def _version(home: Path) -> str | None:
    if not (home / "bin/mvn").is_file():
        return None
    for jar in sorted(home.glob("lib/maven-core-*.jar")):
        try:
            with zipfile.ZipFile(jar) as archive:
                told = re.search(rb"^version=(\S+)", archive.read(_CORE), re.MULTILINE)
        except (OSError, KeyError, zipfile.BadZipFile):
            continue
        if told:
            return told[1].decode(errors="replace")
    return None
