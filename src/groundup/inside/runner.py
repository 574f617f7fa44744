"""The trusted runner: the one file of groundup that runs in one process with untrusted code.

It is started as `python -s -B runner.py` inside a sandbox, reads what to do as JSON from standard input and
tells what happened as JSON lines on a report descriptor. A second line of input, which may come later, says what
else there is to know; pytest is ready by then, and nothing of the submission was imported. The runner needs the
standard library and pytest only, and works on Python 3.7 to 3.13 with pytest 6 to 9. It decides nothing: whatever
it says was said beside the untrusted code, so the parent checks it against what it alone knows.

It tells when a test begins and ends; the parent ends a process that is silent for longer than one test may take.
What it does take care of is order: pytest and the listed plugins are imported before anything of the submission
can be found.
"""

from __future__ import annotations

import builtins
import contextlib
import difflib
import faulthandler
import fcntl
import gc
import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import signal
import sys
import time
import unittest.case
import warnings
from collections.abc import Collection, Generator, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

if __name__ == "__main__":
    sys.path.pop(0)  # its own folder, and nothing of that is to be imported
    gc.disable()  # until the submission can be found: what is imported here stays
    if __file__.endswith(".pyc"):  # whoever asks for the program is to find its text
        sys.argv[0] = __file__ = __file__[:-1]

import _pytest.assertion.util
import pytest
from _pytest.reports import CollectReport

MESSAGE_CHARS = 300
DETAIL_CHARS = 4000
PRINTED_LINES = 3
PRINTED_CHARS = 2000
DETAIL_S = 1.0
"""Processor time for readable tracebacks in a run: pytest reads a whole source for each. Others are Python's."""
ID_CHARS = 200
LINES_COMPARED = 60
LAST_WORDS = 201
"""The least number of other descriptors of ours, such as where a stack is written; a channel has a lower one."""
_HELPERS = (
    ("resource_tracker", "_resource_tracker", "_pid"),
    ("semaphore_tracker", "_semaphore_tracker", "_pid"),  # its name in Python 3.7
    ("forkserver", "_forkserver", "_forkserver_pid"),
)
PYTEST_FRAMES = re.compile(r'^  File "[^"]*[/\\](?:_pytest|pluggy)[/\\][^"]*".*\n(?:    .*\n)*', re.MULTILINE)
"""Of a traceback in Python's form, what leads from pytest to the test."""
_FRAME = r"[^\s:][^:\n]*/(?:site-packages|lib/python3\.\d+)/[^:\n]*:\d+: in .*\n(?:    .*\n)*"
LIBRARY_FRAMES = re.compile("^(?:" + _FRAME + "){2,}(?=" + _FRAME + ")", re.MULTILINE)
"""Of a traceback in pytest's form, calls within installed packages, up to the last of them."""
PLACE = re.compile(r'^(?:File "([^"]+)", line (\d+)|([^\s:][^:]*):(\d+): in )')
"""Of a line of a traceback, in Python's form or pytest's, the file and the line; of an error of syntax, too."""


class Channel:
    """Writes events, each as one line that starts with the run's token; only in the process that made it."""

    def __init__(self, descriptor: int, token: str) -> None:
        # A number that nobody guesses; the well-known one is closed.
        number = random.SystemRandom().randint(40, 200)
        self._descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, number)
        os.close(descriptor)
        self._token = token
        self._owner = os.getpid()
        self._watch: Watch | None = None

    def watched_by(self, watch: Watch) -> None:
        """Let *watch* see from where each event is sent."""
        self._watch = watch

    def send(self, event: str, **fields: object) -> None:
        """Write one event; a forked child of a test stays silent."""
        if os.getpid() != self._owner:
            return
        if self._watch is not None:
            self._watch.look(sys._getframe(1))
        line = self._token + " " + json.dumps(dict(fields, event=event)) + "\n"
        data = line.encode("ascii")
        while data:
            data = data[os.write(self._descriptor, data) :]


