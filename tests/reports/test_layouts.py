"""The tables of papers: a row for each run, or for each of its groups."""

from groundup.domain.verdicts import Score
from groundup.reports.formats import PaperReport, ShownReport, markdown
from groundup.reports.summary import report_run, side_by_side
from groundup.reports.views import comparison_views, paper_views, views_of
from groundup.suites.base import Claimed, Summary
from tests.reports.made import Word, run_of


def paper(groups: int, figures: int, passed: int) -> Summary:
    """Return a table with as many groups and figures, each *passed* of 4."""
    score = Score(numerator=passed, denominator=4)
    scores = {f"g{group}": {f"f{figure}": score for figure in range(figures)} for group in range(groups)}
    return Summary(headline="As published", scores=scores, notes=("a note",), layout="paper")


def test_few_figures_stand_beside_each_other() -> None:
    """One row for each run, a column for each group and figure; a group that a run lacks has no figure."""
    runs = [
        report_run(*run_of("a", {"t": [(1, 2)]}), [paper(2, 2, 1)]),
        report_run(*run_of("b", {"t": [(2, 2)]}), [paper(1, 2, 3)]),
    ]
    (view,) = paper_views(side_by_side(runs))
    assert view.columns == ("run", "agent", "model", "tasks in all", "g0 f0", "g0 f1", "g1 f0", "g1 f1")
    assert view.rows == (
        ("a", "predictions", "m", "1", "25.0", "25.0", "25.0", "25.0"),
        ("b", "predictions", "m", "1", "75.0", "75.0", "-", "-"),
    )
    assert view.below == ("a note",)


def test_results_of_others_stand_beside_ours_and_say_so() -> None:
    """Once, however many runs there are: a reader takes none of them for a run."""
    claims = (Claimed(by="a card", model="their model", scores={"g0": {"f0": 0.427}}),)
    few, many = paper(2, 1, 1).but(claimed=claims), paper(4, 5, 1).but(claimed=claims)
    runs = [report_run(*run_of(name, {"t": [(1, 2)]}), [few]) for name in ("a", "b")]
    (view,) = paper_views(side_by_side(runs))
    assert view.rows[2:] == (("claimed", "-", "their model", "-", "42.7", "-"),)
    assert view.below[1:] == ("claimed: as a card says, by a harness of its own; not graded here",)
    (view,) = paper_views(side_by_side([report_run(*run_of("a", {"t": [(1, 2)]}), [many])]))
    assert view.rows[4:] == (("claimed", "-", "their model", "-", "g0", "42.7", "-", "-", "-", "-"),)


def test_each_row_says_of_how_many_tasks_it_is() -> None:
    """And how many of these are unfinished, so that no part is read as a whole."""
    words: dict[str, list[Word]] = {"t": [(1, 2)], "u": ["infrastructure"], "v": ["pending"]}
    runs = [report_run(*run_of("a", words), [paper(1, 1, 1)]), report_run(*run_of("b", words))]
    (papers, _) = paper_views(side_by_side(runs))
    assert papers.rows[0][3] == "3, 2 unfinished"
    _, listed, *_ = comparison_views(side_by_side(runs))
    assert listed.rows[0] == ("a", "3, 2 unfinished", "50.0 % (0.500/1)")


def test_many_figures_stand_below_each_other() -> None:
    """A row for each run and group, so that it fits a page."""
    runs = [report_run(*run_of("a", {"t": [(1, 2)]}), [paper(4, 5, 1)])]
    (view,) = paper_views(side_by_side(runs))
    assert view.columns == ("run", "agent", "model", "tasks in all", "", "f0", "f1", "f2", "f3", "f4")
    assert [row[4] for row in view.rows] == ["g0", "g1", "g2", "g3"]


def test_a_run_without_such_a_table_is_named() -> None:
    """Nothing is left out silently."""
    runs = [report_run(*run_of("bare", {"t": [(1, 2)]}))]
    (view,) = paper_views(side_by_side(runs))
    assert view.below == ("bare",)


def test_the_standard_layout_does_not_show_them() -> None:
    """They are for `--layout paper`; every form of file has that layout, too."""
    report = side_by_side([report_run(*run_of("a", {"t": [(1, 2)]}), [paper(1, 1, 1)])])
    assert "As published" not in markdown(views_of(report))
    assert "As published" not in ShownReport.of(report).written("html").decode()
    made = PaperReport.of(report)
    assert "As published" in made.markdown()
    assert "As published" in made.written("latex").decode()
    assert "As published" in made.written("html").decode()
