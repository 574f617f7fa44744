"""Which line of the submission lost a test: it runs again, its calls and lines are seen, and lines are changed.

`listener` asks here when all tests have ended and were reported. A forked child runs some of the lost
ones again, within limits of its own, so whatever happens there changes nothing: first for the line that made the
wrong value, then for the line that only lost tests run, then for one that makes them pass when it is changed. It
stands in one process with untrusted code, needs the standard library and pytest only, and works on Python 3.7 to
3.13. What it says is a guess for people.
"""

from __future__ import annotations

import ast
import contextlib
import json
import linecache
import os
import re
import resource
import select
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

CHARS = 300
"""Of one place."""
_PLACES = 3
"""Of one test, that are told."""
_SECONDS = 12.0
"""Of the child at most, by the clock on the wall: a busy machine keeps most of them from it."""
_LEAST_S = 3.0
"""What it has in any case; otherwise as long as the tests took, so that nobody waits for guesses alone."""
_BUSY = 3
"""By the clock on the wall, so many times what it has, while it waits for a processor."""
_PROCESSOR_S = 4
"""Processor time of the child."""
_OF_LOST = 0.3
"""Of the time, what following lost tests may take; the others are asked whether a change mends them, too."""
_OF_PASSING = 0.2
"""Of the time that is left, what passing tests have."""
_TESTS = 40
_PASSED = 60
_SHORT_S = 0.1
"""A passing test that took longer is not run again."""
_ONE_TEST_S = 1.0
"""A test that took longer is not run again."""
_MEMORY = 256 * 1024**2
"""How much more than its parent the child may take."""
_CALLS = 200_000
_CALLS_S = 0.15
"""Processor time that looking at the calls of one test may take."""
_LAST = 3
"""Calls of a test before its end among which the one is that gave it a value which many functions return."""
_MARKS = 3
_PAIRS = 6
_AROUND = 6
"""Characters beside the part of a text that differs by which it is recognized."""
_NODES = 200
"""Parts of one value that are looked at."""
_DEEPEST = 3
_LONGEST = 1_000_000
_SAID = re.compile(
    r"^(?:AssertionError: )?(?:assert (?:not )?(True|False|None|-?\d+(?:\.\d+)?|'[^'\n]*'|\[\]|\{\}|\(\))$"
    r"|(True|False) is not (?:true|false))"
)
"""How pytest and unittest tell a value that is compared with none."""
_NOT_RAISED = re.compile(r"^Failed: DID NOT RAISE\b|^(?:AssertionError: )?[\w.()', ]+ not raised\b")
_EXPECTED = re.compile(r"DID NOT RAISE (?:<class ')?([\w.]+)|expected inside pytest\.raises\((\w+)")
_QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|[?&](\w+)=")
_WORDS = 40
_STATEMENT_LINES = 5
"""Of a statement, after the first one, that are shown."""
_LENGTH = re.compile(r"^ *\+ +where (\d+) = len\(", re.MULTILINE)
"""How pytest tells the length of a value that was compared."""


class Mark:
    """By what a value is recognized in what functions return: a part of a text, or the value itself."""

    def __init__(self, value: Any, part: Any = None, begins: bool = False, ends: bool = False) -> None:
        self._value = value
        self._part = part
        self._begins = begins
        self._ends = ends
        self.is_common = part is None and (
            value in (None, True, False, "", b"", [], (), {}, set())
            if not isinstance(value, (int, float)) or isinstance(value, bool)
            else -10 < value < 10 and value == int(value)
        )
        """Whether many functions return such a value by chance."""

    def is_in(self, found: Any, depth: int = 0) -> bool:
        """Whether *found* is, or holds, what is looked for; asks no object of the submission."""
        kind = type(found)
        if self._part is not None and isinstance(found, (str, bytes)):
            return isinstance(self._part, str) == isinstance(found, str) and self._stands_in(found)
        if self._part is None and kind is type(self._value):
            return bool(found == self._value)
        if self._part is None and type(self._value) is dict and issubclass(kind, dict):
            return dict.__eq__(found, self._value) is True
        if depth >= _DEEPEST or (self.is_common and depth > 0):
            return False
        if self.is_common and kind not in (tuple, list):
            return False
        return any(self.is_in(one, depth + 1) for one in _inner(found))

    def _stands_in(self, text: Any) -> bool:
        plain: Any = str.__str__(text) if isinstance(text, str) else text
        return (
            len(plain) < _LONGEST
            and self._part in plain
            and (not self._begins or plain.startswith(self._part))
            and (not self._ends or plain.endswith(self._part))
        )


