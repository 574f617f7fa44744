"""Unpack the packages that `inference.py` measures: a tree with declarations taken out, and what they declared.

    python -m benchmarks.inference_samples python|csharp --clones FOLDER --output FOLDER
    python -m benchmarks.inference_samples javascript|rust --packages FOLDER --output FOLDER

`--clones` holds one clone per line of `samples/<language>_repositories.txt`, named `owner+name`, bare or not,
at the commits in `samples/<language>.json`, if it exists. `--packages` holds unpacked npm packages or crates, one
folder each, at the versions in `samples/<language>.json`, as `npm pack` and `cargo vendor` give them.
Split: names sorted, shuffled with SEED; the first 30 with a readable, non-empty declaration are held out.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.inference_truth import (
    Truth,
    csharp_truth,
    javascript_truth,
    mask_csharp,
    mask_javascript,
    mask_python,
    mask_rust,
    python_truth,
    rust_truth,
)

SEED = 20261121
HELD_OUT = 30
SAMPLES = Path(__file__).parent / "samples"
TEXT = re.compile(
    r"\.(py|pyi|pyx|toml|cfg|txt|in|ini|ipynb|lock|md|rst|json|js|ts|cs|razor|cshtml|csproj|props|targets|config)$|(^|/)Pipfile$"
)
TRUTHS = {"csharp": csharp_truth, "python": python_truth, "javascript": javascript_truth, "rust": rust_truth}
MASKS = {"csharp": mask_csharp, "python": mask_python, "javascript": mask_javascript, "rust": mask_rust}
LARGEST = 1_500_000


def shuffled(names: list[str]) -> list[str]:
    """Return the draw: all names in their seeded order."""
    order = sorted(names)
    random.Random(SEED).shuffle(order)
    return order


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["git", "--git-dir", str(folder), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def export(folder: Path, commit: str, target: Path) -> None:
    """Write the text files of one commit, without needing large files to be present."""
    listing = _git(folder, "ls-tree", "-r", "-l", "-z", commit).decode("utf-8", "replace").split("\0")
    wanted = []
    for line in filter(None, listing):
        mode, _, rest = line.partition(" ")
        _, blob, size_path = rest.split(" ", 2)
        length, path = size_path.split("\t", 1)
        if (
            mode in ("100644", "100755")
            and length.strip().isdigit()
            and int(length) < LARGEST
            and TEXT.search(path)
        ):
            wanted.append((blob, path))
    answer = _git(folder, "cat-file", "--batch", stdin="\n".join(blob for blob, _ in wanted).encode())
    position = 0
    for _, path in wanted:
        end = answer.index(b"\n", position)
        header = answer[position:end].decode().split()
        position = end + 1
        if header[-1] == "missing":
            continue
        size = int(header[2])
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(answer[position : position + size])
        position += size + 1


def clone_trees(language: str, clones: Path, output: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield name, commit and unmasked tree of each repository that is there, in the order of the draw."""
    lines = (SAMPLES / f"{language}_repositories.txt").read_text(encoding="utf-8").splitlines()
    pinned_file = SAMPLES / f"{language}.json"
    pinned = json.loads(pinned_file.read_text(encoding="utf-8")) if pinned_file.is_file() else None
    for name in shuffled([line for line in lines if line and not line.startswith("#")]):
        folder = clones / name.replace("/", "+")
        git = next(
            (
                g
                for g in (folder / "repo" / ".git", folder / "repo", folder / ".git", folder)
                if (g / "HEAD").exists()
            ),
            None,
        )
        if git is None or (pinned is not None and name not in pinned):
            continue
        commit = pinned[name]["version"] if pinned else _git(git, "rev-parse", "HEAD").decode().strip()
        tree = output / name.replace("/", "+")
        shutil.rmtree(tree, ignore_errors=True)
        export(git, commit, tree)
        yield name, commit, tree


def package_trees(packages: Path, output: Path, manifest: str) -> Iterator[tuple[str, str, Path]]:
    """Yield name, version and a copy of each unpacked package, in the order of the draw."""
    found = {str(path.parent.relative_to(packages)): path.parent for path in packages.glob(f"*/{manifest}")}
    for name in shuffled(list(found)):
        tree = output / name
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(found[name], tree, symlinks=True)
        yield name, name.rpartition("@")[2] if "@" in name else name.rpartition("-")[2], tree


def main() -> None:
    """Unpack, read, mask, split; write the index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=sorted(TRUTHS))
    parser.add_argument("--clones", type=Path)
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    output = options.output / options.language
    if options.language in ("python", "csharp"):
        trees = clone_trees(options.language, options.clones, output)
    else:
        trees = package_trees(
            options.packages, output, "package.json" if options.language == "javascript" else "Cargo.toml"
        )
    index: dict[str, dict[str, object]] = {}
    held = 0
    for name, version, tree in trees:
        try:
            truth: Truth | None = TRUTHS[options.language](tree)
        except (ValueError, OSError):
            truth = None
        if truth is None or not truth.required:
            shutil.rmtree(tree)
            continue
        MASKS[options.language](tree)
        split = "heldout" if held < HELD_OUT else "dev"
        held += 1
        index[name] = {
            "version": version,
            "split": split,
            "tree": tree.name,
            "required": sorted(truth.required),
            "neutral": sorted(truth.neutral),
        }
    (options.output / f"{options.language}.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
    pinned = {name: {"version": entry["version"], "split": entry["split"]} for name, entry in index.items()}
    (SAMPLES / f"{options.language}.json").write_text(json.dumps(pinned, indent=1) + "\n", encoding="utf-8")
    print(f"{options.language}: {len(index)} packages, {min(held, HELD_OUT)} held out")


if __name__ == "__main__":
    main()
