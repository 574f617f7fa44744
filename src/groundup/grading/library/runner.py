"""The trusted runner: the one file of groundup that runs in one process with untrusted code.

It is started as `python -I -B runner.py` inside a sandbox, reads what to do as JSON from standard input and
tells what happened as JSON lines on a report descriptor. It needs the standard library and pytest only, and works
on Python 3.7 to 3.13 with pytest 6 to 9. It decides nothing: whatever it says was said beside the untrusted code,
so the parent checks it against what it alone knows.

It tells when a test begins and ends; the parent ends a process that is silent for longer than one test may take.
What it does take care of is order: pytest and the listed plugins are imported before anything of the submission
can be found.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import os
import random
import re
import sys
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

MESSAGE_CHARS = 300
SYNTAX_PLACE = re.compile(r'File "[^"]+", line \d+$')


class Channel:
    """Writes events, each as one line that starts with the run's token; only in the process that made it."""

    def __init__(self, descriptor: int, token: str) -> None:
        # A number that nobody guesses; the well-known one is closed.
        number = random.SystemRandom().randint(40, 200)
        self._descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, number)
        os.close(descriptor)
        self._token = token
        self._owner = os.getpid()

    def send(self, event: str, **fields: object) -> None:
        """Write one event; a forked child of a test stays silent."""
        if os.getpid() != self._owner:
            return
        line = self._token + " " + json.dumps(dict(fields, event=event)) + "\n"
        data = line.encode("ascii")
        while data:
            data = data[os.write(self._descriptor, data) :]


class Reporter:
    """The pytest plugin that lets the submission be found, last of all, and reports."""

    def __init__(self, spec: dict[str, Any], channel: Channel) -> None:
        self._spec = spec
        self._channel = channel
        self._collected = 0
        self._ordinals: dict[int, int] = {}
        self._reports: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        """Before any conftest is loaded: now, and not earlier, the submission can be imported."""
        put_on_path(self._spec)
        for name in self._spec["own_plugins"]:
            plugin = importable(name)
            if plugin is not None and not early_config.pluginmanager.is_registered(plugin):
                early_config.pluginmanager.register(plugin, name)
        for line in self._spec["late_filters"]:
            if filter_is_usable(line):
                early_config.addinivalue_line("filterwarnings", line)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what ended earlier runs of this submission."""
        files, tests = set(self._spec["left_out_files"]), {tuple(test) for test in self._spec["left_out_tests"]}
        seen: dict[str, int] = {}
        kept = []
        for item in items:
            ordinal = seen[item.nodeid] = seen.get(item.nodeid, 0) + 1
            self._ordinals[id(item)] = ordinal
            if item.nodeid.partition("::")[0] not in files and (digest(item.nodeid), ordinal) not in tests:
                kept.append(item)
        items[:] = kept

    def pytest_collectreport(self, report: Any) -> None:
        """Tell of a file that could not be collected, and in any case that this goes on."""
        if report.failed:
            self._channel.send("collection_error", id=report.nodeid, message=message_of(report))
        self._collected += sum(isinstance(found, pytest.Item) for found in report.result or ())
        self._channel.send("collected", count=self._collected)

    def pytest_collection_finish(self, session: Any) -> None:
        """Tell how many tests there are."""
        self._channel.send("collected", count=len(session.items))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """Tell which test begins, and afterwards what became of it."""
        ordinal = self._ordinals.get(id(item), 1)
        self._reports = []
        self._channel.send("begin", id=item.nodeid, ordinal=ordinal)
        yield
        outcome, message = merged(self._reports)
        duration = sum(getattr(report, "duration", 0.0) for report in self._reports)
        self._channel.send(
            "test", id=item.nodeid, ordinal=ordinal, outcome=outcome, message=message, duration=round(duration, 4)
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the phases of the running test."""
        self._reports.append(report)


def digest(node_id: str) -> str:
    """Return what the parent calls a test that it wants left out, however long its id is."""
    return hashlib.sha256(node_id.encode("utf-8", "surrogatepass")).hexdigest()


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
    # Without a crash record the text is a whole traceback: its last line names the error, and of an error of
    # syntax a line that is no frame's says where it is.
    places = [found.group() for found in map(SYNTAX_PLACE.search, lines) if found is not None]
    return str(lines[-1] + (" (" + places[-1] + ")" if places else ""))[:MESSAGE_CHARS]


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
            error = (type(problem).__name__ + ": " + str(problem))[:MESSAGE_CHARS]
        channel.send("import", name=name, file=place, error=error)


def prepare_process(spec: dict[str, Any]) -> None:
    """Leave standard input, home and working folder as the recipe says."""
    if spec["stdin"] == "closed":
        os.close(0)
    else:
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
    for folder in spec["folders"]:
        Path(folder).mkdir(parents=True, exist_ok=True)
    os.chdir(spec["cwd"])


def main() -> None:
    """Run the hidden tests once, and leave without running what the submission registered for the end."""
    spec = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    channel = Channel(spec["report_fd"], spec["token"])
    prepare_process(spec)
    plugins = [importlib.import_module(name) for name in spec["plugins"]]
    channel.send("start", python=sys.version.split()[0], pytest=pytest.__version__)
    code = None
    try:
        code = int(pytest.main(spec["arguments"], plugins=[Reporter(spec, channel), *plugins]))
    except BaseException as problem:  # noqa: BLE001 - a module may raise SystemExit while it is collected
        channel.send("broken_off", message=(type(problem).__name__ + ": " + str(problem))[:MESSAGE_CHARS])
    warnings.simplefilter("ignore")
    tell_imports(spec["packages"], channel)
    if code is not None:
        channel.send("end", exit_code=code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(70 if code is None else 0)


if __name__ == "__main__":
    main()
