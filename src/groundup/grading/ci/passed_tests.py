"""How many tests passed, as the closing lines of test runners say. Pure.

A job can end well and have tested nothing: `dotnet test` without an adapter, a suite whose tests are all skipped.
Lines are printed by the tested code, too. A submission declares packages and changes nothing else that runs, so it
could raise a count only by a package that prints such lines, and packages are trusted.
"""

import re
from collections.abc import Iterable

_LINE = 500
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_COUNTS = re.compile(
    "|".join((
        # dotnet test: usual, detailed, as one line of a terminal, Microsoft.Testing.Platform
        r"(?:Passed|Failed|Skipped)!\s+- Failed: +\d+, Passed: +(\d+), ",
        r" +Passed: +(\d+)$",
        r"Test summary: total: \d+, failed: \d+, succeeded: (\d+)",
        r" +succeeded: (\d+)$",
        # NUnit's and Cargo's own, nextest
        r" *Test Count: \d+, Passed: (\d+),",
        r"test result: \w+\. (\d+) passed",
        r" *Summary \[.*?\] +\d+(?:/\d+)? tests? run: (\d+) passed",
        # jest, vitest, mocha, ava, jasmine, node --test and TAP
        r"Tests: +(?:\d+ \w+, )*?(\d+) passed",
        r" +Tests +(?:\d+ \w+ \| )*?(\d+) passed",
        r" *(\d+) (?:passing|tests? passed)\b",
        r"(\d+) specs?, \d+ failures?",
        r"(?:#|\u2139) pass +(\d+)$",
        # pytest, stestr
        r"(?:=+ )?(?:\d+ (?:failed|skipped|deselected), )*(\d+) (?:passed|xfailed|xpassed)\b.* in \d[\d.]*s\b",
        r" - Passed: (\d+)$",
    ))
)  # fmt: skip
"""Lines that say how many passed."""
_RUN = re.compile(
    r"Ran (\d+) tests? in \d"
    r"| *(?:\S+ +)?Total: (\d+), Errors: \d+, Failed: \d+, Skipped: (\d+)(?:, Not Run: (\d+))?"
    r"|(?:OK|PASSED) \(.*?\bskip(?:s|ped)=(\d+)"
)
"""Lines of unittest and of xUnit's own runner: how many ran, and how many of these were skipped."""
_NONE = re.compile(
    "|".join((
        r"No test is available in ",
        r"No test matches the given testcase filter",
        r"(?:Test run summary: )?Zero tests ran",
        r"Tests: +\d+ (?:skipped|todo), ",
        r" +Tests +\d+ (?:skipped|todo) \(",
        r"No tests? (?:files? )?found, exiting with code 0",
        r"(?:=+ )?(?:no tests ran|\d+ (?:skipped|deselected)\b.*) in \d",
        r"NO TESTS RAN",
    ))
)  # fmt: skip
"""Lines that say that nothing was tested. They begin so, like those that count: a wrapper that writes something
before each line hides both kinds."""


def passed_tests(output: str) -> int | None:
    """Return how many tests passed by what a step printed; None where no line says so."""
    return _sum(map(_of_line, _COLOURS.sub("", output).splitlines()))


def _of_line(line: str) -> int | None:
    line = line[:_LINE]
    if counts := _COUNTS.match(line):
        return int(next(group for group in counts.groups() if group))
    if run := _RUN.match(line):
        ran, total, *left_out = (int(group or 0) for group in run.groups())
        return ran + total - sum(left_out)
    return 0 if _NONE.match(line) else None


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return max(sum(known), 0) if known else None
