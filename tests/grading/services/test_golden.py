"""What services declare, how they are started, how answers are read, and which routes are found by asking.

`python -m tests.grading.services.test_golden` writes golden/services.txt anew: read what changed.
"""

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.errors import GroundupError
from groundup.grading.services.building import find_built_start, no_built_start
from groundup.grading.services.install import StartCommand, find_java_start, find_start, read_declared, words_of
from groundup.grading.services.probing import (
    Caller,
    HttpReply,
    HttpRequest,
    ProbedRoute,
    parse_answer,
    probe_routes,
)
from tests.grading.library.laboratory import write_tree

GOLDEN = Path(__file__).parent / "golden" / "services.txt"
PROJECT = (
    "[project]\nname = 'x'\ndependencies = ['httpx>=0.2']\n[project.optional-dependencies]\ntest = ['mock']\n"
)
DECLARED: Mapping[str, Mapping[str, str]] = {
    "nothing": {"README": ""},
    "plain": {
        "requirements.txt": "flask==2.0  # web\n\n# all\nrequests >= 2 ; python_version > '3'\nuvicorn[standard]\n"
    },
    "options": {
        "requirements.txt": "-i http://i\n--no-index\n--pre\nflask --hash=sha256:1\n-c limits.txt\n--constraint c"
    },
    "included": {
        "requirements.txt": "-r 'more/dev.txt'\n--requirement base.txt",
        "more/dev.txt": "-r ../base.txt\na",
        "base.txt": "b\\\n>=1",
    },
    "itself": {
        "requirements.txt": "-e .[test]\n./lib\n",
        "pyproject.toml": PROJECT,
        "lib/setup.py": "from setuptools import setup\nsetup(install_requires=['six'])",
    },
    "itself, broken": {"requirements.txt": "-e .", "pyproject.toml": "[project\n"},
    "no project": {"requirements.txt": "."},
    "absent": {"requirements.txt": "-r gone.txt"},
    "outside": {"requirements.txt": "-r ../../etc/passwd"},
    "editable": {"requirements.txt": "-e git+https://host/x"},
    "by address": {"requirements.txt": "x @ https://host/x.whl"},
    "no requirement": {"requirements.txt": "flask == two words"},
    "a folder": {"requirements.txt/x": ""},
}
TREES: Mapping[str, Mapping[str, str]] = {
    "nothing": {"README": "", "a/b/c/start.sh": ""},
    "script": {"start.sh": "mvn x\nnpm install\ngo build\npip install .", "app.py": "", "pom.xml": ""},
    "deep scripts": {"z/start.sh": "", "b/a/start.sh": "gradle", "b/tool.sh": "uv sync", "run.sh": "pipx"},
    "bin": {"bin/start.sh": "", "scripts/start.sh": "yarn", "main.py": "import pip"},
    "manage": {"manage.py": "", "server.py": "", "api.py": ""},
    "modules": {"api.py": "", "server/x": "", "pom.xml": ""},
    "program": {"run.py": "subprocess.run(['pip', 'install'])", "bin/one": "", "package.json": "[]"},
    "two programs": {"bin/one": "", "bin/two": "", "package.json": '{"main": "lib/x.js"}', "lib/x.js": ""},
    "npm start": {"package.json": '{"scripts": {"start": "node ."}, "main": 3}', "index.js": ""},
    "node main": {"package.json": '{"scripts": {"start": 1}, "main": "gone.js"}', "index.js": "", "app.js": ""},
    "no json": {"package.json": "{", "words.cfg": "a.b c_1 2x .d"},
}
ANSWERS = (
    b"HTTP/1.1 200 OK\r\nA: b\r\nA: c\r\nAllow: get, ,POST\r\nnone\r\n\r\nbody",
    b"HTTP/1.0 404\r\n\r\n",
    b"HTTP/2 200\r\n\r\n",
    b"HTTP/1.1 20 x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\nmore",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc",
    b"HTTP/1.1 200 OK\r\n\r\n" + b"y" * 400_000,
)
ROUTES = [
    *(
        "GET /rooms/{roomId}",
        "DELETE /rooms/{id}",
        "POST /rooms",
        "GET /rooms",
        "PUT /rooms/{id}",
        "POST /rooms/{id}/join",
    ),
    *(
        "POST /users/register",
        "GET /users/{user_id}",
        "GET /stats",
        "GET /{word}",
        "PATCH /gone",
        "GET /broken/{x}",
    ),
    *(
        "POST /broken",
        "GET /slow",
        "GET /secret",
        "GET /page/{n}",
        "OPTIONS /rooms",
        "GET /lists",
        "GET /lists/{list_id}",
    ),
]
JSON = {"content-type": "application/json; charset=utf-8"}
KNOWN: list[tuple[str, int, Mapping[str, str], str]] = [
    (r"POST /rooms", 201, JSON, '{"room_id": "r-7", "owner": {"id": 3}, "flag_id": true}'),
    (r"POST /users/register", 200, JSON, '{"data": {"id": "u.9"}, "name": "@"}'),
    (r"GET /rooms", 200, JSON, "[]"),
    (r"GET /lists", 200, JSON, '{"data": {"items": [{"id": 55}, {"id": 56}]}}'),
    (r"GET /lists/55", 404, JSON, '{"error": "no list 55"}'),
    (r"GET /rooms/r-7", 200, JSON, '{"room_id": "r-7"}'),
    (r"PUT /rooms/r-7", 500, JSON, "broken"),
    (r"DELETE /rooms/\w+", 405, {}, ""),
    (r"POST /rooms/r-7/join", 401, {"allow": "GET"}, ""),
    (r"GET /users/u.9", 404, JSON, '{"error": "unknown"}'),
    (r"OPTIONS /users/u.9", 204, {"allow": "GET, HEAD"}, ""),
    (r"GET /stats", 404, {}, "not here"),
    (r"PROPFIND /stats", 405, {}, ""),
    (r"GET /broken/\w+", 503, {}, "down"),
    (r"POST /broken", 500, {}, "down"),
    (r"GET /secret", 403, {"allow": "GET"}, "log in"),
    (r"GET /page/\d+", 200, {"content-type": "text/html"}, "page 1 of 3"),
    (r"\w+ /page/.*", 404, {"content-type": "text/html"}, "no page"),
    (r"OPTIONS /.*", 501, {}, ""),
]


