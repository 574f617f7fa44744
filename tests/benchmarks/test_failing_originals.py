"""Originals that fail, each in another way, beside busy loops or alone."""

import json
import time
from pathlib import Path

from benchmarks.failing_originals import CASES, busy

from tests.suites.dibench.executed import write_tiny


def test_every_failing_original_is_an_instance(tmp_path: Path) -> None:
    """Each can be written: its original declares something that the masked repository does not."""
    write_tiny(tmp_path / "tiny", {name: case.tiny for name, case in CASES.items()})
    lines = (tmp_path / "tiny/dataset-dibench-regular.jsonl").read_text().splitlines()
    assert len(lines) == len(CASES)
    assert all(json.loads(line)["patch"] for line in lines)


def test_busy_loops_end_by_themselves() -> None:
    """What keeps a machine busy for a trial ends after its time, even where the trial goes on."""
    with busy(2, 0.1) as loops:
        deadline = time.monotonic() + 60
        while any(loop.poll() is None for loop in loops) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert all(loop.poll() is not None for loop in loops)