class Watch:
    """Remembers what nothing under test should change, and looks for signs of it. Evidence: it can be deceived."""

    def __init__(self, roots: list[str], trusted: list[str]) -> None:
        self._roots = tuple(root.rstrip("/") + "/" for root in roots)
        self._trusted = tuple(trusted)
        self._known = {name: identity(found) for name, found in guarded()}
        self._clock, self._time = time.clock_gettime, time.time
        self._began = self._clock(time.CLOCK_MONOTONIC), self._time()
        self._sleep = time.sleep
        self.frames: set[str] = set()

    def look(self, frame: FrameType | None) -> None:
        """Remember code of the submission, or of no file, that stands between a test's end and its report."""
        while frame is not None:
            place = frame.f_code.co_filename
            if place == "<string>" or (place.startswith(self._roots) and not place.startswith(self._trusted)):
                self.frames.add(place + ":" + frame.f_code.co_name)
            frame = frame.f_back

    def signs(self) -> dict[str, Any]:
        """Return what is different at the end."""
        now = {name: identity(found) for name, found in guarded()}
        changed = sorted(name for name, kept in self._known.items() if not same(kept, now.get(name)))
        if sys.gettrace() is not None or sys.getprofile() is not None:
            changed.append("a trace or profile function")
        left = self._processes_left()
        clock = self._clock(time.CLOCK_MONOTONIC) - self._began[0]
        return {
            "changed": changed[:20],
            "frames": sorted(frame[-100:] for frame in self.frames)[:10],
            "processes": left,
            "clock_s": round(abs(time.time() - self._began[1] - clock), 1),
        }

    def _processes_left(self) -> int:
        """Count the processes left; on a busy machine those that are about to end get a moment to do so."""
        known = helpers()
        left = processes_beside(known)
        for _ in range(40):
            if not left:
                break
            self._sleep(0.05)
            left = processes_beside(known)
        return left


def guarded() -> list[tuple[str, Any]]:
    """Return what decides and reports outcomes: functions of pytest, of this file and of Python, by name."""
    import _pytest.python
    import _pytest.reports
    import _pytest.runner
    import _pytest.unittest

    found: list[tuple[str, Any]] = []
    for module in (_pytest.runner, _pytest.python, sys.modules["__main__"]):
        names = ("pytest_", "call_", "check_", "runtest", "merged", "message_of", "detail_of")
        found += [
            (module.__name__ + "." + name, one) for name, one in vars(module).items() if name.startswith(names)
        ]
    loader = importlib.machinery.SourceFileLoader
    parts: tuple[tuple[Any, tuple[str, ...]], ...] = (
        (_pytest.runner.CallInfo, ("from_call",)),
        (_pytest.reports.TestReport, ("from_item_and_call",)),
        (_pytest.python.Function, ("runtest", "setup")),
        (_pytest.unittest.TestCaseFunction, ("runtest", "addFailure", "addError")),
        (Channel, ("send",)),
        (Reporter, ("pytest_runtest_logreport", "pytest_runtest_protocol")),
        (loader, ("get_data", "source_to_code", "exec_module")),
        (pytest, ("raises", "approx", "skip", "fail")),
        (os, ("write", "getpid")),
        (json, ("dumps",)),
        (builtins, ("compile", "exec", "isinstance")),
    )
    for owner, methods in parts:
        found += [(owner.__name__ + "." + name, getattr(owner, name, None)) for name in methods]
    return found


def identity(found: Any) -> tuple[Any, Any]:
    """Return what tells a function from another, and from itself with other code in it."""
    function = getattr(found, "__func__", found)
    return function, getattr(function, "__code__", None)


def same(kept: tuple[Any, Any], now: tuple[Any, Any] | None) -> bool:
    """Say whether a function is the same object with the same code: equality would ask the object."""
    return now is not None and kept[0] is now[0] and kept[1] is now[1]


def helpers() -> set[str]:
    """Return the numbers of the processes that Python's own multiprocessing keeps until this one ends."""
    found = set()
    for module, holder, number in _HELPERS:
        one = getattr(sys.modules.get("multiprocessing." + module), holder, None)
        found.add(str(getattr(one, number, None)))
    return found


