"""What is asked of a service: calls, how they follow one another, and the requests that they become.

A call names no values: they follow from a draw, so that one scenario can be shown in a specification and be asked
with other values by a hidden test.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from groundup.curation.services.operations import Operation, Parameter
from groundup.curation.services.samples import sample, wrong
from groundup.domain.records import Record

JsonPath = tuple[str | int, ...]
Fields = Literal["all", "required", "none"]
Login = Literal["bearer", "token", "plain", "basic"]
HEADERS: Mapping[Login, str] = {"bearer": "Bearer {token}", "token": "Token {token}", "plain": "{token}"}
"""How a token is shown in the header `Authorization`."""
Place = str | Parameter
"""The variable that holds a path parameter, or `=text`, or the field of another call that has the same value."""
_ABSENT = {"integer": "987654", "string": "zq-no-such-thing"}


class ServiceCall(Record):
    """One operation, asked in one way."""

    operation: Operation
    fields: Fields = "all"
    """Which fields of the body, and of the query, are sent."""
    omitted: str | None = None
    broken: str | None = None
    """A field that gets a value of another kind."""
    with_query: str | None = None
    """A parameter of the query that is sent alone."""
    places: Mapping[str, Place] = {}
    """Path parameter -> what stands there; others are sampled."""
    login: Login | None = None
    account: tuple[str, str] | None = None
    """Name and password that the original knows from its start; None: those that somebody registers with."""
    keeps: Mapping[str, JsonPath] = {}
    """Variable -> where the answer has its value."""


class ServiceRequest(Record):
    """A request, with `{variable}` in path and headers for what an earlier answer gave."""

    method: str
    path: str
    query: Mapping[str, JsonValue] = {}
    body: JsonValue = None
    sends: Literal["json", "form", "nothing"] = "nothing"
    headers: Mapping[str, str] = {}
    basic: tuple[str, str] | None = None
    keeps: Mapping[str, JsonPath] = {}
    operation: str
    """Whose it is."""

    def target(self, variables: Mapping[str, str]) -> str:
        """Return path and query, as they are sent."""
        path = re.sub(r"\{(\w+)\}", lambda found: quote(variables.get(found[1], ""), safe=""), self.path)
        return f"{path}?{urlencode(self.query, doseq=True)}" if self.query else path


class Scenario(Record):
    """Calls that follow one another, on a service in whatever state."""

    name: str
    """Of the test."""
    told: str
    """What it shows, in a sentence."""
    calls: tuple[ServiceCall, ...]
    draw: str
    shown: bool = False
    """Whether its values stand in the specification."""

    @property
    def steps(self) -> tuple[ServiceRequest, ...]:
        """Return its requests."""
        return tuple(step_of(call, self.draw) for call in self.calls)


def step_of(call: ServiceCall, draw: str) -> ServiceRequest:
    """Return the request that *call* is with the values of *draw*."""
    operation = call.operation
    values = {one.name: sample(one, draw) for one in operation.body or ()}
    sent = _sent(call, operation.body or (), values)
    query = _query(call, draw)
    path = re.sub(r"\{(\w+)\}", lambda found: _place(found[1], call, draw), operation.path)
    takes = operation.body is not None and call.fields != "none"
    return ServiceRequest(
        method=operation.method,
        path=path,
        query=query,
        body=sent if takes else {} if operation.body is not None else None,
        sends=operation.sends if operation.body is not None else "nothing",
        headers={"Authorization": HEADERS[call.login]} if call.login is not None and call.login in HEADERS else {},
        basic=(call.account or credentials(draw)) if call.login == "basic" else None,
        keeps=call.keeps,
        operation=str(operation),
    )


def _sent(call: ServiceCall, fields: Sequence[Parameter], values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    some_required = any(one.required for one in fields)
    sent: dict[str, JsonValue] = {}
    for one in fields:
        if one.name == call.omitted or (call.fields == "required" and some_required and not one.required):
            continue
        sent[one.name] = wrong(one) if one.name == call.broken else values[one.name]
    return sent


def _query(call: ServiceCall, draw: str) -> dict[str, JsonValue]:
    taken = [one for one in call.operation.in_query if one.name != call.omitted]
    if call.with_query is not None:
        taken = [one for one in taken if one.required or one.name == call.with_query]
    elif call.fields != "all" or call.operation.method == "GET":
        taken = [one for one in taken if one.required]
    query: dict[str, JsonValue] = {}
    for one in taken:
        value = wrong(one) if one.name == call.broken else sample(one, draw)
        query[one.name] = str(value).lower() if isinstance(value, bool) else value
    return query


def _place(name: str, call: ServiceCall, draw: str) -> str:
    place = call.places.get(name)
    if isinstance(place, Parameter):
        return quote(str(sample(place, draw)), safe="")
    if place is None:
        known = {one.name: one for one in call.operation.in_path}
        return quote(str(sample(known.get(name, Parameter(name=name)), draw)), safe="")
    return quote(place[1:], safe="") if place.startswith("=") else f"{{{place}}}"


def absent(operation: Operation, name: str) -> str:
    """Return a place for the parameter *name* at which nothing is."""
    kind = next((one.kind for one in operation.in_path if one.name == name), "string")
    return "=" + _ABSENT.get(kind, _ABSENT["string"])


def credentials(draw: str) -> tuple[str, str]:
    """Return the name and password that somebody registers with in *draw*."""
    name, password = Parameter(name="username"), Parameter(name="password")
    return str(sample(name, draw)), str(sample(password, draw))
