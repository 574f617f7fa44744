"""How long groundup takes to answer, beside an empty Python: processor time, and seconds on the clock.

The programs take turns and the best of each counts, so that other load meets all alike. The commands run in an
empty folder with an empty cache: no data, no runs.

python benchmarks/startup.py [rounds]
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

EMPTY = [sys.executable, "-c", "pass"]
TARGETS = {"--help": 10.0, "tasks nl2repobench": 20.0}
"""The most that a command may take, in empty Pythons."""


def spent(program: Sequence[str], folder: str) -> tuple[float, float]:
    """Return the processor seconds and the seconds on the clock of one run of *program*."""
    surroundings = {**os.environ, "GROUNDUP_CACHE_DIR": f"{folder}/cache"}
    # Without bytecode every start would compile each module, which outweighs all else; the first writes it.
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    process = subprocess.Popen(
        program,
        cwd=folder,
        env=surroundings,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(program)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began


def best_of(
    commands: Mapping[str, Sequence[str]], folder: str, rounds: int
) -> tuple[dict[str, tuple[float, float]], tuple[float, float]]:
    """Run `groundup` with the words of each of *commands* in turns, and an empty Python, whose times are printed.

    Returns the least seconds of processor time and on the clock, of each command and of the empty Python.
    """
    groundup = str(Path(sys.executable).with_name("groundup"))
    programs = {"": EMPTY, **{name: [groundup, *words] for name, words in commands.items()}}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            found[name].append(spent(program, folder))
    best = {
        name: (min(own for own, _ in times), min(clock for _, clock in times)) for name, times in found.items()
    }
    processor, clock = empty = best.pop("")
    print(f"python -c pass: {processor * 1000:.0f} ms of processor time, {clock * 1000:.0f} ms on the clock")
    return best, empty


def main(rounds: int) -> int:
    """Print the ratios; return 1 where one is over its target."""
    with tempfile.TemporaryDirectory() as folder:
        best, (processor, clock) = best_of({name: name.split() for name in TARGETS}, folder, rounds)
    for name, (own, passed) in best.items():
        print(
            f"groundup {name}: {own / processor:.1f} times (at most {TARGETS[name]:g}); "
            f"{passed / clock:.1f} times on the clock"
        )
    return int(any(own > TARGETS[name] * processor for name, (own, _) in best.items()))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
