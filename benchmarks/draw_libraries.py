"""Which libraries a set is tried on: `python -m benchmarks.draw_libraries development 16`.

The frame is `sources/data/python_popular.txt`, the most downloaded distributions of November 2026, without those
of NL2RepoBench's tasks. They are shuffled by the seed and the word, so `development` and `held-out` are two orders
of it; `--skip` leaves out what stands in files of earlier draws. Of each order only names count whose
release has tests, in its source distribution or in its repository: `curate set` says at its first step which.

    python -m benchmarks.draw_libraries development 40 > development.txt
    groundup curate set --list development.txt -o development --minutes 15
    groundup curate yield development
"""

import argparse
import random
from collections.abc import Collection
from pathlib import Path

from packaging.utils import canonicalize_name

from groundup.sources.names import popular
from groundup.suites.nl2repobench.recipe import shipped_recipes

SEED = 20261126


def drawn(word: str, count: int, without: Collection[str] = ()) -> list[str]:
    """Return the first *count* names in the order of *word*."""
    tasks = {canonicalize_name(recipe.source.name) for recipe in shipped_recipes().values()}
    known = {*tasks, *map(canonicalize_name, without)}
    frame: list[str] = sorted(name for name in map(canonicalize_name, popular()) if name not in known)
    random.Random(f"{SEED} {word}").shuffle(frame)
    return frame[:count]


def main() -> None:
    """Print the names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", help="such as development")
    parser.add_argument("count", type=int)
    parser.add_argument("--skip", type=Path, action="append", default=[], help="a file of names that are left out")
    given = parser.parse_args()
    without = [line for path in given.skip for line in path.read_text(encoding="utf-8").split()]
    print("\n".join(drawn(given.word, given.count, without)))


if __name__ == "__main__":
    main()
