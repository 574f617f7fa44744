"""By what a lost test's wrong value is recognized, and which call of the submission gave it first.

`listener` asks for the first where a comparison fails, `origins` for the second while the test runs again. It
stands in one process with untrusted code, needs the standard library only, and works on Python 3.7 to 3.13.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
        """Whether *found* is, or holds, what is looked for; asks objects of the submission as parts of values."""
        kind = type(found)
        if self._part is not None and isinstance(found, (str, bytes)):
            return isinstance(self._part, str) == isinstance(found, str) and self._stands_in(found)
        if self._part is None and kind is type(self._value):
            return _equal(found, self._value)
        if self._part is None and type(self._value) is dict and issubclass(kind, dict):
            return _equal(dict.items(found), self._value.items())
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


def _equal(found: Any, value: Any) -> bool:
    """Say whether two values are equal; an object in one that cannot be compared would end the tracing."""
    try:
        return bool(found == value)
    except Exception:  # noqa: BLE001 - whatever a class of the submission raises
        return False


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
