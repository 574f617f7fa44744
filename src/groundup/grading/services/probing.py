"""Which of the specified routes an untrusted service has.

A route is distinguished from a missing one by comparison: the same question is asked of paths that surely do not
exist, and the answers are compared without what differs anyhow (the path itself, numbers).

What frameworks do: Flask, FastAPI, aiohttp and Eve answer 404 to unknown paths and 405 to unknown methods of known
ones, and by OPTIONS or Allow tell methods; Django REST framework asks for credentials first, but sends Allow with
every answer; Python's own http.server answers 501 to methods that it has no function for, wherever.

groundup's own HTTP questions to an untrusted service.

A deliberately small HTTP/1.1 client: one question per connection, nothing is followed or decoded, and time, head
and body have bounds, because the answer may be anything.
"""

import asyncio
import json
import re
import secrets
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from enum import StrEnum

from pydantic import Field, JsonValue

from groundup.domain.records import Record
from groundup.grading.services.samples import UUID
from groundup.inside.stopwatch import Stopwatch
from groundup.sandbox.deadlines import limited
from groundup.sandbox.protocol import Connecting

MAX_HEAD_BYTES = 32 * 1024
MAX_BODY_BYTES = 64 * 1024
_MAX_HEADERS = 100
_CHUNK = 16 * 1024
_STATUS = re.compile(rb"HTTP/1\.[0-9] ([1-5][0-9]{2})(?: |$)")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]{0,200}\r\n")
_BODILESS = (204, 304)


class HttpReply(Record):
    """What came back; header names in lower case. The body may be cut, and is not decoded."""

    status: int
    headers: dict[str, str] = {}
    body: bytes = b""

    @property
    def allowed(self) -> frozenset[str]:
        """The methods of an Allow header."""
        words = self.headers.get("allow", "").upper().split(",")
        return frozenset(word.strip() for word in words if word.strip())

    def text(self) -> str:
        """Return the body a character per byte, without the sizes that stand between its chunks."""
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.body.decode("latin-1")
        found, rest = bytearray(), self.body
        while line := _CHUNK_SIZE.match(rest):
            start, size = line.end(), int(line[1], 16)
            found += rest[start : start + size]
            rest = rest[start + size :].removeprefix(b"\r\n")
            if size == 0:
                break
        return found.decode("latin-1")


class HttpRequest(Record):
    """One request."""

    method: str = Field(pattern=r"^[A-Z]{1,20}$")
    path: str = Field(pattern=r"^/[!-~]*$")
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Caller:
    """Asks the service behind one port of a sandbox's network."""

    def __init__(self, sandbox: Connecting, port: int, timeout_s: float) -> None:
        self.port = port
        self.is_endless = False
        """Whether an answer's head went beyond its bound: what answers so is no HTTP, and never will be."""
        self.has_connected = False
        """Whether the port ever took a connection."""
        self.timeout_s = timeout_s
        """For one answer, where a question does not say otherwise."""
        self._sandbox = sandbox

    def stopwatch(self) -> Stopwatch:
        return self._sandbox.stopwatch()

    async def get(self, path: str, timeout_s: float | None = None) -> HttpReply | None:
        return await self.ask(HttpRequest(method="GET", path=path), timeout_s)

    async def is_open(self) -> bool:
        """Whether the port takes a connection; nothing is asked."""
        try:
            async with limited(self.stopwatch(), self.timeout_s):
                (await self._sandbox.connect(self.port)).close()
        except (OSError, TimeoutError):
            return False
        return True

    async def ask(self, question: HttpRequest, timeout_s: float | None = None) -> HttpReply | None:
        """Return the answer; None where none came in time, or none that is HTTP."""
        received = bytearray()
        try:
            async with limited(self.stopwatch(), timeout_s or self.timeout_s):
                with closing(await self._sandbox.connect(self.port)) as connection:
                    self.has_connected = True
                    await asyncio.get_running_loop().sock_sendall(connection, self._written(question))
                    await _receive(connection, received, question.method)
        except (OSError, TimeoutError):  # what had come until then may be a whole answer
            pass
        self.is_endless |= _is_endless(received)
        return parse_answer(bytes(received))

    def _written(self, question: HttpRequest) -> bytes:
        headers = {
            "Host": f"localhost:{self.port}",
            "Connection": "close",
            "User-Agent": "groundup",
            "Accept": "*/*",
            **question.headers,
        }
        if question.body or question.method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(question.body))
        probed = (f"{key}: {text}" for key, text in headers.items())
        lines = [f"{question.method} {question.path} HTTP/1.1", *probed]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + question.body


