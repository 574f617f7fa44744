"""Where this machine has a JDK of a major version, and Maven."""

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.domain.errors import MachineError
from groundup.domain.records import Record

_VERSION = re.compile(r'^JAVA_VERSION="([^"]+)"', re.MULTILINE)
_PLACES = ("/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*", "/opt/jdk*", "/opt/*jdk*")
_HOME_PLACES = (
    ".sdkman/candidates/java/*",
    ".jdks/*",
    ".local/share/mise/installs/java/*",
    ".asdf/installs/java/*",
)
_NEEDED = ("bin/java", "bin/javac", "release")


class Jdk(Record):
    """A JDK of this machine."""

    home: Path
    version: str

    @property
    def major(self) -> int:
        """Such as 17; 8 for 1.8."""
        first, _, rest = self.version.partition(".")
        number = rest.partition(".")[0] if first == "1" else first
        return int(re.match(r"\d*", number)[0] or 0)  # type: ignore[index]  # the pattern matches everything


def find_jdk(major: int, environment: Mapping[str, str]) -> Jdk:
    """Return the first JDK of this *major* version. Raises `InfrastructureError` that names the others."""
    found = list(jdks(environment))
    for jdk in found:
        if jdk.major == major:
            return jdk
    others = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in found) or "none at all"
    raise MachineError(
        f"no JDK {major} is installed here ({others}); install one, such as Debian's openjdk-{major}-jdk, or "
        "name its folder in JAVA_HOME"
    )


def jdks(environment: Mapping[str, str]) -> Iterator[Jdk]:
    """Yield the JDKs of this machine, each once: JAVA_HOME's, PATH's, then those in the usual places."""
    seen: set[Path] = set()
    for place in _places(environment):
        home = place.resolve()
        if home not in seen:
            seen.add(home)
            jdk = _read(home)
            if jdk is not None:
                yield jdk


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    if named := environment.get("JAVA_HOME"):
        yield Path(named)
    for folder in filter(None, environment.get("PATH", "").split(":")):
        compiler = Path(folder, "javac")
        if compiler.is_file():
            yield compiler.resolve().parents[1]
    home = Path(environment.get("HOME") or "/nonexistent")
    for base, patterns in ((Path("/"), _PLACES), (home, _HOME_PLACES)):
        for pattern in patterns:
            yield from sorted(base.glob(pattern.lstrip("/")))


def _read(home: Path) -> Jdk | None:
    if not all((home / name).is_file() for name in _NEEDED):
        return None
    stated = _VERSION.search((home / "release").read_text(encoding="utf-8", errors="replace"))
    return Jdk(home=home, version=stated[1]) if stated else None


_CORE = "META-INF/maven/org.apache.maven/maven-core/pom.properties"
_MAVEN_PLACES = ("/usr/share/maven", "/usr/local/share/maven", "/opt/maven", "/usr/local/maven")
_MAVEN_HOME_PLACES = (".sdkman/candidates/maven/current",)
_DEPTH = 3
"""How many folders above `mvn` its home may be: links of distributions differ."""


class MavenHome(Record):
    """A Maven of this machine."""

    home: Path
    version: str


def find_maven(environment: Mapping[str, str]) -> MavenHome:
    """Return the user's Maven: MAVEN_HOME's, PATH's, or one in a usual place. Raises `InfrastructureError`."""
    for place in _maven_places(environment):
        home = place.resolve()
        version = _version(home)
        if version is not None:
            return MavenHome(home=home, version=version)
    raise MachineError(
        "no Maven is installed here; install one, such as Debian's maven, or name its folder in MAVEN_HOME"
    )


def _maven_places(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in ("MAVEN_HOME", "M2_HOME"):
        if named := environment.get(name):
            yield Path(named)
    for folder in filter(None, environment.get("PATH", "").split(":")):
        program = Path(folder, "mvn")
        if program.is_file():
            yield from list(program.resolve().parents)[:_DEPTH]
    yield from map(Path, _MAVEN_PLACES)
    home = Path(environment.get("HOME") or "/nonexistent")
    yield from (home / place for place in _MAVEN_HOME_PLACES)


def _version(home: Path) -> str | None:
    if not (home / "bin/mvn").is_file():
        return None
    for jar in sorted(home.glob("lib/maven-core-*.jar")):
        try:
            with zipfile.ZipFile(jar) as archive:
                stated = re.search(rb"^version=(\S+)", archive.read(_CORE), re.MULTILINE)
        except (OSError, KeyError, zipfile.BadZipFile):
            continue
        if stated:
            return stated[1].decode(errors="replace")
    return None
