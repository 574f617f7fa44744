"""Tables for papers: what they hold is printed, and no page is too narrow or too short for them."""

import re
import subprocess
from pathlib import Path

import pytest

from groundup.domain.verdicts import Score
from groundup.reports.formats import PaperReport, ShownComparison, ShownReport, as_latex
from groundup.reports.summary import report_of, report_run, side_by_side
from groundup.reports.views import View
from groundup.suites.base import Summary
from tests.reports.made import Run, Word, run_of
from tests.reports.test_files import report

PACKAGES = r"\usepackage{array,booktabs,graphicx,longtable}"
NAMED = "a-model-of-many-words-2026-11-25_with_instructions+more.MWMWMWMWMWMWMWMWMWMW"
HOSTILE = ("\\input{x}", "[9cm]", "*", "a%b", "$x$", "x\n\\end{table}", '<a|b> "q" --grader ?`', "中 ≤ 🎉 é ß Đ")
TASKS: tuple[Word, ...] = ((1, 2), (2, 2), "tampered", "infrastructure", "not_attempted")


def run(name: str, tasks: int) -> Run:
    """Return a run of *tasks* tasks with long names, which end in several ways."""
    return run_of(name, {f"task_{number}-{NAMED}": [TASKS[number % len(TASKS)]] for number in range(tasks)})


def tables(runs: int, tasks: int, name: str) -> bytes:
    """Return the tables of every command over so many runs."""
    many = [run(f"{name}{number}", tasks) for number in range(runs)]
    third = Score(numerator=1, denominator=3)
    summary = Summary(
        headline="As published",
        scores={group: {f"figure {number}": third for number in range(6)} for group in "ab"},
        layout="paper",
    )
    made = report_of(many)
    paper = side_by_side([report_run(*one, [summary]) for one in many])
    forms = [ShownReport.of(made), PaperReport.of(paper)] + [ShownComparison.of(made)] * (runs > 1)
    return b"\\clearpage\n".join(one.written("latex") for one in forms)


@pytest.mark.needs("pdflatex")
@pytest.mark.parametrize(
    ("runs", "tasks", "name", "paper"),
    [
        (1, 3, "r", "a4paper"),
        (1, 90, NAMED, "letterpaper"),
        (2, 60, "r", "letterpaper"),
        (2, 5, NAMED, "a4paper"),
        (5, 5, "r", "letterpaper"),
        (9, 60, NAMED, "a4paper"),
        (9, 60, "r", "letterpaper"),
    ],
    ids=["small", "long", "two", "long names", "five", "wide and long", "many"],
)
def test_every_page_holds_its_tables(tmp_path: Path, runs: int, tasks: int, name: str, paper: str) -> None:
    """LaTeX's own class says of no line and of no page that it is too full, and stops at no sign."""
    compiled(tmp_path, tables(runs, tasks, name), paper)


@pytest.mark.needs("pdflatex")
def test_every_sign_compiles(tmp_path: Path) -> None:
    """Also those that pdfLaTeX does not know."""
    signs = "".join(map(chr, [*range(0x20, 0x250), *range(0x2000, 0x2300), 0x4E2D, 0x1F600]))
    words = (*HOSTILE, *(signs[start : start + 60] for start in range(0, len(signs), 60)))
    views = [View(title=word, columns=("a", word), rows=((word, word),)) for word in words]
    compiled(tmp_path, as_latex(views), "a4paper")


def compiled(folder: Path, tables: bytes, paper: str) -> None:
    """Compile *tables* as a document, and check what LaTeX says of it."""
    start = rf"\documentclass[{paper}]{{article}}{PACKAGES}\begin{{document}}"
    (folder / "all.tex").write_bytes(start.encode() + b"\n" + tables + b"\\end{document}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    for _ in range(2):  # the widths of a `longtable` are known from the second time on
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "all.log").read_text(errors="replace")
    assert done.returncode == 0, log[-3000:]
    assert not re.findall(r"Overfull .*|.*Float too large.*|.*Missing character.*", log)


def test_latex_keeps_its_own_signs() -> None:
    """Percent and underscore are escaped, and each table is whole."""
    text = report().written("latex").decode()
    assert r"50.0 \%" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 3


LONG = "a message of many words that no line of a page can hold, " * 5


@pytest.mark.parametrize(
    ("view", "environment", "columns"),
    [
        (View(title="t", columns=("a", "b"), rows=(("1", "2"),)), "tabular", "ll"),
        (View(title="t", columns=("a", "why"), rows=(("1", LONG),)), "tabular", "lp"),
        (View(title="t", columns=("a", "why"), rows=(("1", "2"),) * 41), "longtable", "ll"),
        (View(title="t", columns=("figure",) * 16, rows=(("100.0",) * 16,)), "resizebox", "l" * 16),
    ],
    ids=["as it is", "text in lines", "several pages", "scaled"],
)
def test_latex_fits_a_page(view: View, environment: str, columns: str) -> None:
    """Long texts get lines, many rows get pages, and many columns are scaled; what fits is left as it is."""
    text = as_latex([view]).decode()
    (spec,) = re.findall(r"\\begin\{(?:tabular|longtable)\}\{(.*)\}", text)
    widths = [float(share) for share in re.findall(r"p\{([0-9.]+)\\linewidth\}", spec)]
    assert re.sub(r">\{.*?\}p\{.*?\}", "p", spec) == columns
    assert sum(widths) < 1
    assert ("\\begin{longtable}" in text) == (environment == "longtable")
    assert ("\\resizebox{" in text) == (environment == "resizebox")


def test_latex_runs_no_command_of_a_stranger() -> None:
    """Names and reasons that are commands are printed; none continues the rule of the row before."""
    hostile = ("\\input{/etc/passwd}", "[9cm]", "*", "a%b", "$x$", "x\n\\end{table}", "\u202egpj")
    text = as_latex([View(title=hostile[0], columns=("a",), rows=tuple((word,) for word in hostile))]).decode()
    for command in ("\\input", "\\\\\n[", "\\\\\n*", "\u202e"):
        assert command not in text
    assert "\\textbackslash{}input\\{/etc/passwd\\}" in text
    assert text.count("\\end{table}") == 1