class Length(Mark):
    """A value of this length is recognized."""

    def __init__(self, length: int) -> None:
        super().__init__(None)
        self._length = length

    def is_in(self, found: Any, depth: int = 0) -> bool:
        """Whether *found* itself has that length."""
        return type(found) in (list, tuple, dict, set, frozenset, str, bytes) and len(found) == self._length


class Anything(Mark):
    """Whatever a function returns: it should have raised."""

    def is_in(self, found: Any, depth: int = 0) -> bool:
        """Return true."""
        return True


def _inner(found: Any) -> Iterator[Any]:
    """Yield the parts of a value without running code of its class."""
    kind = type(found)
    if kind in (list, tuple, set, frozenset):
        for number, one in enumerate(found):
            if number >= _NODES:
                return
            yield one
    elif issubclass(kind, dict):
        for number, (name, one) in enumerate(dict.items(found)):
            if number >= _NODES:
                return
            yield name
            yield one
    elif not isinstance(found, (type, types.ModuleType, types.FunctionType, str, bytes, int, float)):
        with contextlib.suppress(Exception):
            yield from list(object.__getattribute__(found, "__dict__").values())[:_NODES]


def marks(demands: Any, message: str) -> list[Mark]:
    """Return by what the wrong value is recognized of the failure that *demands* explained last."""
    if _NOT_RAISED.match(message):
        return [Anything(None)]
    length = _LENGTH.search(message)
    pair = demands.pair
    found = _said_marks(message) if pair is None else marks_of(pair[0], pair[1], demands.module.KINDS)
    return [Length(int(length.group(1))), *found] if length else found


def marks_of(left: Any, right: Any, children: Sequence[Any], depth: int = 0) -> list[Mark]:
    """Return by what the wrong value of two is recognized; *children*: how `demands` takes values apart.

    Which of the two is the wrong one is not known, so the left one comes first, as most tests have it.
    """
    found: list[Mark] = []
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)) and type(left) is type(right):
        return [*_of_texts(left, right), *_of_texts(right, left)]
    for kind in children if depth < _DEEPEST else ():
        parts = kind(left, right)
        if parts is None:
            continue
        for number, (_, one, other) in enumerate(parts):
            if number >= _NODES or len(found) >= _MARKS:
                break
            if type(one) is type(other) and not _same(one, other):
                found += marks_of(one, other, children, depth + 1)
        break
    for whole in (left, right):
        copy = _copied(whole)
        if copy is not None or whole is None:
            found.append(Mark(copy))
    return sorted(found[: 3 * _MARKS], key=lambda one: one.is_common)[: 2 * _MARKS]


def pairs(demands: Any) -> list[tuple[Any, Any]]:
    """Return the plain values in which the last comparison's sides differ, in both directions."""
    pair = demands.pair
    if pair is None:
        return []
    whole = _copied(pair[0]), _copied(pair[1])
    found = [*_leaves(pair[0], pair[1], demands.module.KINDS)]
    found = [whole, *found] if None not in whole and whole not in found else found
    return [one for left, right in found[:_PAIRS] for one in ((left, right), (right, left))]


