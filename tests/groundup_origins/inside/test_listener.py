"""What hears how tests end comes after their results."""

from pathlib import Path
from types import SimpleNamespace

from groundup_origins.inside.listener import failing_statement
from tests.groundup_origins.inside.test_origins import with_origins

HOSTILE = """
import os

def take(plugins):
    for one in plugins:
        if type(one).__name__ == "Listener":
            type(one).ended = lambda *heard: os._exit(0)
"""
TESTS = """
import lib

def test_a(request):
    lib.take(request.config.pluginmanager.get_plugins())
"""


def test_a_result_is_reported_before_it_is_heard(tmp_path: Path) -> None:
    """A library that puts itself in the place of the listener comes too late to change what its test did."""
    report = with_origins(tmp_path, HOSTILE, TESTS)
    assert [one.outcome for one in report.results.values()] == ["passed"]
    assert report.exit_code is None


def test_the_failing_statement_is_no_row_of_marks() -> None:
    """Python 3.11 and later underline what failed."""
    trace = (
        "test_a.py:3: in test_a\n    ids = [p['id'] for p in players]\n          ^^^^^^^~~~~\nE   TypeError: no"
    )
    assert failing_statement(SimpleNamespace(longrepr=trace)) == "ids = [p['id'] for p in players]"
    assert failing_statement(SimpleNamespace(longrepr="E   SystemExit")) == ""
