"""A report as a file: HTML with plots, CSV, LaTeX and JUnit. All have the figures of the report itself."""

import csv
import io
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from groundup.api.reports import write_plots, write_report
from groundup.domain.errors import UsageError
from groundup.domain.verdicts import Score
from groundup.reports.formats import FORMS, ShownReport
from groundup.reports.plots import as_png, plots_of
from groundup.reports.summary import report_of, report_run, side_by_side
from groundup.suites.base import Summary
from tests.needs import lack
from tests.reports.made import Word, run_of

BASE: dict[str, list[Word]] = {"one": [(1, 2)], "two": [(2, 2)], "three": ["tampered"], "four": ["infrastructure"]}
OTHER: dict[str, list[Word]] = {"one": [(2, 2)], "two": [(2, 2)], "three": [(0, 4)], "four": ["pending"]}


def report() -> ShownReport:
    """Return a report on two runs with every kind of ending."""
    return ShownReport.of(report_of([run_of("base", BASE), run_of("other", OTHER)]))


class Page(HTMLParser):
    """The elements of a page, and all its text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        self._open = tag
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        """Collect."""
        if self._open not in ("script", "style"):
            self.words += data


def test_one_page_has_every_figure_and_loads_nothing() -> None:
    """The scores are those of the report, to the last digit; no element asks for another file."""
    made = report()
    page = Page(made.written("html").decode())

    for view in made.views():
        for cell in (cell for row in view.rows for cell in row):
            assert cell in page.words
    assert page.tags.count("script") == 1
    assert not {"link", "img", "iframe", "a"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href")]
    assert [name for name, _ in page.attributes if name.startswith("on")] == []
    assert page.tags.count("svg") == 2


def test_what_strangers_wrote_is_text() -> None:
    """Markup in a reason and control characters are shown, not obeyed."""
    config, lines = run_of("base", BASE)
    for key, line in lines.items():
        if line.verdict and line.verdict.reasons:
            reason = line.verdict.reasons[0].but(message="<script>alert(1)</script>\x1b[31m")
            lines[key] = line.but(verdict=line.verdict.but(reasons=(reason,)))
    made = ShownReport.of(report_of([(config, lines)]))

    page = Page(made.written("html").decode())
    assert page.tags.count("script") == 1
    assert "<script>alert(1)</script>" in page.words
    assert "\x1b" not in made.written("html").decode() + made.written("latex").decode()
    assert ElementTree.fromstring(made.written("junit")) is not None


def test_plots_are_whole_pictures_that_say_what_they_show(tmp_path: Path) -> None:
    """Each is valid SVG with a title, and marks name their value."""
    plots = {plot.name: plot for plot in plots_of(report())}
    assert set(plots) == {"scores", "outcomes"}
    for plot in plots.values():
        assert ElementTree.fromstring(plot.svg).find("{http://www.w3.org/2000/svg}title") is not None
    assert "base: 50.0 %" in plots["scores"].svg
    assert "base: tampered, 1 of 4 attempts" in plots["outcomes"].svg
    written = {path.name for path in write_plots(report(), tmp_path / "figures")}
    assert {name for name in written if name.endswith(".svg")} == {f"{name}.svg" for name in plots}


def test_plots_are_pictures_of_pixels_where_a_program_draws_them() -> None:
    """Each is drawn on its own; its colours are not left to a browser, so it is no blank."""
    for plot in plots_of(report()):
        drawn = as_png(plot)
        if drawn is None:
            lack("vl-convert", "the extra plots is not installed")
        assert drawn.startswith(b"\x89PNG")
        assert len(drawn) > 5000, plot.name


def test_without_that_program_there_is_no_picture_of_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no failure."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert [as_png(plot) for plot in plots_of(report())] == [None] * 2


def test_tables_by_band_become_plots() -> None:
    """F1 of each run by number of dependencies, as in DI-Bench's paper; other tables do not."""
    scores = {"1-5": {"F1": Score(numerator=3, denominator=4)}, ">=51": {"F1": Score(numerator=0, denominator=0)}}
    tables = (
        Summary(headline="By number of dependencies", scores=scores),
        Summary(headline="Executability", scores=scores),
    )
    runs = [report_run(*run_of(name, BASE)).but(summaries=tables) for name in ("base", "other")]
    plots = {plot.name: plot for plot in plots_of(side_by_side(runs))}
    assert "by-number-of-dependencies" in plots
    assert "executability" not in plots
    picture = plots["by-number-of-dependencies"]
    assert picture.title == "F1: by number of dependencies"
    assert "other, 1-5: F1 75.0 %" in picture.svg
    assert "51: F1" not in picture.svg
    assert ElementTree.fromstring(picture.svg) is not None


