"""Stays and climbs of one command."""

from pathlib import Path

from benchmarks.walk import climbs, layers

ROOT = Path(__file__).parents[2]


def test_only_calls_to_a_layer_above_climb() -> None:
    """By the order that import-linter proves."""
    order = layers((ROOT / "pyproject.toml").read_text())
    assert order["cli"] < order["serving"] == order["viewer"] < order["inside"]
    calls = {
        ("groundup.runs.plan", "groundup.api.runs"): {("plan", "up")},
        ("groundup.api.runs", "groundup.runs.plan"): {("down", "plan")},
        ("groundup.domain.names", "groundup"): {("a", "b")},
    }
    assert list(climbs(calls, order)) == [("groundup.runs.plan", "plan", "groundup.api.runs", "up")]