class Service(Caller):
    """Answers as a table says, and as a framework does elsewhere; remembers what it was asked."""

    def __init__(self, otherwise: int) -> None:
        self._otherwise = otherwise
        self.asked: list[str] = []

    @override
    async def ask(self, question: HttpRequest, timeout_s: float | None = None) -> HttpReply | None:
        """Return the first answer that fits."""
        line = f"{question.method} {question.path}"
        self.asked.append(f"{re.sub('zq[0-9a-f]{8}', 'ELSEWHERE', line)} {question.body.decode()}".rstrip())
        if "/slow" in question.path:
            return None
        for pattern, status, headers, body in KNOWN:
            if re.fullmatch(pattern, line):
                return HttpReply(status=status, headers=dict(headers), body=body.encode())
        said = f'{{"path": "{question.path}", "at": 12}}'
        return HttpReply(status=self._otherwise, headers=JSON, body=said.encode())


def _read(name: str, folder: Path) -> str:
    found = read_declared(write_tree(folder, DECLARED[name]), "requirements.txt")
    return f"{name}: {found and found.model_dump(exclude_defaults=True)}".replace(str(folder), "")


def _started(name: str, folder: Path) -> Iterator[str]:
    tree = write_tree(folder, TREES[name])
    yield f"{name}: {words_of(tree)}"
    ways: dict[str, Callable[[], StartCommand | None]] = {
        "python": lambda: find_start(tree, 8000),
        "java": lambda: find_java_start(tree),
        "node": lambda: find_built_start("node", tree),
        "go": lambda: find_built_start("go", tree),
    }
    for way, find in ways.items():
        try:
            found = find()
            yield f"  {way}: {found and found.model_dump(exclude_defaults=True)}"
        except GroundupError as error:
            yield f"  {way}: {type(error).__name__}: {error}"


def _probed(otherwise: int, *, has_bodies: bool) -> Iterator[str]:
    service = Service(otherwise)
    body = b'{"name": "@"}' if has_bodies else b""
    pairs = [route.split() for route in ROUTES]
    routes = [
        ProbedRoute(method=method, path=path, body=body if method == "POST" else b"") for method, path in pairs
    ]
    for one in asyncio.run(probe_routes(service, routes, 600.0)):
        yield f"{one.route}: {one.presence}, {one.status}"
    yield from (f"  {line}" for line in service.asked)


def _all(above: Path) -> Iterator[str]:
    for number, name in enumerate(DECLARED):
        yield _read(name, above / f"declared-{number}")
    for number, name in enumerate(TREES):
        yield from _started(name, above / f"tree-{number}")
    yield f"{no_built_start('node')}\n{no_built_start('go')}"
    for data in ANSWERS:
        answer = parse_answer(data)
        told = answer and (
            answer.status,
            answer.headers,
            sorted(answer.allowed),
            len(answer.body),
            answer.text()[:20],
        )
        yield f"{data[:30]!r}: {told}"
    for otherwise in (404, 401, 200):
        for has_bodies in (False, True):
            yield f"##### elsewhere {otherwise}, {'bodies' if has_bodies else 'none'}"
            yield from _probed(otherwise, has_bodies=has_bodies)


def test_services_are_read_and_asked_as_recorded(tmp_path: Path) -> None:
    """Requirements with every refusal, commands that start services, answers, and each question to find routes."""
    assert "\n".join(_all(tmp_path)) + "\n" == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text("\n".join(_all(Path(place))) + "\n", encoding="utf-8")