def parse_answer(data: bytes) -> HttpReply | None:
    """Return what *data* says when it begins as an HTTP answer with a whole head; None otherwise."""
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator or len(head) > MAX_HEAD_BYTES:
        return None
    lines = head.split(b"\r\n")
    found = _STATUS.match(lines[0])
    if found is None:
        return None
    headers: dict[str, str] = {}
    for line in lines[1 : 1 + _MAX_HEADERS]:
        name, colon, text = line.decode("latin-1").partition(":")
        if colon:
            headers.setdefault(name.strip().lower(), text.strip())
    return HttpReply(status=int(found[1]), headers=headers, body=body[:MAX_BODY_BYTES])


async def _receive(connection: socket.socket, received: bytearray, method: str) -> None:
    """Add what comes until the answer is whole, the other side ends, or there is too much."""
    loop = asyncio.get_running_loop()
    while len(received) < MAX_HEAD_BYTES + MAX_BODY_BYTES:
        chunk = await loop.sock_recv(connection, _CHUNK)
        if not chunk:
            return
        received += chunk
        if _is_endless(received) or _is_whole(bytes(received), method):
            return


def _is_endless(received: bytearray) -> bool:
    return len(received) > MAX_HEAD_BYTES and b"\r\n\r\n" not in received[: MAX_HEAD_BYTES + 4]


def _is_whole(data: bytes, method: str) -> bool:
    answer = parse_answer(data)
    if answer is None:
        return False
    if method == "HEAD" or answer.status in _BODILESS:
        return True
    length = answer.headers.get("content-length", "")
    body = data.partition(b"\r\n\r\n")[2]
    if length.isascii() and length.isdigit() and len(length) < 12:
        return len(body) >= min(int(length), MAX_BODY_BYTES)
    return "chunked" in answer.headers.get("transfer-encoding", "").lower() and body.endswith(b"0\r\n\r\n")


_PARAMETER = re.compile(r"\{([^{}/]*)\}")
_FILLERS = ("1", UUID, "5f43a1b2c3d4e5f6a7b8c9d0", "sample")
"""What stands for a path's parameters: a number, a UUID, an object id, a word."""
_ODD_METHOD = "PROPFIND"
_REFUSES_METHOD = (405, 501)
_ASKS_CREDENTIALS = (401, 403)
_CREATED = (200, 201)
_WITH_BODY = ("POST", "PUT", "PATCH")
_NO_BODY = b"{}"
_IDENTIFIER = re.compile(r"[A-Za-z0-9._~-]{1,128}")
_CREATING = ("register", "signup", "create", "new", "add", "upload")
"""Last parts of paths that make a thing of the collection above: `POST /users/register`."""

Fill = Callable[[str], str]


class ProbedRoute(Record):
    """A method on a path with parameters in braces."""

    method: str = Field(pattern=r"^[A-Z]+$")
    path: str = Field(pattern=r"^/[!-~]*$")
    body: bytes = Field(default=b"", description="JSON that it should take, where that is known")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def question(self) -> HttpRequest:
        """Return the request, with its path as it is."""
        bodily = self.method in _WITH_BODY
        headers = {"Content-Type": "application/json"} if bodily else {}
        return HttpRequest(
            method=self.method, path=self.path, headers=headers, body=(self.body or _NO_BODY) if bodily else b""
        )

    @property
    def has_parameters(self) -> bool:
        return _PARAMETER.search(self.path) is not None


class Presence(StrEnum):
    """What the answers say of a route."""

    PRESENT = "present"
    MISSING = "missing"
    FAILING = "failing"
    """It is there and always fails: the service breaks down (5xx), or what it has just made is not found."""
    UNCLEAR = "unclear"
    """The service answers unknown paths alike, for instance all with 200, or all with 401."""
    SILENT = "silent"
    """No answer came in time, or there was no time left to ask."""


class Probed(Record):
    """What was found of one route."""

    route: ProbedRoute
    presence: Presence
    status: int | None = None


async def probe_routes(caller: Caller, routes: Sequence[ProbedRoute], allowed_s: float) -> tuple[Probed, ...]:
    """Ask for each of *routes*; those for which no time is left are silent.

    What makes things is asked before what shows them, with the ids that were given, and what removes them last.
    """
    deadline = time.monotonic() + allowed_s
    made = _Made()
    found: dict[ProbedRoute, Probed] = {}
    for route in sorted(routes, key=_turn):
        found[route] = await _probe(caller, route, made, deadline)
        if route.method == "POST":  # what broke down for want of any thing gets another chance
            for other in [
                one for one, probed in found.items() if probed.presence is Presence.FAILING and one != route
            ]:
                found[other] = await _probe(caller, other, made, deadline)
    return tuple(found[route] for route in routes)


