"""A Maven repository as a folder, for tests: files with the checksums that stand beside them."""

import hashlib
from pathlib import Path

from groundup.registries.settings import Index, RegistrySettings

JAR = "org/demo/lib/1.0/lib-1.0.jar"
VERSIONS = "org/demo/lib/maven-metadata.xml"


def put(folder: Path, place: str, content: bytes, *kinds: str) -> None:
    """Write a file with checksums of these *kinds* (sha1 unless named otherwise)."""
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    for kind in kinds or ("sha1",):
        path.with_name(f"{path.name}.{kind}").write_text(hashlib.new(kind, content).hexdigest())


def using(*urls: str) -> RegistrySettings:
    """Return the configuration of a user who has these repositories."""
    return RegistrySettings(indexes=tuple(Index(url=url) for url in urls), trust_environment=False)
