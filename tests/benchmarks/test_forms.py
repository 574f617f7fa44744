"""Forms of a value are counted by a command."""

import os
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.forms import DOORS, Tree

import groundup

ROOT = Path(__file__).parents[2]
MOST = 25
"""Classes that may be made in one folder and read in another on the way of one command."""


def test_few_forms_are_internal(tmp_path: Path) -> None:
    """A run of a suite in one file makes the records that lie in its folder, and few beside."""
    toys = {"SANDBOX": "tests.runs.toy:create_provider", "BUILDER": "tests.runs.toy:create_builder"}
    settings = {
        f"GROUNDUP_{name}": value for name, value in {**toys, "CACHE_DIR": str(tmp_path / "cache")}.items()
    }
    command = ["run", "examples.plugins.suite:create", "-a", "oracle", "-o", str(tmp_path), "--quiet"]
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.forms", *command],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    kinds = dict(re.findall(r"^\| (\w+) \| [\w.]+ \| (\w+) \|", told.stdout, flags=re.MULTILINE))
    assert {kinds[name] for name in ("ConfigFile", "RunConfiguration", "VerdictLine", "Submission")} == {"disk"}
    assert kinds["RunPlan"] == "internal"
    assert 5 < [*kinds.values()].count("internal") <= MOST


def test_annotations_lead_to_the_api() -> None:
    """What a plug-in is handed is a part of the API, and what only runs know is none."""
    found = Tree().reachable([*groundup.__all__, *DOORS])
    assert {"Settings", "Task", "GradingContext", "SandboxSpec", "AttemptEnded"} <= found
    assert not {"RunContext", "TreeDigest", "Stretch"} & found
