"""Which one line, changed a little, makes lost tests pass and keeps what passes: the fault is probably there.

`origins` asks in its forked child. Each trial runs in a process of its own, forked from that one and ended by it,
so a trial that hangs, crashes or leaves things behind says nothing of the next. It stands in one process with
untrusted code, needs the standard library and pytest only, and works on Python 3.8 to 3.13.
"""

from __future__ import annotations
import __future__

import contextlib
import functools
import itertools
import json
import os
import select
import signal
import time
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_LINES = 80
"""Of a test, the most suspicious ones, that are changed."""
_AT_ONCE = 48
"""Changes that are tried in one process."""
_ENDED = 4
"""Of these, those that may end their process, or hang."""
_DEAR = 3
"""A change that costs more than one of so many passing tests says nothing of its line."""
_GROUPS = 4
"""Parts of the time for the causes that come first."""
_FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
_MISHAPS = ("NameError", "UnboundLocalError", "TypeError", "SyntaxError")
"""How tests fail by a change that does not fit."""
_PATIENCE_S = 0.05
"""Processor time of a trial, besides a multiple of what the test took."""
_SLOW_S = 0.3
_WAITS = 6
_MOST = 4000
"""Characters that one trial may say."""


class Mend:
    """A change after which tests pass."""

    def __init__(
        self,
        path: str,
        line: int,
        words: str,
        tests: Sequence[tuple[str, int]],
        *,
        passes: bool,
        is_costly: bool = False,
    ) -> None:
        self.path, self.line, self.words = path, line, words
        self.tests = tests
        self.passes = passes
        """Whether they do; else the first one fails later, with something else."""
        self.is_costly = is_costly
        """Whether passing tests are lost by it."""


class LocalBench:
    """The submission's functions in this process, where each trial gets a process of its own."""

    witnesses = 16
    """Passing tests that must still pass, of those that run the changed function."""
    lost = 24
    """Lost tests of which it is asked whether a change mends them, too."""

    def __init__(self, live: Any, clock: Any) -> None:
        self._live = live
        self._clock = clock
        self.forget = live.forget
        self.undo = live.undo

    def source(self, path: str) -> str:
        """Return where the text of a file lies."""
        return path

    def tried(self, trials: Callable[[], Iterator[Any]], most: int, patience: float) -> list[Any]:
        """Return what *trials* yields, until one takes more than *patience* of processor time."""
        return _forked(trials, most, patience, self._clock)

    def put_in(self, path: str, function: Any) -> bool:
        """Let a function, or an assignment, run as it is now; say whether that changes anything."""
        if function.is_assignment:
            return bool(self._live.assign(path, function.classes, function.alone(path)))
        live = self._live.within(path, function.first, function.last)
        flags = live[0].__code__.co_flags & _FUTURE if live else 0
        codes: dict[tuple[str, int], types.CodeType] = {}
        for code in function.codes(path, flags):
            codes.setdefault((code.co_name, code.co_firstlineno), code)
        return bool(self._live.put(live, codes, function.defaults()))


