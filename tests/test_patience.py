"""The limit of every test ends what hangs."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


def test_a_test_that_hangs_is_ended(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the stopwatch, with a failure that names the limit."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makeconftest("from tests.conftest import pytest_timeout_set_timer\n")
    pytester.makepyfile("import time\n\ndef test_hangs(): time.sleep(600)\n")
    done = pytester.runpytest_subprocess("--timeout", "0.5", "-p", "no:cacheprovider")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*Timeout*0.5*"])
