"""Run the laws of `manifests` over what `gather_manifests.py` gathered, and print counts per format.

    python benchmarks/manifest_laws.py CACHE [--language python] [--show 20]

For each file: it is read, or refused with one error that names it; write(x, read(x)) is x; read(mask(x)) declares
nothing of a masked kind; mask(mask(x)) is mask(x); taking one declaration away leaves the others. Counted beside
that: files where mask only deletes bytes, and where write(mask(x), read(x)) declares what x declared.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

from groundup.languages.formats import FORMATS
from groundup.manifests.records import Dependency, ManifestError
from groundup.manifests.sections import ManifestFormat

Declared = tuple[Dependency, ...]
COLUMNS = ("files", "refused", "broken", "declarations", "cannot say", "only deletes", "restorable", "restored")


def main() -> None:
    """Check every gathered file and exit with 1 when a law is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--language")
    parser.add_argument("--show", type=int, default=20)
    arguments = parser.parse_args()
    broken: list[str] = []
    print(f"{'format':24}" + "".join(f"{name:>14}" for name in COLUMNS) + f"{'ms/file':>10}")
    for folder in sorted(item for item in arguments.cache.iterdir() if item.name in FORMATS):
        known = FORMATS[folder.name]
        if arguments.language in (None, known.language):
            counts, found, seconds = check_format(known, folder)
            broken += found
            row = "".join(f"{counts[name]:14}" for name in COLUMNS)
            print(f"{folder.name:24}{row}{1000 * seconds / max(counts['files'], 1):10.1f}")
    for line in broken[: arguments.show]:
        print(line)
    raise SystemExit(1 if broken else 0)


def check_format(known: ManifestFormat, folder: Path) -> tuple[Counter[str], list[str], float]:
    """Return counts, what is broken, and how long all took."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    start = time.perf_counter()
    for home in sorted(folder.iterdir()):
        for file in sorted(item for item in home.rglob("*") if item.is_file()):
            path = file.relative_to(home).as_posix()
            counts["files"] += 1
            try:
                flaws = check_file(known, file.read_bytes(), path, counts)
            except ManifestError as error:
                counts["refused"] += 1
                flaws = [] if path in str(error) else [f"an error that does not name the file: {error}"]
            except Exception as error:  # noqa: BLE001 - any other error is what this script looks for
                flaws = [f"{type(error).__name__}: {error}"]
            counts["broken"] += bool(flaws)
            broken += [f"{file}: {flaw}" for flaw in flaws]
    return counts, broken, time.perf_counter() - start


def check_file(known: ManifestFormat, data: bytes, path: str, counts: Counter[str]) -> list[str]:
    """Return the laws that one file breaks. Raises `ManifestError` for a file that is refused."""
    manifest = known.read(data, path)
    counts["declarations"] += len(manifest.dependencies)
    counts["cannot say"] += not manifest.complete
    flaws = []
    if known.write(data, manifest.dependencies, path) != data:
        flaws.append("write(x, read(x)) is not x")
    masked = known.mask(data, path)
    try:
        left = known.read(masked, path)
    except ManifestError as error:
        return [*flaws, f"the masked file is refused: {error}"]
    names = [item.name or item.origin for item in left.dependencies if item.kind in known.masked_kinds]
    if names:
        flaws.append(f"the mask leaves {names[:5]}")
    if known.mask(masked, path) != masked:
        flaws.append("masking twice is not masking once")
    remaining = iter(data)
    counts["only deletes"] += all(byte in remaining for byte in masked)
    if manifest.dependencies:
        one_less = manifest.dependencies[1:]
        if identities(known.read(known.write(data, one_less, path), path).dependencies) != identities(one_less):
            flaws.append(f"taking {manifest.dependencies[0].name} away changes more than that")
        counts["restorable"] += 1
        counts["restored"] += restores(known, masked, path, manifest.dependencies, flaws)
    return flaws


def restores(known: ManifestFormat, masked: bytes, path: str, dependencies: Declared, flaws: list[str]) -> bool:
    """Whether writing the dependencies into the masked file declares them again."""
    try:
        again = known.read(known.write(masked, dependencies, path), path)
    except ManifestError as error:
        if "not valid" in str(error) and "PEP 508" not in str(error):
            flaws.append(f"what write made is refused: {error}")
        return False
    return identities(again.dependencies) == identities(dependencies)


def identities(dependencies: Declared) -> Counter[tuple[object, ...]]:
    """Return what is declared, without where."""
    return Counter(item.identity for item in dependencies)


if __name__ == "__main__":
    main()
