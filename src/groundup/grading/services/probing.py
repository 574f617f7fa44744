"""Which of the specified routes a running service has, found out by asking.

A route is told from a missing one by comparison: the same question is asked of paths that surely do not exist, and
the answers are compared without what differs anyhow (the path itself, numbers). Pure but for the asking.

What frameworks do: Flask, FastAPI, aiohttp and Eve answer 404 to unknown paths and 405 to unknown methods of known
ones, and by OPTIONS or Allow tell methods; Django REST framework asks for credentials first, but sends Allow with
every answer; Python's own http.server answers 501 to methods that it has no function for, wherever.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from enum import StrEnum

from pydantic import Field

from groundup.domain.records import Record
from groundup.grading.services.asking import Answer, Caller, Question

_PARAMETER = re.compile(r"\{[^{}/]*\}")
_FILLERS = ("1", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "5f43a1b2c3d4e5f6a7b8c9d0", "sample")
"""What stands for a path's parameters: a number, a UUID, an object id, a word."""
_ODD_METHOD = "PROPFIND"
_REFUSES_METHOD = (405, 501)
_ASKS_CREDENTIALS = (401, 403)


class Route(Record):
    """A method on a path with parameters in braces."""

    method: str = Field(pattern=r"^[A-Z]+$")
    path: str = Field(pattern=r"^/[!-~]*$")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Presence(StrEnum):
    """What the answers say of a route."""

    PRESENT = "present"
    MISSING = "missing"
    UNCLEAR = "unclear"
    """The service answers unknown paths alike, for instance all with 200, or all with 401."""


class Probed(Record):
    """What became of one route."""

    route: Route
    presence: Presence
    status: int | None = None


async def probe_routes(caller: Caller, routes: Sequence[Route], allowed_s: float) -> tuple[Probed, ...]:
    """Ask for each of *routes*; those for which no time is left are unclear."""
    stopwatch = caller.stopwatch()
    return tuple([await _probe(caller, route, lambda: stopwatch.left_s(allowed_s)) for route in routes])


async def _probe(caller: Caller, route: Route, left_s: Callable[[], float]) -> Probed:
    fillers = _FILLERS if _PARAMETER.search(route.path) else _FILLERS[:1]
    told: Probed | None = None
    for filler in fillers:
        if left_s() <= 0:
            break
        told = await _Comparison(caller, route, filler).probe()
        if told.presence is not Presence.MISSING or told.status in _REFUSES_METHOD:
            return told
    return told or Probed(route=route, presence=Presence.UNCLEAR)


class _Comparison:
    """One route with one filler, beside two paths that do not exist."""

    def __init__(self, caller: Caller, route: Route, filler: str) -> None:
        self._caller = caller
        self._route = route
        self._word = "zq" + secrets.token_hex(4)
        self._filler = filler
        self._path = _PARAMETER.sub(filler, route.path)

    async def probe(self) -> Probed:
        """Ask and compare."""
        answer = await self._ask(self._route.method, self._path)
        presence = Presence.UNCLEAR if answer is None else await self._judged(answer)
        return Probed(route=self._route, presence=presence, status=answer and answer.status)

    async def _judged(self, answer: Answer) -> Presence:
        method = self._route.method
        if answer.status in _REFUSES_METHOD:
            return Presence.MISSING
        if answer.status in _ASKS_CREDENTIALS and answer.allowed and method not in answer.allowed:
            return Presence.MISSING
        nowhere = _elsewhere(self._route.path, self._filler, self._word, first=True)
        beside = _elsewhere(self._route.path, self._filler, self._word, first=False)
        like_nowhere = self._same(answer, await self._ask(method, nowhere))
        if not like_nowhere and not (beside != nowhere and self._same(answer, await self._ask(method, beside))):
            return Presence.PRESENT
        if answer.status == 404:
            return await self._behind_404(
                nowhere, otherwise=Presence.MISSING if like_nowhere else Presence.UNCLEAR
            )
        return Presence.UNCLEAR

    async def _behind_404(self, nowhere: str, *, otherwise: Presence) -> Presence:
        """Tell a handler's own plain 404 from a missing route, by methods that nobody serves."""
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
        return Presence.UNCLEAR if tells_nothing and _PARAMETER.search(self._route.path) else otherwise

    async def _ask(self, method: str, path: str) -> Answer | None:
        bodily = method in ("POST", "PUT", "PATCH")
        return await self._caller.ask(
            Question(
                method=method,
                path=path,
                headers={"Content-Type": "application/json"} if bodily else {},
                body=b"{}" if bodily else b"",
            )
        )

    def _same(self, one: Answer, other: Answer | None) -> bool:
        return other is not None and self._bare(one) == self._bare(other)

    def _bare(self, answer: Answer) -> tuple[int, str, str]:
        """Return an answer without what differs anyhow."""
        text = answer.text()
        words = [part for part in self._path.split("/") if part and not part.isdigit()]  # numbers go anyhow
        for word in sorted({self._word, *words}, key=len, reverse=True):
            text = text.replace(word, "@")
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        return answer.status, kind, re.sub(r"\d+", "0", text)


def _elsewhere(path: str, filler: str, word: str, *, first: bool) -> str:
    """Return *path* with another word for its first or its last literal part."""
    parts = path.split("/")
    literal = [at for at, part in enumerate(parts) if part and not _PARAMETER.search(part)]
    if literal:
        parts[literal[0 if first else -1]] = word
    else:
        parts.insert(1, word)
    return _PARAMETER.sub(filler, "/".join(parts))
