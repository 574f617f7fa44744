"""Python services of many shapes, for `benchmarks.service_shapes`: one small task, and what solves it or not.

The task wants notes over HTTP on port 8123. Frameworks, ways to install, start scripts, processes, and faults;
packages come from the index of the machine.
"""

from collections.abc import Mapping
from typing import NamedTuple

PORT = 8123
TASK_FILE = f"""
format = 1
id = "notes"
language = "python"
port = {PORT}
kind = "http"
health = "/health"
endpoints = ["GET /health", "POST /notes", "GET /notes/{{id}}", "DELETE /notes/{{id}}"]

[tests]
count = 4
requirements = ["requests"]
"""
README = (
    '# Notes\n\n`GET /health`, `POST /notes` with `{"text": "hi"}`, `GET /notes/{id}`, `DELETE /notes/{id}`.\n'
)
TESTS = f"""
import requests

URL = "http://localhost:{PORT}"

def test_health():
    assert requests.get(URL + "/health").json() == {{"status": "ok"}}

def test_add():
    assert requests.post(URL + "/notes", json={{"text": "hi"}}).status_code == 201

def test_find():
    number = requests.post(URL + "/notes", json={{"text": "hi"}}).json()["id"]
    assert requests.get(f"{{URL}}/notes/{{number}}").json()["text"] == "hi"

def test_remove():
    number = requests.post(URL + "/notes", json={{"text": "hi"}}).json()["id"]
    assert requests.delete(f"{{URL}}/notes/{{number}}").status_code == 204
    assert requests.get(f"{{URL}}/notes/{{number}}").status_code == 404
"""

