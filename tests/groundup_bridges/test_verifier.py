"""Harbor's verifier: what guests cannot reach while it grades."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

GUEST = 1000
GRADING = """
import subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from groundup.domain.verdicts import GraderIdentity, Status, Verdict
from groundup_bridges import verifier
from groundup.suites.base import Graded

root = Path(sys.argv[1])
verifier._LOGS, verifier._SCRATCH, verifier.JOB = str(root / "logs/verifier"), str(root / "scratch"), __file__
verifier.VerifierJob = SimpleNamespace(model_validate_json=lambda data: None)

async def graded(job, scratch):
    evil = "echo 1 > logs/verifier/reward.json; mkdir logs/verifier/verdict.json; echo kept > logs/agent/memory"
    subprocess.run(["/bin/sh", "-c", evil], cwd=root, user=1000, group=1000, extra_groups=[], stderr=-3)
    (root / "limits").write_text(Path("/proc/self/limits").read_text())
    grader = GraderIdentity(name="strict", version="1", data_version="1", environment="image")
    return Graded(verdict=Verdict(status=Status.INFRASTRUCTURE, score=None, grader=grader))

verifier._graded = graded
sys.exit(verifier.main())
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can reach; its logs are those of a user of the host with a guest's number."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    for name in ("verifier", "agent"):
        (root / "logs" / name).mkdir(parents=True)
        os.chown(root / "logs" / name, GUEST, GUEST)
    (root / "grading.py").write_text(GRADING)
    yield root
    shutil.rmtree(root)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes others")
def test_a_guest_cannot_write_its_reward(place: Path) -> None:
    """Nor what keeps ours from being written, nor anything that a later sandbox could read."""
    done = subprocess.run([sys.executable, place / "grading.py", place], capture_output=True, check=False)
    assert done.returncode == 3, done.stderr
    assert sorted(path.name for path in (place / "logs").rglob("*")) == [
        "agent",
        "tests.jsonl",
        "verdict.json",
        "verifier",
    ]
    assert (place / "logs" / "verifier" / "verdict.json").is_file()
    assert (place / "logs" / "verifier").stat().st_uid == GUEST
    (queues,) = (line.split() for line in (place / "limits").read_text().splitlines() if "msgqueue" in line)
    assert queues[3:5] == ["0", "0"]
