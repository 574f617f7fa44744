"""Finding a JDK on this machine, by its major version."""

import re
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
    told = _VERSION.search((home / "release").read_text(encoding="utf-8", errors="replace"))
    return Jdk(home=home, version=told[1]) if told else None
