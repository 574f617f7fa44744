"""A report as a file: HTML with plots, CSV, LaTeX and JUnit. All have the figures of the report itself."""

import csv
import io
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from groundup.api.reports import write_plots, write_report
from groundup.domain.errors import MissingExtraError, UsageError
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score
from groundup.reports.formats import ShownReport
from groundup.reports.forms import FORMS
from groundup.reports.plots import plots_of
from groundup.reports.summary import report_run, side_by_side
from groundup.suites.base import Summary
from tests.reports.made import Word, need_drawing, report_of, run_of, words

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
    assert page.tags.count("figure") == 2
    told = [value for name, value in page.attributes if name == "aria-label"]
    assert told == [bar.words for plot in plots_of(made) for row in plot.rows for bar in row.bars]


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


def test_plots_say_what_they_show() -> None:
    """Each bar names its value; an interval is drawn where there is one; stacked bars fill a row."""
    plots = {plot.name: plot for plot in plots_of(report())}
    assert set(plots) == {"scores", "outcomes"}
    assert "base: 50.0 %" in words(plots["scores"])
    assert "base: tampered, 1 of 4 attempts" in words(plots["outcomes"])
    for row, run in zip(plots["scores"].rows, report().runs, strict=True):
        assert row.bars[0].interval == run.headline.interval
    assert [sum(bar.share for bar in row.bars) for row in plots["outcomes"].rows] == [1, 1]


def test_plots_become_whole_pictures(tmp_path: Path) -> None:
    """SVG that says what it shows, and PNG that is no blank."""
    need_drawing()
    written = {path.name: path.read_bytes() for path in write_plots(report(), tmp_path / "figures")}
    assert set(written) == {f"{name}.{kind}" for name in ("scores", "outcomes") for kind in ("svg", "png")}
    for plot in plots_of(report()):
        picture = "".join(_attributes(written[f"{plot.name}.svg"]))
        for row in plot.rows:
            for bar in row.bars:
                assert bar.words in picture
        assert written[f"{plot.name}.png"].startswith(b"\x89PNG")
        assert len(written[f"{plot.name}.png"]) > 5000, plot.name


def _attributes(svg: bytes) -> Iterator[str]:
    for element in ElementTree.fromstring(svg).iter():
        yield from element.attrib.values()


def test_without_the_program_that_draws_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One sentence says what to install."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r"groundup\[plots\]"):
        write_plots(report(), tmp_path / "figures")
    assert list(tmp_path.iterdir()) == []


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
    assert "other, 1-5: F1 75.0 %" in words(picture)
    assert "51: F1" not in words(picture)


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


def test_csv_and_junit_hold_no_codes_of_terminals_and_say_how_attempts_stand() -> None:
    """CSV may be printed, and `graded` is no reason for a failure."""
    made = ShownReport.of(report_of([run_of("base", {"one": [(1, 2)], "two": [(0, 0)]})]))
    text = made.written("csv").decode()
    assert r"some *failed* | \x1b[31m" in text
    assert "\x1b" not in text
    messages = [one.get("message") for one in ElementTree.fromstring(made.written("junit")).iter("failure")]
    assert messages == [r"partial: test: some *failed* | \x1b[31m", "with nothing to count (0/0)"]


def test_ci_servers_read_how_each_attempt_ended() -> None:
    """What counts and is not solved failed; what has no verdict is an error."""
    root = ElementTree.fromstring(report().written("junit"))
    counts = [(one.get("tests"), one.get("failures"), one.get("errors"), one.get("skipped")) for one in root]
    assert counts == [("4", "2", "1", "0"), ("4", "1", "1", "0")]


def test_all_points_of_what_is_not_complete_are_unsolved_everywhere() -> None:
    """A service that was not deployed passes in no CI server, and no plot calls it solved."""
    config, lines = run_of("base", {"one": [(2, 2)], "two": [(2, 2)]})
    key = AttemptKey(task="two")
    verdict = lines[key].verdict
    assert verdict is not None
    lines[key] = lines[key].but(verdict=verdict.but(complete=False))
    made = ShownReport.of(report_of([(config, lines)]))
    (suite,) = ElementTree.fromstring(made.written("junit"))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (row,) = next(plot for plot in plots_of(made) if plot.name == "outcomes").rows
    assert [(bar.series, bar.share) for bar in row.bars] == [("solved", 0.5), ("all points, unsolved", 0.5)]


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
        assert suite.attrib["name"] == ("base", "other")[number]
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
