"""Which one line, changed a little, makes lost tests pass and keeps what passes: the fault is probably there.

`origins` asks in its forked child. Each trial runs in a process of its own, forked from that one and ended by it,
so a trial that hangs, crashes or leaves things behind says nothing of the next. It stands in one process with
untrusted code, needs the standard library and pytest only, and works on Python 3.8 to 3.13.
"""

from __future__ import annotations
import __future__

import contextlib
import functools
import gc
import json
import os
import re
import select
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

_LINES = 80
"""Of a test, the most suspicious ones, that are changed."""
_WITNESSES = 16
"""Passing tests that must still pass, of those that run the changed function."""
_LOST = 24
"""Lost tests of which it is asked whether a change mends them, too."""
_ENDED = 3
"""Trials of a line that may end their process, or hang."""
_GROUPS = 4
"""Parts of the time for the causes that come first."""
_FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
_DIGITS = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
_PATIENCE_S = 0.05
"""Processor time of a trial, besides a multiple of what the test took."""
_SLOW_S = 0.3
_WAITS = 6
_MOST = 4000
"""Characters that one trial may say."""


class Mend:
    """A change after which tests pass."""

    def __init__(self, path: str, line: int, words: str, tests: Sequence[tuple[str, int]], tier: int) -> None:
        self.path, self.line, self.words = path, line, words
        self.tests = tests
        self.tier = tier


