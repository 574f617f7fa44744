"""A run can be killed at any moment: nothing is lost, nothing is done twice, nothing is left over."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import often
from tests.patience import patient

ROOT = Path(__file__).parents[2]
KILLS = often(40)


@pytest.mark.parametrize("part", [1, 2])
def test_random_kills_lose_nothing(tmp_path: Path, part: int) -> None:
    """After each kill what was settled stays; at the end every attempt is settled exactly once."""
    seed = int(os.environ.get("GROUNDUP_TEST_SEED", "0")) or random.SystemRandom().getrandbits(32)
    print(f"part {part}: seed {seed} (set GROUNDUP_TEST_SEED to use it again)")
    done = subprocess.run(
        [sys.executable, "-m", "tests.runs.killed", str(tmp_path), str(seed), str(KILLS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patient(200),
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    report = json.loads(done.stdout)
    print(report)
    assert report["kills"] >= KILLS
    assert report["within"] > 0, f"seed {seed}: no kill came after a first verdict: {report}"


def test_random_kills_pay_for_no_finished_turn_twice(tmp_path: Path) -> None:
    """Runs that generate are killed: the endpoint answers each recorded turn once, and none is lost."""
    seed = int(os.environ.get("GROUNDUP_TEST_SEED", "0")) or random.SystemRandom().getrandbits(32)
    print(f"seed {seed} (set GROUNDUP_TEST_SEED to use it again)")
    done = subprocess.run(
        [sys.executable, "-m", "tests.runs.killed_generation", str(tmp_path), str(seed), str(often(15))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patient(250),
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
    report = json.loads(done.stdout)
    print(report)
    assert report["within"] > 0, f"seed {seed}: no kill came after a first reply: {report}"
