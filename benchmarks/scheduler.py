"""What the scheduler costs: `python benchmarks/scheduler.py`.

Runs the tests' toy suite, whose graders only write a file, with 100 and with 1,000 attempts, each in a process of
its own, and prints attempts per second and memory at the end of each. Everything else that a run does is real:
intake, digests, run folder with its fsyncs; the verdict cache is off.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNTS = (100, 1000)


def main() -> None:
    """Measure both sizes and compare."""
    found = [measured(count) for count in COUNTS]
    print(f"{'attempts':>10}{'seconds':>10}{'per second':>12}{'memory before':>16}{'peak':>10}{'grown':>10}")
    for count, one in zip(COUNTS, found, strict=True):
        grown = one["peak_mb"] - one["before_mb"]
        print(
            f"{count:>10}{one['seconds']:>10.2f}{count / one['seconds']:>12.0f}"
            f"{one['before_mb']:>13.1f} MB{one['peak_mb']:>7.1f} MB{grown:>7.1f} MB"
        )
    more = COUNTS[1] - COUNTS[0]
    each_kb = (found[1]["peak_mb"] - found[0]["peak_mb"]) * 1024 / more
    print(f"peak grows by {each_kb:.1f} KB for each further attempt")


def measured(count: int) -> dict[str, float]:
    """Run so many attempts in a new process."""
    done = subprocess.run(
        [sys.executable, __file__, str(count)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def run(count: int) -> None:
    """Run so many attempts here and print the figures as JSON."""
    sys.path.insert(0, str(ROOT))
    from tests.runs.configurations import BUILDER, oracle

    from groundup.runs import api
    from groundup.runs.plan import RunOptions
    from groundup.settings import Settings

    options = RunOptions(jobs=8, use_cache=False)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(cache_dir=Path(folder) / "cache", output=Path(folder) / "runs", builder=BUILDER)
        before_mb = memory_mb()
        began = time.monotonic()
        configuration = oracle("tests.runs.toy:create_thousand").but(
            tasks=tuple(f"task-{number:04}" for number in range(count))
        )
        result = api.NewRun(configuration, options, settings).work()
        seconds = time.monotonic() - began
    assert result.standing.graded == count
    print(json.dumps({"seconds": seconds, "before_mb": before_mb, "peak_mb": memory_mb()}))


def memory_mb() -> float:
    """Return the most that this process has had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    if sys.argv[1:]:
        run(int(sys.argv[1]))
    else:
        main()
