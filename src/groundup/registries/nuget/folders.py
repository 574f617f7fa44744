"""Package sources that are folders of this machine: files side by side, or `name/version/name.version.nupkg`."""

from collections.abc import Iterator
from pathlib import Path

from groundup.registries.nuget.versions import normalised

_SUFFIX = ".nupkg"


def packages_in(folder: Path, name: str) -> dict[str, Path]:
    """Return the packages *name* (in lower case) in *folder*, by version. Raises `OSError`."""
    found: dict[str, Path] = {}
    for path in _candidates(folder, name):
        stem = path.name.lower().removesuffix(_SUFFIX)
        version = normalised(stem[len(name) + 1 :]) if stem.startswith(f"{name}.") else None
        if version is not None and path.is_file():
            found.setdefault(version, path)
    return found


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.lower().endswith(_SUFFIX):
            yield entry
        elif entry.name.lower() == name and entry.is_dir():
            for below in sorted(entry.iterdir()):
                if below.name.lower().endswith(_SUFFIX):
                    yield below
                elif below.is_dir():
                    yield from sorted(one for one in below.iterdir() if one.name.lower().endswith(_SUFFIX))
