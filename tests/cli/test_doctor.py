"""What this machine can do, whatever it is."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Groundup


@pytest.fixture(autouse=True)
def _no_git_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask no host of the world."""
    monkeypatch.setenv("GROUNDUP_GIT_MIRROR", str(tmp_path / "mirror"))


def test_every_fact_has_a_standing_and_every_fault_says_what_to_do(groundup: Groundup) -> None:
    """0 when this machine can grade, 3 when not; nothing is bad without advice."""
    ended = groundup("doctor", "--json")
    document = json.loads(ended.out)
    assert ended.code == (0 if document["ready"] else 3)
    names = {fact["name"] for fact in document["facts"]}
    assert {"attempts", "uv", "package index", "JDK", "Maven"} <= names
    assert all(fact["advice"] for fact in document["facts"] if fact["status"] == "bad")
    suites = {one["suite"]: one for one in document["suites"]}
    listed = json.loads(groundup("tasks", "nl2repobench", "--json").out)["tasks"]
    assert suites["nl2repobench"]["tasks"] == len(listed) >= 32
    assert "github.com" in names
    lack = "github.com, which Git cannot reach" if shutil.which("git") else "git; install it"
    assert any(lack in one for one in suites["nl2repobench"]["lacks"])


def test_the_table_says_what_enforces_each_limit(groundup: Groundup) -> None:
    """On Linux, where there are limits."""
    ended = groundup("doctor")
    assert "package index" in ended.out
    assert "Tasks that can be graded here" in ended.out
    assert "groundup: " in ended.err
