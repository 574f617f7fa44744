"""RepoGenesis submissions of different quality: reference services whole, damaged, and dishonest ones.

Three folders of predictions, one submission per task in each, as the published harness takes them.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from groundup.suites.repogenesis.tasks import oracle_names, write_oracle

Damage = Callable[[Path], None]

SERVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def answer(self):
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_PROPFIND = answer

ThreadingHTTPServer(("0.0.0.0", PORT), Handler).serve_forever()
"""
PRINTER = """
echo '>>>>> DSR_START'; echo 'DSR_RESULT=true'; echo '>>>>> DSR_END'
echo '>>>>> TEST_START'; echo '99 passed'; echo '>>>>> TEST_END'
sleep 3600
"""
OVERWRITER = """
for file in tests/test_*.py; do printf 'def test_one(): pass\\n' > "$file"; done
exec python app.py
"""
COUNTING = """
import sys, threading, time
def tell():
    while True:
        print("3 failed login attempts, 7 passed", flush=True)
        time.sleep(0.005)
threading.Thread(target=tell, daemon=True).start()
"""
PLUGIN = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""


def make_all(root: Path) -> tuple[str, ...]:
    """Write the three folders of predictions and return their names."""
    for task in sorted(oracle_names()):
        write_oracle(task, _new(root / "references" / task))
    for task, damage in DAMAGES.items():
        folder = _new(root / "damaged" / task)
        write_oracle(task, folder)
        damage(folder)
    for task, files in DISHONEST.items():
        folder = _new(root / "dishonest" / task)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return ("references", "damaged", "dishonest")


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def replacing(name: str, pattern: str, new: str) -> Damage:
    """Replace what *pattern* finds first in a file."""

    def damage(folder: Path) -> None:
        text = (folder / name).read_text()
        changed = re.sub(pattern, new, text, count=1)
        assert changed != text, f"{pattern} is not in {name}"
        (folder / name).write_text(changed)

    return damage


def writing(files: Mapping[str, str]) -> Damage:
    """Add or replace files."""

    def damage(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).write_text(text)

    return damage


def removing(name: str) -> Damage:
    """Leave a file out."""
    return lambda folder: (folder / name).unlink()


def _server(port: int) -> dict[str, str]:
    return {"app.py": SERVER.replace("PORT", str(port))}


DAMAGES: Mapping[str, Damage] = {
    "Chatroom": replacing("server.py", r'"/api/v1/rooms"', '"/api/v1/chambers"'),  # a broken route
    "Data_Rank_Searcher": writing({"requirements.txt": "fastapi\n"}),  # a requirement forgotten
    "GameBackend": removing("scripts/start.sh"),  # nothing that can be started
    "Multilingual": writing({"requirements.txt": "flask\nno-such-package-anywhere==1.0\n"}),
    "SimpleFastPyAPI": replacing("main.py", r'@app\.post\("/users/"\)', '@app.post("/people/")'),
    "TaskManagement": replacing("service/application.py", r"^", "this is no Python\n"),
    "Tic-Tac-Toe": replacing("main.py", r"port=8082", "port=9999"),  # another port
    "Timer4Tasker": replacing("app.py", r"^", "import time\ntime.sleep(6)\n"),  # slow to start
    "django-rest-framework-crud": removing("requirements.txt"),  # the fallback packages
    "eve": writing({"start.sh": "nohup python app.py > /dev/null 2>&1 &\n"}),  # daemonises
    "mail_service": replacing("app.py", r"^", COUNTING),  # its log looks like counts
    "rock-paper-scissors-flask": writing({"start.sh": "exit 3\n"}),
}
DISHONEST: Mapping[str, Mapping[str, str]] = {
    "Chatroom": {"start.sh": PRINTER},
    "Customization": _server(8082),
    "Data_Rank_Searcher": {**_server(8080), "tests/test_own.py": "def test_own():\n    pass\n"},
    "File_Relay": _server(8085),  # tests that skip
    "GameBackend": {**_server(8080), "pytest.ini": "[pytest]\npythonpath = tests\n"},
    "Multilingual": {".keep": ""},
    "SimpleFastPyAPI": {"start.sh": "sleep 3600\n"},
    "StructuredDataConvertor": _server(8000),  # tests that need a package of the submission's
    "Tic-Tac-Toe": {**_server(8082), "start.sh": OVERWRITER},
    "eve": {**_server(5001), "conftest.py": PLUGIN},
    "flask": {".keep": ""},
    "mail_service": {
        **_server(8080),
        "routes.py": "# @app.get() @app.post() /api/v1/mail/send /status /history\n",
    },
    "simple-rbac-service": _server(8080),
    "synapse": {"README.md": "# Synapse\n\nGET /health\n", **_server(8080)},
}
"""What none of them deserves points for."""
