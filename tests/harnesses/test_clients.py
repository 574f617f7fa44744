"""Harnesses of others read what is written for them; `make clients` installs them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from groundup.api.harbor import import_jobs
from groundup.registries.uv import uv_program
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from tests.harnesses.test_harbor_export import exported
from tests.needs import lack
from tests.serving.test_clients import run

HERE = Path(__file__).parent


def installed(folder: Path, package: str, python: str) -> str:
    """Return an interpreter that has *package*; skip where it cannot be installed."""
    if not os.environ.get("CLIENTS"):
        lack("make clients", f"installing {package} takes a while")
    for arguments in (("venv", "-p", python, folder), ("pip", "install", "-q", "-p", folder, package)):
        done = subprocess.run([uv_program(), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            lack(f"the package {package}", done.stderr.strip()[-300:])
    return str(folder / "bin" / "python")


@pytest.mark.registry
async def test_harbors_own_models_accept_a_task_and_write_a_trial(tmp_path: Path) -> None:
    """They find a verifier apart with its own tests; what they write of a trial is read as an attempt."""
    python = installed(tmp_path / "venv", "harbor", "3.12")
    folder, jobs = await exported(tmp_path), tmp_path / "jobs"
    program = HERE / "clients" / "read_harbor.py"
    found = json.loads(await run(python, str(program), str(folder), str(jobs)))
    assert (found["name"], found["mode"], found["tests_in_image"]) == ("groundup/toy__task-0000", "separate", True)
    assert found["solution"].endswith("solve.sh")
    (path,) = import_jobs(jobs, settings=Settings(output=tmp_path / "runs", cache_dir=tmp_path / "cache"))
    (line,) = RunFolder(path).lines()
    assert line.verdict is not None
    assert line.verdict.score is not None
    assert line.verdict.score.value == 0.5
    assert line.effort is not None
    assert line.effort.usage.output_tokens == 3