def words(said: str) -> list[str]:
    """Return the texts in quotes, and the names of a query, in what is said of a failure."""
    return [*dict.fromkeys(one[0] or one[1] or one[2] for one in _QUOTED.findall(said))][:_WORDS]


def _leaves(left: Any, right: Any, children: Sequence[Any], depth: int = 0) -> Iterator[tuple[Any, Any]]:
    plain = (int, float, bool, str, bytes, type(None))
    if type(left) in plain and type(right) in plain:
        yield left, right
        return
    for kind in children if depth < _DEEPEST else ():
        parts = kind(left, right)
        for number, (_, one, other) in enumerate(parts or ()):
            if number >= _NODES:
                break
            if type(one) is not type(other) or not _same(one, other):
                yield from _leaves(one, other, children, depth + 1)
        if parts is not None:
            return


def _said_marks(message: str) -> list[Mark]:
    """Return by what the value is recognized that a message tells alone."""
    said = _SAID.match(message.partition("\n")[0])
    return [Mark(ast.literal_eval(said.group(1) or said.group(2)))] if said else []


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - whatever a comparison raises
        return False


def _of_texts(text: Any, other: Any) -> list[Mark]:
    """Return the part of *text* that *other* does not have, with what stands around it, then alone.

    First where it stands, if that is at the beginning or end: a text that was cut is a part of the whole one.
    """
    plain, beside = (str.__str__(one) if isinstance(one, str) else bytes(one) for one in (text, other))
    least = min(len(plain), len(beside))
    first = next((at for at in range(least) if plain[at] != beside[at]), least)
    last = next((at for at in range(least - first) if plain[-1 - at] != beside[-1 - at]), least - first)
    end = len(plain) - last
    around = plain[max(first - _AROUND, 0) : end + _AROUND]
    marks = []
    if len(around) > 2:
        if first == 0 or last == 0:
            marks.append(Mark(text, around, begins=first == 0, ends=last == 0))
        marks.append(Mark(text, around))
    if 2 < end - first < len(around):
        marks.append(Mark(text, plain[first:end]))
    return marks or ([Mark(plain)] if plain else [])


