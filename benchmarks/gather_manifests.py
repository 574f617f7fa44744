"""Gather real manifests into a cache folder, for `manifest_laws.py`. Nothing gathered is committed.

    python benchmarks/gather_manifests.py --into CACHE SOURCE [SOURCE ...]

A SOURCE is a checkout, a bare git directory (read with git, at HEAD), an archive (`.tar.gz`, `.zip`, `.crate`,
`.tgz`), or a folder of any of these, such as one that `pip download --no-deps --no-binary :all:` or
`git clone --bare` filled. Each distinct file is kept once as `CACHE/<format>/<digest>/<its path>`, at most
`--per-source` files of one format from one source.
"""

import argparse
import subprocess
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from groundup.domain.digests import digest_bytes, short
from groundup.languages.formats import files_of, format_of

ARCHIVES = (".tar.gz", ".tgz", ".crate", ".zip", ".tar.bz2")
LARGEST = 2_000_000
Found = tuple[str, bytes]


def main() -> None:
    """Gather from all sources and print how many files of each format there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--per-source", type=int, default=20)
    parser.add_argument("sources", nargs="+", type=Path)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for source in sources_of(arguments.sources):
        taken: Counter[str] = Counter()
        for path, data in manifests_of(source, arguments.per_source):
            known = format_of(path)
            if known is not None and taken[known.name] < arguments.per_source:
                taken[known.name] += 1
                counts[known.name] += keep(arguments.into / known.name, path, data)
    for name, count in counts.most_common():
        print(f"{count:5} {name}")


def keep(folder: Path, path: str, data: bytes) -> bool:
    """Write one file, unless the same bytes are there already; return whether it is new."""
    home = folder / short(digest_bytes(data))
    if home.exists():
        return False
    (home / path).parent.mkdir(parents=True)
    (home / path).write_bytes(data)
    return True


def sources_of(given: list[Path]) -> Iterator[Path]:
    """Yield the sources themselves, looking one level into folders that only hold others."""
    for path in given:
        inside = sorted(path.iterdir()) if path.is_dir() else []
        nested = [item for item in inside if is_git(item) or is_git(item / "repo") or item.name.endswith(ARCHIVES)]
        if nested and not is_git(path):
            yield from (item / "repo" if is_git(item / "repo") else item for item in nested)
        else:
            yield path


def is_git(path: Path) -> bool:
    """Whether *path* is a git directory without a work tree."""
    return (path / "objects").is_dir() and (path / "HEAD").is_file()


def manifests_of(source: Path, limit: int) -> Iterator[Found]:
    """Yield path and content of the manifests in one source."""
    if is_git(source):
        yield from from_git(source, limit)
    elif source.is_dir():
        for path in files_of(source):
            if format_of(path) is not None and (source / path).stat().st_size < LARGEST:
                yield path, (source / path).read_bytes()
    elif source.name.endswith(".zip"):
        with zipfile.ZipFile(source) as archive:
            yield from (
                (info.filename, archive.read(info)) for info in archive.infolist() if wanted(info.filename)
            )
    elif source.name.endswith(ARCHIVES):
        with tarfile.open(source) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() and wanted(member.name) else None
                if file is not None and member.size < LARGEST:
                    yield member.name, file.read()


def wanted(path: str) -> bool:
    """Whether a member of an archive is a manifest with a path that stays inside a folder."""
    parts = PurePosixPath(path).parts
    return format_of(path) is not None and ".." not in parts and not path.startswith("/")


def from_git(directory: Path, limit: int) -> Iterator[Found]:
    """Yield the manifests of HEAD, at most *limit* of each format."""
    git = ["git", "-C", str(directory)]
    listing = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=False).stdout
    taken: Counter[str] = Counter()
    for line in listing.decode(errors="surrogateescape").split("\0"):
        about, _, path = line.partition("\t")
        known = format_of(path) if path and about.startswith("100") else None
        if known is None or taken[known.name] >= limit:
            continue
        shown = subprocess.run([*git, "cat-file", "blob", about.split()[2]], capture_output=True, check=False)
        if shown.returncode == 0 and len(shown.stdout) < LARGEST:
            taken[known.name] += 1
            yield path, shown.stdout


if __name__ == "__main__":
    main()
