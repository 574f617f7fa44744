"""The submission's functions and variables in this process, which can be given other code and values for a while.

It stands in one process with untrusted code, needs the standard library only, and works on Python 3.8 to 3.13.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class LiveCode:
    """What of the submission is there now."""

    def __init__(self, is_own: Callable[[types.CodeType], bool]) -> None:
        self._functions: dict[str, list[Any]] = {}
        self._caches: list[Any] = []
        self._undo: list[Callable[[], None]] = []
        gc.unfreeze()
        for found in gc.get_objects():
            kind = type(found)
            if kind is types.FunctionType and is_own(found.__code__):
                self._functions.setdefault(found.__code__.co_filename, []).append(found)
            elif kind is functools._lru_cache_wrapper:
                self._caches.append(found)

    def within(self, path: str, first: int, last: int) -> list[Any]:
        """Return the functions that begin between two lines of a file."""
        return [one for one in self._functions.get(path, ()) if first <= one.__code__.co_firstlineno <= last]

    def forget(self) -> None:
        """Clear what caches keep of other code."""
        for cache in self._caches:
            with contextlib.suppress(Exception):
                cache.cache_clear()

    def put(self, functions: Sequence[Any], codes: Mapping[tuple[str, int], types.CodeType]) -> int:
        """Give functions other code, by name and first line; return how many changes there are now."""
        for one in functions:
            old = one.__code__
            code = codes.get((old.co_name, old.co_firstlineno))
            if code is not None and code.co_freevars == old.co_freevars and code != old:
                one.__code__ = code
                self._undo.append(functools.partial(setattr, one, "__code__", old))
        return len(self._undo)

    def assign(self, path: str, classes: Sequence[str], code: types.CodeType) -> int:
        """Run an assignment of a module or a class; give its new value to all who have the old one by its name."""
        for module in [*sys.modules.values()]:
            if getattr(module, "__file__", None) != path:
                continue
            owner: Any = module
            for name in classes:
                owner = getattr(owner, name)
            made: dict[str, Any] = {}
            exec(code, dict(vars(module)), made)  # noqa: S102 - the submission's own line
            for name, value in made.items():
                old = vars(owner)[name]
                others = [one for one in [*sys.modules.values()] if one is not owner and not classes]
                for holder in [owner, *(one for one in others if getattr(one, "__dict__", {}).get(name) is old)]:
                    setattr(holder, name, value)
                    self._undo.append(functools.partial(setattr, holder, name, old))
        return len(self._undo)

    def undo(self) -> None:
        """Take all changes back."""
        while self._undo:
            self._undo.pop()()
