"""`examine` says what this machine can do, with something to do for each thing that it cannot."""

from pathlib import Path

import pytest

from groundup.sandbox.machine import FactStatus, examine


@pytest.mark.end_to_end
async def test_facts(tmp_path: Path) -> None:
    """Every fact that is not good comes with advice; the last one is a real sandbox."""
    facts = await examine(tmp_path / "cache" / "not" / "there")
    assert all(fact.advice for fact in facts if fact.status is not FactStatus.GOOD and fact.name != "a sandbox")
    assert facts[-1].name in ("a sandbox", "system")
    assert {"kernel", "bubblewrap", "limit of memory", "cache"} <= {fact.name for fact in facts} or len(facts) == 1
