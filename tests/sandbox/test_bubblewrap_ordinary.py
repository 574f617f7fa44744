"""The bubblewrap provider keeps its contracts for an ordinary user, too, without control groups."""

import os
import sys

import pytest

from tests.sandbox.ordinary import run_as_ordinary

pytestmark = pytest.mark.end_to_end


@pytest.mark.skipif(
    os.geteuid() != 0 or "SKIPPED_IN" in os.environ, reason="the other tests run as an ordinary user, too"
)
@pytest.mark.timeout(600)
def test_contracts_as_an_ordinary_user() -> None:
    """Whatever holds for root holds for an ordinary user, who can make no control group."""
    arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-x"]
    arguments += [
        "--deselect",
        "tests/sandbox/test_bubblewrap.py::test_a_shared_tree_can_be_replaced_but_not_written",
    ]  # for root alone
    kills = "tests/sandbox/test_kills.py::test_kill_of_groundup"
    modules = [
        "tests/sandbox/test_bubblewrap.py",
        "tests/sandbox/test_system.py",
        "tests/episodes/test_real.py",
        f"{kills}[0]",
        f"{kills}[1]",
        f"{kills}_and_launcher",
    ]
    result = run_as_ordinary([*arguments, *modules], {}, timeout_s=590)
    output = result.stdout.decode(errors="replace")
    assert result.returncode == 0, output + result.stderr.decode(errors="replace")
    assert " passed" in output
    assert "skipped" not in output, output