def processes_beside(known: Collection[str] = (), proc: Path = Path("/proc")) -> int:
    """Return how many processes of this user run besides this one, the first of the sandbox, and *known* ones.

    Those of others are a grader's that shares the sandbox. Whose one is, its status says: who owns its folder can
    be changed by the process itself. One that has ended and was not waited for can do nothing any more.
    """
    mine, found = str(os.getuid()), 0
    for path in proc.glob("[1-9]*"):
        try:
            lines = (path / "status").read_text().splitlines()
        except OSError:  # it has ended
            continue
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        runs = status.get("State", "").split()[:1] not in (["Z"], ["X"])
        found += (
            runs and path.name not in ("1", str(os.getpid()), *known) and mine in status.get("Uid", "").split()
        )
    return found


class Reporter:
    """The pytest plugin that lets the submission be found, last of all, and reports."""

    def __init__(self, spec: dict[str, Any], more: Any, channel: Channel, listener: Any = None) -> None:
        self._spec = spec
        self._more = more
        self._channel = channel
        self._collected = 0
        self._ordinals: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._reports: list[Any] = []
        self._told_s = 0.0
        self._demands: Any = None
        self._lost_files: dict[str, str] = {}
        self._exchanges = (
            trusted_module(spec["exchanges"]).LastExchange(listener) if spec.get("exchanges") else None
        )
        self._root = ""
        self._demanded = "", ""
        self._listener = listener
        self._files: frozenset[str] | None = None
        self._wanted: frozenset[str] | None = None
        # Tests freeze and replace clocks.
        self._clock = time.clock_gettime

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        """Before any conftest is loaded: now, and not earlier, the submission can be imported.

        So what else there is to say is read to its end before.
        """
        with self._more:
            self._spec.update(json.loads(self._more.read() or b"{}"))
        self._files, self._wanted = (
            None if self._spec.get(key) is None else frozenset(self._spec[key])
            for key in ("chosen_files", "wanted")
        )
        self._channel.send("start", python=sys.version.split()[0], pytest=pytest.__version__)
        # What was imported so far is no rubbish, for which pytest looks five times at its end.
        gc.freeze()
        gc.enable()
        self._root = str(early_config.rootpath if hasattr(early_config, "rootpath") else early_config.rootdir)
        put_on_path(self._spec)
        for name in self._spec["own_plugins"]:
            plugin = importable(name)
            if plugin is not None and not early_config.pluginmanager.is_registered(plugin):
                early_config.pluginmanager.register(plugin, name)
        for line in self._spec["late_filters"]:
            if filter_is_usable(line):
                early_config.addinivalue_line("filterwarnings", line)
            else:
                self._channel.send("filter_left_out", line=line)

    def _key_of(self, item: Any) -> tuple[str, int]:
        return self.name_of(item), self._ordinals.get(id(item), 1)

    def name_of(self, item: Any) -> str:
        """Return what the original calls a test."""
        return self._names.get(id(item)) or str(item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> CollectReport | None:
        """Import no file that has no chosen test."""
        is_file = isinstance(collector, pytest.File) and not isinstance(collector, pytest.Package)
        if self._files is None or not is_file or collector.nodeid.partition("::")[0] in self._files:
            return None
        return CollectReport(collector.nodeid, "passed", None, [])

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str) -> list[Any] | None:
        """Make nothing of functions and classes that have no chosen test: cases of hundreds take their time."""
        is_wanted = self._wanted is None or f"{collector.nodeid}::{name}" in self._wanted
        return None if is_wanted else []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what ended earlier runs of this submission; run chosen tests alone, in their order.

        Before, cases whose names depend on objects of the submission get those that the original has there.
        """
        self._names = names_by_place(items, self._spec.get("case_order", {}))
        wanted = self._spec.get("chosen")
        chosen = None if wanted is None else {tuple(test): place for place, test in enumerate(wanted)}
        files, tests = set(self._spec["left_out_files"]), {tuple(test) for test in self._spec["left_out_tests"]}
        seen: dict[str, int] = {}
        kept: list[Any] = []
        places = {}
        for item in items:
            name = self.name_of(item)
            ordinal = seen[name] = seen.get(name, 0) + 1
            self._ordinals[id(item)] = ordinal
            key = (shortened(name), ordinal)
            is_left_out = item.nodeid.partition("::")[0] in files or key in tests
            if not is_left_out and (chosen is None or key in chosen):
                places[id(item)] = len(kept) if chosen is None else chosen[key]
                kept.append(item)
        items[:] = sorted(kept, key=lambda item: places[id(item)])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Spare pytest its look for what nobody wants any more, five times through all objects."""
        gc.freeze()

    def pytest_collectreport(self, report: Any) -> None:
        """Tell of a file that could not be collected, and in any case that this goes on."""
        if report.failed:
            self._channel.send("collection_error", id=report.nodeid, message=message_of(report))
            file = report.nodeid.partition("::")[0]
            if file.endswith(".py"):
                self._lost_files[file] = os.path.join(self._root, file)  # noqa: PTH118 - the path of a node
        self._collected += sum(isinstance(found, pytest.Item) for found in report.result or ())
        self._channel.send("collected", count=self._collected)

    def pytest_collection_finish(self, session: Any) -> None:
        """Tell how many tests there are."""
        self._channel.send("collected", count=len(session.items))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """Tell which test begins, and afterwards what became of it."""
        name, ordinal = key = self._key_of(item)
        self._reports = []
        self._demanded = "", ""
        for one in (self._demands, self._exchanges, self._listener):
            if one is not None:
                one.begin()
        self._channel.send("begin", id=name, ordinal=ordinal)
        yield
        outcome, message = merged(self._reports)
        duration = sum(getattr(report, "duration", 0.0) for report in self._reports)
        self._channel.send(
            "test",
            id=name,
            ordinal=ordinal,
            outcome=outcome,
            message=message,
            detail=detail_of(self._reports, rest_of_name(name)),
            demand=self._demanded[0],
            calls=self._demanded[1],
            duration=round(duration, 4),
        )
        if self._listener is not None:  # the result is told by now
            self._listener.ended(key, item, outcome, duration)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_assertrepr_compare(self, op: str, left: Any, right: Any) -> Generator[None, Any, None]:
        """Keep what two values differ in while they are at hand; pytest cuts them to a few lines."""
        outcome = yield
        demands = self._demanding()
        if demands is not None:
            explained = next(filter(None, outcome.get_result()), [""])
            demands.compared(op, left, right, str(explained[0]))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """Say what a failed test demanded; write no more readable tracebacks once they have taken too long."""
        began = self._clock(time.CLOCK_PROCESS_CPUTIME_ID)
        outcome = yield
        # A failure of the test's body comes first; what follows while it is cleared away is another one.
        report = outcome.get_result() if call.excinfo is not None and not any(self._demanded) else None
        asked = self._exchanges.told() if report is not None and self._exchanges is not None else ""
        if report is not None and report.failed:
            self._lost_files[item.nodeid.partition("::")[0]] = str(item.fspath)
            demands = self._demanding()
            if demands is not None:
                crash = getattr(report.longrepr, "reprcrash", None)
                message = str(getattr(crash, "message", None) or report.longrepr or "")
                self._demanded = demands.of(call.excinfo.value, message, str(item.fspath))
                self._tell_lost(item, message, asked, demands, report)
                lines = [asked, self._demanded[0], *printed(report)]
                self._demanded = "\n".join(filter(None, lines)), self._demanded[1]
        elif report is not None and report.skipped and asked:  # for what the service answered
            self._demanded = asked, ""
            self._tell_lost(item, reason_of_skip(report), asked, None, report)
        self._told_s += self._clock(time.CLOCK_PROCESS_CPUTIME_ID) - began
        if self._told_s > DETAIL_S and item.config.option.tbstyle == "short":
            item.config.option.tbstyle = "native"

    def _tell_lost(self, item: Any, message: str, asked: str, demands: Any, report: Any) -> None:
        if self._listener is not None:
            said = "\n".join([message, asked, self._demanded[0]])
            self._listener.lost(self._key_of(item), item, message, said, demands, report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the phases of the running test."""
        self._reports.append(report)

    def tell_lacking(self) -> None:
        """Tell at once what tests use and the submission lacks: each test that fails tells one of them."""
        demands = self._demanding() if self._lost_files else None
        if demands is not None and self._spec.get("lacking"):
            trusted = self._spec.get("trusted", [])
            module = trusted_module(self._spec["lacking"])
            looking = module.Lacking(demands.module, self._spec["packages"], demands.roots, trusted)
            for file, path in sorted(self._lost_files.items()):
                names = looking.of(path)
                if names:
                    self._channel.send("lacking", file=file, names=names)

    def _demanding(self) -> Any:
        """Return what says what failed tests demanded, loaded at the first one; None where nobody reads it."""
        if self._demands is None and self._spec.get("demands"):
            trusted = self._spec.get("trusted", [])
            roots = [path for path in self._spec["import_path"] if path not in trusted]
            module = trusted_module(self._spec["demands"])
            self._demands = module.Demands(module, roots, trusted)
        return self._demands


class TimeLimit:
    """The pytest plugin that fails a test which takes too long, so that those after it have their turn.

    Code under test can undo it; the parent's limit holds in any case.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        # Tests freeze and replace clocks.
        self._clock = time.clock_gettime

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        """Limit each phase of a test."""
        limit_s = self._spec.get("one_test_s")
        if not limit_s:
            yield
            return
        began = self._spent_s()

        def ring(number: int, frame: FrameType | None) -> None:
            left = limit_s - (self._spent_s() - began)
            if left > 0.01:
                signal.setitimer(signal.ITIMER_REAL, left, limit_s)
            else:
                pytest.fail(f"it took longer than {limit_s:g} s", pytrace=False)

        before = signal.signal(signal.SIGALRM, ring)
        # Again and again: a test may swallow the first one.
        signal.setitimer(signal.ITIMER_REAL, limit_s, limit_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before or signal.SIG_DFL)

    pytest_runtest_setup = pytest_runtest_teardown = pytest_runtest_call

    def _spent_s(self) -> float:
        """Return a time that stands still while this thread has to wait for a processor."""
        waited_ns = 0
        with contextlib.suppress(OSError, ValueError, IndexError):  # not every kernel counts it
            waited_ns = int(Path("/proc/self/schedstat").read_bytes().split()[1])
        return self._clock(time.CLOCK_MONOTONIC) - waited_ns / 1e9


def shortened(node_id: str) -> str:
    """Return what the parent calls a test: of a long id its head and a digest."""
    if len(node_id) <= ID_CHARS:
        return node_id
    digest = hashlib.sha256(node_id.encode("utf-8", "surrogatepass")).hexdigest()
    return node_id[: ID_CHARS - 20] + "..." + digest[:16]


def names_by_place(items: list[Any], case_order: dict[str, list[str]]) -> dict[int, str]:
    """Return the names in *case_order* of cases, by identity, where a function has as many, and of other names.

    Where a case has the name of another one, its place is unclear: all of that function keep their own names.
    """
    cases: dict[str, list[Any]] = {}
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in case_order:
            cases.setdefault(name, []).append(item)
    names = {}
    for name, found in cases.items():
        wanted, known = case_order[name], set(case_order[name])
        own = [shortened(item.nodeid) for item in found]
        is_clear = all(one == wanted[place] or one not in known for place, one in enumerate(own[: len(wanted)]))
        if len(own) == len(wanted) and is_clear:
            names.update({id(item): wanted[place] for place, item in enumerate(found)})
    return names


def rest_of_name(node_id: str) -> str:
    """Return what `shortened` leaves out of a name, such as its parameters, as a line; empty for a whole name."""
    rest = node_id[ID_CHARS - 20 :] if len(node_id) > ID_CHARS else ""
    return "the name goes on: " + rest[: DETAIL_CHARS // 4] + "\n" if rest else ""


def merged(reports: list[Any]) -> tuple[str, str]:
    """Return one outcome for all phases of a test, and the message of the phase that decided."""
    for report in reports:
        if report.failed:
            return ("failed" if report.when == "call" else "error"), message_of(report)
    for report in reports:
        if report.skipped:
            return ("xfailed" if hasattr(report, "wasxfail") else "skipped"), reason_of_skip(report)
    for report in reports:
        if report.when == "call":
            return ("xpassed" if hasattr(report, "wasxfail") else "passed"), ""
    return "error", "the test was not called"


def message_of(report: Any) -> str:
    """Return the line that says what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = getattr(crash, "message", None) or str(report.longrepr or "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    if crash is not None:
        return str(lines[0])[:MESSAGE_CHARS]
    # Without a crash record the text is a whole traceback: its last line names the error, its last file the place.
    lines = [re.sub(r"^E\s+", "", line) for line in lines]
    places = [found.groups("") for found in map(PLACE.search, lines) if found is not None]
    where = (
        " (" + places[-1][0] + places[-1][2] + ", line " + places[-1][1] + places[-1][3] + ")" if places else ""
    )
    return str(lines[-1] + where)[:MESSAGE_CHARS]


def printed(report: Any) -> Iterator[str]:
    """Yield the last lines that a failed test printed: a program's own words on why it ended as it did."""
    for name, text in (("stderr", report.capstderr), ("stdout", report.capstdout)):
        lines = [line.rstrip() for line in str(text)[-PRINTED_CHARS:].splitlines() if line.strip()]
        for line in lines[-PRINTED_LINES:]:
            yield f"printed to {name}: {line[:200]}"


def detail_of(reports: list[Any], name: str = "") -> str:
    """Return the traceback of the phase that failed below *name*, head and tail of a long one."""
    for report in reports:
        if report.failed:
            text = PYTEST_FRAMES.sub("", str(getattr(report, "longreprtext", "") or report.longrepr or ""))
            text = LIBRARY_FRAMES.sub(calls_within, text)
            room = DETAIL_CHARS - len(name)
            half = room // 2 - 10
            return name + (text if len(text) <= room else text[:half] + "\n... cut ...\n" + text[-half:])
    return ""


def calls_within(frames: Any) -> str:
    """Return one line in place of *frames*, calls within installed packages."""
    names = re.findall(r"^\S.*/(?:site-packages|lib/python3\.\d+)/([^/:]+)", frames[0], re.MULTILINE)
    return "... " + str(len(names)) + " calls within " + ", ".join(sorted(set(names))) + " ...\n"


def reason_of_skip(report: Any) -> str:
    """Return why a test was skipped or was expected to fail."""
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail)[:MESSAGE_CHARS]
    where = report.longrepr
    return str(where[2] if isinstance(where, tuple) and len(where) == 3 else where)[:MESSAGE_CHARS]


def filter_is_usable(line: str) -> bool:
    """Say whether a warning filter's class can be imported; a submission without it loses only its own tests."""
    category = ([*line.split(":"), "", ""])[2].strip()
    if "." not in category:
        return True
    module, _, name = category.rpartition(".")
    try:
        return issubclass(getattr(importlib.import_module(module), name), Warning)
    except BaseException:  # noqa: BLE001 - a hostile module may raise anything, SystemExit too
        return False


def importable(name: str) -> Any:
    """Return the module *name*; None when the submission's does not import, which costs the tests that need it."""
    try:
        return importlib.import_module(name)
    except BaseException:  # noqa: BLE001 - a hostile module may raise anything, SystemExit too
        return None


def put_on_path(spec: dict[str, Any]) -> None:
    """Extend sys.path by the metadata and the import roots, in the place that the recipe says."""
    if spec["path_order"] == "first":
        sys.path[:0] = spec["import_path"]
    else:
        sys.path += spec["import_path"]


def tell_imports(packages: list[str], channel: Channel) -> None:
    """Tell from where each package under test was imported, importing it when no test did."""
    for name in packages:
        place, error = None, None
        try:
            module = sys.modules.get(name) or importlib.import_module(name)
            # A folder without __init__ has none: the hidden tests' own folder can look like a package.
            place = getattr(module, "__file__", None)
            place = place and os.path.realpath(str(place))
        except BaseException as problem:  # noqa: BLE001 - a hostile module may raise anything, SystemExit too
            error = (type(problem).__name__ + ": " + str(problem) + raised_at(sys.exc_info()[2]))[:MESSAGE_CHARS]
        channel.send("import", name=name, file=place, error=error)


def raised_at(trace: Any) -> str:
    """Return the file and line in brackets where an import broke; empty where no module of a file had begun."""
    where = ""
    while trace.tb_next is not None:
        trace = trace.tb_next
        file = trace.tb_frame.f_code.co_filename
        if file != importlib.__file__ and not file.startswith("<"):
            where = " (" + file + ", line " + str(trace.tb_lineno) + ")"
    return where


def trusted_module(path: str) -> Any:
    """Return another file of groundup's, which lies beside this one."""
    spec = importlib.util.spec_from_file_location("groundup_" + Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spare_long_comparisons() -> None:
    """Show no differences of long texts, by unittest or pytest: difflib's time grows with the cube of their lines.

    A failing test would otherwise last minutes.
    """

    def ndiff(a: Any, b: Any, *options: Any, **named: Any) -> Any:
        short = len(a) <= LINES_COMPARED and len(b) <= LINES_COMPARED
        return difflib.ndiff(a, b, *options, **named) if short else iter(["(too long to compare line by line)"])

    own = ModuleType("difflib")
    own.__dict__.update(difflib.__dict__, ndiff=ndiff)
    vars(unittest.case)["difflib"] = own
    explain = getattr(_pytest.assertion.util, "_diff_text", None)
    if explain is None:
        return

    def diff_text(left: str, right: str, *options: Any, **named: Any) -> Any:
        short = max(left.count("\n"), right.count("\n"), len(left) // 200, len(right) // 200) <= LINES_COMPARED
        return explain(left, right, *options, **named) if short else ["(too long to compare line by line)"]

    vars(_pytest.assertion.util)["_diff_text"] = diff_text


def prepare_process(spec: dict[str, Any]) -> None:
    """Leave standard input, home and working folder as the recipe says."""
    if spec["stdin"] == "closed":
        os.close(0)
    else:
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
    os.environ.update(spec.get("environment", {}))  # noqa: TID251 - of the sandbox
    for folder in spec["folders"]:
        Path(folder).mkdir(parents=True, exist_ok=True)
    os.chdir(spec["cwd"])


def tell_place_at(number: int) -> None:
    """Have a signal write to standard error where the main thread stands, and end this process."""
    # A copy: while tests run, pytest has put a file in its place.
    faulthandler.register(number, fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, LAST_WORDS), all_threads=False, chain=True)


def main() -> None:
    """Run the hidden tests once, and leave without running what the submission registered for the end."""
    # A copy: tests, and what is imported for them, find another standard input.
    asked = os.fdopen(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, LAST_WORDS), "rb")
    spec = json.loads(asked.readline().decode("utf-8"))
    channel = Channel(spec["report_fd"], spec["token"])
    prepare_process(spec)
    if spec.get("parting_signal"):
        tell_place_at(spec["parting_signal"])
    spare_long_comparisons()
    plugins = [importlib.import_module(name) for name in spec["plugins"]]
    trusted = spec.get("trusted", [])
    watch = Watch([path for path in spec["import_path"] if path not in trusted], trusted)
    if not spec["own_plugins"]:  # a plugin under test stands there rightly
        channel.watched_by(watch)
    code = None
    try:
        listener = None
        if spec.get("listener"):
            new = trusted_module(spec["listener"]["program"]).Listener
            listener = new(spec["listener"], trusted, channel.send, trusted_module)
        reporter = Reporter(spec, asked, channel, listener)

        def named(item: Any) -> str:
            return shortened(reporter.name_of(item))

        own = [] if listener is None else [listener]
        own.append(TimeLimit(spec))
        if spec.get("failing"):
            failing = trusted_module(spec["failing_plugin"]).FailingEnds
            own.append(failing(spec["failing"], named, trusted))
        if spec.get("undone"):
            undoing = trusted_module(spec["undoing_plugin"]).FailuresUndone
            own.append(undoing(spec["undone"], spec["failed_before"], named))
        code = int(pytest.main(spec["arguments"], plugins=[reporter, *own, *plugins]))
        reporter.tell_lacking()
    except BaseException as problem:  # noqa: BLE001 - a module may raise SystemExit while it is collected
        channel.send("broken_off", message=(type(problem).__name__ + ": " + str(problem))[:MESSAGE_CHARS])
    warnings.simplefilter("ignore")
    channel.send("signs", **watch.signs())
    tell_imports(spec["packages"], channel)
    if code is not None:
        channel.send("end", exit_code=code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(70 if code is None else 0)


if __name__ == "__main__":
    main()
