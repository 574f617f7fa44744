"""A report for other programs: CSV, LaTeX, JUnit's XML, CTRF's JSON and Parquet. One row or test per attempt."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from xml.etree import ElementTree

from groundup.domain.errors import MissingExtraError
from groundup.domain.names import printable
from groundup.domain.version import __version__
from groundup.reports.document import AttemptRow, Report
from groundup.reports.views import View

Row = Mapping[str, str | int | float | bool | None]


def as_csv(rows: Sequence[Row]) -> bytes:
    """Return *rows*, which all have the same keys, as CSV with a line of names.

    A cell that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    written = io.StringIO()
    table = csv.DictWriter(written, list(rows[0]) if rows else [], lineterminator="\n")
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return written.getvalue().encode()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")  # Python 3.11 puts no quotes around a lone one
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\n") else text


def as_parquet(rows: Sequence[Row]) -> bytes:
    """Return *rows* as a Parquet file. Raises `MissingExtraError` without pyarrow."""
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "--format parquet needs pyarrow; install it with pip install 'groundup[parquet]'"
        ) from error
    written = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), written)
    return written.getvalue()


def as_junit(report: Report) -> bytes:
    """Return a test suite per run and a test per attempt, as CI servers read them.

    What has a verdict below the full score failed; what has none is an error (infrastructure) or was skipped.
    """
    root = ElementTree.Element("testsuites", name="groundup")
    for run in report.runs:
        counts = {name: str(sum(_state(row) == state for row in run.attempts)) for name, state in _JUNIT.items()}
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": run.run_id, "tests": str(len(run.attempts)), **counts}
        )
        for row in run.attempts:
            test = ElementTree.SubElement(
                suite, "testcase", classname=run.suite, name=_name(row), time=f"{row.duration_s or 0:.3f}"
            )
            state = _state(row)
            if state != "passed":
                kind = {"failed": "failure", "other": "error"}.get(state, "skipped")
                ElementTree.SubElement(test, kind, message=_xml(_message(row)))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


_JUNIT = {"failures": "failed", "errors": "other", "skipped": "skipped"}


def as_ctrf(report: Report) -> bytes:
    """Return a test per attempt in the Common Test Report Format, version 0.0.0 of its schema."""
    tests = [
        {
            "name": _name(row),
            "suite": [run.suite, run.run_id],
            "status": _state(row),
            "duration": round((row.duration_s or 0) * 1000),
            "message": _message(row),
            "extra": {"standing": row.standing, "score": row.score.value if row.score else None},
        }
        for run in report.runs
        for row in run.attempts
    ]
    start = [round(run.created_at.timestamp() * 1000) for run in report.runs]
    took = sum(int(str(test["duration"])) for test in tests)
    states = [test["status"] for test in tests]
    summary = {name: states.count(name) for name in ("passed", "failed", "pending", "skipped", "other")}
    results = {
        "tool": {"name": "groundup", "version": __version__},
        "summary": {"tests": len(tests), **summary, "start": min(start), "stop": min(start) + took},
        "tests": tests,
    }
    document = {"reportFormat": "CTRF", "specVersion": "0.0.0", "results": results}
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _name(row: AttemptRow) -> str:
    return f"{row.task}/{row.index}"


def _state(row: AttemptRow) -> str:
    if row.standing in ("graded", "tampered"):
        return "passed" if row.counted == 1.0 else "failed"
    return "other" if row.standing == "infrastructure" else "skipped"


def _message(row: AttemptRow) -> str:
    reasons = "; ".join(f"{reason.stage.value}: {reason.message}" for reason in row.reasons)
    words = row.standing.replace("_", " ")
    return printable(f"{words}: {reasons}" if reasons else words)


def _xml(text: str) -> str:
    """Leave out what XML cannot hold at all, escaped or not."""
    return "".join(sign for sign in text if sign in "\t\n\r" or " " <= sign <= "\ud7ff" or sign >= "\ue000")


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX.update({sign: f"\\{sign}" for sign in "&%$#_{}"})


def as_latex(views: Iterable[View]) -> bytes:
    """Return the tables for a paper: one `table` with `booktabs` rules each; notes stand below as comments."""
    return "\n".join(_table(view) for view in views if view.columns).encode()


def _table(view: View) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{_tex(view.title)}}}",
        rf"\begin{{tabular}}{{{'l' * len(view.columns)}}}",
        r"\toprule",
        " & ".join(map(_tex, view.columns)) + r" \\",
        r"\midrule",
        *(" & ".join(map(_tex, row)) + r" \\" for row in view.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        *(f"% {printable(note)}" for note in view.below),
        "",
    ]
    return "\n".join(lines)


def _tex(text: str) -> str:
    words = "".join(_LATEX.get(sign, sign) for sign in " ".join(printable(text).split()))
    return f"{{}}{words}" if words[:1] in ("[", "*") else words  # after a row's end they would belong to it
