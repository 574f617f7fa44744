"""Columns of attempts: each is declared once, and stands wherever it says."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from groundup.reports import columns
from groundup.reports.columns import COLUMNS, Column
from groundup.reports.formats import ShownReport
from groundup.settings import load
from groundup.viewer.app import Viewer
from tests.reports.made import Word, report_of, run_of
from tests.viewer.made import write_run

WORDS: dict[str, list[Word]] = {"one": [(1, 2), (2, 2)], "two": [(0, 2), "pending"]}
FORMS = ("csv", "latex", "html")


@pytest.fixture
def luck(monkeypatch: pytest.MonkeyPatch) -> Column:
    """One row more in the table of columns, as somebody adds it."""
    made = Column("luck", lambda _, row: f"luck-{row.task}-{row.index}", ("data", "table", "page"))
    monkeypatch.setattr(columns, "COLUMNS", (*COLUMNS, made))
    return made


def test_a_new_column_is_one_row(luck: Column, tmp_path: Path) -> None:
    """It stands in the terminal, Markdown, CSV, LaTeX, HTML and in the viewer."""
    made = ShownReport.of(report_of([run_of("r", WORDS)]))
    forms = {form: made.written(form).decode() for form in FORMS}
    forms |= {"terminal": str(made), "markdown": made.markdown()}
    write_run(tmp_path, "r", WORDS)
    viewer = Viewer(load({"output": str(tmp_path)}))
    with TestClient(viewer.app()) as client:
        forms["viewer"] = client.get("/run/r/task/one").text
    viewer.index.close()
    for form, text in forms.items():
        assert luck.head in text, form
        assert "luck-one-1" in text, form


def test_rows_of_data_have_every_column_that_says_so() -> None:
    """In the order of the table, with a suite's further scores behind what is counted."""
    (row, *_) = ShownReport.of(report_of([run_of("r", WORDS)])).rows()
    names = [column.name for column in COLUMNS if "data" in column.where]
    names.insert(names.index("counted") + 1, "scores.declared")
    assert list(row) == names