def _turn(route: ProbedRoute) -> int:
    """Return when a route is asked: lists, makers, makers below things, things, changes, removals."""
    if route.method in _WITH_BODY:
        return 4 if route.method != "POST" else 2 if route.has_parameters else 1
    if route.method == "DELETE":
        return 5
    return 3 if route.has_parameters else 0


async def _probe(caller: Caller, route: ProbedRoute, made: "_Made", deadline: float) -> Probed:
    ids, certain = made.ids_for(route)
    fillers = _FILLERS if route.has_parameters else _FILLERS[:1]
    probed: Probed | None = None
    # A handler that wants a number refuses a word as if the route did not exist, and the other way round.
    for filler in fillers:
        if time.monotonic() > deadline:
            break
        probed = await _Comparison(caller, route, _filling(ids, filler), made).probe(certain=certain)
        if probed.presence is not Presence.MISSING or probed.status in _REFUSES_METHOD:
            return probed
    return probed or Probed(route=route, presence=Presence.SILENT)


def _filling(ids: Mapping[str, str], filler: str) -> Fill:
    return lambda path: _PARAMETER.sub(lambda found: ids.get(found[1], filler), path)


class _Made:
    """The ids of what was made on the way, by the path that made it and by their own names."""

    def __init__(self) -> None:
        self._by_path: dict[str, str] = {}
        self._by_name: dict[str, str] = {}

    def note(self, route: ProbedRoute, answer: HttpReply, sent: bytes) -> None:
        """Keep the ids of what was made, or is listed, but for those that *answer* only repeats."""
        if route.method not in ("POST", "GET") or answer.status not in _CREATED or route.path.endswith("}"):
            return
        made = route.method == "POST"
        read = _read(answer.text())
        given = _fields(read if made else _listed(read))
        own = _fields(_read(sent.decode())) if made else {}
        ids = {
            _bare_name(key): str(value)
            for key, value in given.items()
            if own.get(key) != value and _is_id(key, value)
        }
        for name, value in ids.items():
            self._by_name.setdefault(name, value)
        own_id = next((value for name, value in ids.items() if name == "id" or _names(name, route.path)), None)
        if own_id is not None:
            self._by_path.setdefault(route.path.rstrip("/"), own_id)

    def ids_for(self, route: ProbedRoute) -> tuple[dict[str, str], bool]:
        """Return what to put for parameters, and whether those surely are the ids of things that exist."""
        ids: dict[str, str] = {}
        certain = True
        for found in _PARAMETER.finditer(route.path):
            above, name = route.path[: found.start()].rstrip("/"), _bare_name(found[1])
            value = self._made_at(above)
            certain &= value is not None
            value = value or (self._by_name.get(name) if name != "id" else None)
            value = value or next(
                (one for path, one in self._by_path.items() if path.endswith(above or "/")), None
            )
            if value is not None:
                ids[found[1]] = value
        return ids, certain

    def _made_at(self, above: str) -> str | None:
        places = (above, *(f"{above}/{word}" for word in _CREATING))
        return next((self._by_path[place] for place in places if place in self._by_path), None)


