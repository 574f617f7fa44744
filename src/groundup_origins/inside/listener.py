"""The trusted runner's plugin that keeps what lost tests said, and asks in the end which line lost each.

All are reported then, and nothing that it starts can change a result. It stands in one process with untrusted
code, needs the standard library and pytest only, and works on Python 3.7 to 3.13; its neighbours are loaded when
they are needed.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest


class Listener:
    """Hears from the runner what became of each test.

    *given*: from the run's spec; *trusted*: where the tests lie; *send*: reports; *load*: a file as a module.
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        trusted: list[str],
        send: Callable[..., None],
        load: Callable[[str], Any],
    ) -> None:
        self._given = given
        self._trusted = trusted
        self._send = send
        self._load = load
        self._origins: Any = None
        self._values: Any = None
        self._afar: Any = None
        self._roots: list[str] = []
        self._lost: dict[tuple[str, int], Any] = {}
        self._passed: dict[tuple[str, int], Any] = {}
        self._seconds: dict[tuple[str, int], float] = {}
        # Tests freeze and replace clocks.
        self._clock = time.clock_gettime
        self._began = self._clock(time.CLOCK_MONOTONIC)
        if given.get("service"):
            self._origins = self._neighbour("origins.py")
            afar = self._neighbour("afar.py")
            more = map(self._neighbour, ("blame.py", "statements.py"))
            self._afar = afar.Afar(given["service"], given["tried"], self._origins, self._helpers(), *more)

    def _neighbour(self, name: str) -> Any:
        return self._load(os.path.join(os.path.dirname(__file__), name))  # noqa: PTH118, PTH120 - pathlib is slow

    def _helpers(self) -> list[Any]:
        return [self._neighbour(name) for name in self._given["helpers"]]

    def begin(self) -> None:
        """Hear that a test begins."""
        if self._afar is not None:
            self._afar.begin()

    def exchanged(self, method: str, address: str, sent: str, status: Any) -> None:
        """Hear what the running test asked a service, and what it answered."""
        if self._afar is not None:
            self._afar.exchanged(method, address, sent, status)

    def lost(self, key: tuple[str, int], item: Any, message: str, said: str, demands: Any, report: Any) -> None:
        """Keep by what the wrong value of a lost test is recognized when it runs again.

        *said*: all that is said of it; *demands*: what explained its failure, where something did.
        """
        if self._origins is None:
            self._origins = self._neighbour("origins.py")
        if self._values is None:
            self._values = self._neighbour("values.py")
        marks = demands and demands.within_budget(lambda: self._values.marks(demands, message))
        pairs = demands and demands.within_budget(lambda: self._values.pairs(demands))
        self._roots = self._roots if demands is None else demands.roots
        self._lost[key] = self._origins.LostItem(key, item, marks or [], pairs or [], message, said)
        if self._afar is not None and report.failed:  # to write a traceback takes time
            self._lost[key].statement = failing_statement(report)

    def ended(self, key: tuple[str, int], item: Any, outcome: str, seconds: float) -> None:
        """Keep what a test took, and one that passed: it can run beside lost ones."""
        if self._afar is not None:
            self._afar.ended(key)
        self._seconds[key] = seconds
        if outcome == "passed":
            self._passed[key] = item
        elif key in self._lost:
            self._lost[key].never_began = outcome == "error"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Ask where lost tests got wrong values from; all are reported by now."""
        spent_s = self._clock(time.CLOCK_MONOTONIC) - self._began
        if not self._lost or (spent_s > self._given["until_s"] and self._afar is None):
            return
        with contextlib.suppress(Exception), warnings.catch_warnings():  # no process is left, or a thread runs
            warnings.simplefilter("ignore")
            for (name, ordinal), place in self._places(spent_s):
                self._send("origin", id=name, ordinal=ordinal, place=place)

    def _places(self, spent_s: float) -> Iterator[tuple[tuple[str, int], str]]:
        if self._afar is not None:
            yield from self._afar.places(self._lost, self._passed, self._seconds)
            return
        lost, passed = self._origins.chosen(self._lost, self._passed, self._seconds)
        ran = self._origins.SecondRun(
            self._values.Calls, lost, passed, self._roots, self._trusted, self._helpers(), self._given["tried"]
        )
        yield from self._origins.origins(ran, spent_s).items()


def failing_statement(report: Any) -> str:
    """Return the last statement of a traceback, not the marks that Python 3.11 and later have below it."""
    lines = reversed(str(report.longrepr).splitlines())
    return next((line for line in lines if line.startswith("    ") and line.strip(" ^~")), "").strip()
