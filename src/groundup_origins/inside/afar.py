"""Which line of a running service lost a test, asked from beside it: lines that ran, and changes on trial.

`listener` uses it in a second run of lost tests and some passing ones, against a service that carries `watched`.
It needs the standard library and pytest only, and works on Python 3.8 to 3.13. What the service says is a
stranger's, so a place is a guess, and names a line of the sources that lie here.
"""

from __future__ import annotations

import base64
import contextlib
import json
import marshal
import os
import signal
import socket
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_ANSWER_S = 5.0
_ANSWER_BYTES = 4 * 1024 * 1024
_LEAST_S = 5.0
"""What a test has at least when it runs with a change, by the clock on the wall."""
_SENT = 20_000
"""Characters of what a test sends that are looked at."""
_HUNG = 2
"""Trials that may hang; a service has work left from each."""


class Code(NamedTuple):
    """A function of the service, in the place of its code."""

    co_filename: str
    co_firstlineno: int
    co_names: tuple[str, ...]


class Watchers:
    """The processes of the service that answer."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._files: list[Any] = []
        for port in ports:
            with contextlib.suppress(OSError):
                connection = socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_S)
                self._files.append(connection.makefile("rwb"))

    def ask(self, do: str, **asked: Any) -> list[Any]:
        """Return what each process answers."""
        answers = []
        for file in [*self._files]:
            try:
                file.write(json.dumps(dict(asked, do=do)).encode("ascii") + b"\n")
                file.flush()
                answers.append(json.loads(file.readline(_ANSWER_BYTES).decode("utf-8")))
            except (OSError, ValueError):  # it has ended, or hangs
                self._files.remove(file)
        return answers


class SpentClock:
    """The processor time that tests and the service took together, or half of what passed where that is more.

    A machine that is twice as busy takes nothing from it, and tests that sleep get no more of it than twice.
    """

    def __init__(self, watchers: Watchers) -> None:
        self._watchers = watchers
        self._began, self._before = time.monotonic(), self._spent()

    def now(self) -> float:
        """Return the seconds so far."""
        return max(self._spent() - self._before, (time.monotonic() - self._began) / 2)

    def _spent(self) -> float:
        return time.process_time() + sum(one for one in self._watchers.ask("spent") if isinstance(one, float))


class ServiceBench:
    """The functions of the service, for `mends`; a trial runs a test against it as it is then."""

    witnesses = 6
    lost = 8

    def __init__(self, watchers: Watchers, source: Callable[[str], str]) -> None:
        self._watchers = watchers
        self.source = source
        self._hung = 0

    def forget(self) -> None:
        """Do nothing: caches are cleared where the change is put in."""

    def undo(self) -> None:
        """Take all changes back."""
        self._watchers.ask("undo")

    def tried(self, trials: Callable[[], Iterator[Any]], most: int, patience: float) -> list[Any]:
        """Return what *trials* yields, fewer where tests hang."""
        found: list[Any] = []

        def ring(number: int, frame: Any) -> None:
            self._hung += 1
            raise TimeoutError("a trial of groundup took too long")

        limit = max(_LEAST_S, patience)
        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, limit)
            for one in trials() if self._hung < _HUNG else ():
                found.append(one)
                if len(found) >= most or self._hung >= _HUNG:
                    break
                signal.setitimer(signal.ITIMER_REAL, limit)
        except TimeoutError:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return found

    def put_in(self, path: str, function: Any) -> bool:
        """Let the service run a function, or an assignment, as it is now; say whether that changes anything."""
        if function.is_assignment:
            text = _dumped(function.alone(path))
            return any(self._watchers.ask("assign", path=path, classes=function.classes, text=text))
        codes = [[one.co_name, one.co_firstlineno, _dumped(one)] for one in function.codes(path, 0)[1:]]
        defaults = {name: one for name, one in function.defaults().items() if not isinstance(one, bytes)}
        where = {"path": path, "first": function.first, "last": function.last}
        return any(self._watchers.ask("put", **where, codes=codes, defaults=defaults))


class Afar:
    """What tests ran of the service, and where they were lost."""

    def __init__(
        self,
        given: Mapping[str, Any],
        tried: Sequence[str],
        origins: Any,
        helpers: Sequence[Any],
        blame: Any,
        statements: Any,
    ) -> None:
        self._root, self._here = given["root"], given["here"]
        self._seconds = given["seconds"]
        self._tried = tried
        self._origins, self._blame, self._statements = origins, blame, statements
        self._spectrum, self._suspects, self._functions, self._changes, self._missing, _, self._mends = helpers
        self._watchers = Watchers(given["ports"])
        self._ran: dict[tuple[str, int], dict[Any, int]] = {}
        self._asked: dict[tuple[str, int], list[Any]] = {}
        """By test: what it asked, and which lines ran for it."""
        self._running: list[Any] = []

    def begin(self) -> None:
        """Let the service forget which lines ran."""
        self._running = []
        self._watchers.ask("begin")

    def exchanged(self, method: str, address: str, sent: str, status: Any) -> None:
        """Keep an exchange of the running test, with the lines that it ran."""
        asked = {
            "method": method,
            "address": address,
            "sent": sent[:_SENT],
            "status": int(status if status != "?" else 0),
        }
        self._running.append((asked, self._lines()))
        self._watchers.ask("begin")

    def ended(self, key: tuple[str, int]) -> None:
        """Keep which lines a test ran."""
        lines: dict[Any, int] = {}
        for _, ran in [*self._running, ({}, self._lines())]:
            before = max(lines.values(), default=0)
            lines.update({line: before + order for line, order in ran.items()})
        self._ran[key], self._asked[key] = lines, self._running

    def _lines(self) -> dict[Any, int]:
        lines: dict[Any, int] = {}
        for answer in self._watchers.ask("lines"):
            for file, first, names, ran in answer or ():
                if self._is_submitted(file):
                    code = Code(file, int(first), tuple(names))
                    lines.update({(code, line): order for line, order in ran})
        return lines

    def places(
        self, lost: Mapping[Any, Any], passed: Mapping[Any, Any], seconds: Mapping[Any, float]
    ) -> Iterator[tuple[tuple[str, int], str]]:
        """Yield where the causes of lost tests probably lie; what is said later of a test is better founded."""
        again = [self._rerun(key, one, seconds) for key, one in lost.items()]
        passing = [
            self._rerun(key, self._origins.PassedItem(key, item, 0.0), seconds) for key, item in passed.items()
        ]
        for one, kept in zip(again, lost.values()):  # noqa: B905 - Python 3.8
            one.lost_as(kept)
        spectrum = self._spectrum.Spectrum(again, passing)
        self._watchers.ask("rest")
        clock = SpentClock(self._watchers)
        bench = ServiceBench(self._watchers, self._source)
        workshop = self._mends.Workshop(self._functions, self._changes, self._missing, bench, passing, clock)
        suspects = self._suspects.Suspects(workshop.functions, self._source)
        blame = self._blame.Blame(self._statements, self._source, self._asked, again, passing)
        found: dict[Any, list[tuple[str, int]]] = {}
        for one in again:
            places = blame.of(one, suspects.of(one, spectrum.ranked(one), spectrum.of(one)))
            found[one.key] = places
            if places:
                yield one.key, "\n".join(self._shown(*place) for place in places)
        for one in again:
            one.origin = next(iter(found[one.key]), None)  # those that share it share a cause
        for mend in workshop.mends(again, spectrum, clock.now() + self._seconds):
            for key in mend.tests:
                told = self._origins.mended(mend, found.get(key, ()), self._tried, self._shown)
                yield key, "\n".join(told)

    def _rerun(self, key: Any, one: Any, seconds: Mapping[Any, float]) -> Any:
        one.seconds = seconds.get(key, 0.0)
        return self._origins.Rerun(one, self._ran.get(key, {}))

    def _is_submitted(self, file: Any) -> bool:
        """Say whether a file that the service names is one of its own: hidden tests lie here, too."""
        return isinstance(file, str) and os.path.normpath(file) == file and file.startswith(self._root)

    def _source(self, path: str) -> str:
        return path.replace(self._root, self._here, 1)

    def _shown(self, path: str, line: int, why: str = "") -> str:
        shown: str = self._origins.shown(self._source(path), line, why)
        return shown.replace(self._here, "", 1)


def _dumped(code: types.CodeType) -> str:
    return base64.b64encode(marshal.dumps(code)).decode("ascii")
