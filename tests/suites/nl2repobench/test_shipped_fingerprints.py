"""Originals are known by fingerprints that lie beside the recipes."""

from pathlib import Path

from groundup.settings import Settings
from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup.suites.nl2repobench.shipped import shipped_fingerprint
from groundup.suites.nl2repobench.suite import create
from groundup.trees.fingerprints import LEAST


def test_shipped_fingerprints_can_be_read(tmp_path: Path) -> None:
    """Each is of its recipe's task and says enough to know a copy; a suite gives it out; others have none."""
    tasks = {task.id: task for task in create(Settings(cache_dir=tmp_path)).tasks()}
    found = {name: shipped_fingerprint(name) for name in shipped_recipes()}
    assert found["six"] is not None
    for name, fingerprint in found.items():
        if fingerprint is not None:
            assert fingerprint.task == name
            assert len(fingerprint.all_prints) > LEAST
            assert create(Settings(cache_dir=tmp_path)).fingerprint(tasks[name]) == fingerprint
    assert shipped_fingerprint("no-such-task") is None