def _copied(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value made of Python's own types; None for others, and for large ones."""
    kind = type(value)
    if kind in (int, float, bool, str, bytes, complex):
        return value
    is_dict = issubclass(kind, dict)  # such as one with defaults; it is compared as a plain one
    if depth > _DEEPEST or not (is_dict or kind in (list, tuple, set, frozenset)):
        return None
    if (dict.__len__(value) if is_dict else len(value)) > _NODES:
        return None
    given: list[Any] = [part for one in dict.items(value) for part in one] if is_dict else [*value]
    got = [_copied(one, depth + 1) for one in given]
    if any(part is None and had is not None for part, had in zip(got, given)):  # noqa: B905 - Python 3.7
        return None
    return dict(zip(got[::2], got[1::2])) if is_dict else kind(got)  # noqa: B905


class _Call:
    """A call of a function of the submission."""

    __slots__ = ("above", "code", "gave", "had", "held", "line", "order")

    def __init__(self, code: types.CodeType, above: Any, had: Sequence[bool]) -> None:
        self.code = code
        self.above = above
        self.had = had
        """By mark: whether it was in what the function got."""
        self.gave: Sequence[bool] = ()
        """By mark: whether it was in what the function returned."""
        self.held: Sequence[str] = ()
        """By mark: the variable that held it at the end; "" for none, and for several."""
        self.line = 0
        self.order = 0

    def made_at(self, number: int) -> int:
        """Return the one line that gave a variable what the function returned, else where it ended."""
        name = self.held[number] if number < len(self.held) else ""
        if not name:
            return self.line
        lines = [
            (at, linecache.getline(self.code.co_filename, at)) for at in range(self.code.co_firstlineno, self.line)
        ]
        changed = re.compile(
            rf"^\s*{name}(?:\[.*\]\s*\W{{0,2}}=(?!=)|\.(?:append|add|update|extend|insert|setdefault)\()"
        )
        given = re.compile(rf"^\s*{name}\s*(?::[^=]+)?(?:[-+*/|&%]|//)?=(?!=)")
        for pattern in (changed, given):
            found = [at for at, line in lines if pattern.match(line)]
            if found:
                return found[0] if len(found) == 1 else self.line
        return self.line


class Calls:
    """The profile function: remembers which calls of the submission got and gave what is looked for."""

    def __init__(self, is_own: Callable[[types.CodeType], bool], marks: Sequence[Mark]) -> None:
        self._is_own = is_own
        self._marks = marks
        self._known: dict[types.CodeType, bool] = {}
        self._open: dict[int, list[_Call]] = {}
        self.ended: list[_Call] = []
        self._until = time.process_time() + _CALLS_S

    def __call__(self, frame: types.FrameType, event: str, value: Any) -> None:
        """Take one event of Python in."""
        code = frame.f_code
        is_own = self._known.get(code)
        if is_own is None:
            is_own = self._known[code] = self._is_own(code)
        if not is_own or len(self.ended) > _CALLS or time.process_time() > self._until:
            return
        stack = self._open.setdefault(threading.get_ident(), [])
        if event == "call":
            stack.append(_Call(code, stack[-1] if stack else None, self._in_arguments(frame)))
        elif event == "return":
            while stack:
                call = stack.pop()
                if call.code is code:
                    self._end(call, frame, value)
                    break

    def _end(self, call: _Call, frame: types.FrameType, value: Any) -> None:
        changed = self._in_arguments(frame, 1)
        call.gave = [
            mark.is_in(value) or (after and not before and not mark.is_common)
            for mark, before, after in zip(self._marks, call.had, changed)  # noqa: B905 - Python 3.7
        ]
        if any(call.gave):
            call.held = [self._held(mark, frame) if gave else "" for mark, gave in zip(self._marks, call.gave)]  # noqa: B905
        call.line, call.order = frame.f_lineno, len(self.ended)
        self.ended.append(call)

    @staticmethod
    def _held(mark: Mark, frame: types.FrameType) -> str:
        if isinstance(mark, Anything):
            return ""
        code = frame.f_code
        # What many functions get by chance says nothing of an argument.
        own = code.co_varnames[code.co_argcount + code.co_kwonlyargcount if mark.is_common else 0 :]
        found = [name for name in own if name in frame.f_locals and mark.is_in(frame.f_locals[name])]
        return found[0] if len(found) == 1 else ""

    def _in_arguments(self, frame: types.FrameType, most: int = 8) -> list[bool]:
        """Return for each mark whether it is in one of the first arguments."""
        code = frame.f_code
        names = code.co_varnames[: min(code.co_argcount + code.co_kwonlyargcount, most)]
        values = [frame.f_locals[name] for name in names if name in frame.f_locals] if names else []
        return [not mark.is_common and any(map(mark.is_in, values)) for mark in self._marks]

    def origin(self) -> tuple[str, int] | None:
        """Return file and line that made the wrong value; None where that cannot be told."""
        for number, mark in enumerate(self._marks):
            if isinstance(mark, Anything):
                found = self._outer(number)
            else:
                found = self._common(number) if mark.is_common else self._made(number)
            if found is not None:
                return found.code.co_filename, found.made_at(number)
        return None

    def _made(self, number: int) -> _Call | None:
        """Return the first call that gave what it did not get."""
        return next((one for one in self.ended if one.gave[number] and not one.had[number]), None)

    def _common(self, number: int) -> _Call | None:
        """Return from the last call of a test that gave it the innermost one from which it surely came."""
        found = self._outer(number)
        while found is not None:
            inner = [one for one in self.ended if one.above is found and one.gave[number]]
            if len({one.code for one in inner}) != 1:
                return found
            found = inner[-1]
        return None

    def _outer(self, number: int) -> _Call | None:
        """Return the last call of a test that gave it the value."""
        outer = [one for one in self.ended if one.above is None][-_LAST:]
        return next((one for one in reversed(outer) if one.gave[number]), None)


class LostItem:
    """A lost test that can be run again."""

    def __init__(
        self,
        key: tuple[str, int],
        item: Any,
        marks: Sequence[Mark],
        pairs: Any,
        message: str,
        said: str = "",
    ) -> None:
        self.key = key
        self.item = item
        self.marks = marks
        self.pairs: Sequence[tuple[Any, Any]] = pairs
        """Values that its comparison found to differ, one of them wrong."""
        self.message = message
        expected = _EXPECTED.search(said)
        self.raises = (expected.group(1) or expected.group(2)).rpartition(".")[2] if expected else ""
        """The exception that should have been raised."""
        self.words = words(said)
        """Texts of what is said of it, and of its last exchange with a service."""
        self.seconds = 0.0
        """What it took."""


class PassedItem:
    """A test that passed and can be run again."""

    def __init__(self, key: tuple[str, int], item: Any, seconds: float) -> None:
        self.key = key
        self.item = item
        self.seconds = seconds


class ChildClock:
    """A time that stands still while the child, or a trial of it, waits for a processor."""

    def __init__(self) -> None:
        self._excused_s = 0.0

    def now(self) -> float:
        """Return the seconds so far."""
        return time.clock_gettime(time.CLOCK_MONOTONIC) - waited_s("self") - self._excused_s

    def excuse(self, process: int) -> None:
        """Leave out what a process of its own had to wait."""
        self._excused_s += waited_s(str(process))


def waited_s(process: str) -> float:
    """Return how long a process had to wait for a processor; 0 where the kernel does not count it."""
    place = f"/proc/{process}/schedstat"
    with contextlib.suppress(OSError, ValueError, IndexError), open(place) as file:  # noqa: PTH123 - as below
        return int(file.read().split()[1]) / 1e9
    return 0.0


class Rerun:
    """A test that ran again, and what it ran."""

    def __init__(self, test: Any, lines: Mapping[Any, int]) -> None:
        self.key: tuple[str, int] = test.key
        self.item = test.item
        self.seconds: float = test.seconds
        self.lines = lines
        self.states: Mapping[Any, set[Any]] = {}
        """What variables were at these lines, where that is of use."""
        self.raises = ""
        self.pairs: Sequence[tuple[Any, Any]] = ()
        self.message = ""
        self.words: Sequence[str] = ()
        self.origin: tuple[str, int] | None = None
        """Where its wrong value came from, by the values that functions returned."""

    def lost_as(self, test: LostItem) -> None:
        """Take over what was said of the test when it was lost."""
        self.pairs, self.message, self.words, self.raises = test.pairs, test.message, test.words, test.raises


class SecondRun:
    """What a second run is about: tests, and where the submission and the tests lie."""

    def __init__(
        self,
        lost: Sequence[LostItem],
        passed: Sequence[PassedItem],
        roots: Sequence[str],
        tests: Sequence[str],
        helpers: Sequence[Any] = (),
        tried: Sequence[str] = (),
    ) -> None:
        self.lost = lost
        self.passed = passed
        self.helpers = helpers
        """The modules `spectrum`, `suspects`, `changes`, `missing`, `live` and `mends`, where they are there."""
        self.tried = tried
        """What stands between a line and its change: where its test gets further, and where it passes."""
        self._roots, self._tests = tuple(roots), tuple(tests)

    def is_own(self, code: types.CodeType) -> bool:
        """Whether code is the submission's."""
        return code.co_filename.startswith(self._roots) and not code.co_filename.startswith(self._tests)


def origins(ran: SecondRun, spent_s: float) -> dict[tuple[str, int], str]:
    """Return as lines `file:line: text` where the causes of lost tests probably lie, where that can be told.

    *spent_s*: what all tests took.
    """
    seconds = min(_SECONDS, max(_LEAST_S, spent_s))
    here, there = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            os.close(here)
            os.setsid()
            _limit()
            for key, places in _places(ran, seconds):
                _write(there, (json.dumps([key, "\n".join(places[:_PLACES])]) + "\n").encode("ascii"))
        finally:
            os._exit(0)
    os.close(there)
    try:
        said = _read(here, min(_SECONDS, _BUSY * seconds))
    finally:
        os.close(here)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(child, 0)
    return dict(_understood(said, {one.key for one in ran.lost}))


def _understood(said: bytes, known: Any) -> Iterator[tuple[tuple[str, int], str]]:
    for line in said.split(b"\n"):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            (name, ordinal), place = json.loads(line.decode("ascii"))
            if (name, ordinal) in known and isinstance(place, str):
                yield (name, ordinal), place[: _PLACES * CHARS]


def _limit() -> None:
    """Bound what the child takes, and let nothing of its parent's time limits ring."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS + 1)
    with open("/proc/self/statm") as file:  # noqa: PTH123 - tests replace much, and this the least
        size = int(file.read().split()[0]) * resource.getpagesize()
    spent = int(time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent + _PROCESSOR_S, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, hard))


def _places(ran: SecondRun, seconds: float) -> Iterator[tuple[tuple[str, int], Sequence[str]]]:
    """Yield where the causes of lost tests probably lie; what is said later of a test is better founded."""
    clock, again = ChildClock(), []
    until = clock.now() + seconds
    for one, rerun in _followed(ran, clock, until - (1 - _OF_LOST) * seconds):
        again.append(rerun)
        if rerun.origin is not None:
            yield one.key, [_shown(rerun.origin[0], rerun.origin[1])]
    if not ran.helpers or not again:
        return
    spectrum, suspects, changes, missing, live, mends = ran.helpers
    now = clock.now()
    passing = [*_passing(ran, clock, now + _OF_PASSING * (until - now))]
    suspicion = spectrum.suspicions((one.lines for one in again), (one.lines for one in passing))
    workshop = mends.Workshop(changes, missing, mends.LocalBench(live.LiveCode(ran.is_own), clock), passing, clock)
    told = suspects.Suspects(workshop.functions, str)
    found = {one.key: told.of(one, spectrum.ranked(one.lines, suspicion), suspicion) for one in again}
    for key, places in found.items():
        if places:
            yield key, [_shown(*place) for place in places]
    again += [Rerun(one, {}) for one in ran.lost if one.key not in found]
    for mend in workshop.mends(again, suspicion, spectrum.ranked, until):
        for key in mend.tests:
            first = _shown(mend.path, mend.line, ran.tried[mend.passes] + mend.words)
            others = [place for place in found.get(key, ()) if place != (mend.path, mend.line)]
            yield key, [first, *(_shown(*place) for place in others if not mend.is_likely)]


def _shown(file: str, line: int, why: str = "") -> str:
    """Return a place with its text, up to where its brackets end."""
    text, at = linecache.getline(file, line).strip(), line
    while sum(map(text.count, "([{")) > sum(map(text.count, ")]}")) and at < line + _STATEMENT_LINES:
        at += 1
        text += " " + linecache.getline(file, at).strip()
    text = f"{file}:{line}: {text.strip()}"
    return text[: max(CHARS - len(why), CHARS // 2)] + why[: CHARS // 2]


def _followed(ran: SecondRun, clock: ChildClock, until: float) -> Iterator[tuple[LostItem, Any]]:
    """Run lost tests again; yield those that are lost again, with what they ran and where values came from."""
    following: list[Any] = [*ran.lost]
    while following:
        one = following.pop(0)
        calls = Calls(ran.is_own, one.marks)
        lines = None
        if ran.helpers:
            lines = ran.helpers[0].LineTracer(ran.is_own, calls, with_states=bool(one.raises))
        reports = _again(one.item, calls, lines)
        if clock.now() > until and ran.helpers:
            following.clear()
        _tear_down(one, following)
        if reports and reports[-1].failed:
            rerun = Rerun(one, {} if lines is None else lines.last)
            rerun.states = {} if lines is None else lines.states
            rerun.lost_as(one)
            rerun.origin = calls.origin()
            yield one, rerun


def _passing(ran: SecondRun, clock: ChildClock, until: float) -> Iterator[Any]:
    """Run passing tests again as long as there is time; yield those that pass again with what they ran."""
    following = [*ran.passed] if clock.now() < until else []
    while following:
        one = following.pop(0)
        lines = ran.helpers[0].LineTracer(ran.is_own, with_states=any(one.raises for one in ran.lost))
        reports = _again(one.item, None, lines)
        if clock.now() > until:
            following.clear()
        _tear_down(one, following)
        if len(reports) == 2 and all(report.passed for report in reports):
            rerun = Rerun(one, lines.last)
            rerun.states = lines.states
            yield rerun


def _again(item: Any, calls: Any, lines: Any) -> list[Any]:
    """Set a test up and run it again; return the reports of both, none where it does not run."""
    from _pytest.runner import call_and_report

    reports: list[Any] = []
    with contextlib.suppress(BaseException):  # what does not run again tells nothing
        item._initrequest()
        if lines is None:
            threading.setprofile(calls)
            sys.setprofile(calls)
        else:
            threading.settrace(lines)
            sys.settrace(lines)
        try:
            reports.append(call_and_report(item, "setup", log=False))
            if reports[0].passed:
                reports.append(call_and_report(item, "call", log=False))
        finally:
            sys.settrace(None)
            sys.setprofile(None)
            threading.settrace(None)
            threading.setprofile(None)
    return reports


def _tear_down(one: Any, following: Sequence[Any]) -> None:
    """End a test, and all that stands around it which the *following* one does not share.

    The last one must know that it is: pytest fails the next test that is run beside another's fixtures.
    """
    with contextlib.suppress(BaseException):
        after = following[0].item if following else None
        one.item.ihook.pytest_runtest_teardown(item=one.item, nextitem=after)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read(descriptor: int, seconds: float) -> bytes:
    """Return what is written until its end, or until *seconds* are over."""
    until, said = time.clock_gettime(time.CLOCK_MONOTONIC) + seconds, b""
    while len(said) < _TESTS * 3 * _PLACES * CHARS:
        left = until - time.clock_gettime(time.CLOCK_MONOTONIC)
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            break
        piece = os.read(descriptor, 65536)
        if not piece:
            break
        said += piece
    return said


def chosen(
    lost: Mapping[tuple[str, int], LostItem],
    passed: Mapping[tuple[str, int], Any],
    seconds: Mapping[tuple[str, int], float],
) -> tuple[list[LostItem], list[PassedItem]]:
    """Return which lost tests are run again, short ones that the time will do for, and passing ones."""
    for key, one in lost.items():
        one.seconds = seconds.get(key, _ONE_TEST_S)
    able = [one for one in lost.values() if one.seconds <= _ONE_TEST_S]
    files = {key[0].partition("::")[0] for key in lost}
    short = [key for key in passed if seconds.get(key, 1.0) <= _SHORT_S]
    near = [key for key in short if key[0].partition("::")[0] in files]
    far = [key for key in short if key[0].partition("::")[0] not in files]
    beside = [*spread(near, _PASSED * 2 // 3), *spread(far, _PASSED // 3)]
    return spread(able, _TESTS), [PassedItem(key, passed[key], seconds[key]) for key in beside]


def spread(every: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many of them, from the first to the last."""
    return [*every[:: max(1, -(-len(every) // most))]]