class Workshop:
    """The submission's functions, and the changes that are tried in them."""

    def __init__(
        self, changes: Any, is_own: Callable[[types.CodeType], bool], passing: Sequence[Any], clock: Any
    ) -> None:
        self._module = changes
        self._clock = clock
        self._spent_s: dict[Any, float] = {}
        self._passing = passing
        self._files: dict[str, list[Any]] = {}
        self._live: dict[str, list[Any]] = {}
        self._caches: list[Any] = []
        gc.unfreeze()
        for found in gc.get_objects():
            kind = type(found)
            if kind is types.FunctionType and is_own(found.__code__):
                self._live.setdefault(found.__code__.co_filename, []).append(found)
            elif kind is functools._lru_cache_wrapper:
                self._caches.append(found)

    def mends(
        self, lost: Sequence[Any], suspicion: Mapping[Any, float], rank: Any, until: float
    ) -> Iterator[Mend]:
        """Yield changes that mend lost tests, until none is left or the time is over."""
        left = list(lost)
        while self._clock.now() < until:
            first = next((one for one in left if one.lines), None)
            if first is None:
                return
            kinds = len({_kind(one) for one in left})
            share = (until - self._clock.now()) / min(kinds, _GROUPS)
            found = self._mend(first, left, rank(first.lines, suspicion), self._clock.now() + share)
            if found is not None:
                yield found
            done = set(found.tests) if found is not None else set()
            left = [one for one in left if one.key not in done and (not one.lines or _kind(one) != _kind(first))]

    def _mend(self, first: Any, left: Sequence[Any], lines: Sequence[Any], until: float) -> Mend | None:
        """Return the change that mends *first* and most of those that are *left*."""
        best: Mend | None = None
        if not self._loses(first):
            return None
        places = self._places(first, lines)
        for tier in (0, 1, 2):
            for path, function, line in places:
                if self._clock.now() > until:
                    return best
                made = [
                    one for one in self._changes(path, function, first) if one.line == line and one.tier == tier
                ]
                if not made:
                    continue
                passing = self._passing_changes(path, function, made, first)
                for change in passing:
                    found = self._proven(path, function, change, first, left)
                    if found is not None and (best is None or len(found.tests) > len(best.tests)):
                        best = found
                        if len(found.tests) >= min(len(left), _LOST):
                            return found
            if best is not None and tier < 2:
                return best
        return best

    def _loses(self, first: Any) -> bool:
        """Say whether a test is lost without a change, and remember what it took."""

        def trials() -> Iterator[Any]:
            began = time.process_time()
            passes = self._passes(first.item)
            yield [passes, time.process_time() - began]

        said = _forked(trials, 1, _SLOW_S + 5 * float(first.seconds), self._clock)
        if not said or said[0][0] is not False:
            return False
        self._spent_s[first.key] = float(said[0][1])
        return True

    def _patience(self, *tests: Any) -> float:
        """Return how much processor time one of some tests may take."""
        return max(_PATIENCE_S + 4 * self._spent_s.get(one.key, float(one.seconds)) for one in tests)

    def _places(self, first: Any, lines: Sequence[Any]) -> list[tuple[str, Any, int]]:
        """Return where changes are tried, the most suspicious first: file, function and line."""
        found: dict[tuple[str, int], tuple[str, Any, int]] = {}
        names: dict[str, None] = {}
        origin = first.origin
        ahead = [one for one in lines if origin is not None and (one[0].co_filename, one[1]) == origin]
        for code, line in [*ahead, *lines][:_LINES]:
            path = code.co_filename
            for function in self._functions(path):
                if not function.is_assignment and function.first <= line <= function.last:
                    for at in function.statement_at(line):
                        found.setdefault((path, at), (path, function, at))
            names.update(dict.fromkeys(code.co_names))
        for path in {path for path, _ in found}:
            for function in self._functions(path):
                if function.is_assignment and function.names & names.keys():
                    for at in range(function.first, function.last + 1):
                        found.setdefault((path, at), (path, function, at))
        return [*found.values()]

    def _functions(self, path: str) -> list[Any]:
        if path not in self._files:
            self._files[path] = []
            with contextlib.suppress(Exception):  # no file, or not this Python's language
                self._files[path] = self._module.functions_of(path)
        return self._files[path]

    def _changes(self, path: str, function: Any, first: Any) -> list[Any]:
        if function.made_for is not first:
            function.made, function.made_for = function.changes(first.pairs), first
        made: list[Any] = function.made
        return made

    def _passing_changes(self, path: str, function: Any, changes: Sequence[Any], first: Any) -> list[Any]:
        """Return those of *changes* after which the test passes; all run in one process."""

        def trials(first_number: int) -> Iterator[Any]:
            for number, change in enumerate(changes[first_number:], first_number):
                with self._changed(path, function, change) as is_made:
                    yield [number, is_made and self._passes(first.item)]

        passing: list[Any] = []
        begun = 0
        for _ in range(_ENDED):  # what hangs or crashes costs its own trial
            said = _forked(
                functools.partial(trials, begun), len(changes) - begun, self._patience(first), self._clock
            )
            passing += [
                changes[number] for number, passes in said if passes is True and 0 <= number < len(changes)
            ]
            begun += len(said) + 1
            if begun >= len(changes):
                break
        return passing

    def _proven(self, path: str, function: Any, change: Any, first: Any, left: Sequence[Any]) -> Mend | None:
        """Return what *change* mends; None where a passing test is lost by it."""
        near = [one for one in self._passing if any(_is_in(line, path, function) for line in one.lines)]
        witnesses = sorted(near or self._passing, key=lambda one: one.seconds)[:_WITNESSES]
        others = [first, *(one for one in left if one is not first)][:_LOST]

        def trials() -> Iterator[Any]:
            with self._changed(path, function, change) as is_made:
                for one in [first, *witnesses, *others[1:]] if is_made else ():
                    yield self._passes(one.item)

        patience = self._patience(first, *witnesses, *others)
        said = _forked(trials, len(witnesses) + len(others), patience, self._clock)
        if len(said) <= len(witnesses) or not all(one is True for one in said[: len(witnesses) + 1]):
            return None
        mended = [one.key for one, passes in zip(others[1:], said[len(witnesses) + 1 :]) if passes is True]  # noqa: B905
        change.swap()
        words = change.words()
        change.swap()
        return Mend(path, change.line, words, [first.key, *mended], change.tier)

    @contextlib.contextmanager
    def _changed(self, path: str, function: Any, change: Any) -> Iterator[bool]:
        """Put a change into the functions, or the variable, that run."""
        undo: list[Callable[[], None]] = []
        try:
            with contextlib.suppress(Exception):  # what cannot be compiled or put in is no mend
                change.swap()
                try:
                    self._put_in(path, function, change, undo)
                finally:
                    change.swap()
            yield bool(undo)
        finally:
            for one in undo:
                one()

    def _put_in(self, path: str, function: Any, change: Any, undo: list[Callable[[], None]]) -> None:
        if function.is_assignment:
            for module in [*sys.modules.values()]:
                if getattr(module, "__file__", None) == path:
                    _assign(module, function, path, undo)
            return
        live = [
            one
            for one in self._live.get(path, ())
            if function.first <= one.__code__.co_firstlineno <= function.last
        ]
        flags = live[0].__code__.co_flags & _FUTURE if live else 0
        new: dict[tuple[str, int], types.CodeType] = {}
        for code in function.codes(path, flags):
            new.setdefault((code.co_name, code.co_firstlineno), code)
        for one in live:
            old = one.__code__
            code = new.get((old.co_name, old.co_firstlineno))
            if code is not None and code.co_freevars == old.co_freevars and code != old:
                one.__code__ = code
                undo.append(functools.partial(setattr, one, "__code__", old))

    def _passes(self, item: Any) -> bool:
        """Run a test and say whether it passes."""
        for cache in self._caches:
            with contextlib.suppress(Exception):
                cache.cache_clear()
        passes = False
        with contextlib.suppress(BaseException):  # however it fails
            with contextlib.suppress(AttributeError):
                item._initrequest()
            if getattr(item, "_excinfo", None):  # where unittest's failures are kept
                item._excinfo = None
            item.ihook.pytest_runtest_setup(item=item)
            item.ihook.pytest_runtest_call(item=item)
            passes = not getattr(item, "_excinfo", None)
        with contextlib.suppress(BaseException):
            item.ihook.pytest_runtest_teardown(item=item, nextitem=None)
        return passes


