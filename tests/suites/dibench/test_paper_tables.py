"""The paper's tables and figures from runs' verdicts, against what was computed by hand."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from groundup.domain.subjects import ABLATED_RUN, ABLATION, REGRADED, AttemptKey, Subject
from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.reports.document import Report
from groundup.reports.plots import plots_of
from groundup.reports.summary import report_results, side_by_side
from groundup.reports.views import View, paper_views
from groundup.suites.base import AttemptResult, Results
from groundup.suites.dibench.summaries import run_summaries
from tests.reports.made import words

GRADER = GraderIdentity(name="execution", version="2", data_version="d", environment="rebuilt")


def judged(
    language: str,
    passed: bool | None,
    counts: tuple[int, int, int],
    fake: int = 0,
    failure: str | None = None,
    subset: str = "regular",
    tokens: int = 1000,
) -> Verdict:
    """Return a verdict of an execution: *counts* are true and false positives and false negatives by name."""
    right, wrong, missing = counts
    text = f"{right} {wrong} {missing}"
    facts: dict[str, str | int | float | bool | None] = {
        "language": language, "subset": subset, "expected": right + missing, "lines": 100, "tokens": tokens,
        "exact": text, "name_only": text, "added": right + wrong, "fake": fake, "failure": failure,
    }  # fmt: skip
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=float(bool(passed)), denominator=float(passed is not None)),
        facts={name: value for name, value in facts.items() if value is not None},
        grader=GRADER,
    )


MISSING, STALE = "missing dependency in test", "lock file that does not fit the build file"
BASE = {
    # four jobs in Python: one passes, two fail, one cannot be run here; the names: 8 right, 2 wrong, 2 missing
    "a": judged("python", True, (3, 0, 0), tokens=1500),
    "b": judged("python", False, (2, 1, 1), failure=MISSING, tokens=30_000),
    "c": judged("python", False, (2, 1, 1), fake=1, failure=STALE, tokens=30_000),
    "d": judged("python", None, (1, 0, 0), tokens=30_000),
    # two in Rust: one passes; 6 right, none wrong, 2 missing
    "e": judged("rust", True, (4, 0, 0)),
    "f": judged("rust", False, (2, 0, 2), failure=MISSING),
    # a large one
    "g": judged("rust", False, (1, 3, 0), failure=MISSING, subset="large", tokens=2_000_000),
}
AFTER = {**BASE, "b": judged("python", True, (2, 1, 1), tokens=30_000), "f": judged("rust", True, (2, 0, 2))}


def reported(*runs: tuple[str, Subject, Mapping[str, Verdict | None]]) -> Report:
    """Return the report of runs."""
    found = []
    for name, subject, verdicts in runs:
        keyed = {AttemptKey(task=task): verdict for task, verdict in verdicts.items()}
        attempts = tuple(AttemptResult(key=key, verdict=verdict) for key, verdict in keyed.items())
        results = Results(
            name=name, created_at=datetime(2026, 1, 1, tzinfo=UTC), subject=subject, attempts=attempts
        )
        found.append(report_results(results, "dibench", "1", run_summaries(keyed, GRADER.name, lambda _: None)))
    return side_by_side(found)


MODEL = Subject(agent="all-in-one", model="m1")


def ablated(kind: str, of: str = "base") -> Subject:
    """Return the same model with mistakes taken out."""
    return Subject(agent="all-in-one", model="m1", settings={ABLATION: kind, ABLATED_RUN: of})


def view(views: Sequence[View], title: str) -> View:
    """Return the one view whose title begins so."""
    (found,) = [one for one in views if one.title.startswith(title)]
    return found


def test_tables_3_and_4_have_a_row_for_each_model() -> None:
    """Exec, P, R, F1 and FR by language, of regular and of large repositories apart."""
    views = list(paper_views(reported(("base", MODEL, BASE))))
    regular = view(views, "DI-Bench, regular")
    assert regular.columns == (
        "run", "agent", "model", "tasks in all",
        "python Exec", "python P", "python R", "python F1", "python FR",
        "rust Exec", "rust P", "rust R", "rust F1", "rust FR",
    )  # fmt: skip
    # Python: 1 of 3 jobs; P = R = F1 = 8/10; a fake among 10. Rust: 1 of 2; P = 6/6, R = 6/8, F1 = 12/14.
    assert regular.rows == (
        (
            "base",
            "all-in-one",
            "m1",
            "7",
            "33.3",
            "80.0",
            "80.0",
            "80.0",
            "10.0",
            "50.0",
            "100.0",
            "75.0",
            "85.7",
            "0.0",
        ),
    )
    large = view(views, "DI-Bench, large")
    assert large.rows == (("base", "all-in-one", "m1", "7", "0.0", "25.0", "100.0", "40.0", "0.0"),)


def test_tables_5_and_6_have_the_difference_in_executability() -> None:
    """Each ablation has a table: before, after and the difference, beside the model; it is no row of Table 3."""
    made = reported(
        ("base", MODEL, BASE),
        ("versions", ablated("oracle-metadata"), AFTER),
        ("names", ablated("without-fakes"), BASE),
    )
    views = list(paper_views(made))
    assert [row[0] for row in view(views, "DI-Bench, regular").rows] == ["base"]
    versions = view(views, "Ablation oracle-metadata: Exec")
    assert versions.columns == ("run", "agent", "model", "tasks in all", "", "before", "after", "difference")
    # Python: 1 of 3, then 2 of 3. Rust: 1 of 2, then 2 of 2.
    assert versions.rows == (
        ("base", "all-in-one", "m1", "7", "DI-Bench, regular, python", "33.3", "66.7", "+33.3"),
        ("base", "all-in-one", "m1", "7", "DI-Bench, regular, rust", "50.0", "100.0", "+50.0"),
        ("base", "all-in-one", "m1", "7", "DI-Bench, large, rust", "0.0", "0.0", "+0.0"),
    )
    assert {row[-1] for row in view(views, "Ablation without-fakes: Exec").rows} == {"+0.0"}
    assert not versions.below


def test_an_ablation_is_paired_with_a_run_that_was_graded_again() -> None:
    """Submissions that were ablated from a textual run are compared with its regrade by the same grader."""
    again = MODEL.but(settings={REGRADED: "textual"})
    made = reported(("base", again, BASE), ("versions", ablated("oracle-metadata", "textual"), AFTER))
    assert len(view(list(paper_views(made)), "Ablation oracle-metadata: Exec").rows) == 3


def test_an_ablation_without_its_run_stands_alone_and_says_what_it_is() -> None:
    """Its row then says which mistakes were taken out."""
    views = list(paper_views(reported(("versions", ablated("oracle-metadata"), AFTER))))
    assert view(views, "DI-Bench, regular").rows[0][:3] == ("versions", "all-in-one, oracle-metadata", "m1")
    assert not [one for one in views if one.title.startswith("Ablation")]


def test_other_denominators_are_told() -> None:
    """What was executed once and not the other time makes the difference a doubtful one."""
    fewer = {**AFTER, "b": judged("python", None, (2, 1, 1), tokens=30_000)}
    views = list(paper_views(reported(("base", MODEL, BASE), ("x", ablated("without-fakes"), fewer))))
    assert view(views, "Ablation").below == ("base, DI-Bench, regular, python: of 3 before, of 2 after",)


def test_table_7_says_why_jobs_failed() -> None:
    """Shares of failed jobs, in all and by language; the most frequent kind comes first."""
    found = view(list(paper_views(reported(("base", MODEL, BASE)))), "DI-Bench: why jobs failed")
    assert found.columns == ("run", "agent", "model", "tasks in all", "", "all", "python", "rust")
    # Four jobs failed: two in Python, of which one missed something; two in Rust, which both did.
    assert found.rows == (
        ("base", "all-in-one", "m1", "7", MISSING, "75.0", "50.0", "100.0"),
        ("base", "all-in-one", "m1", "7", STALE, "25.0", "50.0", "0.0"),
    )


def summary(made: Report, headline: str) -> Mapping[str, Mapping[str, Score]]:
    """Return the scores of a table of the first run."""
    (found,) = [one for one in made.runs[0].summaries if one.headline == headline]
    return found.scores


def test_figures_5_and_6_are_executability_by_size_and_by_dependencies() -> None:
    """The bars of the plots are in the JSON, with numerator and denominator."""
    made = reported(("base", MODEL, BASE))
    assert summary(made, "By number of dependencies")["1-5"]["Exec"] == Score(numerator=2, denominator=6)
    tokens = summary(made, "By tokens of source code")
    assert tokens["1-9999"]["Exec"] == Score(numerator=2, denominator=3)
    assert tokens["10000-49999"]["Exec"] == Score(numerator=0, denominator=2)
    assert tokens[">=1000000"]["Exec"] == Score(numerator=0, denominator=1)
    plots = {plot.name: plot for plot in plots_of(made)}
    assert "base, 1-9999: Exec 66.7 %" in words(plots["exec-by-tokens-of-source-code"])
    assert "base, 1-5: Exec 33.3 %" in words(plots["exec-by-number-of-dependencies"])
    assert "base, 1-5: F1" in words(plots["by-number-of-dependencies"])
    both = reported(("base", MODEL, BASE), ("versions", ablated("oracle-metadata"), AFTER))
    (plot,) = [one for one in plots_of(both) if one.name == "exec-by-number-of-dependencies"]
    assert "versions" not in words(plot), "an ablation has its table"


def test_figure_8_is_how_repositories_spread() -> None:
    """A curve for each language over bands of dependencies, lines and tokens; the shares are in the JSON."""
    made = reported(("base", MODEL, BASE), ("other", MODEL, BASE))
    assert summary(made, "Density by tokens of source code")["python"] == {
        "1-1999": Score(numerator=1, denominator=4),
        "20000-49999": Score(numerator=3, denominator=4),
        ">=1000000": Score(numerator=0, denominator=4),
    }
    rust = summary(made, "Density by number of dependencies")["rust"]
    assert {name: score.numerator for name, score in rust.items()} == {"1": 1, "3-4": 2}
    (plot,) = [one for one in plots_of(made) if one.name == "density-by-tokens-of-source-code"]
    assert "python, 20000-49999: 75.0 %" in words(plot)


@pytest.mark.parametrize("grader", ["execution", "strict"])
def test_only_what_was_executed_has_executability(grader: str) -> None:
    """Textual runs have F1 by bands, and no Exec anywhere."""
    keyed: Any = {AttemptKey(task=task): verdict for task, verdict in BASE.items()}
    tables = {one.headline: one for one in run_summaries(keyed, grader, lambda _: None)}
    assert ("Exec" in tables["By number of dependencies"].columns) is (grader == "execution")
    paper = tables["DI-Bench, regular: methods by language"].scores["python"]["Exec"]
    assert paper == (
        Score(numerator=1, denominator=3) if grader == "execution" else Score(numerator=0, denominator=0)
    )
