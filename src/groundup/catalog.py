"""Things that have names: one typed table for each kind, such as suites, agents or sandboxes.

A table lists what ships with groundup. Extension packages (`extensions.py`) and entry points (`groundup.suite`)
add to it, and a dotted path `package.module:attribute` works wherever a name does. Nothing is imported before it
is asked for.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from groundup import extensions
from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.replaced_flags import refuse_gone

T = TypeVar("T")
Lazy = Callable[[], T]
"""Imports something and returns it; so mypy checks what a table holds, and nothing is loaded too early."""


class Table(Generic[T]):
    """Everything of one kind, by short names.

    An extension package adds to it by a mapping of names in its module `extension`, called like the kind, such as
    `FLEETS` for the kind `fleet`.
    """

    def __init__(self, kind: str, shipped: Mapping[str, Lazy[T]]) -> None:
        self.kind = kind
        self.shipped = dict(shipped)

    def names(self) -> list[str]:
        """Return the short names, sorted: what ships, what extensions add, and installed entry points."""
        from importlib.metadata import entry_points

        installed = {point.name for point in entry_points(group=f"groundup.{self.kind}")}
        return sorted(installed | self.shipped.keys() | {name for added in self._added() for name in added})

    def knows(self, name: str) -> bool:
        """Return whether *name* is one of `names()`; entry points are searched last, because that takes time."""
        return name in self.shipped or any(name in added for added in self._added()) or name in self.names()

    def find(self, name: str) -> T:
        """Return the object behind *name*. Raises `UsageError`, with the choices or with the package it needs."""
        if ":" in name:
            return self._at(name)
        for lazy in (self.shipped, *self._added()):
            if name in lazy:
                return self._loaded(name, lazy[name])
        from importlib.metadata import entry_points

        for point in entry_points(group=f"groundup.{self.kind}", name=name):
            return self._loaded(name, point.load)
        from groundup.domain.names import unknown

        refuse_gone(self.kind, name)
        known = self.names()
        absent = extensions.lacking(self.kind)
        own = ["one of your own is named package.module:attribute"] if "." in name else []
        told = [unknown(self.kind, name, known), *absent, *own]
        raise UsageError("; ".join(told if known or not absent else absent))

    def make(self, name: str, *given: object) -> object:
        """Return what the function behind *name* makes of *given*. Raises `UsageError` for a plug-in's errors."""
        maker: Any = self.find(name)
        if ":" not in name:
            return maker(*given)
        try:
            return maker(*given)
        except GroundupError:
            raise
        except Exception as error:  # somebody else's code
            raise UsageError(f"{self.kind} {name!r} cannot be made: {_told(error)}") from error

    def _added(self) -> Iterator[Mapping[str, Lazy[T]]]:
        for package in extensions.adding(self.kind):
            if package.present():
                added: Mapping[str, Lazy[T]] = getattr(
                    importlib.import_module(package.module), extensions.table_of(self.kind)
                )
                yield added

    def _at(self, path: str) -> T:
        module_name, _, attribute = path.partition(":")

        def load() -> Any:
            # As `python -m` has it; last, so that nothing there stands in for what is installed.
            if (here := str(Path.cwd())) not in sys.path:
                sys.path.append(here)
            return getattr(importlib.import_module(module_name), attribute)

        try:
            return self._loaded(path, load)
        except GroundupError:
            raise
        except Exception as error:  # somebody else's code
            raise UsageError(f"{self.kind} {path!r} cannot be loaded: {_told(error)}") from error

    def _loaded(self, name: str, load: Lazy[T]) -> T:
        try:
            return load()
        except (ImportError, AttributeError) as error:
            raise UsageError(f"{self.kind} {name!r} cannot be loaded: {error}") from error


def _told(error: Exception) -> str:
    """Return what a plug-in raised, and where; a syntax error says itself where it is."""
    import traceback

    *_, last = traceback.extract_tb(error.__traceback__)
    where = "" if isinstance(error, SyntaxError) else f" ({last.filename}, line {last.lineno})"
    return f"{type(error).__name__}: {error}{where}"
