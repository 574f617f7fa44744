"""Which lines of the submission run in lost tests and which in passing ones: how suspicious each of them is.

`origins` asks in its forked child. It stands in one process with untrusted code, needs the standard library only,
and works on Python 3.7 to 3.13.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_EVENTS = 300_000
"""Lines of one test that are seen at most: a loop says nothing new."""
_ALIKE = 0.001


class Lines:
    """A trace function: remembers which lines of the submission run, and which ran last."""

    def __init__(self, is_own: Callable[[types.CodeType], bool]) -> None:
        self._is_own = is_own
        self._seen: dict[types.CodeType, Any] = {}
        self._count = 0
        self.last: dict[tuple[types.CodeType, int], int] = {}
        """By code and line: the number of the last event there."""

    def __call__(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        """Take the call of a function in; return what takes in its lines."""
        code = frame.f_code
        if code not in self._seen:
            self._seen[code] = self._watching(code) if self._is_own(code) else None
        return self._seen[code] if self._count < _EVENTS else None

    def _watching(self, code: types.CodeType) -> Any:
        def see(frame: types.FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self._count = count = self._count + 1
                self.last[code, frame.f_lineno] = count
                return see if count < _EVENTS else None
            return see

        return see


def suspicions(lost: Iterable[Iterable[Any]], passing: Iterable[Iterable[Any]]) -> dict[Any, float]:
    """Return for each line that lost tests run how suspicious it is, by Ochiai's formula: 0 to 1."""
    failed, passed, tests = _counted(lost), _counted(passing), 0
    tests = failed.pop(None, 0)
    return {line: number / math.sqrt(tests * (number + passed.get(line, 0))) for line, number in failed.items()}


def _counted(tests: Iterable[Iterable[Any]]) -> dict[Any, int]:
    """Return how many tests run each line, and below None how many tests there are."""
    counts: dict[Any, int] = {None: 0}
    for lines in tests:
        counts[None] += 1
        for line in lines:
            counts[line] = counts.get(line, 0) + 1
    return counts


def ranked(lines: Mapping[Any, int], suspicion: Mapping[Any, float]) -> list[Any]:
    """Return the lines of one test, the most suspicious first; of equal ones those that ran last."""
    return sorted(lines, key=lambda line: (-round(suspicion.get(line, 0.0), 3), -lines[line]))


def outstanding(
    lines: Mapping[Any, int], suspicion: Mapping[Any, float], *, alone: bool = False
) -> tuple[str, int] | None:
    """Return file and line of the one that is more suspicious than all others.

    Where several are, and all stand in one function, it is where that begins, unless one *alone* is asked.
    """
    most = max((suspicion.get(line, 0.0) for line in lines), default=0.0)
    least = min((suspicion.get(line, 0.0) for line in lines), default=0.0)
    top = [line for line in lines if suspicion.get(line, 0.0) > most - _ALIKE]
    if most - least < _ALIKE or len({code for code, _ in top}) != 1 or (alone and len(top) != 1):
        return None
    code, line = top[0]
    return code.co_filename, line if len(top) == 1 else code.co_firstlineno
