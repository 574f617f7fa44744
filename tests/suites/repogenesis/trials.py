"""A task of our own, honest and dishonest services for it, and a builder that needs no registry."""

from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from groundup.domain.errors import SubmissionError
from groundup.domain.tasks import Task
from groundup.environments.requests import PythonEnvironment, PythonRequest, ResolvedRequest
from groundup.grading.context import GradingContext
from groundup.grading.services.records import Lifecycle
from groundup.sandbox.protocol import SandboxProvider
from groundup.suites.base import Graded, Grader
from groundup.suites.repogenesis.legacy_grader import LegacyGrader
from groundup.suites.repogenesis.official import RepoGenesisOfficialGrader
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from groundup.suites.repogenesis.tasks import ServiceProblem, read_dataset
from tests.grading.library.laboratory import HostBuilder, write_tree

PORT = 8123
LIFECYCLE = Lifecycle(ready_s=8, late_s=1, tests_s=60, one_test_s=8, overall_s=120, answer_s=2, probing_s=20)
README = """# Notes

`GET /health` says ok, `POST /notes` adds one, `GET /notes/{id}` and `DELETE /notes/{id}` find and remove it.
"""
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

[base_url]
variable = "NOTES_URL"
"""
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--json-report", action="store_true")  # what the published harness asks for
    parser.addoption("--json-report-file")
    try:  # what the older scripts ask for; pytest-cov may be there
        parser.addoption("--cov")
        parser.addoption("--cov-report")
    except ValueError:
        pass

def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--cov"):
        terminalreporter.write_line("TOTAL    10    4    60%")
"""
TESTS = """
import json
import os
import urllib.error
import urllib.request

import pytest

url = os.environ.get("NOTES_URL", "http://localhost:8123")

def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data, method=method)) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, None

@pytest.fixture(autouse=True)
def well():
    if ask("GET", "/health")[0] != 200:
        pytest.skip("the service is not well")

def test_health():
    assert ask("GET", "/health") == (200, {"status": "ok"})

def test_add():
    assert ask("POST", "/notes", {"text": "hi"})[0] == 201

def test_find():
    number = ask("POST", "/notes", {"text": "hi"})[1]["id"]
    assert ask("GET", f"/notes/{number}")[1]["text"] == "hi"

def test_remove():
    number = ask("POST", "/notes", {"text": "hi"})[1]["id"]
    assert ask("DELETE", f"/notes/{number}")[0] == 204
    assert ask("GET", f"/notes/{number}")[0] == 404
"""
HONEST = """
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

notes = {}

class Handler(BaseHTTPRequestHandler):
    def tell(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def handle_any(self):
        parts = self.path.strip("/").split("/")
        if parts == ["health"]:
            return self.tell(200, {"status": "ok"}) if self.command == "GET" else self.tell(405, Allow="GET")
        if parts == ["notes"]:
            if self.command != "POST":
                return self.tell(405, Allow="POST")
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            number = str(len(notes) + 1)
            notes[number] = body.get("text")
            return self.tell(201, {"id": number})
        if len(parts) == 2 and parts[0] == "notes":
            if self.command not in ("GET", "DELETE"):
                return self.tell(405, Allow="GET, DELETE")
            if parts[1] not in notes:
                return self.tell(404, {"error": "no such note"})
            if self.command == "GET":
                return self.tell(200, {"text": notes[parts[1]]})
            del notes[parts[1]]
            return self.tell(204)
        return self.tell(404, {"error": "no such page"})

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_PROPFIND = handle_any

ThreadingHTTPServer(("0.0.0.0", 8123), Handler).serve_forever()
"""
NOT_FOUND = """
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def handle_any(self):
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_PROPFIND = handle_any

HTTPServer(("0.0.0.0", 8123), Handler).serve_forever()
"""
EVERYTHING_WELL = NOT_FOUND.replace("404", "200")
SLEEPER = {"start.sh": "sleep 3600\n"}
PRINTER = {
    "start.sh": """
echo '>>>>> DSR_START'; echo 'DSR_RESULT=true'; echo '>>>>> DSR_END'
echo '>>>>> TEST_START'; echo '4 passed'; echo '>>>>> TEST_END'
sleep 3600
"""
}
OVERWRITER = {
    "app.py": NOT_FOUND.replace("404", "200"),
    "start.sh": """
for place in tests ../tests /repo/tests /workspace/tests; do
    if [ -d $place ]; then
        for file in $place/test_*.py; do printf 'def test_one(): pass\\ndef test_two(): pass\\n' > $file; done
    fi
done
ps aux 2>/dev/null; pkill -f pytest; pkill -f runner
exec python app.py
""",
    "tests/test_notes.py": "def test_own(): pass\n",
}
COMMENTER = {
    "routes.py": """
# @app.get("/health")
# @app.post("/notes")
# @app.get("/notes/{id}")
# @app.delete("/notes/{id}")
""",
    "app.py": NOT_FOUND,
}
DAEMON = {"app.py": HONEST, "start.sh": "nohup python app.py > /dev/null 2>&1 &\n"}
CONTAINED = {
    "app.py": HONEST,
    "start.sh": """
set -e
[ "$(id -u)" = 0 ]
for place in /app/data /var/log/notes /var/lib/notes /root/.notes ~/.config /usr/local/notes; do
    mkdir -p $place; echo x > $place/file
done
echo '127.0.0.1 notes' >> /etc/hosts
! nc -z localhost 8123
for program in npm node gcc java git; do ! command -v $program; done
exec python app.py
""",
}
NOPS: dict[str, str] = {}


