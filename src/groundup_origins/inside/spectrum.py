"""Which lines of the submission run in lost tests and which in passing ones: how suspicious each of them is.

`origins` asks in its forked child. It stands in one process with untrusted code, needs the standard library only,
and works on Python 3.7 to 3.13.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_EVENTS = 2000
"""Lines of one function that are seen at most in a test: a loop says nothing new."""
_STATES = 6
"""Of a line in a test, that are kept."""
_VARIABLES = 12
_NESTED = 20
_WRITERS = ("/_pytest/_io/saferepr.py", "/_pytest/_io/pprint.py", "/unittest/util.py", "/reprlib.py")
_PLAIN = (int, float, bool, str, bytes, list, tuple, dict, set, type(None))


class LineTracer:
    """A trace function: remembers which lines of the submission run, and which ran last.

    *calls*: takes in calls and returns besides, as a profile function would. That one would also see what is not
    the submission's.
    """

    def __init__(
        self,
        is_own: Callable[[types.CodeType], bool],
        calls: Any = None,
        is_test: Callable[[types.CodeType], bool] = lambda _: False,
        *,
        with_states: bool = False,
    ) -> None:
        self._is_own = is_own
        self._is_test = is_test
        self._with_states = with_states
        self._calls = calls
        self._seen: dict[types.CodeType, Any] = {}
        self._count = 0
        self.last: dict[tuple[types.CodeType, int], int] = {}
        """By code and line: the number of the last event there."""
        self.states: dict[tuple[types.CodeType, int], set[Any]] = {}
        """By code and line: what the variables were there, where that is asked."""
        self.begun: list[tuple[int, str, int]] = []
        """The statements of the test as they ran: the number of the event before each, file and line."""

    def __call__(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        """Take the call of a function in; return what takes in its lines."""
        code = frame.f_code
        if code not in self._seen:
            self._seen[code] = self._watching(code) if self._is_own(code) else None
        see = self._seen[code]
        if see is None:
            return self._begins if self._is_test(code) and not self._is_called(frame) else None
        return None if self._is_shown(frame) else see(frame, event, argument)

    def _begins(self, frame: types.FrameType, event: str, _: Any) -> Any:
        if event == "line" and len(self.begun) < _EVENTS:
            self.begun.append((self._count, frame.f_code.co_filename, frame.f_lineno))
        return self._begins

    def _is_called(self, frame: types.FrameType) -> bool:
        """Whether the submission calls back what a test gave it."""
        above = frame.f_back
        for _ in range(_NESTED):
            if above is None or self._seen.get(above.f_code) is not None:
                break
            above = above.f_back
        return above is not None and self._seen.get(above.f_code) is not None

    def _is_shown(self, frame: types.FrameType) -> bool:
        """Whether a call only writes a value that was compared: whoever failed a test does, when it is lost."""
        above = frame.f_back
        for _ in range(_NESTED):
            if above is None or self._seen.get(above.f_code) is None:
                break
            above = above.f_back
        return above is not None and above.f_code.co_filename.endswith(_WRITERS)

    def _watching(self, code: types.CodeType) -> Any:
        calls, left = self._calls, _EVENTS

        def see(frame: types.FrameType, event: str, argument: Any) -> Any:
            nonlocal left
            if event == "line":
                left -= 1
                self._count = count = self._count + 1
                self.last[code, frame.f_lineno] = count
                if self._with_states:
                    seen = self.states.setdefault((code, frame.f_lineno), set())
                    if len(seen) < _STATES:
                        seen.add(state_of(frame))
            elif calls is not None and event != "exception":
                calls(frame, event, argument)
            if left <= 0:
                frame.f_trace_lines = False
            return see if left > 0 or calls is not None else None

        return see


def state_of(frame: types.FrameType) -> Any:
    """Return of a function's variables `(name, type, is_empty)`; the type of an object of a class is ""."""
    held, found = frame.f_locals, []
    for name in frame.f_code.co_varnames[:_VARIABLES]:
        value = held.get(name, held)
        kind = type(value)
        if value is not held and kind in _PLAIN:
            found.append((name, kind.__name__, not value))
        elif value is not held:
            is_known = kind is type and value in _PLAIN
            found.append((name, "is " + value.__name__ if is_known else "", False))
    return frozenset(found)


class Spectrum:
    """How suspicious lines are: half of it among lost tests that seem to have one cause, half among all."""

    def __init__(self, lost: Sequence[Any], passing: Sequence[Any]) -> None:
        self._lost = [*lost]
        self._passed = _counted(one.lines for one in passing)
        self._found: dict[Any, dict[Any, float]] = {}

    def of(self, test: Any) -> Mapping[Any, float]:
        """Return for each line that a lost test ran how suspicious it is: 0 to 1."""
        if test.cause not in self._found:
            same = self._suspicions([one for one in self._lost if one.cause == test.cause])
            every = self._suspicions(self._lost)
            self._found[test.cause] = {line: (one + every[line]) / 2 for line, one in same.items()}
        return self._found[test.cause]

    def ranked(self, test: Any) -> list[Any]:
        """Return the lines of a test, the most suspicious first; of equal ones those that ran last."""
        suspicion = self.of(test)
        return sorted(test.lines, key=lambda line: (-round(suspicion.get(line, 0.0), 3), -test.lines[line]))

    def _suspicions(self, lost: Sequence[Any]) -> dict[Any, float]:
        """Return how suspicious lines are by Ochiai's formula."""
        passed, tests = self._passed, len(lost)
        return {
            line: number / math.sqrt(tests * (number + passed.get(line, 0)))
            for line, number in _counted(one.lines for one in lost).items()
        }


def _counted(tests: Iterable[Iterable[Any]]) -> dict[Any, int]:
    """Return how many tests run each line."""
    counts: dict[Any, int] = {}
    for lines in tests:
        for line in lines:
            counts[line] = counts.get(line, 0) + 1
    return counts
