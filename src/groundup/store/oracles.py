"""Which runs in a folder judged a suite's references, by a glance at each configuration: no run is read whole.

Needs little besides the standard library, so that a list of tasks comes at once.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from groundup.trees.walking import LARGE, read_regular


def oracle_runs(output: Path, suite: str) -> Iterator[tuple[float, Path]]:
    """Yield the folders of runs of *suite*'s oracle in *output* and when a verdict came last, the newest first."""
    found = ((_changed_at(path.parent), path.parent) for path in output.glob("*/config.json"))
    yield from (one for one in sorted(found, reverse=True) if _is_oracle(one[1] / "config.json", suite))


def _changed_at(run: Path) -> float:
    try:
        return (run / "verdicts.jsonl").stat().st_mtime
    except OSError:
        return 0.0


def _is_oracle(config: Path, suite: str) -> bool:
    try:
        document = json.loads(read_regular(config, LARGE))
        made = document["configuration"]["submissions"]
        return bool(document["suite_name"] == suite and made.get("which") == "oracle")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False  # no run, or a damaged one
