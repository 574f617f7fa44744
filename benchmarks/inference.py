"""How well dependencies are inferred: groundup, pipreqs, pigar and deptry on the same files by the same script.

    python -m benchmarks.inference_samples python --clones FOLDER --output SAMPLE
    python -m benchmarks.inference --sample SAMPLE --language python --split dev [--tools FOLDER] [--errors]

Name-level precision, recall and F1, micro over all packages of the split, against the declared runtime
dependencies; a name that a marker excludes here counts neither way. `--tools` is the bin folder of an environment
with pipreqs, pigar and deptry. They ask no registry: pipreqs is pointed at a server on loopback that knows every
name declared anywhere in the sample or in groundup's data, which is more than it would learn by itself.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.inference_rivals import RIVALS
from benchmarks.inference_truth import folded
from packaging.markers import Marker

from groundup.sources.inference import infer
from groundup.sources.records import InferredKind

KINDS = {
    "csharp": tuple(InferredKind),  # a repository's projects together: libraries and tests
    "python": (InferredKind.RUNTIME,),
    "javascript": (InferredKind.RUNTIME,),
    "rust": (InferredKind.RUNTIME, InferredKind.OPTIONAL),  # an optional crate stands in [dependencies] too
}


_SPELLED: dict[str, Callable[[str], str]] = {"javascript": str, "csharp": str.lower}


class Counts(NamedTuple):
    """Summed over packages."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0
    seconds: float = 0.0

    def plus(self, hits: int, wrong: int, missed: int, seconds: float) -> "Counts":
        """Add one package."""
        return Counts(self.hits + hits, self.wrong + wrong, self.missed + missed, self.seconds + seconds)

    def line(self, packages: int) -> str:
        """Return percentages and the mean time."""
        precision = self.hits / max(self.hits + self.wrong, 1)
        recall = self.hits / max(self.hits + self.missed, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        each = 1000 * self.seconds / max(packages, 1)
        return f"{100 * precision:5.1f} {100 * recall:5.1f} {100 * f1:5.1f}  {each:8.0f} ms each"


def ours(language: str) -> Callable[[Path], set[str]]:
    """Return groundup's own answer for one language."""

    def names(tree: Path) -> set[str]:
        for result in infer(tree, languages=(language,)):
            return {
                _SPELLED.get(language, folded)(item.name)
                for item in result.of_kind(*KINDS[language])
                if not item.marker
                or Marker(item.marker).evaluate({"python_version": "3.11", "sys_platform": "linux"})
            }
        return set()

    return names


def main() -> None:
    """Measure and print one line per tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=Path, required=True)
    parser.add_argument("--language", choices=sorted(KINDS), required=True)
    parser.add_argument("--split", choices=("dev", "heldout"), required=True)
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--errors", action="store_true")
    options = parser.parse_args()
    index = json.loads((options.sample / f"{options.language}.json").read_text(encoding="utf-8"))
    chosen = {name: entry for name, entry in index.items() if entry["split"] == options.split}
    tools = {"groundup": ours(options.language)}
    if options.tools and options.language == "python":
        world = {name for entry in index.values() for name in (*entry["required"], *entry["neutral"])}
        tools |= {name: make(options.tools, world) for name, make in RIVALS.items()}
    print(f"{options.language} {options.split}: {len(chosen)} packages, P R F1")
    for tool, names in tools.items():
        total = Counts()
        for name, entry in chosen.items():
            started = time.perf_counter()
            found = names(options.sample / options.language / entry["tree"]) - set(entry["neutral"])
            seconds = time.perf_counter() - started
            required = set(entry["required"])
            total = total.plus(len(found & required), len(found - required), len(required - found), seconds)
            if options.errors and found != required:
                print(f"  {name}: wrong {sorted(found - required)} missed {sorted(required - found)}")
        print(f"{tool:10} {total.line(len(chosen))}")


if __name__ == "__main__":
    main()
