"""The paper's tables for three scripted models whose mistakes are known."""

import json
import sys
from functools import partial
from pathlib import Path

import pytest
from benchmarks.paper_tables import ABSENT, MODELS, SharedVerdicts, make, mistaken

from groundup.api.reports import report
from groundup.reports.views import View, paper_views
from groundup.settings import load
from groundup.store.folder import RunFolder
from groundup.suites.dibench.dataset import read_dataset
from tests.suites.dibench.conftest import Groundup, groundup, layers
from tests.suites.dibench.executed import PYTHON, TINY, write_tiny

__all__ = ["groundup", "layers"]  # fixtures of the suite's own tests


NAMED = PYTHON._replace(
    masked={path: text.replace('name = "app"', 'name = "named"') for path, text in PYTHON.masked.items()},
    original={path: text.replace('name = "app"', 'name = "named"') for path, text in PYTHON.original.items()},
)
PYTHONS = {"named": NAMED, "tiny-python": PYTHON}
"""Of two, the second gets every model's mistake."""


def view(views: list[View], title: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the rows of the view whose title begins so, by run and language."""
    (found,) = [one for one in views if one.title.startswith(title)]
    return {(row[0], row[4]): row[5:] for row in found.rows}


def test_three_models_get_the_tables_that_their_mistakes_deserve(groundup: Groundup, tmp_path: Path) -> None:
    """One command asks the models, takes their mistakes out again, and has every table of the paper."""
    others = {name: TINY[name] for name in ("tiny-javascript", "tiny-rust")}
    data = write_tiny(tmp_path / "tiny", {**PYTHONS, **others})
    (tmp_path / "out").mkdir()
    settings = load({"data_dir": tmp_path / "out/data", "output": tmp_path / "out/runs"})
    runs = make(data, tmp_path / "out", None, "strict", settings)
    assert len(runs) == 3 * len(MODELS)
    # Two in Python, one each in JavaScript and Rust, with one dependency each: one of Python's gets the mistake.
    assert mistaken(read_dataset(data).problems) == {"tiny-python"}
    views = list(paper_views(report(*runs, layout="paper", settings=settings)))
    rows = view(views, "DI-Bench, regular")
    told = {row[2] for one in views if "model" in one.columns for row in one.rows}
    assert told == {f"scripted/{name}.json" for name in MODELS}, "the names, after ablations too, and no paths"
    assert {run for run, _ in rows} == set(MODELS), "ablations have tables of their own"
    assert rows["forgetful", "python"][1:4] == ("100.0", "50.0", "66.7")
    assert rows["careless", "python"][1:4] == ("100.0", "100.0", "100.0")
    assert rows["inventive", "python"][1:4] == ("66.7", "100.0", "80.0")
    assert {row[3] for (_, language), row in rows.items() if language != "python"} == {"100.0"}
    assert view(views, "Ablation without-fakes")["forgetful", "python"] == ("100.0", "100.0", "+0.0")


@pytest.mark.end_to_end
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux")
def test_jobs_of_the_three_models_end_as_their_mistakes_deserve(
    groundup: Groundup, layers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executed by real jobs: each ablation mends one model's failure, and the failures have their true kinds."""
    monkeypatch.setenv("GROUNDUP_SANDBOX", "bubblewrap")
    monkeypatch.setenv("GROUNDUP_BUILDER", "local")
    (tmp_path / "cache/layers").symlink_to(layers)
    absent = {"ecosystem": "pypi", "name": ABSENT, "exists": False, "versions": []}
    with (tmp_path / "names.jsonl").open("a") as file:
        file.write(json.dumps({**absent, "fetched_at": "2026-01-01T00:00:00Z"}) + "\n")
    data = write_tiny(tmp_path / "tiny", PYTHONS)
    (tmp_path / "out").mkdir()
    settings = load({"data_dir": tmp_path / "out/data", "output": tmp_path / "out/runs"})
    monkeypatch.setattr("groundup.runs.execution.VerdictCache", partial(SharedVerdicts, tmp_path / "verdicts"))
    runs = make(data, tmp_path / "out", None, "execution", settings)
    lines = [line for run in runs for line in RunFolder(run).lines()]
    executed = [(line.attempt.task, line.submission) for line in lines if not line.cached]
    assert len(lines) == 18
    # Two originals and three mistakes; an ablation writes the file that a forgetful answer leaves as it was.
    assert len(executed) == len(set(executed)) == 6
    views = list(paper_views(report(*runs, layout="paper", settings=settings)))
    (table,) = [one for one in views if one.title.startswith("DI-Bench, regular")]
    assert table.columns[4:] == ("python Exec", "python P", "python R", "python F1", "python FR")
    # One of two jobs passes for each; names: 1 of 2, 2 of 2, 2 of 3.
    assert {row[0]: row[4:8] for row in table.rows} == {
        "forgetful": ("50.0", "100.0", "50.0", "66.7"),
        "careless": ("50.0", "100.0", "100.0", "100.0"),
        "inventive": ("50.0", "66.7", "100.0", "80.0"),
    }
    versions, names = view(views, "Ablation oracle-metadata: Exec"), view(views, "Ablation without-fakes: Exec")
    assert {run: row for (run, _), row in versions.items()} == {
        "forgetful": ("50.0", "50.0", "+0.0"),
        "careless": ("50.0", "100.0", "+50.0"),
        "inventive": ("50.0", "50.0", "+0.0"),
    }
    assert {run: row[2] for (run, _), row in names.items()} == {
        "forgetful": "+0.0", "careless": "+0.0", "inventive": "+50.0",
    }  # fmt: skip
    (why,) = [one for one in views if one.title.startswith("DI-Bench: why jobs failed")]
    said = {
        row[0]: [name for name, cell in zip(why.columns, row, strict=True) if cell == "100.0"] for row in why.rows
    }
    assert said["forgetful"][0].startswith("missing dependency in test")
    assert said["careless"][0].startswith("dependency not found in build")
    assert said["inventive"][0].startswith("dependency not found in build")
