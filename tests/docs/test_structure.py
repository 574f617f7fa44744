"""The figures of docs/developers/architecture.md are counted right."""

import ast
import re
from functools import cache
from pathlib import Path

from benchmarks.structure import PAGE as ARCHITECTURE
from benchmarks.structure import SOURCES, circle, figures, imported, modules, of_documentation, shown, stale
from benchmarks.walk import named_on_the_walk


@cache
def ours() -> dict[str, str]:
    """Return the figures of this project, counted once."""
    return figures()


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


def test_nothing_is_tangled() -> None:
    """No module imports twenty others, or itself through others, and no public class has a name twice."""
    counted = ours()
    assert int(counted["most own modules that one imports"].split()[0]) < 20, counted
    assert counted["circles of imports"] == "none"
    assert counted["public class names in several modules"] == "0"


def test_late_imports_go_round_by_names_alone() -> None:
    """What a function imports leads back by tables of names alone, and by `import groundup`."""
    known = modules(SOURCES)
    doors = {"groundup.__init__", "groundup.catalog"}
    trees = {name: ast.parse(path.read_text()) for name, path in known.items() if name not in doors}
    assert (
        circle({name: {one for one, _ in imported(tree, known)} - {name, *doors} for name, tree in trees.items()})
        == "none"
    )


def test_what_the_walk_hands_on_is_there() -> None:
    """Each record of the walk is a class, and they become no more."""
    page = ARCHITECTURE.read_text(encoding="utf-8")
    block = page.partition("What is handed on")[2].partition("More runs besides")[0]
    lines = [line for line in block.splitlines() if line.startswith("    ")]
    named = {name for line in lines for name in re.findall(r"\b[A-Z][a-z]+[A-Za-z]*\b", line)}
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    assert named - set(re.findall(r"(?m)^class (\w+)", text)) == set()
    assert len(named) <= 51


def test_the_walk_names_modules() -> None:
    """The page on architecture leads through modules that are there, as many as it says."""
    page = ARCHITECTURE.read_text(encoding="utf-8")
    walked = named_on_the_walk(page)
    assert walked - modules(SOURCES).keys() == set()
    assert f"These are {len(walked)} modules" in page
    assert len(walked) < 40


def test_the_figures_of_the_page_are_nearly_right() -> None:
    """`python -m benchmarks.structure --write`, which `make check` calls, corrects a page that this refuses."""
    assert stale(ARCHITECTURE.read_text(encoding="utf-8"), ours() | of_documentation()) == []


def test_a_figure_is_stale_when_it_differs_by_more_than_a_fiftieth() -> None:
    """Small changes do not touch the page, and a page without the table is stale."""
    page = ARCHITECTURE.read_text(encoding="utf-8")
    counted = shown(page)
    assert "words of these pages" in counted
    lines = int(counted["lines of source"].replace(",", ""))
    assert stale(page, counted | {"lines of source": f"{lines + lines // 100:,}"}) == []
    assert stale(page, counted | {"lines of source": f"{lines + lines // 30:,}"}) == ["lines of source"]
    assert len(stale("", counted)) == 4