def _assign(module: Any, function: Any, path: str, undo: list[Callable[[], None]]) -> None:
    """Run an assignment again as it is now, and give its new value to whoever has the old one by this name."""
    owner = module
    for name in function.classes:
        owner = getattr(owner, name)
    made: dict[str, Any] = {}
    exec(function.alone(path), dict(vars(module)), made)  # noqa: S102 - the submission's own line
    for name, value in made.items():
        old = vars(owner)[name]
        holders = [owner]
        if not function.classes:
            holders += [
                one
                for one in [*sys.modules.values()]
                if one is not owner and getattr(one, "__dict__", {}).get(name) is old
            ]
        for holder in holders:
            setattr(holder, name, value)
            undo.append(functools.partial(setattr, holder, name, old))


def _kind(one: Any) -> Any:
    """Return what lost tests of one cause probably share."""
    return one.origin or _DIGITS.sub("#", one.message)[:80]


def _is_in(line: Any, path: str, function: Any) -> bool:
    code, at = line
    return bool(code.co_filename == path and (function.is_assignment or function.first <= at <= function.last))


def _forked(trials: Callable[[], Iterator[Any]], most: int, patience: float, clock: Any) -> list[Any]:
    """Return what a forked child yields, until one trial takes more than *patience* of processor time.

    One that only waits is ended after a time by the clock on the wall that a busy machine does not reach.
    """
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(here)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, patience)
            for one in trials():
                signal.setitimer(signal.ITIMER_PROF, patience)
                os.write(there, (json.dumps(one) + "\n").encode("ascii"))
        finally:
            os._exit(0)
    os.close(there)
    said = b""
    try:
        while said.count(b"\n") < most and len(said) < _MOST:
            if not select.select([here], [], [], _WAITS * patience)[0]:
                break
            piece = os.read(here, 4096)
            if not piece:
                break
            said += piece
    finally:
        os.close(here)
        os.kill(child, signal.SIGKILL)
        clock.excuse(child)
        os.waitpid(child, 0)
    found = []
    for line in said.split(b"\n")[:-1]:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line.decode("ascii")))
    return found
