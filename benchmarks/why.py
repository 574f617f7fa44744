"""How long `groundup why` takes for a run of 500 attempts and for one of its tasks, beside an empty Python.

The run is made: each attempt lost one to five causes with up to nine tests each, and passed 100. The programs take
turns and the best of each counts, so that other load meets all alike; with them the same by way of `--json`, which
reads each test, and `groundup --help`, which any command needs at least.

python -m benchmarks.why [rounds]
"""

import random
import sys
import tempfile
from pathlib import Path

from benchmarks.startup import best_of
from tests.cli.test_why import many, write_losses

ATTEMPTS = 500
COMMANDS: dict[str, tuple[str, ...]] = {
    "--help": ("--help",),
    "why, one task": ("why", "runs/r", "task-0003"),
    "why, 500 attempts": ("why", "runs/r"),
    "why --json, 500 attempts": ("why", "runs/r", "--json"),
}


def write_run(folder: Path) -> None:
    """Write the run `runs/r`, the same each time."""
    draw = random.Random(58)
    sizes = [[draw.randint(1, 9) for _ in range(draw.randint(1, 5))] for _ in range(ATTEMPTS)]
    demand = "['schema']['key']: 1 != 2\nwith value = {'schema': {'key': 1}}"
    attempts = [[[one.but(demand=demand if one.lost else "") for one in many(size, passed=100)]] for size in sizes]
    write_losses(folder, "r", attempts)


def main(rounds: int) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder))
        best, (processor, _) = best_of(COMMANDS, folder, rounds)
    for name, (own, passed) in best.items():
        print(f"{name}: {own:.2f} s, {own / processor:.1f} times; {passed:.2f} s on the clock")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