class ServiceBuilder(HostBuilder):
    """Hands out the running environment for everything but one package, which does not exist."""

    @override
    async def submission_environment(self, request: ResolvedRequest) -> PythonEnvironment:
        """Return the running environment."""
        if any("no-such-package" in line for line in request.requirements):
            raise SubmissionError("resolving: unknown package: no-such-package was not found")
        return await self.python(PythonRequest(python=request.python))


@dataclass(frozen=True)
class Trial:
    """Grades trees written from dicts."""

    provider: SandboxProvider
    folder: Path

    def problem(self) -> ServiceProblem:
        """Return the task, with its hidden tests written below the trial's folder."""
        data = self.folder / "data"
        if not data.exists():
            files = {"README.md": README, "task.toml": TASK_FILE, "tests/test_notes.py": TESTS}
            write_tree(data / "notes", {**files, "tests/conftest.py": CONFTEST})
        return read_dataset(data).problems[0]

    async def strict(self, files: dict[str, str], lifecycle: Lifecycle = LIFECYCLE) -> Graded:
        """Return what strict grading says of a submission of *files*."""
        return await self._grade(RepoGenesisStrictGrader({"notes": self.problem()}, lifecycle), files)

    async def official(self, files: dict[str, str], lifecycle: Lifecycle = LIFECYCLE) -> Graded:
        """Return what official grading says of a submission of *files*."""
        return await self._grade(RepoGenesisOfficialGrader({"notes": self.problem()}, lifecycle), files)

    async def legacy(self, files: dict[str, str], lifecycle: Lifecycle = LIFECYCLE) -> Graded:
        """Return what the older scripts say of a submission of *files*."""
        return await self._grade(LegacyGrader({"notes": self.problem()}, lifecycle, wait_s=2), files)

    async def _grade(self, grader: Grader, files: dict[str, str]) -> Graded:
        number = len(list(self.folder.glob("submission-*")))
        submission = write_tree(self.folder / f"submission-{number}", files)
        scratch = self.folder / f"scratch-{number}"
        scratch.mkdir()
        context = GradingContext(provider=self.provider, builder=ServiceBuilder(self.folder), scratch=scratch)
        return await grader.grade(TASK, submission, context)


TASK = Task(id="notes", suite="repogenesis", instruction=README, data_version="own")


def share(graded: Graded, name: str) -> float | None:
    """Return one of the verdict's scores as a share."""
    return graded.verdict.scores[name].value


def passed(graded: Graded) -> int:
    """Return how many hidden tests count as passed."""
    assert graded.verdict.score is not None
    return int(graded.verdict.score.numerator)
