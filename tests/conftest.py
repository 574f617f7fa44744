"""What holds for all tests: nothing fails because the machine was busy, and what is missing here is said."""

import os
import signal
import threading

import pytest
import pytest_timeout  # type: ignore[import-untyped]  # it has no types
from hypothesis import settings

from groundup.sandbox.deadlines import Meter
from groundup.sandbox.launcher.limits import take_census
from tests.effort import often
from tests.needs import need, unlocked

settings.register_profile("groundup", deadline=None, max_examples=often(100))
settings.load_profile("groundup")


@pytest.hookimpl
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> bool | None:
    """Count the limit of a test by a stopwatch: what others keep the processors for does not count."""
    if settings.method != "signal" or threading.current_thread() is not threading.main_thread():
        return None
    limit_s = float(settings.timeout)
    stopwatch = Meter(lambda: take_census(os.getpid()).cpu_s).stopwatch()

    def look(number: int, frame: object) -> None:
        left_s = stopwatch.left_s(limit_s)
        if left_s > 0:
            signal.setitimer(signal.ITIMER_REAL, max(left_s, 1.0))
        else:
            pytest_timeout.timeout_sigalrm(item, settings)

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel  # type: ignore[attr-defined]  # where pytest-timeout looks for it
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose tools are not here."""
    for mark in item.iter_markers("needs"):
        for tool in mark.args:
            need(tool)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what may take long, so that at the end no worker is waited for."""
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("timeout", "end_to_end")])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what would unlock the tests that were skipped."""
    line = unlocked(str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    if line:
        terminalreporter.write_line(line)
