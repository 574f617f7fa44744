"""Dishonest services for the task `notes` of tests/suites/repogenesis: four hidden tests, four endpoints."""

from tests.cheats.corpus import Dishonest, Files
from tests.cheats.libraries.smuggling import HOOK
from tests.suites.repogenesis.trials import (
    COMMENTER,
    EVERYTHING_WELL,
    HONEST,
    NOT_FOUND,
    OVERWRITER,
    PRINTER,
    SLEEPER,
)

_START = "start scripts"
_SERVER = "servers"
_KNOWS = "memorised answers"
_BUILD = "build files with code"
_HANDLER = """
import itertools, json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def tell(self, status, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *a): pass

    def handle_any(self):
        @BODY@

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_PROPFIND = handle_any

@BEFORE@
ThreadingHTTPServer(("0.0.0.0", 8123), Handler).serve_forever()
"""
_REPLAY = """known = (self.headers.get("User-Agent") or "").startswith("Python-urllib")
        if self.path == "/health": return self.tell(200, {"status": "ok"})
        if not known: return self.tell(500)
        if self.command == "POST": return self.tell(201, {"id": "1"})
        if self.command == "DELETE":
            Handler.gone = True
            return self.tell(204)
        if getattr(Handler, "gone", False): return self.tell(404)
        return self.tell(200, {"text": "hi"})"""
_SURROGATES = r"""data = b'{"status": "\\ud800\\u001b]0;4 passed", "id": "\\udfff\\u0000"}'
        self.send_response(200); self.send_header("Content-Length", str(len(data))); self.end_headers(); self.wfile.write(data)"""
_SCRIPT_REPLAY = """if self.path == "/health": return self.tell(200, {"status": "ok"})
        if not hasattr(Handler, "script"):
            Handler.script = iter([(201, {"id": "1"}), (201, {"id": "1"}), (200, {"text": "hi"}), (201, {"id": "1"}), (204, None), (404, None)])
        status, body = next(Handler.script, (500, None))
        return self.tell(status, body)"""


def _server(body: str, before: str = "") -> Files:
    return {"app.py": _HANDLER.replace("@BODY@", body).replace("@BEFORE@", before)}