STORE = """
import itertools
notes, numbers = {}, itertools.count(1)

def add(text):
    number = str(next(numbers))
    notes[number] = text
    return number
"""
FLASK = f"""
import os
from flask import Flask, request
from store import add, notes

app = Flask(__name__)

@app.get("/health")
def health():
    return {{"status": "ok"}}

@app.post("/notes")
def create():
    return {{"id": add(request.json["text"])}}, 201

@app.get("/notes/<number>")
def find(number):
    return ({{"text": notes[number]}}, 200) if number in notes else ({{}}, 404)

@app.delete("/notes/<number>")
def remove(number):
    return ("", 204) if notes.pop(number, None) else ({{}}, 404)

if __name__ == "__main__":
    app.run(os.environ.get("HOST", "0.0.0.0"), int(os.environ.get("PORT", {PORT})))
"""
FASTAPI = """
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from store import add, notes

app = FastAPI()

class Note(BaseModel):
    text: str

@app.get("/health")
def health():
    return {"status": "ok"}

@app.post("/notes", status_code=201)
def create(note: Note):
    return {"id": add(note.text)}

@app.get("/notes/{number}")
def find(number: str):
    if number not in notes:
        raise HTTPException(404)
    return {"text": notes[number]}

@app.delete("/notes/{number}", status_code=204)
def remove(number: str):
    if notes.pop(number, None) is None:
        raise HTTPException(404)
"""
DJANGO = """
import json, sys
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_http_methods
from store import add, notes

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x", DEBUG=True)

@require_http_methods(["GET"])
def health(request):
    return JsonResponse({"status": "ok"})

@require_http_methods(["POST"])
def create(request):
    return JsonResponse({"id": add(json.loads(request.body or "{}").get("text"))}, status=201)

@require_http_methods(["GET", "DELETE"])
def one(request, number):
    if number not in notes:
        return JsonResponse({}, status=404)
    if request.method == "GET":
        return JsonResponse({"text": notes[number]})
    del notes[number]
    return HttpResponse(status=204)

urlpatterns = [path("health", health), path("notes", create), path("notes/<number>", one)]
if __name__ == "__main__":
    execute_from_command_line(sys.argv)
"""
AIOHTTP = f"""
from aiohttp import web
from store import add, notes

async def health(request):
    return web.json_response({{"status": "ok"}})

async def create(request):
    return web.json_response({{"id": add((await request.json())["text"])}}, status=201)

async def find(request):
    number = request.match_info["number"]
    return web.json_response({{"text": notes[number]}}) if number in notes else web.json_response({{}}, status=404)

async def remove(request):
    return web.Response(status=204 if notes.pop(request.match_info["number"], None) else 404)

app = web.Application()
app.add_routes([web.get("/health", health), web.post("/notes", create),
                web.get("/notes/{{number}}", find), web.delete("/notes/{{number}}", remove)])
web.run_app(app, port={PORT})
"""
TORNADO = f"""
import asyncio, json
import tornado.web
from store import add, notes

class Health(tornado.web.RequestHandler):
    def get(self):
        self.write({{"status": "ok"}})

class Notes(tornado.web.RequestHandler):
    def post(self):
        self.set_status(201)
        self.write({{"id": add(json.loads(self.request.body)["text"])}})

class One(tornado.web.RequestHandler):
    def get(self, number):
        if number not in notes:
            raise tornado.web.HTTPError(404)
        self.write({{"text": notes[number]}})

    def delete(self, number):
        if notes.pop(number, None) is None:
            raise tornado.web.HTTPError(404)
        self.set_status(204)

async def main():
    tornado.web.Application([("/health", Health), ("/notes", Notes), ("/notes/([^/]+)", One)]).listen({PORT})
    await asyncio.Event().wait()

asyncio.run(main())
"""
BOTTLE = f"""
from bottle import delete, get, post, request, response, abort, run
from store import add, notes

@get("/health")
def health():
    return {{"status": "ok"}}

@post("/notes")
def create():
    response.status = 201
    return {{"id": add(request.json["text"])}}

@get("/notes/<number>")
def find(number):
    return {{"text": notes[number]}} if number in notes else abort(404)

@delete("/notes/<number>")
def remove(number):
    if notes.pop(number, None) is None:
        abort(404)
    response.status = 204

run(host="0.0.0.0", port={PORT})
"""
FALCON = f"""
import falcon
from waitress import serve
from store import add, notes

class Health:
    def on_get(self, request, response):
        response.media = {{"status": "ok"}}

class Notes:
    def on_post(self, request, response):
        response.media, response.status = {{"id": add(request.media["text"])}}, 201

class One:
    def on_get(self, request, response, number):
        if number not in notes:
            raise falcon.HTTPNotFound
        response.media = {{"text": notes[number]}}

    def on_delete(self, request, response, number):
        if notes.pop(number, None) is None:
            raise falcon.HTTPNotFound
        response.status = 204

app = falcon.App()
for place, page in {{"/health": Health(), "/notes": Notes(), "/notes/{{number}}": One()}}.items():
    app.add_route(place, page)
serve(app, port={PORT})
"""
QUART = FLASK.replace("flask import Flask", "quart import Quart").replace("Flask(", "Quart(").replace(
    "def create():", "async def create():"
).replace('request.json["text"]', '(await request.json)["text"]')  # fmt: skip
SANIC = f"""
from sanic import Sanic, json, empty
from store import add, notes

app = Sanic("notes")

@app.get("/health")
async def health(request):
    return json({{"status": "ok"}})

@app.post("/notes")
async def create(request):
    return json({{"id": add(request.json["text"])}}, status=201)

@app.get("/notes/<number>")
async def find(request, number):
    return json({{"text": notes[number]}}) if number in notes else json({{}}, status=404)

@app.delete("/notes/<number>")
async def remove(request, number):
    return empty(204 if notes.pop(number, None) else 404)

if __name__ == "__main__":
    app.run("0.0.0.0", {PORT}, single_process=True)
"""
PLAIN = f"""
import json, os, re, socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from store import add, notes

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def tell(self, status, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_any(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        one = re.fullmatch("/notes/([^/]+)", self.path)
        if self.path == "/health":
            self.tell(200, {{"status": "ok"}}) if self.command == "GET" else self.tell(405)
        elif self.path == "/notes":
            if self.command != "POST":
                return self.tell(405)
            self.tell(201, {{"id": add(json.loads(data or "{{}}").get("text"))}})
        elif one and self.command in ("GET", "DELETE"):
            if one[1] not in notes:
                return self.tell(404, {{"error": "no such note"}})
            self.tell(200, {{"text": notes[one[1]]}}) if self.command == "GET" else self.tell(204)
            self.command == "DELETE" and notes.pop(one[1])
        else:
            self.tell(405 if one else 404)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_PROPFIND = handle_any

class Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in os.environ.get("HOST", "") else socket.AF_INET

    def server_bind(self):
        if os.environ.get("V6ONLY"):
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(os.environ["V6ONLY"]))
        super().server_bind()

Server((os.environ.get("HOST", "0.0.0.0"), int(os.environ.get("PORT", {PORT}))), Handler).serve_forever()
"""
ELSEWHERE = "python -m http.server 9000 > /dev/null 2>&1 &\n"
PROJECT = '[project]\nname = "notes"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = ["flask"]\n'
POETRY = """
[tool.poetry]
name = "notes"
version = "1"
description = ""
authors = []
package-mode = false

[tool.poetry.dependencies]
python = ">=3.10,<4"
flask = "*"

[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"
"""
TLS = f"""
import http.server, ssl, subprocess
from pathlib import Path
Path("c").write_bytes(b"")
server = http.server.HTTPServer(("0.0.0.0", {PORT}), http.server.SimpleHTTPRequestHandler)
server.socket = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


class Shape(NamedTuple):
    """A submission, and what one of its reasons must say early; None: it is honest and gets everything."""

    files: Mapping[str, str]
    cause: str | None = None


def flask(start: str, cause: str | None = None, **more: str) -> Shape:
    """Return the service in Flask that *start* installs and starts."""
    return Shape({"app.py": FLASK, "start.sh": start, **more}, cause)


def plain(start: str, cause: str | None = None, **more: str) -> Shape:
    """Return the service that needs nothing, started by *start*."""
    return Shape({"app.py": PLAIN, "start.sh": start, **more}, cause)


def changed(old: str, new: str, text: str) -> str:
    """Return *text* with something else in one place, which it must have."""
    assert old in text, old
    return text.replace(old, new)


def at_first(when: str, statement: str) -> str:
    """Return the plain service that does something first with questions, under a condition."""
    read = "        one = re.fullmatch"
    return changed(read, f"        if {when}:\n            {statement}\n{read}", PLAIN)


SHAPES: dict[str, Shape] = {
    # frameworks, and what the search finds
    "http.server as app.py": Shape({"app.py": PLAIN}),
    "flask as app.py": Shape({"app.py": FLASK, "requirements.txt": "flask\n"}),
    "flask without a declaration": Shape({"app.py": FLASK}),
    "fastapi by the guess": Shape({"api.py": FASTAPI, "requirements.txt": "fastapi\nuvicorn[standard]\n"}),
    "fastapi package by the guess": Shape({"app/__init__.py": FASTAPI, "requirements.txt": "fastapi\nuvicorn\n"}),
    "django as manage.py": Shape({"manage.py": DJANGO, "requirements.txt": "Django>=4\n"}),
    "aiohttp as server.py": Shape({"server.py": AIOHTTP, "requirements.txt": "aiohttp\n"}),
    "tornado as run.py": Shape({"run.py": TORNADO, "requirements.txt": "tornado\n"}),
    "bottle as main.py": Shape({"main.py": BOTTLE, "requirements.txt": "bottle\n"}),
    "falcon and waitress": Shape({"main.py": FALCON, "requirements.txt": "falcon\nwaitress\n"}),
    "quart and hypercorn": Shape(
        {
            "main.py": QUART,
            "requirements.txt": "quart\nhypercorn\n",
            "start.sh": f"exec hypercorn main:app --bind 0.0.0.0:{PORT}\n",
        }
    ),
    "sanic": Shape({"app.py": SANIC, "requirements.txt": "sanic\n"}),
    "gunicorn with threads": flask(
        f"exec gunicorn -w 1 --threads 4 -b :{PORT} app:app\n", **{"requirements.txt": "flask\ngunicorn\n"}
    ),
    "uvicorn with reload": Shape(
        {
            "main.py": FASTAPI,
            "requirements.txt": "fastapi\nuvicorn\n",
            "start.sh": f"uvicorn main:app --host 0.0.0.0 --port {PORT} --reload\n",
        }
    ),
    # ways to install
    "pip in the script": flask("pip install -r needs.txt && python app.py\n", **{"needs.txt": "flask\n"}),
    "pip for the user": flask(
        "pip install --user -r needs.txt\nexec python3 app.py\n", **{"needs.txt": "flask\n"}
    ),
    "pip for the user beside requirements": flask(
        "pip install --user 'werkzeug<3.1'\nexec python app.py\n", **{"requirements.txt": "flask\n"}
    ),
    "pip upgrades itself first": flask("python -m pip install -U pip && pip install flask && python app.py\n"),
    "pip into a folder": flask("pip install --target vendor flask\nPYTHONPATH=vendor exec python app.py\n"),
    "pip from the program": Shape(
        {
            "app.py": "import subprocess, sys\n"
            f"subprocess.run([sys.executable, '-m', 'pip', 'install', 'flask'])\n{FLASK}"
        }
    ),
    "editable requirement": Shape({"app.py": FLASK, "requirements.txt": "-e .\n", "pyproject.toml": PROJECT}),
    "venv": flask("python -m venv .venv\n. .venv/bin/activate\npip install flask\npython app.py\n"),
    "venv with the system's packages": flask(
        "python -m venv --system-site-packages .venv\nexec .venv/bin/python app.py\n",
        **{"requirements.txt": "flask\n"},
    ),
    "virtualenv": flask(
        "pip install virtualenv && virtualenv v && v/bin/pip install flask && v/bin/python app.py\n"
    ),
    "poetry": flask(
        "pip install poetry && poetry install --no-root && exec poetry run python app.py\n",
        **{"pyproject.toml": POETRY},
    ),
    "poetry without an environment": flask(
        "pip install poetry\npoetry config virtualenvs.create false\n"
        "poetry install --no-root\nexec python app.py\n",
        **{"pyproject.toml": POETRY},
    ),
    "poetry in its own environment": flask(
        "python -m venv /opt/poetry && /opt/poetry/bin/pip install poetry\n"
        "/opt/poetry/bin/poetry install --no-root && exec /opt/poetry/bin/poetry run python app.py\n",
        **{"pyproject.toml": POETRY},
    ),
    "uv pip into the system": flask("pip install uv && uv pip install --system flask && exec python app.py\n"),
    "uv pip with requirements": flask(
        "uv pip install --system -r needs.txt && exec gunicorn -b :8123 app:app\n",
        **{"requirements.txt": "uv\n", "needs.txt": "flask\ngunicorn\n"},
    ),
    "uv environment": flask("pip install uv && uv venv && uv pip install flask && exec .venv/bin/python app.py\n"),
    "uv run": flask("pip install uv\nexec uv run app.py\n", **{"pyproject.toml": PROJECT}),
    "pipenv into the system": flask(
        "pip install pipenv && pipenv install --system --skip-lock && exec python app.py\n",
        Pipfile='[packages]\nflask = "*"\n',
    ),
    "pdm": flask(
        "pip install pdm 'hishel<2'\npdm install\nexec pdm run python app.py\n", **{"pyproject.toml": PROJECT}
    ),
    # start scripts and processes
    "script in scripts": Shape(
        {"app.py": PLAIN, "scripts/start.sh": 'cd "$(dirname "$0")/.." && python app.py\n'}
    ),
    "script three levels down": Shape(
        {"src/app.py": PLAIN, "src/store.py": STORE, "deploy/run/start.sh": "cd src; python app.py\n"}
    ),
    "script is a link": Shape(
        {"app.py": PLAIN, "deploy/run.sh": "exec python app.py\n", "start.sh": "-> deploy/run.sh"}
    ),
    "link below": Shape(
        {"app.py": PLAIN, "tools/run.sh": "exec python app.py\n", "bin/start.sh": "-> ../tools/run.sh"}
    ),
    "program is a link": Shape({"src/notes.py": PLAIN, "src/store.py": STORE, "app.py": "-> src/notes.py"}),
    "daemon": plain("nohup python app.py > /dev/null 2>&1 &\n"),
    "daemon by setsid": plain("setsid -f python app.py < /dev/null > log 2>&1\n"),
    "starts late": plain("sleep 8\nexec python app.py\n"),
    "sleeps 14 s": plain("sleep 14\nexec python app.py\n"),
    "another port answers first": plain(f"{ELSEWHERE}sleep 8\nexec python app.py\n"),
    "background worker": plain("python -c 'import time; time.sleep(999)' &\npython app.py & wait\n"),
    "restarted after a crash": plain(
        "until python app.py; do sleep 1; done\n",
        **{
            "app.py": (
                "import os, sys\nif not os.path.exists('once'): open('once', 'w').close(); sys.exit('first')\n"
                + PLAIN
            )
        },
    ),
    "port of the variable": plain("PORT=$SERVICE_PORT exec python app.py\n"),
    "both internet protocols": plain("HOST=:: V6ONLY=0 exec python app.py\n"),
    "on localhost only": plain("HOST=127.0.0.1 exec python app.py\n"),
    "writes everywhere": plain(
        "mkdir -p /data /var/log/notes && touch /data/x /etc/notes ~/.notes && python app.py\n"
    ),
    # faults
    "nothing": Shape({"store.py": ""}, "nothing to start: .*none of app.py, .* and api.py$"),
    "another port": plain("PORT=5000 exec python app.py\n", "listens on 0.0.0.0:5000"),
    "another port with a shell above": plain("PORT=5000 python app.py\n", "listens on 0.0.0.0:5000"),
    "another port as a daemon": plain(
        "PORT=5000 nohup python app.py > /dev/null 2>&1 &\n", "listens on 0.0.0.0:5000"
    ),
    "two other ports": plain(f"{ELSEWHERE}PORT=5000 python app.py\n", "listens on 0.0.0.0:5000 and 0.0.0.0:9000"),
    "flask's own port": Shape(
        {"app.py": FLASK, "start.sh": "exec flask run\n", "requirements.txt": "flask"}, "listens on 127.0.0.1:5000"
    ),
    "IPv6 only": plain("HOST=::1 exec python app.py\n", rf"listens on \[::1\]:{PORT}"),
    "all of IPv6 only": plain("HOST=:: V6ONLY=1 exec python app.py\n", rf"listens on \[::\]:{PORT}.*IPv6"),
    "another address": plain("HOST=127.0.0.9 exec python app.py\n", f"listens on 127.0.0.9:{PORT}"),
    "a socket of the file system": Shape(
        {
            "app.py": FLASK,
            "requirements.txt": "flask\ngunicorn\n",
            "start.sh": "exec gunicorn -b unix:/tmp/notes.sock app:app\n",
        },
        "but on the Unix socket.*/tmp/notes.sock",
    ),
    "HTTPS": Shape({"app.py": TLS}, rf"listens on 0.0.0.0:{PORT}, and did not answer HTTP"),
    "sleeps": plain("sleep 3600\n", r"in 3[01] s: it listens on no port"),
    "starts too late": plain(
        "sleep 40\nexec python app.py\n", r"did not answer HTTP in 3[01] s: it listens on no port"
    ),
    "sleeps 16 s": plain("sleep 16\nexec python app.py\n", r"the port answered only after 1[67]\.\d s"),
    "ends at once": plain("echo done\n", "exit code 0.*last words: done"),
    "absent module": Shape({"app.py": "import nothing_like_it\n"}, "No module named 'nothing_like_it'"),
    "syntax error": Shape({"app.py": "def main(:\n"}, "SyntaxError"),
    "colourful crash": plain(
        r"printf '\033[1;31mERROR\033[0m: \033]0;title\007no \033[32mdatabase\033[0m\n'; exit 3",
        "exit code 3; last words: ERROR: no database$",
    ),
    "line ends of Windows": plain("exec python app.py\r\n", "app.py"),
    "unknown package": Shape(
        {"app.py": FLASK, "requirements.txt": "flask\nno-such-package-of-notes\n"}, "no-such-package"
    ),
    "only 404": Shape({"app.py": PLAIN.replace('"/health"', '"/alive"')}, "health path /health answered 404"),
    "dies of the first note": Shape(
        {
            "app.py": PLAIN.replace(
                "            self.tell(201", "            os._exit(7)\n            self.tell(201"
            )
        },
        "left with exit code 7 in the tests",
    ),
    # further kinds: declarations, other people's starts, slow and odd servers
    "package in src that requires itself": Shape(
        {
            "src/notes/__init__.py": "",
            "src/notes/store.py": STORE,
            "src/notes/__main__.py": changed('__name__ == "__main__"', "True", FLASK).replace(
                "from store", "from notes.store"
            ),
            "pyproject.toml": PROJECT,
            "requirements.txt": "-e .\n",
            "start.sh": "exec python -m notes\n",
        }
    ),
    "requirements with options, markers and hashes of none": Shape(
        {
            "app.py": FLASK,
            "requirements.txt": "--extra-index-url https://example.org/simple\n# web\nflask>=2,<4  # the server\n"
            'pywin32; sys_platform == "win32"\n-r more.txt\n',
            "more.txt": "itsdangerous~=2.0\n",
        }
    ),
    "settings of a file": Shape(
        {
            "app.py": f"from dotenv import load_dotenv\nload_dotenv()\n{FLASK}",
            ".env": f"PORT={PORT}\nHOST=0.0.0.0\n",
            "requirements.txt": "flask\npython-dotenv\n",
        }
    ),
    "processes of a Procfile": flask(
        "exec honcho start\n",
        **{"requirements.txt": "flask\nhoncho\n", "Procfile": f"web: PORT={PORT} python app.py\n"},
    ),
    "gevent": Shape(
        {
            "app.py": "from gevent import monkey\nmonkey.patch_all()\n"
            + FLASK.replace(
                "    app.run(",
                "    from gevent.pywsgi import WSGIServer\n"
                f"    WSGIServer(('', {PORT}), app).serve_forever()\n    app.run(",
            ),
            "requirements.txt": "flask\ngevent\n",
        }
    ),
    "one connection at a time": plain(
        "exec python app.py\n",
        **{"app.py": PLAIN.replace("ThreadingHTTPServer", "HTTPServer").replace("HTTP/1.1", "HTTP/1.0")},
    ),
    "warms up with 503": plain(
        "exec python app.py\n",
        **{
            "app.py": "import time\nready = time.time() + 6\n"
            + at_first("time.time() < ready", "return self.tell(503)")
        },
    ),
    "first answer takes 6 s": plain(
        "exec python app.py\n",
        **{"app.py": f"import time\nslow = [6]\n{at_first('slow', 'time.sleep(slow.pop())')}"},
    ),
    "health takes 8 s": plain(
        "exec python app.py\n",
        **{"app.py": "import time\n" + at_first("self.path == '/health'", "time.sleep(8)")},
    ),
    "15 requests at most": plain(
        "exec python app.py\n",
        **{"app.py": f"left = [0] * 15\n{at_first('not left or left.pop()', 'return self.tell(429)')}"},
    ),
    "ends at an unknown path": plain(
        "exec python app.py\n",
        "3 without an answer.*left with exit code 3 when it was asked",
        **{"app.py": at_first('not self.path.startswith(("/health", "/notes"))', "os._exit(3)")},
    ),
    "ends at an odd method": plain(
        "exec python app.py\n",
        **{
            "app.py": changed("do_OPTIONS = do_PROPFIND = handle_any", "handle_any", PLAIN).replace(
                "class Server(",
                "    def do_OPTIONS(self):\n        os._exit(9)\n\n    do_PROPFIND = do_OPTIONS\n\nclass Server(",
            )
        },
    ),
    "a file as its database": plain(
        "exec python app.py\n",
        **{
            "store.py": "import json, os\nPLACE = 'notes.json'\n\nclass Notes(dict):\n"
            "    def save(self):\n        json.dump(self, open(PLACE, 'w'))\n\n"
            "    def pop(self, *key):\n        found = super().pop(*key)\n        self.save()\n"
            "        return found\n\n"
            "notes = Notes(json.load(open(PLACE)) if os.path.exists(PLACE) else {})\n\n"
            "def add(text):\n    number = str(len(notes) + 1)\n    notes[number] = text\n    notes.save()\n"
            "    return number\n"
        },
    ),
    "100 MB of output": plain(
        "exec python app.py\n", **{"app.py": "print('x' * 100_000_000, flush=True)\n" + PLAIN}
    ),
    "make": plain("exec make run\n", "make: (command )?not found", Makefile="run:\n\tpython app.py\n"),
    "docker": plain("docker compose up\n", "docker: (command )?not found"),
    "a program that is not executable": plain("./run\n", "Permission denied", run="exec python app.py\n"),
    "wants a variable": Shape(
        {"app.py": FLASK.replace('os.environ.get("HOST", "0.0.0.0")', 'os.environ["HOST"]')}, "KeyError: 'HOST'"
    ),
    "asks somebody": Shape({"app.py": f"port = input('Port: ')\n{PLAIN}"}, "EOFError"),
    "asks the internet": Shape(
        {"app.py": f"import urllib.request\nurllib.request.urlopen('https://example.org', timeout=5)\n{PLAIN}"},
        "URLError|name resolution|not known",
    ),
    "syntax of Python 3.12": Shape({"app.py": f"type Number = int\n{PLAIN}"}, r"SyntaxError.*app\.py, line 1"),
    "pins that contradict each other": Shape(
        {"app.py": FLASK, "requirements.txt": "flask==3.1.0\nwerkzeug==1.0.1\n"}, "werkzeug"
    ),
    "a release too old for its packages": Shape(
        {"app.py": FLASK, "requirements.txt": "flask==1.1.4\nmarkupsafe==2.1.5\n"}, "cannot import name"
    ),
    "a package whose build fails": Shape(
        {"app.py": FLASK, "requirements.txt": "flask\nsklearn==0.0.post12\n"}, "sklearn.*(?i:deprecated|build)"
    ),
    "health wants a password": Shape(
        {"app.py": PLAIN.replace('self.tell(200, {"status": "ok"}) if', "self.tell(401) if")},
        "health path /health answered 401",
    ),
    # a further round: ends, faults in an answer, scripts
    "four workers with memory of their own": flask(
        f"exec gunicorn -w 4 -b :{PORT} app:app\n",
        "test_(find|remove): ",
        **{"requirements.txt": "flask\ngunicorn\n"},
    ),
    "silent and ends": plain("exec > /dev/null 2>&1\nexit 3\n", "exit code 3; it printed nothing"),
    "segmentation fault": Shape({"app.py": "import ctypes\nctypes.string_at(0)\n"}, "SIGSEGV"),
    "too many processes": Shape(
        {"app.py": f"import subprocess\nall = [subprocess.Popen(['sleep', '99']) for _ in range(700)]\n{PLAIN}"},
        "Resource temporarily unavailable",
    ),
    "too much memory": Shape(
        {"app.py": f"all = [bytearray(50_000_000) for _ in range(100)]\n{PLAIN}"}, "out of memory"
    ),
    "raises at a question": flask(
        "exec python app.py\n",
        "KeyError: 'texts'",
        **{"app.py": FLASK.replace('["text"]', '["texts"]'), "requirements.txt": "flask\n"},
    ),
    "no such table": Shape(
        {
            "app.py": PLAIN,
            "store.py": "import sqlite3\nnotes = {}\nbase = sqlite3.connect('x', check_same_thread=False)\n\n"
            "def add(text):\n    base.execute('insert into notes values (1)')\n",
        },
        "no such table: notes",
    ),
    "circular import": Shape(
        {"app.py": PLAIN, "store.py": "import app\nfrom app import add\n"}, "partially initialized"
    ),
    "tabs and spaces": Shape({"app.py": f"if True:\n        x = 1\n\ty = 2\n{PLAIN}"}, "TabError"),
    "a mark before the script": plain("\ufeffpython app.py\n", "python: command not found"),
    "script is a folder": Shape({"app.py": PLAIN, "start.sh/x": "x"}),
    "empty script": plain("", "exit code 0; it printed nothing"),
    "nothing runs the application": Shape({"app.py": FLASK.partition("if __name__")[0]}, "exit code 0"),
    "debug with its reloader": Shape(
        {"app.py": FLASK.replace("app.run(", "app.config.update(DEBUG=True)\n    app.debug = True\n    app.run(")}
    ),
    "a version of the future": Shape({"app.py": FLASK, "requirements.txt": "flask==99.0\n"}, "flask==99.0"),
    "a package by its address": Shape(
        {"app.py": FLASK, "requirements.txt": "flask @ git+https://example.org/flask\n"}, "required by address"
    ),
    "wrong type": Shape({"app.py": FLASK.replace('{"text": notes[number]}', '{"text": 1}')}, "assert 1 == 'hi'"),
    "answers in HTML": Shape(
        {"app.py": FLASK.replace('return {"status": "ok"}', 'return "<b>ok</b>"')},
        "test_health: .*JSONDecodeError",
    ),
    "two services on one port": plain(
        f"python -m http.server {PORT} &\nsleep 1\nexec python app.py\n", "Address already in use|answered 404"
    ),
}
