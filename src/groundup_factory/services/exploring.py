"""Finding out which requests a running service takes: who may ask, which values it gives back, what works.

One fresh start is asked for each operation in a few ways, makers first and removals last. What worked, with the
calls that it needs before (registering, logging in, making what is asked for), is what scenarios are made of.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

from pydantic import JsonValue

from groundup.grading.services.probing import HttpReply, HttpRequest
from groundup.suites.repogenesis.endpoints import path_shape
from groundup_factory.services.operations import Operation
from groundup_factory.services.scenarios import (
    HEADERS,
    Account,
    Fields,
    JsonPath,
    Login,
    Place,
    ServiceCall,
    ServiceRequest,
    step_of,
)

_MAKING = re.compile(r"/(?:register|signup|sign-up|create|new|add)/?$")
_REGISTERS = re.compile(r"regist|sign-?up|/users?/?$|/accounts?/?$", re.IGNORECASE)
_LOGS_IN = re.compile(r"log-?in|sign-?in|token|auth|session", re.IGNORECASE)
_UNAUTHORIZED = (401, 403)
_WANTS_LOGIN = re.compile(r"token|log ?in|authori[sz]|authenti", re.IGNORECASE)
_PREPARES = re.compile(r"/(?:create|init|setup|populate|seed|migrate|reset)[_-]?(?:db|database|tables?|data)?/?$")
_BROKEN = 500
_NUMBERS = ("=1", "=2", "=sample")
_DEEP = 3
_MOST_ACCOUNTS = 4
_MOST_GUARDED = 8
Fits = Callable[[str, JsonValue], bool]


class Asking(Protocol):
    """Whatever asks the service."""

    async def ask(self, question: HttpRequest, timeout_s: float | None = None) -> HttpReply | None:
        """Return the answer; None: there was none."""


class ServiceAnswer(NamedTuple):
    """What came back, read."""

    status: int
    kind: str
    text: str
    read: JsonValue

    @property
    def works(self) -> bool:
        return 200 <= self.status < 300


class Working(NamedTuple):
    """How an operation is asked so that it works."""

    before: tuple[ServiceCall, ...]
    call: ServiceCall
    answer: ServiceAnswer


async def asked(asking: Asking, step: ServiceRequest, variables: dict[str, str]) -> ServiceAnswer | None:
    """Ask *step*, and put what it keeps into *variables*."""
    headers = {
        key: re.sub(r"\{(\w+)\}", lambda found: variables.get(found[1], ""), text)
        for key, text in step.headers.items()
    }
    if step.basic is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(":".join(step.basic).encode()).decode()
    content = b""
    if step.sends == "json":
        headers["Content-Type"] = "application/json"
        content = json.dumps(step.body).encode()
    if step.sends == "form" and isinstance(step.body, dict):
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        content = urlencode(step.body, doseq=True).encode()
    reply = await asking.ask(
        HttpRequest(method=step.method, path=step.target(variables), headers=headers, body=content)
    )
    if reply is None:
        return None
    answer = read_answer(reply)
    for name, path in step.keeps.items():
        found = at(answer.read, path)
        if isinstance(found, str | int) and not isinstance(found, bool):
            variables[name] = str(found)
    return answer


def read_answer(reply: HttpReply) -> ServiceAnswer:
    """Return what *reply* says."""
    text = reply.text().encode("latin-1", "replace").decode("utf-8", "replace")
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        read: JsonValue = json.loads(text) if "json" in kind else None
    except (ValueError, RecursionError):
        read = None
    return ServiceAnswer(reply.status, kind, text, read)


def at(value: JsonValue, path: JsonPath) -> JsonValue:
    """Return what *value* has at *path*; None: nothing."""
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


class _LoginWay(NamedTuple):
    """How somebody is known to the service."""

    calls: tuple[ServiceCall, ...]
    """Asked before."""
    kind: Login
    account: Account | None = None

    def asking(self, call: ServiceCall) -> ServiceCall:
        return call.but(login=self.kind, account=self.account)


class Explorer:
    """Asks one running service for its operations."""

    def __init__(self, asking: Asking, operations: Sequence[Operation], accounts: Sequence[Account] = ()) -> None:
        """Explore *operations*; *accounts* are those that the repository writes down."""
        self._asking = asking
        self._operations = operations
        self._accounts = accounts
        self.working: dict[str, Working] = {}
        """Operation -> how it works."""
        self.statuses: dict[str, int | None] = {}
        """Operation -> what its last try was answered."""
        self._logins: tuple[_LoginWay, ...] = ()
        """Ways to be somebody, the likeliest first."""
        self._first: tuple[ServiceCall, ...] = ()
        """What is asked before anything else, such as for a database."""
        self._said = ""
        self._has_broken = False
        """Whether anything broke down, also what was asked on the way and worked later."""
        self._draws = iter(range(1_000_000))

    async def explore(self) -> None:
        """Ask for all of them; once more after what prepares the service, where some broke down without it."""
        await self._ask_all()
        preparing = [one.call for one in self.working.values() if _prepares(one.call.operation)]
        if preparing and self._has_broken:
            self._first = (preparing[0],)
            self.working.clear()
            await self._ask_all()

    async def _ask_all(self) -> None:
        await self._find_login()
        for operation in sorted(self._operations, key=_turn):
            if str(operation) not in self.working:
                await self._try(operation)

    async def _find_login(self) -> None:
        """Look for the calls that make somebody known, and for how they are named afterwards."""
        posts = [one for one in self._operations if one.method == "POST" and not one.in_path]
        registering = [one for one in posts if _REGISTERS.search(one.path) and not _LOGS_IN.search(one.path)] or [
            one for one in posts if re.search(r"regist|sign-?up", one.path)
        ]
        logging_in = [one for one in posts if _LOGS_IN.search(one.path) and one not in registering]
        for first in (*((one,) for one in registering[:3]), ()):
            before = tuple(ServiceCall(operation=one) for one in first)
            for last in (*logging_in[:3], *first):
                calls = before if last in first else (*before, ServiceCall(operation=last))
                for login in ("", "basic"):
                    found = await self._token(calls, by_basic=login == "basic")
                    if found is not None:
                        self._logins = tuple(_LoginWay(found, kind) for kind in HEADERS)
                        return
        guarded = await self._guarded() if registering or self._accounts else []
        ways = [_LoginWay((), "basic", account) for account in self._accounts[:_MOST_ACCOUNTS]]
        ways += [_LoginWay((ServiceCall(operation=one),), "basic") for one in registering[:2]]
        for way in ways:
            for target in guarded[:2]:
                answers = await self._run((*self._first, *way.calls, way.asking(ServiceCall(operation=target))))
                if answers and answers[-1].works:
                    self._logins = (way,)
                    return

    async def _guarded(self) -> list[Operation]:
        """Return plain GET operations that need a login."""
        plain = [one for one in self._operations if one.method == "GET" and not one.in_path]
        plain.sort(key=lambda one: not one.secured)
        found = []
        for one in plain[:_MOST_GUARDED]:
            answers = await self._run((*self._first, ServiceCall(operation=one)))
            if answers and answers[-1].status in _UNAUTHORIZED:
                found.append(one)
        return found

    async def _token(self, calls: tuple[ServiceCall, ...], *, by_basic: bool) -> tuple[ServiceCall, ...] | None:
        """Return *calls* with the token of the last answer kept; None where there is none."""
        if not calls:
            return None
        *before, last = calls
        last = last.but(login="basic") if by_basic else last
        answers = await self._run((*self._first, *before, last))
        if not answers or not answers[-1].works:
            return None
        path = _found(answers[-1].read, lambda key, value: "token" in key.lower() and isinstance(value, str))
        if path is None:
            return None
        self.working[str(last.operation)] = Working((*self._first, *before), last, answers[-1])
        self.statuses[str(last.operation)] = answers[-1].status
        return (*before, last.but(keeps={"token": path}))

    async def _try(self, operation: Operation) -> None:
        for places, before in self._places(operation):
            ways: list[Fields] = ["all", "required"] if operation.body or operation.in_query else ["all"]
            for fields in ways:
                call = ServiceCall(operation=operation, fields=fields, places=places)
                if await self._works(operation, before, call) or await self._works_by_somebody(
                    operation, before, call
                ):
                    return
                if self.statuses[str(operation)] == 405:
                    return

    async def _works_by_somebody(
        self, operation: Operation, before: tuple[ServiceCall, ...], call: ServiceCall
    ) -> bool:
        """Whether it works after a login, where the last answer asks for one."""
        status, text = self.statuses[str(operation)], self._said
        if status not in _UNAUTHORIZED and not (status is not None and _WANTS_LOGIN.search(text)):
            return False
        for way in self._logins:
            prior = tuple(one for one in before if one not in way.calls)
            if await self._works(operation, (*way.calls, *prior), way.asking(call)):
                self._logins = (way,)  # the others would be in vain for the next ones, too
                return True
        return False

    async def _works(self, operation: Operation, before: tuple[ServiceCall, ...], call: ServiceCall) -> bool:
        if operation not in [one.operation for one in self._first]:
            before = (*self._first, *(one for one in before if one not in self._first))
        answers = await self._run((*before, call))
        self.statuses[str(operation)] = answers[-1].status if answers else None
        self._said = answers[-1].text if answers else ""
        if not answers or not answers[-1].works:
            return False
        self.working[str(operation)] = Working(before, call, answers[-1])
        return True

    def _places(self, operation: Operation) -> list[tuple[Mapping[str, Place], tuple[ServiceCall, ...]]]:
        """Return what may stand for path parameters, with the calls that make it, the surest first."""
        names = [one.name for one in operation.in_path]
        if not names:
            return [({}, ())]
        found: list[tuple[Mapping[str, Place], tuple[ServiceCall, ...]]] = []
        for working in self.working.values():
            places = self._given(operation, working.call.operation, working)
            if places is None and len(names) == 1:
                places = _named_alike(names[0], working)
            if places is not None:
                kept = working.call.but(keeps={**working.call.keeps, **places[1]})
                found.append((places[0], (*working.before, kept)))
        found.sort(key=lambda one: one[1][-1].operation.method != "POST")
        before = self._makers(operation)  # so that the first thing is there, whoever was asked before
        plain: list[tuple[Mapping[str, Place], tuple[ServiceCall, ...]]] = [
            (dict.fromkeys(names, filler), before) for filler in _NUMBERS
        ]
        return [*found[:2], ({}, ()), *plain]

    def _makers(self, operation: Operation) -> tuple[ServiceCall, ...]:
        """Return the calls that make a thing of the collection above *operation*, where there are such."""
        above = path_shape(operation.collection or "/")
        for one in self.working.values():
            source = one.call.operation
            if source.method == "POST" and path_shape(_MAKING.sub("", source.path.rstrip("/")) or "/") == above:
                return (*one.before, one.call)
        return ()

    def _given(
        self, operation: Operation, source: Operation, working: Working
    ) -> tuple[Mapping[str, Place], Mapping[str, JsonPath]] | None:
        """Return places and what to keep, where an answer of *source* names the things of *operation*."""
        *outer, last = [one.name for one in operation.in_path]
        above = operation.path.partition(f"{{{last}}}")[0].rstrip("/") or "/"
        made_at = _MAKING.sub("", source.path.rstrip("/")) or "/"
        if path_shape(made_at) != path_shape(above) or source.method not in ("POST", "GET"):
            return None
        if source.method == "GET" and not _is_listing(working.answer.read):
            return None
        inherited = dict(zip(outer, working.call.places.values(), strict=False))
        if len(inherited) != len(outer):
            return None
        sent = next((one for one in source.body or () if one.name == last), None)
        if source.method == "POST" and sent is not None:
            return {**inherited, last: sent}, {}
        path = _id_path(working.answer.read, last, above)
        return None if path is None else ({**inherited, last: f"made_{len(outer)}"}, {f"made_{len(outer)}": path})

    async def _run(self, calls: Sequence[ServiceCall]) -> list[ServiceAnswer]:
        draw = f"exploring {next(self._draws)}"
        variables: dict[str, str] = {}
        answers = []
        for call in calls:
            answer = await asked(self._asking, step_of(call, draw), variables)
            self._has_broken |= answer is None or answer.status >= _BROKEN
            if answer is None:
                return []
            answers.append(answer)
        return answers


def _named_alike(name: str, working: Working) -> tuple[Mapping[str, Place], Mapping[str, JsonPath]] | None:
    """Return place and what to keep, where a thing was made whose answer has a field of the very *name*.

    An `id` is not clear enough: it may be that of another thing.
    """
    if working.call.operation.method != "POST" or name in ("id", "_id", "uuid", "name"):
        return None
    path = _found(
        working.answer.read, lambda key, value: key == name and isinstance(value, str | int) and value != ""
    )
    return None if path is None else ({name: f"made_{name}"}, {f"made_{name}": path})


def _prepares(operation: Operation) -> bool:
    return not operation.in_path and not operation.body and _PREPARES.search(operation.path) is not None


def _turn(operation: Operation) -> int:
    """Return when an operation is asked: makers and lists before things, removals last."""
    if operation.method == "DELETE":
        return 9
    if operation.method in ("PUT", "PATCH"):
        return 8
    made = 2 * len(operation.in_path)
    return made + (operation.method != "POST")


def _is_listing(read: JsonValue) -> bool:
    if isinstance(read, dict):
        return any(isinstance(value, list) and value for value in read.values())
    return isinstance(read, list) and bool(read)


def _found(read: JsonValue, fits: Fits, path: JsonPath = ()) -> JsonPath | None:
    """Return where the first value stands that *fits*: an object's own before what stands in them."""
    if len(path) > _DEEP:
        return None
    if isinstance(read, list):
        return _found(read[0], fits, (*path, 0)) if read else None
    if not isinstance(read, dict):
        return None
    for key, value in read.items():
        if fits(key, value):
            return (*path, key)
    for key, value in read.items():
        inner = _found(value, fits, (*path, key))
        if inner is not None:
            return inner
    return None


def _id_path(read: JsonValue, name: str, above: str) -> JsonPath | None:
    """Return where an answer has the value for the path parameter *name*, the surest first."""
    noun = above.rstrip("/").rpartition("/")[2].rstrip("s").lower()

    def plain(value: JsonValue) -> bool:
        return isinstance(value, str | int) and not isinstance(value, bool) and value != ""

    tests: tuple[Fits, ...] = (
        lambda key, value: key == name and plain(value),
        lambda key, value: key in ("id", "_id", "uuid") and plain(value),
        lambda key, value: key.lower() in (f"{noun}_id", f"{noun}id") and plain(value),
        lambda key, value: key.lower().endswith("id") and plain(value),
    )
    return next((path for fits in tests if (path := _found(read, fits)) is not None), None)
