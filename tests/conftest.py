"""What holds for all tests: nothing fails because the machine was busy, and what is missing here is said."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest
import pytest_timeout  # type: ignore[import-untyped]  # it has no types
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has none either

from groundup.sandbox.deadlines import Meter
from groundup.sandbox.launcher.limits import take_census
from tests.effort import THOROUGH, often
from tests.needs import need, skipped_by_reason

# The same draws in each run, for whoever changes one thing must not fail for another: `make thorough` draws anew.
settings.register_profile("groundup", deadline=None, max_examples=often(100), derandomize=not THOROUGH)
settings.load_profile("groundup")


def pytest_configure() -> None:
    """Give tests Git's own defaults: the user's configuration may rewrite addresses, sign, or start hooks."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull)


_TOGETHER = (
    "tests/docs/test_structure.py",
    "tests/groundup_factory/test_service_sets.py",
    "tests/groundup_fleet/test_agents.py",
    "tests/groundup_fleet/test_fleet.py",
    "tests/viewer/test_browser.py",
)
"""One worker takes all of such a file: its tests share what is dear to make, or are too heavy side by side."""


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Hand out test by test, and the files of `_TOGETHER` whole.

    The mark `xdist_group` does nothing with pytest 9.2: xdist 3.8 writes the name where pytest does not look.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file in _TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)  # with -p no:xdist, nobody asks
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Let tests be handed out by `Scheduling`."""
    return Scheduling(config, log)


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


_AS_ROOT = ("tests/environments/", "tests/grading/library/", "tests/inside/", "tests/sandbox/", "tests/trees/")
"""Tests for which it matters who runs them: users of guests, modes of files, mounts."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what may take long, so that at the end no worker is waited for.

    With a file `SKIPPED_IN` of an ordinary user's run, take what was skipped there and what root changes.
    """
    if "SKIPPED_IN" in os.environ:
        lines = Path(os.environ["SKIPPED_IN"]).read_text(encoding="utf-8").splitlines()
        skipped = {json.loads(line) for line in lines}
        left = [item for item in items if item.nodeid in skipped or item.nodeid.startswith(_AS_ROOT)]
        config.hook.pytest_deselected(items=list(set(items) - set(left)))
        items[:] = left
    items.sort(
        key=lambda item: (
            not item.nodeid.startswith(_TOGETHER),
            *(item.get_closest_marker(name) is None for name in ("timeout", "end_to_end")),
        )
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the tests that were skipped by reason; leave their names in the file `SKIPPED_TO` for another run."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests were skipped:")
    # Of a skipped test pytest keeps file, line and reason.
    for line in skipped_by_reason(report.longrepr[2] for report in skipped):
        terminalreporter.write_line(line)
    if "SKIPPED_TO" in os.environ:
        names = "".join(f"{json.dumps(report.nodeid)}\n" for report in skipped)
        Path(os.environ["SKIPPED_TO"]).write_text(names, encoding="utf-8")
