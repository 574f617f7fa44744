"""Reading Python in several threads."""

import argparse
import ast
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


@pytest.mark.parametrize("problem", [RecursionError, SystemError])
def test_a_failure_of_the_reader_passes(monkeypatch: pytest.MonkeyPatch, problem: type[Exception]) -> None:
    """Other code of the process may read Python at that moment without the lock, which spoils one try."""
    read, failures = ast.parse, [problem("maximum recursion depth exceeded"), problem("again")]

    def spoiled(source: str) -> ast.Module:
        if failures:
            raise failures.pop()
        return read(source)

    monkeypatch.setattr(ast, "parse", spoiled)

    assert python_tree("x = 1").body
    failures += [problem("deep")] * 3
    with pytest.raises(RecursionError):
        python_tree("x = 1")


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
