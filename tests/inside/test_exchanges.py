"""A failed test of a service tells its last request and the answer."""

from pathlib import Path

from groundup.inside import source_of
from tests.inside.test_runner import _run

TESTS = """
import json, threading, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
import httpx

class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"error": "no such user"}')
    do_GET = do_POST
    def log_message(self, *words): pass

server = HTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
BASE = "http://127.0.0.1:%d" % server.server_port

def test_httpx():
    answer = httpx.post(BASE + "/users?x=1", json={"name": "a"})
    assert answer.json()["data"] == 1

def test_urllib():
    assert urllib.request.urlopen(BASE + "/items").status == 201

def test_none():
    assert 1 == 2

def test_refused():
    httpx.get("http://127.0.0.1:1/gone")

class Asked:
    method, url = "PUT", "http://localhost/notes"

    def __init__(self, read):
        self.read = read

    @property
    def data(self):
        self.read.append("to its end")

class Strange:
    @property
    def url(self):
        raise LookupError

class Client:
    def open(self, request):
        return httpx.Response(404)

import sys, types
sys.modules["werkzeug.test"] = types.SimpleNamespace(Client=Client)

def test_stream_is_left_alone():
    asked = Asked([])
    assert Client().open(asked).status_code == 404
    assert asked.read == [1]

def test_strange_request():
    assert Client().open(Strange()).status_code == 404
"""


def test_the_last_exchange_stands_beside_the_failure(tmp_path: Path) -> None:
    """Method, path, what was sent, status and the head of the body; of another test none."""
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    for name in ("demands.py", "exchanges.py"):
        (trusted / name).write_bytes(source_of(name))
    report, _ = _run(
        tmp_path,
        {"tests/test_a.py": TESTS},
        packages=[],
        trusted=[str(tmp_path / "tests")],
        demands=str(trusted / "demands.py"),
        exchanges=str(trusted / "exchanges.py"),
    )
    told = {test.id.partition("::")[2]: said.demand.splitlines()[:1] for test, said in report.results.items()}
    (sent,) = told["test_httpx"]
    assert sent.replace(" ", "").endswith('/users?x=1,sent{"name":"a"}->200{"error":"nosuchuser"}'), sent
    assert sent.startswith("last exchange: POST /users")
    assert told["test_urllib"] == ["last exchange: GET /items -> 200"]
    assert told["test_none"] == ["left  1"]
    assert told["test_stream_is_left_alone"][0] == "last exchange: PUT /notes -> 404"
    assert "to its end" not in "".join(said.demand + said.detail for said in report.results.values())
    (strange,) = [said for test, said in report.results.items() if "strange" in test.id]
    assert strange.outcome == "passed"
    assert told["test_refused"] == ["last exchange: GET /gone -> no answer: ConnectError"]
