"""Reading Python in several threads."""

import argparse
import ast
import inspect
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from groundup import grammars
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


class _Cycle:
    """Garbage whose end runs Python code, as objects with finalizers and weak references do."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        sum(range(20))


def test_other_readers_of_python_spoil_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages read markers of requirements by Python's reader, without our lock, while suites are read."""
    monkeypatch.setattr(grammars, "_TRIES", 1)
    over = threading.Event()

    def others() -> None:
        # The pause bounds the garbage: without it, it may grow faster than its finalizers run.
        while not over.wait(0.0005):
            _ = [_Cycle() for _ in range(50)]
            with suppress(SystemError, RecursionError):
                ast.literal_eval("'3.9'")

    thread = threading.Thread(target=others)
    thread.start()
    try:
        for _ in range(20):
            assert python_tree(SOURCE).body
    finally:
        over.set()
        thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")
@pytest.mark.needs("groundup_integrity")
def test_drawing_another_literal_warns_nobody_else() -> None:
    """Filters of warnings hold for all threads: where one makes errors of them, others cannot read sources."""
    from groundup_integrity.literals import other_literal

    before, over, failures = list(warnings.filters), threading.Event(), list[SyntaxError]()

    def draw(seed: int) -> None:
        while not over.is_set():
            other_literal(b"'one two'", "one two", Random(seed))

    threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        try:
            python_tree(r"'\s'")
        except SyntaxError as error:
            failures.append(error)
    over.set()
    for thread in threads:
        thread.join()

    assert not failures
    assert list(warnings.filters) == before
