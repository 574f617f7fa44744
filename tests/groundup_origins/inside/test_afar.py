"""A service that carries `watched` tells which lines ran, and a change on trial makes its lost test pass."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundup import inside
from groundup.domain.verdicts import FURTHER_WITH, PASSES_WITH
from groundup_origins.inside import source_of
from groundup_origins.inside.afar import Afar, SpentClock, Watchers

HELPERS = ("spectrum.py", "suspects.py", "functions.py", "changes.py", "missing.py", "live.py", "mends.py")
SERVICE = """
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIMIT = 3

def chosen(words):
    return words[:LIMIT]

def shown(asked):
    if "words" not in asked:
        return 400, {"error": "words are needed"}
    if len(asked) > 1:
        return 200, {"words": chosen(asked["words"])}
    return 200, {"words": asked["words"], "count": len(asked["words"]) + 1}

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, told = shown(asked)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, *words):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
TESTS = """
import json, os, urllib.request

def ask(body):
    data = json.dumps(body).encode()
    return json.load(urllib.request.urlopen(os.environ["SERVICE"], data, timeout=20))

def test_words():
    assert ask({"words": ["a", "b"]})["words"] == ["a", "b"]

def test_count():
    assert ask({"words": ["a", "b"]})["count"] == 2

def test_refused():
    try:
        ask({})
    except urllib.error.HTTPError as problem:
        assert problem.code == 400

def test_few():
    assert ask({"words": ["a", "b", "c"], "few": 1})["words"] == ["a", "b"]
"""


def _free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _ready(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the service does not answer")


def _places(tree: Path, spec: dict[str, object], port: int) -> dict[str, str]:
    """Run the tests by the trusted runner; return where lost ones were lost."""
    read, write = os.pipe()
    environment = {**os.environ, "SERVICE": f"http://127.0.0.1:{port}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-s", "-B", str(tree / "runner.py")]
    given = json.dumps({**spec, "report_fd": write, "token": "t"}).encode()
    done = subprocess.run(
        command, input=given, capture_output=True, env=environment, pass_fds=[write], check=False
    )
    os.close(write)
    with os.fdopen(read) as report:
        events = [json.loads(line.partition(" ")[2]) for line in report]
    assert done.returncode == 0, done.stderr.decode()
    return {one["id"]: one["place"] for one in events if one["event"] == "origin"}


def test_a_change_in_a_running_service_makes_a_lost_test_pass(tmp_path: Path) -> None:
    """In a function and in a constant of the module; passing tests still pass, and the service is as it was."""
    for name in ("runner.py", "demands.py", "exchanges.py"):
        (tmp_path / name).write_bytes(inside.source_of(name))
    for name in ("listener.py", "values.py", "origins.py", "afar.py", "blame.py", "statements.py", *HELPERS):
        (tmp_path / name).write_bytes(source_of(name))
    service, carried, tests = tmp_path / "service", tmp_path / "carried", tmp_path / "tests"
    for folder in (service, carried, tests):
        folder.mkdir()
    asked = _free()
    watched = source_of("watched.py").decode()
    watched = watched.replace('"/workspace/"', repr(f"{service}/")).replace("= 39470", f"= {asked}")
    (carried / "sitecustomize.py").write_text(watched)
    for name in ("spectrum.py", "live.py"):
        (carried / name).write_bytes(source_of(name))
    (service / "main.py").write_text(SERVICE)
    (tests / "test_service.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    spec: dict[str, object] = {
        "arguments": [f"-c{tmp_path}/pytest.ini", f"--rootdir={tmp_path}", "-pno:cacheprovider", str(tests)],
        "plugins": [], "own_plugins": [], "late_filters": [], "packages": [], "import_path": [],
        "path_order": "last", "trusted": [str(tests)], "folders": [], "cwd": str(tmp_path), "stdin": "empty",
        "left_out_tests": [], "left_out_files": [], "demands": f"{tmp_path}/demands.py",
        "exchanges": f"{tmp_path}/exchanges.py",
        "listener": {
            "program": f"{tmp_path}/listener.py", "until_s": 60, "helpers": HELPERS,
            "tried": [FURTHER_WITH, PASSES_WITH],
            "service": {"ports": [asked], "root": f"{service}/", "here": f"{service}/", "seconds": 20.0},
        },
    }  # fmt: skip
    port = _free()
    environment = {**os.environ, "PYTHONPATH": str(carried)}
    command = [sys.executable, "main.py", str(port)]
    with subprocess.Popen(command, cwd=service, env=environment) as process:
        try:
            _ready(port)
            _ready(asked)
            found = _places(tmp_path, spec, port)
            again = _places(tmp_path, spec, port)
        finally:
            process.kill()
    count = 'main.py:16: return 200, {"words": asked["words"], "count": len(asked["words"]) + 1}'
    assert found["tests/test_service.py::test_count"].startswith(f"{count} -- the test passes with: ")
    few = "main.py:6: LIMIT = 3 -- the test passes with: LIMIT = 2\n"
    assert found["tests/test_service.py::test_few"].startswith(few)
    # Which line of the framework's comes third depends on when its thread goes on.
    first = [{test: told.partition("\n")[0] for test, told in each.items()} for each in (found, again)]
    assert first[0] == first[1]


@pytest.mark.parametrize(
    "file",
    ["/proc/self/cwd/tests/test_api.py", "/workspace/../workspace/tests/test_api.py", "//workspace/app.py", 7],
)
def test_a_service_names_no_file_but_its_own(file: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden tests lie beside who asks: a service that lies about where its code is gets none of their lines."""
    told = [[one, 1, ["x"], [[2, 1]]] for one in (file, "/workspace/app.py")]
    monkeypatch.setattr("groundup_origins.inside.afar.Watchers.ask", lambda _watchers, _do: [told])
    asked = Afar(
        {"root": "/workspace/", "here": "/sources/", "seconds": 1, "ports": []}, (), None, (None,) * 7, None, None
    )
    asked.ended(("test", 0))
    assert {code.co_filename for code, _ in asked._ran["test", 0]} == {"/workspace/app.py"}


def test_time_spent_counts_waiting_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that sleep through each trial end in twice the time; on a machine half as fast work takes no more."""
    clocks = {"monotonic": 100.0, "process_time": 7.0, "service": 40.0}
    monkeypatch.setattr("time.monotonic", lambda: clocks["monotonic"])
    monkeypatch.setattr("time.process_time", lambda: clocks["process_time"])
    monkeypatch.setattr(Watchers, "ask", lambda _watchers, _do: [clocks["service"], "lie"])
    clock = SpentClock(Watchers([]))
    assert clock.now() == 0
    for tests_s, service_s, passed_s, spent_s in ((0, 0, 6, 3), (1, 3, 6, 4), (1, 3, 8, 4), (2, 3, 12, 6)):
        clocks.update(monotonic=100.0 + passed_s, process_time=7.0 + tests_s, service=40.0 + service_s)
        assert clock.now() == spent_s
