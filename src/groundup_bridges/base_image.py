"""A base image of this machine: the system that sandboxes show, and packages of Debian beside it.

The same programs make the same image. Agents take it without an engine (`--agent-base`), engines by its name.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.sandbox.bubblewrap import listed_system
from groundup.sandbox.debian import RECORDS, Package, files_of, packages
from groundup.store.ownership import refuse_full
from groundup_bridges.images import Image, ImageStore, LayerFiles, tagged

_FOLDERS = {
    "/etc": 0o755,
    "/home": 0o755,
    "/opt": 0o755,
    "/root": 0o700,
    "/run": 0o755,
    "/tmp": 0o1777,  # noqa: S108  # the image's
    "/usr": 0o755,
    "/usr/local/bin": 0o755,
    "/var/tmp": 0o1777,  # noqa: S108  # the image's
    "/workspace": 0o755,
}
"""Of a base image, besides those of the system."""
_IN_BASE = re.compile(
    r"/(usr/)?(s?bin|lib(32|64|x32|exec)?|include)/.|/usr/share/(?!(doc|man|info|locale|lintian)/)."
)
"""Files of packages that a base has."""


def add_system(files: LayerFiles) -> None:
    """Add the programs, libraries and data that every sandbox shows, as they are on this machine."""
    system = listed_system()
    files.tree(system.path / "usr", "/usr", [target for _, target in system.data])
    files.tree(system.path / "etc", "/etc")
    for source, target in system.data:
        files.tree(source, target)
    for name in system.links:
        files.link(name, f"usr/{name}")


def add_packages(files: LayerFiles, names: Collection[str]) -> None:
    """Add Debian's packages *names* of this machine with all that they need, and records of their versions.

    What is documentation, or lies neither in /usr nor in what links there, is left out. Raises `UsageError`.
    """
    root = Path("/")
    needed = with_needs(packages(root), names)
    listed, targets = files_of(root, {one.name for one in needed}), set[str]()
    for package in needed:
        kept = [path for path in listed.get(package.name, ()) if _IN_BASE.match(path)]
        for path in kept:
            place = Path(path)
            target = f"/usr{path}" if not path.startswith("/usr/") else path
            if place.is_symlink() or place.is_file():
                targets.add(path)
                files.tree(place, target)
        files.text(f"/{RECORDS}/info/{package.name}.list", "".join(f"{path}\n" for path in kept))
    for link in sorted(Path("/usr/bin").iterdir()):  # such as `cc`, which no package lists
        if (
            link.is_symlink()
            and str(link.readlink()).startswith("/etc/alternatives/")
            and str(link.resolve()) in targets
        ):
            files.link(str(link), str(link.resolve()))
    status = (f"Package: {one.name}\nStatus: install ok installed\nVersion: {one.version}\n" for one in needed)
    files.text(f"/{RECORDS}/status", "\n".join(status))


def build_base(name: str, destination: Path, wanted: Collection[str] = ()) -> str:
    """Write the system that sandboxes show as the image *name* into the absent or empty folder *destination*.

    *wanted* are packages of Debian that this machine has; they are there, too, with what they need.

    It is an OCI layout that `docker load` takes as well; no daemon is asked. Returns the reference; its tag is of
    the digest: the same programs make the same image. Raises `UsageError`.
    """
    refuse_full(destination)
    files = LayerFiles()
    for folder, mode in _FOLDERS.items():
        files.folder(folder, mode)
    add_system(files)
    if wanted:
        add_packages(files, wanted)  # refuses unknown ones before anything is made
    destination.mkdir(parents=True, exist_ok=True)
    with ImageStore(destination / ".building") as store:
        image = Image([store.layer(files)], {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"})
        return tagged(name, store.write(image, name, destination))


def with_needs(known: Mapping[str, Package], wanted: Collection[str]) -> list[Package]:
    """Return the packages *wanted* with all that they need. Raises `UsageError` for one that is not installed."""
    providers = {virtual: one.name for one in known.values() for virtual in one.provides}
    found: dict[str, Package] = {}
    waiting = list(wanted)
    for name in wanted:
        if name not in known:
            raise UsageError(f"{unknown('installed package', name, known)}; install it first")
    while waiting:
        one = known[waiting.pop()]
        if one.name not in found:
            found[one.name] = one
            for choice in one.needs:
                named = (providers.get(name, name) if name not in known else name for name in choice)
                waiting += [name for name in named if name in known][:1]
    return sorted(found.values(), key=lambda one: one.name)
