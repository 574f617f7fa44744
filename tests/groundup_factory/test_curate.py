"""`groundup curate`: what is printed, and what is refused."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Groundup

WORKFLOW = "on: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: cargo test}]}}\n"


def _repository(folder: Path) -> str:
    place = folder / "r" / ".github" / "workflows"
    place.mkdir(parents=True)
    (place / "ci.yml").write_text(WORKFLOW)
    return str(folder / "r")


def test_the_job_is_reported_with_its_reasons(groundup: Groundup, tmp_path: Path) -> None:
    """People read one line with workflow and job, and why; programs get all of it as one document."""
    root = _repository(tmp_path)

    printed = groundup("curate", "locate", root)
    document = json.loads(groundup("curate", "locate", root, "--json").out)

    assert printed.code == 0
    assert ".github/workflows/ci.yml  job test  no matrix" in printed.out
    assert "runs cargo test" in printed.out
    assert document["candidates"][0]["job"] == "test"


@pytest.mark.needs("git")
def test_wrong_requests_are_explained(groundup: Groundup, tmp_path: Path) -> None:
    """A missing folder, an unknown language, kind or pin end with 2 and what would be right."""
    root = _repository(tmp_path)
    output = str(tmp_path / "set")
    cases = {
        ("locate", str(tmp_path / "absent")): "absent is no folder here",
        ("instance", root, "-l", "pyton", "-o", output): "did you mean 'python'",
        ("instance", root, "-l", "rust", "-o", output, "--kinds", "runtim"): "did you mean 'runtime'",
        ("instance", root, "-l", "rust", "-o", output, "--leg", "3.12"): "KEY:VALUE",
        ("instance", root, "-l", "rust", "-o", output): "no Git repository",
    }

    for arguments, sentence in cases.items():
        ended = groundup("curate", *arguments)
        assert ended.code == 2, arguments
        assert sentence in ended.err


@pytest.mark.needs("git")
def test_locate_takes_what_instance_takes(groundup: Groundup, tmp_path: Path) -> None:
    """A folder as it lies there; a commit of it, a Git directory and an address as they were committed."""
    root = Path(_repository(tmp_path))
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
    commit = asked.stdout.strip()
    (root / ".github" / "workflows" / "ci.yml").write_text(WORKFLOW.replace("cargo test", "pytest"))
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(root), str(bare)], check=True)

    assert "runs pytest" in groundup("curate", "locate", root).out
    for named in ((str(root), "--commit", commit), (str(root / ".git"),), (str(bare),), (f"file://{bare}",)):
        ended = groundup("curate", "locate", *named)
        assert (ended.code, "runs cargo test" in ended.out) == (0, True), ended.err
