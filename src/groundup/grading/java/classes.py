"""What of a submission's compiled classes tests get to see.

Its classes are loaded into the process of the tests. So nothing of it may stand in for a library: a class in a
package of any jar on the tests' class path is left out, and so is what would make JUnit load further code.
"""

import functools
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

_SERVICES = "META-INF/services"
_LISTENING = ("org.junit.", "io.quarkus.test.", "org.springframework.test.", "org.testng.")
_CONFIGURATION = "junit-platform.properties"
_CLASS = ".class"


def shown_classes(classes: Path, jars: Iterable[Path], target: Path) -> tuple[str, ...]:
    """Copy *classes* to the absent folder *target* without what tests must not see; return what was left out."""
    taken = packages_of(tuple(jars))
    left_out = []
    target.mkdir(parents=True)
    for path in sorted(classes.rglob("*")):
        place = path.relative_to(classes)
        if path.is_symlink() or not path.is_file():
            continue
        if is_left_out(place.as_posix(), taken):
            left_out.append(place.as_posix())
            continue
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / place)
    return tuple(left_out)


def is_left_out(place: str, taken: frozenset[str]) -> bool:
    """Whether tests must not see a submission's file at *place* of its class path."""
    path = PurePosixPath(place)
    folder = str(path.parent)
    if folder == _SERVICES:
        return path.name.startswith(_LISTENING)
    return place == _CONFIGURATION or (path.suffix == _CLASS and (folder in taken or path.stem == "module-info"))


@functools.lru_cache(maxsize=16)
def packages_of(jars: tuple[Path, ...]) -> frozenset[str]:
    """Return the folders in which *jars* have classes."""
    found: set[str] = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            found.update(name.rpartition("/")[0] for name in archive.namelist() if name.endswith(_CLASS))
    return frozenset(found - {""})
