"""A fresh draw of published packages by a recorded seed, and the sample that `inference.py` measures.

    python -m benchmarks.inference_draw names python|javascript|rust --list NAMES [--column N] [--number 40]
    python -m benchmarks.inference_draw sample python|javascript|rust --archives FOLDER --output SAMPLE

`names` prints what to download, in the order of the draw: from the 15,000 most downloaded names of a list (columns
by tabs; name first, rank or downloads in `--column`), without stubs; Rust's from the lock files of a folder, which
gives them a name as `NAME.lock`. `sample` unpacks source distributions, npm's tarballs, or crates as
`cargo vendor --versioned-dirs` lays them, takes the declarations out, and records them in `samples/drawn.json`.
What that file lists as `tuning` was looked at and fitted to; everything else is held out. Another `--seed` gives
another draw, and the record of the one before goes to `earlier`.
"""

import argparse
import json
import random
import re
import shutil
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from pathlib import Path

from benchmarks.inference_samples import MASKS, SAMPLES, TRUTHS
from benchmarks.inference_truth import Truth, python_truth, truth_of

SEED = 20261125
POPULATION = 15_000
STUBS = {"python": ("types-", "nvidia-"), "javascript": ("@types/",)}
RECORD = SAMPLES / "drawn.json"


def drawn(language: str, source: Path, column: int, seed: int = SEED) -> list[str]:
    """Return all names of the population in the order of the draw."""
    if language == "rust":
        names = {
            package["name"]
            for lock in source.glob("*.lock")
            for package in tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
            if package.get("source", "").startswith("registry") and not package["name"].startswith("windows")
        }
    else:
        rows = [line.split("\t") for line in source.read_text(encoding="utf-8").splitlines()[1:]]
        ranked = [
            (int(row[column]), row[0]) for row in rows if len(row) > column and row[column].strip().isdigit()
        ]
        ranked.sort(key=lambda item: item[0] if language == "python" else -item[0])
        best = ranked[:POPULATION]
        names = {name for _, name in best if not name.startswith(STUBS[language])}
    known = json.loads((SAMPLES / f"{language}.json").read_text(encoding="utf-8")) if language != "python" else {}
    seen = {re.sub(r"(?<=.)@.*$|-\d+\.\d+\.\d+.*$", "", name.replace("+", "/")) for name in known}
    order = sorted(names - seen)
    random.Random(seed).shuffle(order)
    return order


def sdist_truth(root: Path) -> Truth | None:
    """Return what the metadata of a source distribution requires, else what its project files declare."""
    info = root / "PKG-INFO"
    if info.is_file():
        requires = BytesHeaderParser().parsebytes(info.read_bytes()).get_all("Requires-Dist")
        if requires:
            return truth_of([text for text in requires if "extra ==" not in text.replace("'", '"')])
    for lines in (
        path.read_text(encoding="utf-8").splitlines() for path in root.glob("**/*.egg-info/requires.txt")
    ):
        return truth_of(list(_plain_requirements(lines)))
    return python_truth(root)


def _plain_requirements(lines: list[str]) -> Iterator[str]:
    """Yield the requirements of setuptools' requires.txt that belong to no extra, with their markers."""
    section = ""
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("["):
            section = line.strip("[]")
        elif not section:
            yield line
        elif section.startswith(":"):
            yield f"{line} ; {section[1:]}"


def _without_links(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
    return None if member.issym() or member.islnk() else tarfile.data_filter(member, target)


def unpacked(archive: Path, target: Path) -> Path:
    """Unpack *archive* (a folder is copied) and return the folder inside that holds the project."""
    shutil.rmtree(target, ignore_errors=True)
    if archive.is_dir():
        shutil.copytree(archive, target, symlinks=True)
        return target
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(target)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter=_without_links)
    inside = [path for path in target.iterdir() if path.is_dir()]
    return inside[0] if len(inside) == 1 else target


def main() -> None:
    """Print the draw, or make the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("names", "sample"))
    parser.add_argument("language", choices=("python", "javascript", "rust"))
    parser.add_argument("--list", type=Path, help="the list of names; for Rust a folder of lock files")
    parser.add_argument("--column", type=int, default=3, help="of the rank (Python) or the downloads, from 0")
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--archives", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--split", default="heldout")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    if options.what == "names":
        print("\n".join(drawn(options.language, options.list, options.column, options.seed)[: options.number]))
        return
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    before = record.get(options.language, {})
    tuning = before.get("tuning", [])
    index: dict[str, dict[str, object]] = {}
    nothing = []
    for archive in sorted(options.archives.iterdir()):
        root = unpacked(archive, options.output / options.language / archive.name)
        truth = (sdist_truth if options.language == "python" else TRUTHS[options.language])(root)
        if truth is None or not truth.required:
            nothing.append(archive.name)
            continue
        MASKS[options.language](root)
        index[archive.name] = {
            "split": "dev" if archive.name in tuning else options.split,
            "tree": str(root.relative_to(options.output / options.language)),
            "required": sorted(truth.required),
            "neutral": sorted(truth.neutral),
        }
    (options.output / f"{options.language}.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
    if options.split == "heldout":
        measured = sorted(name for name, entry in index.items() if entry["split"] == "heldout")
        found = {"seed": options.seed, "tuning": tuning, "measured": measured, "require_nothing": nothing}
        earlier = before.get("earlier", [])
        if before and before["seed"] != options.seed:
            earlier = [*earlier, {key: before[key] for key in ("seed", "measured", "require_nothing")}]
        found |= {"earlier": earlier} if earlier else {}
        record[options.language] = found
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{options.language}: {len(index)} packages; {len(nothing)} require nothing")


if __name__ == "__main__":
    main()
