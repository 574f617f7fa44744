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
        """Clear what caches keep of other code, and what tests that ran since have left."""
        renew_loop()
        for cache in self._caches:
            with contextlib.suppress(Exception):
                cache.cache_clear()

    def put(
        self,
        functions: Sequence[Any],
        codes: Mapping[tuple[str, int], types.CodeType],
        defaults: Mapping[str, Any],
    ) -> int:
        """Give functions other code, by name and first line, and the first one's arguments other defaults.

        Return how many changes there are now.
        """
        for one in functions:
            old = one.__code__
            code = codes.get((old.co_name, old.co_firstlineno))
            if code is not None and code.co_freevars == old.co_freevars and code != old:
                one.__code__ = code
                self._undo.append(functools.partial(setattr, one, "__code__", old))
        first = min((one.__code__.co_firstlineno for one in functions), default=0)
        for one in functions if defaults else ():
            if one.__code__.co_firstlineno == first:
                self._give(one, defaults)
        return len(self._undo)

    def _give(self, function: Any, defaults: Mapping[str, Any]) -> None:
        """Give a function's arguments other defaults, where they have one."""
        plain, named = function.__defaults__ or (), function.__kwdefaults__ or {}
        names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(plain) :] if plain else ()
        self._undo.append(functools.partial(setattr, function, "__defaults__", function.__defaults__))
        self._undo.append(functools.partial(setattr, function, "__kwdefaults__", function.__kwdefaults__))
        given = tuple(defaults.get(name, old) for name, old in zip(names, plain))  # noqa: B905 - Python 3.8
        function.__defaults__ = given or None
        function.__kwdefaults__ = {name: defaults.get(name, old) for name, old in named.items()} or None

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
                init = vars(owner).get("__init__") if classes else None
                if type(init) is types.FunctionType and init.__code__.co_filename == "<string>":  # a dataclass's
                    self._give(init, {name: value})
        return len(self._undo)

    def undo(self) -> None:
        """Take all changes back."""
        while self._undo:
            self._undo.pop()()


def renew_loop() -> None:
    """Let tests find an event loop of asyncio, as they did when they ran first: `asyncio.run` leaves none."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return
    try:
        is_gone = asyncio.get_event_loop_policy().get_event_loop().is_closed()
    except RuntimeError:
        is_gone = True
    if is_gone:
        asyncio.set_event_loop(asyncio.new_event_loop())
