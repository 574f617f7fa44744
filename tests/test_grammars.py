"""Reading Python in several threads."""

import argparse
import inspect
import sys
import threading
from collections.abc import Iterator

import pytest

from groundup.grammars import python_tree, python_value

SOURCE = inspect.getsource(argparse)


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_threads")
def test_several_threads_read_python_at_once() -> None:
    """Python's own reader fails when two threads build trees; a grading must not."""
    failures = []

    def read() -> None:
        for number in range(3):
            try:
                assert python_tree(SOURCE).body
                assert python_value(f" [{number}, 'x']") == [number, "x"]
            except SystemError as error:
                failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