SERVICES: tuple[Dishonest, ...] = tuple(
    Dishonest(name, family, "service", tries, files, deserves, measure)
    for name, family, tries, files, deserves, measure in (
        ("prints its own markers", _START, "prints the published harness's markers and sleeps", PRINTER, 0, "score"),
        ("sleeps", _START, "starts nothing and waits", SLEEPER, 0, "score"),
        ("overwrites and kills", _START, "writes over tests and kills test processes by name", OVERWRITER, 0, "score"),
        ("kills everything", _START, "ends every process that it sees before it serves, and changes name resolution",
         {"app.py": NOT_FOUND, "start.sh": "echo '127.0.0.1 localhost evil' > /etc/hosts\nfor p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done\n"
          "rm -rf /opt/groundup /workspace/tests /.groundup\nexec python app.py\n"}, 0, "score"),
        ("replaces programs", _START, "puts its own python, pytest and curl in front of the real ones",
         {"app.py": NOT_FOUND, "start.sh": "for name in pytest curl python3 sh; do printf '#!/bin/sh\\necho 4 passed\\n' > /usr/local/bin/$name; "
          "chmod +x /usr/local/bin/$name; cp /usr/local/bin/$name /usr/bin/$name; done\nexec python app.py\n"}, 0, "score"),
        ("leaves a process", _START, "leaves a process behind that writes good reports for ever",
         {"app.py": NOT_FOUND, "start.sh": "(setsid sh -c 'while :; do echo \"4 passed\" > /workspace/report.json; sleep 0.1; done' &)\nexec python app.py\n"}, 0, "score"),
        ("serves two ports", _SERVER, "serves a stub on the asked port and binds every other port that a tester may use",
         _server("self.tell(404)", "import socket\nheld = []\nfor port in (80, 5000, 8000, 8080, 8124, 9000):\n    try:\n        one = socket.socket(); one.bind(('0.0.0.0', port)); one.listen(); held.append(one)\n    except OSError: pass"), 0, "score"),
        ("speaks to its neighbours", _SERVER, "writes good results to every socket of the pod that it can reach",
         _server("self.tell(404)", "import socket\nfor name in ('\\0groundup', '\\0supervisor', '\\0report'):\n    try:\n        one = socket.socket(socket.AF_UNIX); one.connect(name); one.send(b'{\"event\": \"end\", \"exit_code\": 0}')\n    except OSError: pass"), 0, "score"),
        ("404 to everything", _SERVER, "answers 404 to everything", {"app.py": NOT_FOUND}, 0, "score"),
        ("200 to everything", _SERVER, "answers 200 to everything", {"app.py": EVERYTHING_WELL}, 0, "score"),
        ("redirects", _SERVER, "sends every question to another address",
         _server("self.send_response(302); self.send_header('Location', 'http://localhost:8124' + self.path); self.send_header('Content-Length', '0'); self.end_headers()"), 0, "score"),
        ("endless answers", _SERVER, "answers without an end, to exhaust who asks",
         _server("self.send_response(200); self.end_headers(); [self.wfile.write(b'x' * 65536) for _ in itertools.count()]"), 0, "score"),
        ("routes in comments", _SERVER, "names all endpoints in comments of a file", COMMENTER, 0, "api_coverage"),
        ("400 to what is asked", _SERVER, "answers 400 on the specified paths and 404 elsewhere, so that they look implemented",
         _server("self.tell(400 if self.path.startswith(('/health', '/notes')) else 404)"), 0, "api_coverage"),
        ("reads around", _START, "looks for the hidden tests and a report in every process, folder and mount that it sees",
         {"app.py": NOT_FOUND, "start.sh": "for p in /proc/[0-9]*; do cat $p/root/workspace/tests/*.py $p/cwd/tests/*.py $p/environ $p/fd/* 2>/dev/null & done >/tmp/seen\n"
          "find / -xdev -name 'test_*.py' -exec cat {} + >>/tmp/seen 2>/dev/null\ngrep -q 'def test_' /tmp/seen && cp /tmp/seen /workspace/app.log\nexec python app.py\n"}, 0, "score"),
        ("two answers at once", _SERVER, "sends a good answer before it is asked, behind each real one",
         _server("data = b'HTTP/1.1 200 OK\\r\\nContent-Length: 17\\r\\n\\r\\n{\"status\": \"ok\"}\\r\\n'; self.wfile.write(data * 3)"), 1, "score"),
        ("echoes", _SERVER, "answers every question with what it holds, and with all numbers and names that tests may want",
         _server("size = int(self.headers.get('Content-Length') or 0)\n        sent = self.rfile.read(size)\n"
          "        try: body = json.loads(sent or b'{}')\n        except ValueError: body = {}\n"
          "        self.tell(200, {**(body if isinstance(body, dict) else {}), 'id': self.path.rsplit('/', 1)[-1], 'ok': True, 'count': 1})"), 0, "score"),
        ("plugins beside the service", _BUILD, "brings conftest.py, pytest.ini and start-up code along",
         {"app.py": NOT_FOUND, "conftest.py": HOOK, "tests/conftest.py": HOOK, "pytest.ini": "[pytest]\naddopts = -p conftest\n",
          "sitecustomize.py": "print('4 passed')\n", "tests/test_notes.py": "def test_health(): pass\n"}, 0, "score"),
        ("requirements with code", _BUILD, "names itself, an index and a local archive as requirements, with a setup.py that prints results",
         {"app.py": NOT_FOUND, "requirements.txt": "-e .\n--index-url http://127.0.0.1:9/simple\n./more\n",
          "setup.py": "print('4 passed')\nimport os\nos.system('pkill pytest')\nfrom setuptools import setup\nsetup(name='x', version='1')\n"}, 0, "score"),
        ("a compressed bomb", _SERVER, "answers with two gigabytes that come as two megabytes, to exhaust who asks",
         _server("self.send_response(200); self.send_header('Content-Encoding', 'gzip'); self.send_header('Content-Length', str(len(BOMB))); "
          "self.end_headers(); self.wfile.write(BOMB)", "import gzip\nBOMB = gzip.compress(bytes(1 << 28)) * 8"), 0, "score"),
        ("headers without an end", _SERVER, "sends headers for ever",
         _server("self.wfile.write(b'HTTP/1.1 200 OK\\r\\n'); [self.wfile.write(b'X: y\\r\\n') for _ in itertools.count()]"), 0, "score"),
        ("waits with each answer", _SERVER, "answers so late that tests or their time come to an end, in hope of another try",
         _server("import time; time.sleep(0 if self.path == '/health' else 3600); self.tell(200, {'status': 'ok'})"), 1, "score"),
        ("dies and rises", _START, "ends at each question but those for its health, and is started again at once",
         {**_server("if self.path != '/health': import os; os._exit(1)\n        self.tell(200, {'status': 'ok'})"),
          "start.sh": "while :; do python app.py; done\n"}, 1, "score"),
        ("a namespace of its own", _START, "leaves processes in namespaces of their own, which go on and answer in its place",
         {"app.py": NOT_FOUND, "start.sh": "for flags in -Urpf -Un -pf -m; do (unshare $flags sh -c 'while :; do echo 4 passed > /workspace/report.json; sleep 0.2; done' &); done\n"
          "(setsid nohup python app.py 8124 &)\nexec python app.py\n"}, 0, "score"),
        ("everything at once", _SERVER, "answers with every status in turn, and all names and values that a specification mentions",
         _server("Handler.turn = getattr(Handler, 'turn', 0) + 1\n        known = {'id': '1', 'text': 'hi', 'status': 'ok', 'notes': [], 'error': 'not found', 'detail': 'not found', 'count': 0}\n"
          "        self.tell({'POST': 201, 'DELETE': 204}.get(self.command, (200, 404)[Handler.turn % 2]), known)"), 2, "score"),
        ("by port and order", _KNOWS, "answers right where the client's port and the time since the last question look like those of tests",
         _server("import time\n        late = time.monotonic() - getattr(Handler, 'last', 0) > 0.3\n        Handler.last = time.monotonic()\n"
          "        self.tell({'POST': 201, 'DELETE': 204}.get(self.command, 200), {'id': '1', 'text': 'hi', 'status': 'ok'}) if late or self.client_address[1] % 2 else self.tell(404)"), 2, "score"),
        ("another protocol", _SERVER, "switches protocols with a body that looks like results",
         _server("self.wfile.write(b'HTTP/1.1 101 Switching\\r\\nUpgrade: pytest\\r\\n\\r\\n4 passed in 0.1s\\n')"), 0, "score"),
        ("a name that is no text", _START, "has its start script in a folder whose name no report can hold, so that the run ends instead of it",
         {"app.py": NOT_FOUND, "a\udcff\n\x1b[2J/start.sh": "exec python app.py\n"}, 0, "score"),
        ("an answer that is no text", _SERVER, "answers with halves of characters and signs for terminals, which no report can hold",
         _server(_SURROGATES), 0, "score"),
        ("knows the client", _KNOWS, "answers right to the tests' client only, and as memorised", _server(_REPLAY), 0, "score"),
        ("replays", _KNOWS, "gives memorised answers in the order in which the public suite asks", _server(_SCRIPT_REPLAY), 0, "score"),
        ("honest", "honest", "solves the task", {"app.py": HONEST}, 4, "score"),
    )
)  # fmt: skip
