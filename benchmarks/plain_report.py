"""A plugin of pytest for `plain_pytest`: tells by descriptor 3 which test begins and whether it passed.

Runs in a sandbox, on Python 3.7 to 3.13 and pytest 6 to 9. Tests that `left_out.json` beside it names do not run.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LEFT_OUT = {tuple(one) for one in json.loads(Path(__file__).with_name("left_out.json").read_text())}
# Tests close and replace a lot: descriptors, functions of `os`. A child that a test forks is to stay silent.
DESCRIPTOR = fcntl.fcntl(3, fcntl.F_DUPFD_CLOEXEC, 100)
os.close(3)
WRITE, PROCESS, OWNER = os.write, os.getpid, os.getpid()
numbers: dict[int, int] = {}
phases: list[Any] = []


def tell(*event: object) -> None:
    """Write one line."""
    if PROCESS() == OWNER:
        WRITE(DESCRIPTOR, json.dumps(event).encode() + b"\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Number the tests that have the same id, and leave some out."""
    seen: dict[str, int] = {}
    for item in items:
        numbers[id(item)] = seen[item.nodeid] = seen.get(item.nodeid, 0) + 1
    items[:] = [item for item in items if (item.nodeid, numbers[id(item)]) not in LEFT_OUT]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, None, None]:
    """Tell of one test. It passed when it was called, not as one that is expected to fail, and no phase failed."""
    test = item.nodeid, numbers.get(id(item), 1)
    phases.clear()
    tell("begin", *test)
    yield
    called = any(one.when == "call" and one.passed and not hasattr(one, "wasxfail") for one in phases)
    tell("passed" if called and not any(one.failed for one in phases) else "lost", *test)


def pytest_runtest_logreport(report: Any) -> None:
    """Keep what a phase of the running test did."""
    phases.append(report)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(exitstatus: int) -> None:
    """Tell that all is done."""
    tell("end", "", int(exitstatus))
