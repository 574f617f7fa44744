"""How well dependencies are inferred: groundup, pipreqs, pigar and deptry on the same files by the same script.

    python -m benchmarks.inference_samples python --clones FOLDER --output SAMPLE
    python -m benchmarks.inference --sample SAMPLE --language python --split dev [--tools FOLDER] [--errors]

Name-level precision, recall and F1 against the declared runtime dependencies: micro over all packages of the
split, with a bootstrap interval, and the mean and median of the packages' own F1. A name that a marker excludes
here counts neither way. `--tools` is the bin folder of an environment with pipreqs, pigar and deptry. They ask
no registry: pipreqs is pointed at a server on loopback that knows every name declared anywhere in the sample or
in groundup's data, which is more than it would learn by itself. Times are processor time, processes of the
tools included.
"""

import argparse
import json
import os
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.inference_rivals import RIVALS
from benchmarks.inference_truth import folded
from packaging.markers import Marker

from groundup_infer.inference import infer
from groundup_infer.records import InferredKind

KINDS = {
    "csharp": tuple(InferredKind),  # a repository's projects together: libraries and tests
    "python": (InferredKind.RUNTIME,),
    "javascript": (InferredKind.RUNTIME,),
    "rust": (InferredKind.RUNTIME, InferredKind.OPTIONAL),  # an optional crate stands in [dependencies] too
}

SEED = 7
RESAMPLED = 10_000

_SPELLED: dict[str, Callable[[str], str]] = {"javascript": str, "csharp": str.lower}


class Counts(NamedTuple):
    """Of one package."""

    hits: int
    wrong: int
    missed: int

    @property
    def f1(self) -> float:
        """Return its own F1."""
        return 2 * self.hits / max(2 * self.hits + self.wrong + self.missed, 1)


def micro(counts: Sequence[Counts]) -> tuple[float, float, float]:
    """Return precision, recall and F1 over all packages together."""
    hits, wrong, missed = (sum(column) for column in zip(*counts, strict=True))
    return hits / max(hits + wrong, 1), hits / max(hits + missed, 1), Counts(hits, wrong, missed).f1


def line(counts: Sequence[Counts], seconds: float) -> str:
    """Return percentages, the distribution over packages, and the mean time.

    The interval holds 95 of 100 draws with replacement of as many packages.
    """
    draws = random.Random(SEED)
    resampled = sorted(micro(draws.choices(counts, k=len(counts)))[2] for _ in range(RESAMPLED))
    low, high = (100 * resampled[int(share * RESAMPLED)] for share in (0.025, 0.975))
    each = [count.f1 for count in counts]
    shown = " ".join(f"{100 * value:5.1f}" for value in micro(counts))
    mean, middle = 100 * statistics.mean(each), 100 * statistics.median(each)
    time_each = 1000 * seconds / len(counts)
    return f"{shown}  ({low:.1f} to {high:.1f})  mean {mean:.1f}  median {middle:.1f}  {time_each:.0f} ms each"


def _processor() -> float:
    return sum(os.times()[:4])


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
    print(f"{options.language} {options.split}: {len(chosen)} packages, P R F1 (95 %), F1 of packages")
    for tool, names in tools.items():
        counts = []
        started = _processor()
        for name, entry in chosen.items():
            found = names(options.sample / options.language / entry["tree"]) - set(entry["neutral"])
            required = set(entry["required"])
            counts.append(Counts(len(found & required), len(found - required), len(required - found)))
            if options.errors and found != required:
                print(f"  {name}: wrong {sorted(found - required)} missed {sorted(required - found)}")
        print(f"{tool:10} {line(counts, _processor() - started)}", flush=True)


if __name__ == "__main__":
    main()
