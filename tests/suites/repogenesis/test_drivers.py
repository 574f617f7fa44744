"""Tests of groundup.suites.repogenesis.data: programs that run where groundup is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from groundup.suites.repogenesis.data import driver


@pytest.mark.parametrize("name", ["official_driver.py", "legacy_driver.py"])
def test_a_driver_is_one_file_that_needs_nothing_else(name: str, tmp_path: Path) -> None:
    """It loads with the standard library only, and brings the stopwatch by which it waits."""
    path = tmp_path / name
    path.write_bytes(driver(name))
    code = f"import runpy; print(runpy.run_path({str(path)!r}, run_name='driver')['Stopwatch'].__name__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Stopwatch\n"), done.stderr
