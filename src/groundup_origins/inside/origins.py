"""Which line of the submission lost a test: it runs again, its calls and lines are seen, and lines are changed.

`listener` asks here when all tests have ended and were reported. A forked child runs some of the lost
ones again, within limits of its own, so whatever happens there changes nothing: first for the line that made the
wrong value, then for the line that only lost tests run, then for one that makes them pass when it is changed. It
stands in one process with untrusted code, needs the standard library and pytest only, and works on Python 3.7 to
3.13. What it says is a guess for people.
"""

from __future__ import annotations

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
"""A passing test that took longer is not run again, but for a few where hardly one is as short."""
_FEW = 4
_ONE_TEST_S = 1.0
"""A test that took longer is not run again."""
_MEMORY = 256 * 1024**2
"""How much more than its parent the child may take."""
_EXPECTED = re.compile(r"DID NOT RAISE (?:<class ')?([\w.]+)|expected inside pytest\.raises\((\w+)")
_QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|[?&](\w+)=")
_WORDS = 40
_FILLED = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
"""What differs between messages of one cause."""
_CHAIN = 8
"""Exceptions, each raised while another was handled, that are followed to the first one."""
_STATEMENT_LINES = 5
"""Of a statement, after the first one, that are shown."""


class LostItem:
    """A lost test that can be run again."""

    def __init__(
        self,
        key: tuple[str, int],
        item: Any,
        marks: Sequence[Any],
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
        self.said = said
        self.statement = ""
        """The one that failed."""
        self.seconds = 0.0
        """What it took."""
        self.never_began = False
        """Whether it was lost by what is set up for it, which a network or a program that is not here often is."""


def words(said: str) -> list[str]:
    """Return the texts in quotes, and the names of a query, in what is said of a failure."""
    return [*dict.fromkeys(one[0] or one[1] or one[2] for one in _QUOTED.findall(said))][:_WORDS]


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
        self._waited_s = 0.0

    def now(self) -> float:
        """Return the seconds so far."""
        self._waited_s = waited_s("self")
        return time.clock_gettime(time.CLOCK_MONOTONIC) - self._waited_s - self._excused_s

    def fork(self) -> None:
        """Go on in a process that was forked just now: it has waited for nothing itself."""
        self._excused_s += self._waited_s

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
        self.begun: Sequence[tuple[int, str, int]] = ()
        """Its own statements as they ran: after which line of the submission, file and line."""
        self.raises = ""
        self.pairs: Sequence[tuple[Any, Any]] = ()
        self.message = ""
        self.words: Sequence[str] = ()
        self.said = ""
        """What is said of it, its failing statement included."""
        self.origin: tuple[str, int] | None = None
        """Where its wrong value came from, by the values that functions returned."""

    @property
    def cause(self) -> Any:
        """What lost tests of one cause probably share."""
        return self.origin or _FILLED.sub("#", self.message)[:80]

    def lost_as(self, test: LostItem) -> None:
        """Take over what was said of the test when it was lost."""
        self.pairs, self.message, self.words, self.raises = test.pairs, test.message, test.words, test.raises
        self.said = f"{test.said}\n{test.statement}"


class SecondRun:
    """What a second run is about: tests, and where the submission and the tests lie."""

    def __init__(
        self,
        calls: Callable[[Callable[[types.CodeType], bool], Sequence[Any]], Any],
        lost: Sequence[LostItem],
        passed: Sequence[PassedItem],
        roots: Sequence[str],
        tests: Sequence[str],
        helpers: Sequence[Any] = (),
        tried: Sequence[str] = (),
    ) -> None:
        self.calls = calls
        """Makes what sees which call gave a wrong value: `values.Calls`."""
        self.lost = lost
        self.passed = passed
        self.helpers = helpers
        """The modules from `spectrum` to `mends`, in the order of the folder's README, where they are there."""
        self.tried = tried
        """What stands between a line and its change: where its test gets further, and where it passes."""
        self._roots, self._tests = tuple(roots), tuple(tests)

    def raised(self, report: Any) -> tuple[str, int] | None:
        """Return file and line of the `raise` by which a test failed, of a chain of exceptions the first.

        None where that is not the submission's, or not below the last call of the tests, and where no `raise` was
        there: what a library refuses was mostly made elsewhere.
        """
        chain = [getattr(report, "problem", None)]
        while chain[-1] is not None and len(chain) < _CHAIN:
            chain.append(chain[-1].__cause__ or chain[-1].__context__)
        places = (self._place_in(one.__traceback__) for one in reversed(chain) if one is not None)
        return next(filter(None, places), None)

    def _place_in(self, trace: types.TracebackType | None) -> tuple[str, int] | None:
        found = None
        while trace is not None:
            code = trace.tb_frame.f_code
            if self.is_own(code):
                found = code.co_filename, trace.tb_lineno
            elif code.co_filename.startswith(self._tests):
                found = None
            trace = trace.tb_next
        return found if found is not None and linecache.getline(*found).strip().startswith("raise") else None

    def is_own(self, code: types.CodeType) -> bool:
        """Whether code is the submission's."""
        return code.co_filename.startswith(self._roots) and not code.co_filename.startswith(self._tests)

    def prepare(self) -> None:
        """Let a test find what it found when it ran first."""
        if self.helpers:
            self.helpers[-2].renew_loop()

    def is_test(self, code: types.CodeType) -> bool:
        """Whether code is the tests'."""
        return code.co_filename.startswith(self._tests)


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
            yield one.key, [shown(rerun.origin[0], rerun.origin[1])]
    if not ran.helpers or not again:
        return
    spectrum, suspects, functions, changes, missing, live, mends = ran.helpers
    now = clock.now()
    passing = [*_passing(ran, clock, now + _OF_PASSING * (until - now))]
    seen = spectrum.Spectrum(again, passing)
    bench = mends.LocalBench(live.LiveCode(ran.is_own), clock)
    workshop = mends.Workshop(functions, changes, missing, bench, passing, clock)
    told = suspects.Suspects(workshop.functions, str)
    found = {one.key: told.of(one, seen.ranked(one), seen.of(one)) for one in again}
    for key, places in found.items():
        if places:
            yield key, [shown(*place) for place in places]
    again += [Rerun(one, {}) for one in ran.lost if one.key not in found]
    for mend in workshop.mends(again, seen, until):
        for key in mend.tests:
            yield key, mended(mend, found.get(key, ()), ran.tried, shown)


def mended(
    mend: Any, places: Sequence[tuple[str, int]], tried: Sequence[str], show: Callable[..., str]
) -> list[str]:
    """Return the line of a mend as *show* has it, and other *places* of its test: a mend may hide the fault.

    One that costs passing tests comes second: its line decides, though something else may be wrong.
    """
    own = mend.path, mend.line
    if mend.is_costly:
        return [show(*one) for one in dict.fromkeys([*places[:1], own, *places])][:_PLACES]
    others = (one for one in places if one != own)
    return [show(*own, tried[mend.passes] + mend.words), *(show(*one) for one in others)][:_PLACES]


def shown(file: str, line: int, why: str = "") -> str:
    """Return a place as `file:line: text`, with its statement up to where its brackets end, and *why*."""
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
        calls = ran.calls(ran.is_own, one.marks)
        lines = None
        if ran.helpers:
            lines = ran.helpers[0].LineTracer(ran.is_own, calls, ran.is_test, with_states=bool(one.raises))
        ran.prepare()
        reports = _again(one.item, calls, lines)
        if clock.now() > until and ran.helpers:
            following.clear()
        _tear_down(one, following)
        if reports and reports[-1].failed:
            rerun = Rerun(one, {} if lines is None else lines.last)
            rerun.states = {} if lines is None else lines.states
            rerun.begun = [] if lines is None else lines.begun
            rerun.lost_as(one)
            rerun.origin = ran.raised(reports[-1]) or calls.origin()
            yield one, rerun


def _passing(ran: SecondRun, clock: ChildClock, until: float) -> Iterator[Any]:
    """Run passing tests again as long as there is time; yield those that pass again with what they ran."""
    following = [*ran.passed] if clock.now() < until else []
    while following:
        one = following.pop(0)
        lines = ran.helpers[0].LineTracer(ran.is_own, with_states=any(one.raises for one in ran.lost))
        ran.prepare()
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
    from _pytest.runner import CallInfo, call_and_report

    reports: list[Any] = []
    with contextlib.suppress(BaseException):  # what does not run again tells nothing
        item._initrequest()
        call: Any = None
        if lines is None:
            threading.setprofile(calls)
            sys.setprofile(calls)
        else:
            threading.settrace(lines)
            sys.settrace(lines)
        try:
            reports.append(call_and_report(item, "setup", log=False))
            if reports[0].passed:
                # Its report writes values, which runs further lines of the submission.
                call = CallInfo.from_call(lambda: item.ihook.pytest_runtest_call(item=item), when="call")
        finally:
            sys.settrace(None)
            sys.setprofile(None)
            threading.settrace(None)
            threading.setprofile(None)
        if call is not None:
            reports.append(item.ihook.pytest_runtest_makereport(item=item, call=call))
            reports[-1].problem = getattr(call.excinfo, "value", None)
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
    able.sort(key=lambda one: one.never_began)  # which may use up the time of others
    files = {key[0].partition("::")[0] for key in lost}
    short = [key for key in passed if seconds.get(key, 1.0) <= _SHORT_S]
    if len(short) < _FEW:
        slow = [key for key in passed if _SHORT_S < seconds.get(key, _ONE_TEST_S) < _ONE_TEST_S]
        short += sorted(slow, key=lambda key: -max(_alike(key[0], one[0]) for one in lost))[:_FEW]
    near = [key for key in short if key[0].partition("::")[0] in files]
    far = [key for key in short if key[0].partition("::")[0] not in files]
    beside = [*spread(near, _PASSED * 2 // 3), *spread(far, _PASSED // 3)]
    return spread(able, _TESTS), [PassedItem(key, passed[key], seconds[key]) for key in beside]


def _alike(name: str, other: str) -> int:
    """Return how many words two tests share: those of one thing are named alike."""
    return len({*re.split(r"\W+|_", name)} & {*re.split(r"\W+|_", other)})


def spread(every: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many of them, from the first to the last."""
    return [*every[:: max(1, -(-len(every) // most))]]