def test_rows_of_csv_are_those_of_the_report() -> None:
    """Every attempt has a line; an empty cell stands for None."""
    made = report()
    rows = list(csv.DictReader(io.StringIO(made.written("csv").decode())))
    assert [(row["run"], row["task"], row["standing"]) for row in rows] == [
        (row["run"], row["task"], row["standing"]) for row in made.rows()
    ]
    assert [row["score"] for row in rows[:4]] == ["", "0.5", "", "1.0"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_cell_that_looks_like_a_formula_is_text(start: str) -> None:
    """A spreadsheet would run it."""
    config, lines = run_of("base", {"one": [(1, 2)]})
    ((key, line),) = lines.items()
    assert line.verdict
    reason = line.verdict.reasons[0].but(message="x")
    lines[key] = line.but(verdict=line.verdict.but(reasons=(reason,)))
    config = config.but(run_id=f"{start}1+1")
    (row,) = csv.DictReader(io.StringIO(ShownReport.of(report_of([(config, lines)])).written("csv").decode()))
    assert row["run"] == "'" + start.replace("\r", "\n") + "1+1"


def test_ci_servers_read_how_each_attempt_ended() -> None:
    """What counts and is not solved failed; what has no verdict is an error."""
    root = ElementTree.fromstring(report().written("junit"))
    counts = [(one.get("tests"), one.get("failures"), one.get("errors"), one.get("skipped")) for one in root]
    assert counts == [("4", "2", "1", "0"), ("4", "1", "1", "0")]


def test_what_was_not_attempted_fails_in_a_ci_server() -> None:
    """It counts 0, so a run that leaves tasks out must not be green there."""
    made = ShownReport.of(report_of([run_of("base", {"one": [(2, 2)], "two": ["not_attempted"]})]))
    (suite,) = ElementTree.fromstring(made.written("junit"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    (failure,) = suite.iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("not_attempted", "not attempted")


def test_junit_is_valid_by_both_schemas_that_servers_use() -> None:
    """What Ant's schema wants, parts of a suite in their order and all attributes; Jenkins' allows all of it."""
    root = ElementTree.fromstring(report().written("junit"))
    assert root.attrib == {}
    for number, suite in enumerate(root):
        tags = [child.tag for child in suite]
        assert tags == ["properties", *["testcase"] * (len(tags) - 3), "system-out", "system-err"]
        assert set(suite.attrib) == {
            *("name", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time", "package", "id")
        }
        assert suite.attrib["id"] == str(number)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        for case in suite.iter("testcase"):
            assert set(case.attrib) == {"classname", "name", "time"}
            assert [set(child.attrib) for child in case] in ([], [{"type", "message"}])


def test_a_form_that_is_none_is_refused() -> None:
    """Before, every unknown form was written as LaTeX."""
    with pytest.raises(UsageError, match="latex"):
        report().written("json")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_written_to_a_file(form: str, tmp_path: Path) -> None:
    """And twice the same."""
    path = write_report(report(), form, tmp_path / "report")
    assert path.read_bytes() == report().written(form)
