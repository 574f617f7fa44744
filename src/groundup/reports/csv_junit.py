"""A report for other programs: CSV and JUnit's XML. One row or test per attempt."""

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from xml.etree import ElementTree

from groundup.domain.names import printable
from groundup.reports.document import AttemptRow, Report
from groundup.reports.lost import left_out_words
from groundup.reports.numbers import standing_words
from groundup.reports.why import reasons_of

Row = Mapping[str, str | int | float | bool | None]


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal would obey, written by a submission."""


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
    text = _CONTROLS.sub(lambda found: printable(found[0]), text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\n") else text


def as_junit(report: Report) -> bytes:
    """Return a test suite per run and a test per attempt, as CI servers read them.

    What counts and is not solved failed, also where nothing was handed in; what has no verdict is an error, so
    that no unfinished run is taken for a good one. Valid by the schemas of Ant's format and of Jenkins.
    """
    root = ElementTree.Element("testsuites")
    for number, run in enumerate(report.runs):
        states = [_state(row) for row in run.attempts]
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
            names = {"classname": _token(run.suite), "name": _token(f"{row.task}/{row.index}"), "time": time}
            test = ElementTree.SubElement(suite, "testcase", names)
            if state is not None:
                ElementTree.SubElement(test, state, type=row.standing, message=_xml(_message(row)))
        ElementTree.SubElement(suite, "system-out").text = _xml(printable(left_out_words(run))) or None
        ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _token(text: str) -> str:
    """Return a name as XML schemas want one: some text, without double spaces."""
    return " ".join(_xml(text).split()) or "-"


def _state(row: AttemptRow) -> str | None:
    """Return the element that says how a test ended; None: it passed."""
    if row.counted is not None or row.standing == "graded":
        return None if row.solved else "failure"
    return "error"


def _message(row: AttemptRow) -> str:
    reasons = "; ".join(reasons_of(row))
    words = standing_words(row)
    return printable(f"{words}: {reasons}" if reasons else words)


def _xml(text: str) -> str:
    """Leave out what XML cannot hold at all, escaped or not."""
    return "".join(sign for sign in text if sign in "\t\n\r" or " " <= sign <= "\ud7ff" or sign >= "\ue000")
