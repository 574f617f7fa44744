"""The figures of docs/architecture.md are counted right."""

from pathlib import Path

from benchmarks.structure import figures


def test_figures_of_a_small_tree(tmp_path: Path) -> None:
    """Circles are found where modules import each other when they are loaded, not where functions do."""
    sources = tmp_path / "groundup"
    sources.mkdir()
    (sources / "a.py").write_text("from groundup.b import B\n\nclass A: ...\n")
    (sources / "b.py").write_text("def late():\n    from groundup.a import A\n\nclass A: ...\n")
    counted = figures(sources)
    assert counted["modules"] == "2"
    assert counted["circles of imports"] == "none"
    assert counted["public class names in several modules"] == "1"
    (sources / "b.py").write_text("import groundup.a\n")
    assert "groundup.a" in figures(sources)["circles of imports"]
    assert figures(sources)["circles of imports"] != "none"
