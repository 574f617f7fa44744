"""Stays and climbs of one command."""

from pathlib import Path

from benchmarks.walk import climbs, layers, named_on_the_walk

ROOT = Path(__file__).parents[2]


def test_the_walk_of_the_page_names_modules_that_are_there() -> None:
    """As many as the page says."""
    page = (ROOT / "docs/developers/architecture.md").read_text()
    named = named_on_the_walk(page)
    assert [name for name in named if not (ROOT / "src" / f"{name.replace('.', '/')}.py").is_file()] == []
    assert f"These are {len(named)} modules." in page


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
