"""A report for other programs: CSV, JUnit's XML, CTRF's JSON and Parquet. One row or test per attempt."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC
from importlib import import_module
from xml.etree import ElementTree

from groundup.domain.errors import MissingExtraError
from groundup.domain.names import printable
from groundup.domain.version import __version__
from groundup.reports.document import AttemptRow, Report
from groundup.reports.why import reasons_of

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
    """Return *rows* as a Parquet file; further scores of attempts are a map, so that all runs have one schema.

    Raises `MissingExtraError` without pyarrow.
    """
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "--format parquet needs pyarrow; install it with pip install 'groundup[parquet]'"
        ) from error
    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    columns = [name for name in (rows[0] if rows else ()) if not name.startswith(_SCORES)]
    schema = [(name, kinds[_KINDS.get(name, str)]) for name in columns]
    made = [{name: row[name] for name in columns} | {"scores": _further(row)} for row in rows]
    if "standing" in columns:  # of attempts, not of a comparison
        schema.append(("scores", pyarrow.map_(pyarrow.string(), pyarrow.float64())))
    written = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(made, schema=pyarrow.schema(schema)), written)
    return written.getvalue()


def _further(row: Row) -> list[tuple[str, object]]:
    return [
        (name.removeprefix(_SCORES), value)
        for name, value in row.items()
        if name.startswith(_SCORES) and value is not None
    ]


_SCORES = "scores."
_KINDS: dict[str, type] = {
    **dict.fromkeys(("attempt", "turns", "input_tokens", "output_tokens"), int),
    **dict.fromkeys(("score", "numerator", "denominator", "counted", "cost_usd", "seconds"), float),
    **dict.fromkeys(("base_score", "other_score", "difference"), float),
    **dict.fromkeys(("cached", "by_time"), bool),
}
"""What columns of Parquet hold, whatever a run has of it; text, unless named here."""


def as_junit(report: Report) -> bytes:
    """Return a test suite per run and a test per attempt, as CI servers read them.

    What counts and is not solved failed, also where nothing was handed in; what has no verdict is an error, so
    that no unfinished run is taken for a good one. Valid by the schemas of Ant's format and of Jenkins.
    """
    root = ElementTree.Element("testsuites")
    for number, run in enumerate(report.runs):
        states = [_STATES[_state(row)] for row in run.attempts]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {
                "name": _token(run.run_id),
                "id": str(number),
                "package": _token(run.suite),
                "hostname": "unknown",
                "timestamp": run.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
                "tests": str(len(states)),
                "failures": str(states.count("failure")),
                "errors": str(states.count("error")),
                "skipped": "0",
                "time": _seconds(math.fsum(row.duration_s or 0 for row in run.attempts)),
            },
        )
        ElementTree.SubElement(suite, "properties")
        for row, state in zip(run.attempts, states, strict=True):
            time = _seconds(row.duration_s or 0)
            names = {"classname": _token(run.suite), "name": _token(_name(row)), "time": time}
            test = ElementTree.SubElement(suite, "testcase", names)
            if state is not None:
                ElementTree.SubElement(test, state, type=row.standing, message=_xml(_message(row)))
        ElementTree.SubElement(suite, "system-out")
        ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


_STATES = {"passed": None, "failed": "failure", "other": "error", "pending": "error"}


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _token(text: str) -> str:
    """Return a name as XML schemas want one: some text, without double spaces."""
    return " ".join(_xml(text).split()) or "-"


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
    """Say how a test stands in the words of CTRF: what counts 0 failed, what has no verdict yet is open."""
    if row.counted is not None or row.standing == "graded":
        return "passed" if row.counted == 1.0 else "failed"
    return "other" if row.standing == "infrastructure" else "pending"


def _message(row: AttemptRow) -> str:
    reasons = "; ".join(reasons_of(row))
    words = row.standing.replace("_", " ")
    return printable(f"{words}: {reasons}" if reasons else words)


def _xml(text: str) -> str:
    """Leave out what XML cannot hold at all, escaped or not."""
    return "".join(sign for sign in text if sign in "\t\n\r" or " " <= sign <= "\ud7ff" or sign >= "\ue000")