class Workshop:
    """The changes that are tried in the submission's functions."""

    def __init__(
        self, functions: Any, changes: Any, missing: Any, bench: Any, passing: Sequence[Any], clock: Any
    ) -> None:
        self._functions = functions
        self._module = changes
        self._missing = missing
        self._bench = bench
        self._clock = clock
        self._spent_s: dict[Any, float] = {}
        self._failures: dict[Any, str] = {}
        self._passing = passing
        self._files: dict[str, list[Any]] = {}
        self._donors: dict[str, list[Any]] = {}
        self._plain: dict[str, list[Any]] = {}
        self._costly: dict[tuple[str, int], tuple[str, int]] = {}

    def mends(self, lost: Sequence[Any], spectrum: Any, until: float) -> Iterator[Mend]:
        """Yield changes that mend lost tests, until none is left or the time is over."""
        left = list(lost)
        while self._clock.now() < until:
            first = next((one for one in left if one.lines), None)
            if first is None:
                return
            kinds = len({one.cause for one in left})
            share = (until - self._clock.now()) / min(kinds, _GROUPS)
            lines, suspicion = spectrum.ranked(first), spectrum.of(first)
            is_flat = suspicion.get(lines[0]) == suspicion.get(lines[-1]) and len(lines) > _LINES
            found = self._mend(first, left, lines, self._clock.now() + share, is_flat=is_flat)
            same = [one.key for one in left if one.lines and one.cause == first.cause]
            if found is None and first.key in self._costly:
                yield Mend(*self._costly[first.key], "", same, passes=True, is_costly=True)
            elif found is not None:
                yield found
            done = same if found is None else found.tests
            left = [one for one in left if one.key not in done]

    def _mend(
        self, first: Any, left: Sequence[Any], lines: Sequence[Any], until: float, *, is_flat: bool
    ) -> Mend | None:
        """Return the change that mends *first* and most of those that are *left*.

        Where one mends not all of them, another that does is looked for as long again as that one took.
        *is_flat*: whether no line is more suspicious than others, so that many trials are not worth their time.
        """
        best: Mend | None = None
        began = self._clock.now()
        if not self._loses(first):
            return None
        places = self._places(first, lines)
        told, slip, state, less, crude = self._module.TIERS
        near = self._near(places, first)
        far = [one for one in places if one not in near]
        steps = [(near, told), (near, slip), (far, told), (far, slip)]
        if not is_flat:
            steps += [(places, state), (places, less), (places, crude)]
        for where, tier in steps:
            if best is not None and tier in (state, crude):
                continue
            made = self._made(where, tier, first)
            if tier == state:
                made = self._first_in_time([*made], first)
            while self._clock.now() < until:
                some = [*itertools.islice(made, _AT_ONCE)]
                if not some:
                    break
                for path, function, change in self._passing_changes(some, first, until):
                    found = self._proven(path, function, change, first, left)
                    if found is not None and (best is None or len(found.tests) > len(best.tests)):
                        until = until if best is not None else min(until, 2 * self._clock.now() - began)
                        best = found
                        if len(found.tests) >= min(len(left), self._bench.lost):
                            return found
                if best is not None and tier == state:
                    return best
        return best

    @staticmethod
    def _near(places: Sequence[Any], first: Any) -> list[Any]:
        """Return those of *places* in the function where the wrong value came from."""
        if first.origin is None:
            return []
        path, line = first.origin
        return [one for one in places if one[0] == path and one[1].first <= line <= one[1].last]

    def _made(self, places: Sequence[Any], tier: int, first: Any) -> Iterator[tuple[str, Any, Any]]:
        """Yield the changes of one tier at some places, in their order."""
        for path, function, line in places:
            for one in self._changes(path, function, first):
                if one.line == line and one.tier == tier:
                    yield path, function, one

    @staticmethod
    def _first_in_time(made: Sequence[Any], first: Any) -> Iterator[Any]:
        """Return changes with those of the function first where one of its lines could be changed first."""
        orders = {(code.co_filename, line): order for (code, line), order in first.lines.items()}
        begins: dict[Any, int] = {}
        for path, function, change in made:
            order = orders.get((path, change.line), 0)
            begins[function] = min(begins.get(function, order), order)
        return iter(sorted(made, key=lambda one: begins[one[1]]))

    def _loses(self, first: Any) -> bool:
        """Say whether a test is lost without a change, and remember what it took."""

        def trials() -> Iterator[Any]:
            began = time.process_time()
            failed = self._failed(first.item)
            yield [failed, time.process_time() - began]

        said = self._bench.tried(trials, 1, _SLOW_S + 5 * float(first.seconds))
        if not said or said[0][0] is None:
            return False
        self._spent_s[first.key] = float(said[0][1])
        self._failures[first.key] = str(said[0][0])
        return True

    def _is_later(self, failed: str | None, first: Any) -> bool:
        """Say whether a test that wants an exception got one, and fails then with something else."""
        return failed not in (None, "", self._failures.get(first.key), first.raises, *_MISHAPS)

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
            for function in self.functions(path):
                if not function.is_assignment and function.first <= line <= function.last:
                    for at in function.statement_at(line):
                        found.setdefault((path, at), (path, function, at))
            names.update(dict.fromkeys(code.co_names))
        for path, function in dict.fromkeys((path, function) for path, function, _ in found.values()):
            for at in function.lines_of_defaults():
                found.setdefault((path, at), (path, function, at))
        for path in {path for path, _ in found}:
            for function in self.functions(path):
                if function.is_assignment and function.names & names.keys():
                    for at in range(function.first, function.last + 1):
                        found.setdefault((path, at), (path, function, at))
        return [*found.values()]

    def functions(self, path: str) -> list[Any]:
        """Return the functions and assignments of a file; none where it cannot be read."""
        if path not in self._files:
            self._files[path] = self._donors[path] = self._plain[path] = []
            with contextlib.suppress(Exception):  # no file, or not this Python's language
                self._files[path] = self._functions.functions_of(self._bench.source(path))
                self._donors[path] = self._missing.donors(self._files[path])
                self._plain[path] = self._missing.plain_statements(self._files[path])
        return self._files[path]

    def _changes(self, path: str, function: Any, first: Any) -> list[Any]:
        if function.made_for is not first:
            made = [*self._module.changes_of(function, first.pairs, first.words)]
            made += self._missing.kept(self._module, function, self._files[path])
            made += self._missing.inserted(self._module, function, self._donors[path])
            made += self._missing.repeated(self._module, function, self._plain[path])
            made += self._missing.prepared(self._module, function, self._files[path])
            if first.raises and not function.is_assignment:
                lost, passing = self._states(path, function, [first]), self._states(path, function, self._passing)
                made += self._missing.by_state(self._module, function, first.raises, lost, passing)
            function.made, function.made_for = made, first
        found: list[Any] = function.made
        return found

    @staticmethod
    def _states(path: str, function: Any, tests: Sequence[Any]) -> dict[int, set[Any]]:
        """Return by line what the variables of a function were in some tests."""
        found: dict[int, set[Any]] = {}
        for one in tests:
            for (code, line), states in one.states.items():
                if code.co_filename == path and function.first <= line <= function.last:
                    found.setdefault(line, set()).update(states)
        return found

    def _passing_changes(self, changes: Sequence[Any], first: Any, until: float) -> list[Any]:
        """Return those of *changes* after which the test passes; all run in one process."""

        def trials(first_number: int) -> Iterator[Any]:
            for number, (path, function, change) in enumerate(changes[first_number:], first_number):
                if self._clock.now() > until:
                    return
                with self._changed(path, function, change) as is_made:
                    failed = self._failed(first.item) if is_made else ""
                    is_later = change.tier == self._module.STATE and self._is_later(failed, first)
                    yield [number, failed is None or is_later]

        passing: list[Any] = []
        begun = 0
        for _ in range(_ENDED):  # what hangs or crashes costs its own trial
            said = self._bench.tried(functools.partial(trials, begun), len(changes) - begun, self._patience(first))
            passing += [
                changes[number] for number, is_good in said if is_good is True and 0 <= number < len(changes)
            ]
            begun += len(said) + 1
            if begun >= len(changes) or self._clock.now() > until:
                break
        return passing

    def _proven(self, path: str, function: Any, change: Any, first: Any, left: Sequence[Any]) -> Mend | None:
        """Return what *change* mends; None where a passing test is lost by it."""
        near = [one for one in self._passing if any(_is_in(line, path, function) for line in one.lines)]
        witnesses = sorted(near or self._passing, key=lambda one: one.seconds)[: self._bench.witnesses]
        others = [first, *(one for one in left if one is not first)][: self._bench.lost]

        def trials() -> Iterator[Any]:
            with self._changed(path, function, change) as is_made:
                for one in [first, *witnesses, *others[1:]] if is_made else ():
                    yield self._failed(one.item)

        patience = self._patience(first, *witnesses, *others)
        said = self._bench.tried(trials, len(witnesses) + len(others), patience)
        passes = bool(said) and said[0] is None
        if len(said) <= len(witnesses) or any(one is not None for one in said[1 : len(witnesses) + 1]):
            costs = sum(one is not None for one in said[1 : len(witnesses) + 1])
            if passes and change.tier < self._module.CRUDE and _DEAR * costs <= len(witnesses) < len(said):
                self._costly.setdefault(first.key, (path, change.line))
            return None
        if not passes and not (change.tier == self._module.STATE and self._is_later(said[0], first)):
            return None
        mended = [one.key for one, failed in zip(others[1:], said[len(witnesses) + 1 :]) if failed is None]  # noqa: B905
        change.swap()
        words = change.words()
        change.swap()
        return Mend(path, change.line, words, [first.key, *mended], passes=passes)

    @contextlib.contextmanager
    def _changed(self, path: str, function: Any, change: Any) -> Iterator[bool]:
        """Put a change into the functions, or the variable, that run."""
        is_made = False
        try:
            with contextlib.suppress(Exception):  # what cannot be compiled or put in is no mend
                change.swap()
                try:
                    is_made = self._bench.put_in(path, function)
                finally:
                    change.swap()
            yield is_made
        finally:
            self._bench.undo()

    def _failed(self, item: Any) -> str | None:
        """Run a test and return by what kind of exception it fails; None: it passes."""
        self._bench.forget()
        failed: str | None = ""
        try:
            with contextlib.suppress(AttributeError):
                item._initrequest()
            if getattr(item, "_excinfo", None):  # where unittest's failures are kept
                item._excinfo = None
            item.ihook.pytest_runtest_setup(item=item)
            item.ihook.pytest_runtest_call(item=item)
            kept = getattr(item, "_excinfo", None)
            failed = kept[0].type.__name__ if kept else None
        except BaseException as problem:  # noqa: BLE001 - however it fails
            failed = type(problem).__name__
        with contextlib.suppress(BaseException):
            item.ihook.pytest_runtest_teardown(item=item, nextitem=None)
        return failed


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
            clock.fork()
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
