"""Folders of wheels and source distributions on this machine: what pip and uv call `find-links`.

Their files stand beside those of an index. They count as older than any cut-off, for no folder knows days.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from groundup.domain.errors import NetworkError
from groundup.registries.client import FileFound
from groundup.registries.pypi.pages import ProjectFile, is_name, normalised

_LONG_AGO = "1980-01-01T00:00:00Z"
_ENDINGS = (".whl", ".tar.gz", ".zip", ".tar.bz2")


def parse_folders(places: Iterable[str], home: Path) -> tuple[Path, ...]:
    """Return those of *places* that are folders; a page of links, which may be one as well, is left out."""
    found = []
    for place in places:
        parts = urlsplit(place)
        path = Path(unquote(parts.path)) if parts.scheme == "file" else Path(place)
        if place.startswith("~/"):
            path = home / place[2:]
        if parts.scheme in ("", "file") and path.is_dir():
            found.append(path.resolve())
    return tuple(dict.fromkeys(found))


class WheelFolders:
    """What lies in *folders*."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._listed: dict[Path, tuple[int, Mapping[str, list[Path]]]] = {}
        self._hashed: dict[Path, tuple[tuple[int, int], str]] = {}
        self._named: dict[str, Path] = {}

    def files(self, project: str) -> tuple[ProjectFile, ...]:
        """Return what the folders offer of *project*, whose name is normalised. Raises `NetworkError`."""
        found = {path.name: path for folder in reversed(self._folders) for path in self._of(folder, project)}
        return tuple(self._file(path) for path in found.values())

    def file(self, file: ProjectFile) -> FileFound | None:
        """Return *file* where it is one that `files` named. Raises `NetworkError` when it has changed since."""
        path = self._named.get(file.url)
        if path is None:
            return None
        sha256 = file.hashes["sha256"]
        if self._sha256(path) != sha256:
            raise NetworkError(f"{path} changed while it was used; do the same again")
        return FileFound(path, sha256, path.stat().st_size, from_cache=True, verified=True)

    def _of(self, folder: Path, project: str) -> Sequence[Path]:
        try:
            stamp = folder.stat().st_mtime_ns
            known = self._listed.get(folder)
            if known is None or known[0] != stamp:
                known = self._listed[folder] = (stamp, _listed(folder))
        except OSError as error:
            raise NetworkError(
                f"the folder of packages {folder} cannot be read: {error.strerror}; mend it, or take it out of "
                "find-links"
            ) from error
        return known[1].get(project, ())

    def _file(self, path: Path) -> ProjectFile:
        url = f"file://{quote(str(path))}"
        self._named[url] = path
        return ProjectFile(
            filename=path.name,
            url=url,
            hashes={"sha256": self._sha256(path)},
            size=path.stat().st_size,
            upload_time=_LONG_AGO,
        )

    def _sha256(self, path: Path) -> str:
        try:
            about = path.stat()
            stamp = (about.st_mtime_ns, about.st_size)
            known = self._hashed.get(path)
            if known is None or known[0] != stamp:
                with path.open("rb") as file:
                    known = self._hashed[path] = (stamp, hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise NetworkError(f"the package {path} cannot be read: {error.strerror}") from error
        return known[1]


def _listed(folder: Path) -> Mapping[str, list[Path]]:
    """Return the files of *folder* by the project that their name tells."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if not path.name.endswith(_ENDINGS) or not path.is_file():
            continue
        offered = ProjectFile(filename=path.name, url="")
        version = offered.version
        name = path.name.partition("-")[0] if not offered.is_source else _project_of(path.name)
        if version is not None and is_name(name):
            found.setdefault(normalised(name), []).append(path)
    return found


def _project_of(filename: str) -> str:
    from packaging.utils import InvalidSdistFilename, parse_sdist_filename

    try:
        return str(parse_sdist_filename(filename)[0])
    except InvalidSdistFilename:
        return ""
