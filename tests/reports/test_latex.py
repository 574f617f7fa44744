"""Tables for papers: what they hold is printed, and no page is too narrow or too short for them."""

import re
import subprocess
from pathlib import Path

import pytest

from groundup.domain.verdicts import Score
from groundup.reports.formats import PaperReport, ShownComparison, ShownReport, as_latex
from groundup.reports.summary import report_run, side_by_side
from groundup.reports.views import View
from groundup.suites.base import Summary
from tests.reports.made import Run, Word, report_of, run_of
from tests.reports.test_files import report

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
def test_every_command_s_tables_compile(tmp_path: Path) -> None:
    """Of one run, of several with long names, and of papers; how wide they are is the author's affair."""
    compiled(tmp_path, b"\n".join(tables(runs, 5, NAMED) for runs in (1, 3)))


@pytest.mark.needs("pdflatex")
def test_every_sign_compiles(tmp_path: Path) -> None:
    """Also those that pdfLaTeX does not know."""
    signs = "".join(map(chr, [*range(0x20, 0x250), *range(0x2000, 0x2300), 0x4E2D, 0x1F600]))
    words = (*HOSTILE, *(signs[start : start + 60] for start in range(0, len(signs), 60)))
    views = [View(title=word, columns=("a", word), rows=((word, word),)) for word in words]
    compiled(tmp_path, as_latex(views))


def compiled(folder: Path, tables: bytes) -> None:
    """Compile *tables* as a document, and check that LaTeX knows each sign."""
    start = r"\documentclass{article}\usepackage{booktabs}\extrafloats{200}\begin{document}"
    (folder / "all.tex").write_bytes(start.encode() + b"\n" + tables + b"\\end{document}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "all.log").read_text(errors="replace")
    assert done.returncode == 0, log[-3000:]
    assert not re.findall(r".*Missing character.*", log)


def test_latex_keeps_its_own_signs() -> None:
    """Percent and underscore are escaped, and each table is whole."""
    text = report().written("latex").decode()
    assert r"50.0 \%" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 3


def test_latex_is_rows_of_booktabs() -> None:
    """A column for each column, and no layout: a paper's author knows the page."""
    view = View(title="50 %", columns=("a", "b_c"), rows=(("1", "x & y"), ("2", "z")), below=("by hand",))
    assert as_latex([view]).decode().splitlines()[1:] == [
        r"\begin{table}[htbp]",
        r"\centering",
        r"\caption{50 \%}",
        r"\begin{tabular}{ll}",
        r"\toprule",
        r"a & b\_c \\",
        r"\midrule",
        r"1 & x \& y \\",
        r"2 & z \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "% by hand",
    ]


def test_latex_runs_no_command_of_a_stranger() -> None:
    """Names and reasons that are commands are printed; none continues the rule of the row before."""
    hostile = ("\\input{/etc/passwd}", "[9cm]", "*", "a%b", "$x$", "x\n\\end{table}", "\u202egpj")
    text = as_latex([View(title=hostile[0], columns=("a",), rows=tuple((word,) for word in hostile))]).decode()
    for command in ("\\input", "\\\\\n[", "\\\\\n*", "\u202e"):
        assert command not in text
    assert "\\textbackslash{}input\\{/etc/passwd\\}" in text
    assert text.count("\\end{table}") == 1
