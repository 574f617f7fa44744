"""What this machine can do, whatever it is."""

import json

from tests.cli.conftest import Groundup


def test_every_fact_has_a_standing_and_every_fault_says_what_to_do(groundup: Groundup) -> None:
    """0 when this machine can grade, 3 when not; nothing is bad without advice."""
    ended = groundup("doctor", "--json")
    document = json.loads(ended.out)
    assert ended.code == (0 if document["ready"] else 3)
    names = {fact["name"] for fact in document["facts"]}
    assert {"attempts", "uv", "package index", "JDK", "Maven"} <= names
    assert all(fact["advice"] for fact in document["facts"] if fact["status"] == "bad")


def test_the_table_says_what_enforces_each_limit(groundup: Groundup) -> None:
    """On Linux, where there are limits."""
    ended = groundup("doctor")
    assert "package index" in ended.out
    assert "groundup: " in ended.err
