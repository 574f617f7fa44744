"""Rebuild `sources/data/python_names.json` and `python_companions.json`: who provides an import, what comes along.

    python benchmarks/inference_names.py [--environment SITE_PACKAGES]... [--sample python.json] [--rust-sample rust.json]

Merges, in rising order of authority: what the distributions of installed environments record (`top_level.txt`,
or RECORD), the import roots of sampled repositories of the development split, and the list written by hand.
Nothing is asked of a registry.
"""

import argparse
import json
import re
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

from groundup.sources.files import read_tree
from groundup.sources.names import normalised
from groundup.sources.python_layout import lay_out, read_project

DATA = Path(__file__).parent.parent / "src" / "groundup" / "sources" / "data"
SHARED = {"google", "azure", "zope", "backports", "jaraco", "sphinxcontrib", "tests", "test", "docs", "examples", "bin"}


def recorded(distribution: Distribution) -> set[str]:
    """Return the import roots that an installed distribution records."""
    roots = set()
    for file in distribution.files or ():
        first = file.parts[0]
        if first.endswith((".dist-info", ".data", ".pth")) or first in {"..", "__pycache__"}:
            continue
        if len(file.parts) > 1 and file.suffix in {".py", ".so", ".pyi"}:
            roots.add(first)
        elif len(file.parts) == 1 and file.suffix in {".py", ".so"}:
            roots.add(first.split(".")[0])
    return {root for root in roots if root.isidentifier() and root not in SHARED and not root.startswith("__")}


def _plain(requirements: list[str]) -> list[str]:
    parsed = [Requirement(text) for text in requirements]
    return [
        normalised(item.name) for item in parsed if item.marker is None or item.marker.evaluate({"extra": "", "python_version": "3.11"})
    ]


def write_rust(sample: Path | None) -> None:
    """Write crate names by the spelling that code uses: the development split's, and those written by hand."""
    crates: set[str] = set()
    if sample:
        for name, entry in json.loads(sample.read_text(encoding="utf-8")).items():
            if entry["split"] == "dev":
                crates.add(re.sub(r"-\d+\.\d+\.\d+.*$", "", name))
    for line in (DATA / "rust_names.txt").read_text(encoding="utf-8").splitlines():
        crates.update([] if line.startswith("#") else line.split())
    _write("rust_names", {crate.replace("-", "_"): crate for crate in sorted(crates)})


def write_csharp() -> None:
    """Write packages by namespace, from the list written by hand."""
    lines = (DATA / "csharp_names.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" ") for line in lines if line and not line.startswith("#")]
    _write("csharp_names", {namespace: package.removeprefix("-") if package == "-" else package for namespace, package in pairs})


def _write(name: str, names: dict[str, str]) -> None:
    document = {"provenance": "benchmarks/inference_names.py", "names": dict(sorted(names.items()))}
    (DATA / f"{name}.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    print(name, len(names))


def main() -> None:
    """Merge and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", type=Path, action="append", default=[])
    parser.add_argument("--sample", type=Path, help="python.json of inference_samples.py")
    parser.add_argument("--rust-sample", type=Path, help="rust.json of inference_samples.py")
    options = parser.parse_args()
    write_rust(options.rust_sample)
    write_csharp()
    names: dict[str, str] = {}
    requires: dict[str, set[str]] = {}
    counts = {"installed": 0, "sample": 0, "hand": 0}
    for environment in options.environment:
        for distribution in distributions(path=[str(environment)]):
            for root in recorded(distribution):
                counts["installed"] += 1
                names.setdefault(root, normalised(distribution.metadata["Name"]))
            requires.setdefault(normalised(distribution.metadata["Name"]), set()).update(_plain(distribution.requires or []))
    if options.sample:
        index = json.loads(options.sample.read_text(encoding="utf-8"))
        for entry in index.values():
            if entry["split"] == "dev":
                project = read_project(read_tree(options.sample.parent / "python" / entry["tree"])).name
                requires.setdefault(project, set()).update(entry["required"])
            layout = lay_out(read_tree(options.sample.parent / "python" / entry["tree"])) if entry["split"] == "dev" else None
            for root in layout.roots if layout and layout.project.name else ():
                spelled = normalised(root).replace("-", "")
                if root not in SHARED and spelled in layout.project.name.replace("-", "") and layout:
                    counts["sample"] += 1
                    names[root] = layout.project.name
    for line in (DATA / "python_names.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            module, _, distribution_name = line.partition(" ")
            counts["hand"] += 1
            names[module] = distribution_name
    if not all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names.values()):
        raise SystemExit("a distribution name is not normalised")
    document = {"provenance": f"benchmarks/inference_names.py: {counts}", "names": dict(sorted(names.items()))}
    (DATA / "python_names.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    for line in (DATA / "python_companions.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(":")
            requires.setdefault(name, set()).update(rest.split())
    kept = {name: sorted(others) for name, others in sorted(requires.items()) if name and others}
    document = {"provenance": "benchmarks/inference_names.py", "requires": kept}
    (DATA / "python_companions.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    print(counts, len(names), len(kept))


if __name__ == "__main__":
    main()
