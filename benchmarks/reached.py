"""Which tests run which line of groundup: a plug-in of pytest that tells coverage whose turn it is.

    python -m coverage run --data-file FILE --source src -m pytest -p benchmarks.reached tests/domain

`own_mutants --reached FILE` takes its tests from such a file, made of the same sources.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_runtest_logstart(nodeid: str) -> None:
    """Count lines to the test that begins."""
    _switch(function_of(nodeid))


def pytest_runtest_logfinish() -> None:
    """Count lines to no test."""
    _switch("")


def _switch(context: str) -> None:
    from coverage import Coverage

    if current := Coverage.current():
        current.switch_context(context)


def function_of(nodeid: str) -> str:
    """Return a test's name without its parameters."""
    return nodeid.partition("[")[0]


def tests_by_line(data: Path, source: Path) -> dict[int, frozenset[str]]:
    """Return the tests that ran each line of *source*."""
    found: dict[int, set[str]] = defaultdict(set)
    with closing(sqlite3.connect(data)) as base:
        for line, context in base.execute(_ASKED, (str(source),)):
            found[line].add(context)
    return {line: frozenset(tests - {""}) for line, tests in found.items()}
