"""The trusted plugin that makes tests fail as they return: what still passes was not decided by the test.

The text of the tests stays as it is, and so does their code, for a submission may forge only what it knows. Like
the runner it stands in one process with untrusted code, needs the standard library and pytest only, and works on
Python 3.7 to 3.13.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from types import FrameType
from typing import Any

import pytest


class FailingEnds:
    """Raises in a test's own frame when it returns.

    *tests*: which, by id and ordinal; *named*: returns the id of an item; *roots*: where the tests lie.
    """

    def __init__(self, tests: Sequence[Sequence[Any]], named: Callable[[Any], str], roots: Sequence[str]) -> None:
        # Those that share an id fail together.
        self._tests = {test[0] for test in tests}
        self._named = named
        self._roots = tuple(roots)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        """Watch for the frame of one test."""
        if self._named(item) not in self._tests:
            yield
            return
        name = getattr(item, "originalname", None) or item.name.partition("[")[0]

        def begin(frame: FrameType, event: str, argument: Any) -> Any:
            code = frame.f_code
            return end if code.co_name == name and code.co_filename.startswith(self._roots) else None

        def end(frame: FrameType, event: str, argument: Any) -> Any:
            assert event != "return", "this test is made to fail"
            return end

        # A function that raises is no longer asked, so each test has its own.
        sys.settrace(begin)
        try:
            yield
        finally:
            sys.settrace(None)
