"""The paper's tables for three scripted models whose mistakes are known."""

from pathlib import Path

from benchmarks.paper_tables import MODELS, make, mistaken

from groundup.api.reports import report
from groundup.reports.views import View, paper_views
from groundup.settings import load
from groundup.suites.dibench.dataset import read_dataset
from tests.suites.dibench.conftest import Groundup, groundup
from tests.suites.dibench.executed import PYTHON, TINY, write_tiny

__all__ = ["groundup"]  # a fixture of the suite's own tests


def view(views: list[View], title: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the rows of the view whose title begins so, by run and language."""
    (found,) = [one for one in views if one.title.startswith(title)]
    return {(row[0], row[4]): row[5:] for row in found.rows}


def test_three_models_get_the_tables_that_their_mistakes_deserve(groundup: Groundup, tmp_path: Path) -> None:
    """One command asks the models, takes their mistakes out again, and has every table of the paper."""
    named = {path: text.replace('name = "app"', 'name = "named"') for path, text in PYTHON.masked.items()}
    original = {path: text.replace('name = "app"', 'name = "named"') for path, text in PYTHON.original.items()}
    tinies = {name: TINY[name] for name in ("tiny-python", "tiny-javascript", "tiny-rust")}
    tinies["named"] = PYTHON._replace(masked=named, original=original)
    data = write_tiny(tmp_path / "tiny", tinies)
    (tmp_path / "out").mkdir()
    settings = load({"data_dir": tmp_path / "out/data", "output": tmp_path / "out/runs"})
    runs = make(data, tmp_path / "out", None, "strict", settings)
    assert len(runs) == 3 * len(MODELS)
    # Two in Python, one each in JavaScript and Rust, with one dependency each: one of Python's gets the mistake.
    assert mistaken(read_dataset(data).problems) == {"tiny-python"}
    views = list(paper_views(report(*runs, layout="paper", settings=settings)))
    rows = view(views, "DI-Bench, regular")
    assert {run for run, _ in rows} == set(MODELS), "ablations have tables of their own"
    assert rows["forgetful", "python"][1:4] == ("100.0", "50.0", "66.7")
    assert rows["careless", "python"][1:4] == ("100.0", "100.0", "100.0")
    assert rows["inventive", "python"][1:4] == ("66.7", "100.0", "80.0")
    assert {row[3] for (_, language), row in rows.items() if language != "python"} == {"100.0"}
    assert view(views, "Ablation without-fakes")["forgetful", "python"] == ("100.0", "100.0", "+0.0")
