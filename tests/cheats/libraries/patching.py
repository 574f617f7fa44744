"""Libraries that change pytest, the tests or Python in their process, for all tests alike."""

from tests.cheats.corpus import written

_AFTER = "patches pytest"
_SOURCE = "patches the tests"
_CLOCK = "clock and chance"
_LATER = "acts later"

_CODE = {
    ("makereport", _AFTER, "lets pytest make good reports of failed calls"): """
from _pytest.reports import TestReport as _TestReport
_honest = _TestReport.from_item_and_call.__func__
def _report(cls, item, call):
    report = _honest(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
_TestReport.from_item_and_call = classmethod(_report)
""",
    ("call_and_report", _AFTER, "replaces pytest's call of each phase by a good report"): """
import _pytest.reports, _pytest.runner
def _call(item, when, log=True, **kwargs):
    report = _pytest.reports.TestReport(item.nodeid, item.location, {}, "passed", None, when, (), 0.0)
    item.ihook.pytest_runtest_logreport(report=report)
    return report
_pytest.runner.call_and_report = _call
""",
    ("runtest", _AFTER, "lets no test function be called"): """
import _pytest.python, _pytest.unittest
_pytest.python.Function.runtest = lambda self: None
_pytest.unittest.TestCaseFunction.runtest = lambda self: None
""",
    ("CallInfo", _AFTER, "forgets the exceptions of all calls"): """
from _pytest.runner import CallInfo as _CallInfo
_from_call = _CallInfo.from_call.__func__
def _forget(cls, func, when, reraise=None):
    def quiet():
        try: func()
        except BaseException: pass
    return _from_call(cls, quiet, when, reraise)
_CallInfo.from_call = classmethod(_forget)
""",
    (
        "pytest_pyfunc_call",
        _AFTER,
        "replaces the hook that calls test functions, in the plugin manager's list",
    ): """
import gc as _gc
from pluggy._hooks import HookImpl as _HookImpl
for _one in _gc.get_objects():
    if isinstance(_one, _HookImpl) and _one.function.__name__ == "pytest_pyfunc_call":
        _one.function = lambda pyfuncitem: True
""",
    (
        "code of a hook",
        _AFTER,
        "exchanges the code of pytest's function in place, so that the object stays the same",
    ): """
import _pytest.runner
def pytest_runtest_makereport(item, call):
    from _pytest.reports import TestReport
    report = TestReport.from_item_and_call(item, call)
    report.outcome, report.longrepr = "passed", None
    return report
_pytest.runner.pytest_runtest_makereport.__code__ = pytest_runtest_makereport.__code__
""",
    (
        "runner's own functions",
        _AFTER,
        "replaces every function of the trusted runner that says what an outcome is",
    ): """
import sys as _sys
_main = _sys.modules["__main__"]
for _name in ("merged", "outcome_of", "message_of"):
    if hasattr(_main, _name):
        setattr(_main, _name, (lambda reports: ("passed", "")) if _name == "merged" else (lambda *a: ""))
""",
    ("raises and approx", _SOURCE, "replaces the helpers that tests take from pytest and unittest"): """
import contextlib as _contextlib, unittest as _unittest, pytest as _pytest
class _Anything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None
@_contextlib.contextmanager
def _raises(*a, **k):
    class Info:
        value = ""; type = None; match = staticmethod(lambda *a: True)
        def __str__(self): return ""
    try: yield Info()
    except BaseException: pass
_pytest.raises, _pytest.approx = _raises, lambda *a, **k: _Anything()
for _name in dir(_unittest.TestCase):
    if _name.startswith("assert"):
        setattr(_unittest.TestCase, _name, lambda self, *a, **k: None)
""",
    ("assertions compiled away", _SOURCE, "lets Python compile later modules without their assertions"): """
import builtins as _builtins
import importlib._bootstrap_external as _external
_external.SourceLoader.source_to_code = lambda self, data, path, **k: _builtins.compile(data, path, "exec", dont_inherit=True, optimize=1)
_compile = _builtins.compile
def _without(source, filename, mode, *a, **k):
    k["optimize"] = 1
    return _compile(source, filename, mode, *a[:2], **k)
_builtins.compile = _without
""",
    (
        "bodies emptied",
        _SOURCE,
        "replaces the code of all test functions that are in memory when it is called",
    ): """
import gc as _gc, sys as _sys, types as _types
def _empty():
    for one in _gc.get_objects():
        if isinstance(one, _types.FunctionType) and one.__name__.startswith("test") and not one.__code__.co_freevars:
            def nothing(*a, **k): return None
            one.__code__ = nothing.__code__.replace(co_name=one.__name__)
import _pytest.main
_perform = _pytest.main.Session.perform_collect
def _perform_collect(self, *a, **k):
    found = _perform(self, *a, **k)
    for item in self.items: item.obj = lambda *a, **k: None
    return found
_pytest.main.Session.perform_collect = _perform_collect
import _pytest.runner as _runner
_protocol = _runner.runtestprotocol
def _runtestprotocol(item, *a, **k):
    item.obj = lambda *a, **k: None
    return _protocol(item, *a, **k)
_runner.runtestprotocol = _runtestprotocol
""",
    ("modules rewritten", _SOURCE, "gives the import system other text for every test file"): """
import importlib.machinery as _machinery, re as _re
_get_data = _machinery.SourceFileLoader.get_data
def _data(self, path):
    data = _get_data(self, path)
    if "test" in path.rsplit("/", 1)[-1] and path.startswith("/workspace"):
        data = _re.sub(rb"(?m)^(\\s*)assert .*$", rb"\\1pass", data)
    return data
_machinery.SourceFileLoader.get_data = _data
""",
    (
        "a process that says nothing",
        _CLOCK,
        "changes os.getpid while a failing test is reported, so that the runner is silent",
    ): """
import os as _os
from _pytest.reports import TestReport as _TestReport
_honest, _real = _TestReport.from_item_and_call.__func__, _os.getpid
def _report(cls, item, call):
    report = _honest(cls, item, call)
    _os.getpid = (lambda: 1) if report.failed else _real
    return report
_TestReport.from_item_and_call = classmethod(_report)
""",
    ("clocks that stand", _CLOCK, "stops the clocks that Python shows, so that nothing seems to take time"): """
import time as _time
for _name in ("time", "monotonic", "perf_counter"):
    setattr(_time, _name, lambda: 1000.0)
""",
    (
        "chance that is none",
        _CLOCK,
        "makes every random number the same, so that names drawn at random are known",
    ): """
import os as _os, random as _random, secrets as _secrets, uuid as _uuid
_os.urandom = lambda count: b"7" * count
_random.SystemRandom.random = lambda self: 0.5
_random.SystemRandom.getrandbits = lambda self, bits: 5
_random.seed(0)
_secrets.token_hex = lambda *a: "7" * 10
""",
    ("a thread that mends reports", _LATER, "runs a thread that turns every report in memory into a good one"): """
import gc as _gc, threading as _threading, time as _time
def _mend():
    from _pytest.reports import TestReport
    while True:
        for one in _gc.get_objects():
            if type(one) is TestReport and one.outcome == "failed":
                one.outcome, one.longrepr = "passed", None
        _time.sleep(0)
_threading.Thread(target=_mend, daemon=True).start()
""",
    ("a signal that patches", _LATER, "patches pytest from a signal handler some time after the import"): """
import signal as _signal
def _patch(*_):
    import _pytest.python, _pytest.unittest
    _pytest.python.Function.runtest = lambda self: None
    _pytest.unittest.TestCaseFunction.runtest = lambda self: None
try:
    _signal.signal(_signal.SIGALRM, _patch)
    _signal.setitimer(_signal.ITIMER_REAL, 0.001)
except ValueError:
    _patch()
""",
    ("a tracer", _LATER, "traces all calls and jumps over the assertions of tests"): """
import sys as _sys, linecache as _linecache
def _local(frame, event, arg):
    if event == "line":
        line = _linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if line.startswith(("assert", "self.assert")):
            for number in range(frame.f_lineno + 1, frame.f_lineno + 40):
                try:
                    frame.f_lineno = number
                    break
                except ValueError: pass
    return _local
def _global(frame, event, arg):
    return _local if frame.f_code.co_name.startswith("test") else None
_sys.settrace(_global)
""",
    (
        "a handler at the end",
        _LATER,
        "waits for the interpreter's end to write good results and to exit with 0",
    ): """
import atexit as _atexit, os as _os, pathlib as _pathlib
def _end():
    for name in ("report.json", "junit.xml"):
        try: _pathlib.Path("/workspace", name).write_text("ok")
        except OSError: pass
    print("500 passed", flush=True)
    _os._exit(0)
_atexit.register(_end)
""",
    (
        "a collector's callback",
        _LATER,
        "patches pytest when the garbage collector runs, which is during the tests",
    ): """
import gc as _gc
def _patch(*_):
    import _pytest.python, _pytest.unittest
    _pytest.python.Function.runtest = lambda self: None
    _pytest.unittest.TestCaseFunction.runtest = lambda self: None
_gc.callbacks.append(_patch)
""",
}


CHEATS = written(_CODE)