def _read(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _listed(read: JsonValue) -> JsonValue:
    """Return the first thing of a list, also of one in an object or two."""
    for _ in range(3):
        if isinstance(read, list):
            return read[0] if read else None
        inner = list(read.values()) if isinstance(read, dict) else []
        read = next((one for kind in (list, dict) for one in inner if isinstance(one, kind) and one), None)
    return None


def _fields(read: JsonValue) -> dict[str, JsonValue]:
    """Return the fields of a JSON object, and behind them those of the objects in it."""
    if not isinstance(read, dict):
        return {}
    inner = [value for value in read.values() if isinstance(value, dict)]
    return {key: value for record in (*reversed(inner), read) for key, value in record.items()}


def _is_id(key: str, value: JsonValue) -> bool:
    named = _bare_name(key).endswith("id")
    return (
        named
        and isinstance(value, str | int)
        and not isinstance(value, bool)
        and bool(_IDENTIFIER.fullmatch(str(value)))
    )


def _names(name: str, path: str) -> bool:
    """Whether the id called *name* is of what *path* makes: `roomid` of `/rooms`."""
    parts = [part for part in path.split("/") if part and not _PARAMETER.search(part) and part not in _CREATING]
    stem = name.removesuffix("id")[:-1]  # a plural may change the last letter
    return bool(parts) and len(stem) > 1 and _bare_name(parts[-1]).startswith(stem)


def _bare_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


class _Comparison:
    """One route with values for its parameters, beside two paths that do not exist."""

    def __init__(self, caller: Caller, route: ProbedRoute, fill: Fill, made: _Made) -> None:
        self._caller = caller
        self._route = route
        self._word = "zq" + secrets.token_hex(4)
        self._fill = fill
        self._path = fill(route.path)
        self._made = made
        self._body = route.body or _NO_BODY

    async def probe(self, *, certain: bool) -> Probed:
        """Ask and compare; *certain* says that the thing that is asked for exists."""
        answer = await self._ask(self._route.method, self._path)
        presence = Presence.SILENT if answer is None else await self._judged(answer)
        if answer is not None and presence is Presence.PRESENT:
            self._made.note(self._route, answer, self._body)
            if certain and await self._fails(answer):
                presence = Presence.FAILING
        return Probed(route=self._route, presence=presence, status=answer and answer.status)

    async def _fails(self, answer: HttpReply) -> bool:
        """Whether *answer* shows that the route does not work, with the body that it should take or without."""
        if answer.status == 404:
            return self._route.method == "GET" and self._route.path.rstrip("/").endswith("}")
        if answer.status < 500:
            return False
        if self._route.method not in _WITH_BODY:
            return True
        if not self._route.body:
            return False  # it may be the lack of a body that it cannot stand
        self._body = _NO_BODY
        again = await self._ask(self._route.method, self._path)
        return again is None or again.status >= 500

    async def _judged(self, answer: HttpReply) -> Presence:
        method = self._route.method
        if answer.status in _REFUSES_METHOD:
            return Presence.MISSING
        # Django REST framework asks for credentials before it looks at the method, and sends the route's methods
        # along.
        if answer.status in _ASKS_CREDENTIALS and answer.allowed and method not in answer.allowed:
            return Presence.MISSING
        # Routers answer otherwise below a prefix of theirs than elsewhere, so both kinds of unknown path are
        # compared.
        nowhere = _elsewhere(self._route.path, self._fill, self._word, first=True)
        beside = _elsewhere(self._route.path, self._fill, self._word, first=False)
        like_nowhere = self._same(answer, await self._ask(method, nowhere))
        if not like_nowhere and not (beside != nowhere and self._same(answer, await self._ask(method, beside))):
            return Presence.PRESENT
        if answer.status == 404:
            return await self._behind_404(
                nowhere, otherwise=Presence.MISSING if like_nowhere else Presence.UNCLEAR
            )
        return Presence.UNCLEAR

    async def _behind_404(self, nowhere: str, *, otherwise: Presence) -> Presence:
        """Distinguish a handler's own plain 404 from a missing route, by methods that are not served."""
        method = self._route.method
        options = await self._ask("OPTIONS", self._path)
        if options is not None and options.status < 400 and method in options.allowed:
            elsewhere = await self._ask("OPTIONS", nowhere)
            if elsewhere is None or method not in elsewhere.allowed:
                return Presence.PRESENT
        odd = await self._ask(_ODD_METHOD, self._path)
        odd_elsewhere = await self._ask(_ODD_METHOD, nowhere)
        if odd is None or odd_elsewhere is None:
            return otherwise
        if odd.status == 405 and odd_elsewhere.status == 404:
            return Presence.PRESENT  # the path is known, and the method was not refused
        tells_nothing = odd.status == odd_elsewhere.status and odd.status not in (404, 405)
        return Presence.UNCLEAR if tells_nothing and self._route.has_parameters else otherwise

    async def _ask(self, method: str, path: str) -> HttpReply | None:
        return await self._caller.ask(ProbedRoute(method=method, path=path, body=self._body).question())

    def _same(self, one: HttpReply, other: HttpReply | None) -> bool:
        return other is not None and self._bare(one) == self._bare(other)

    def _bare(self, answer: HttpReply) -> tuple[int, str, str]:
        """Return an answer without what differs anyhow."""
        text = answer.text()
        words = [part for part in self._path.split("/") if part and not part.isdigit()]  # numbers go anyhow
        for word in sorted({self._word, *words}, key=len, reverse=True):
            text = text.replace(word, "@")
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        return answer.status, kind, re.sub(r"\d+", "0", text)


def _elsewhere(path: str, fill: Fill, word: str, *, first: bool) -> str:
    """Return *path* with another word for its first or its last literal part."""
    parts = path.split("/")
    literal = [at for at, part in enumerate(parts) if part and not _PARAMETER.search(part)]
    if literal:
        parts[literal[0 if first else -1]] = word
    else:
        parts.insert(1, word)
    return fill("/".join(parts))
