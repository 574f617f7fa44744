"""What is asked of a service: calls, how they follow one another, and the requests that they become, with values.

A call names no values: they follow from a draw, the same for the same one, so that one scenario can be shown in a
specification and be asked with other values by a hidden test.

Accounts for HTTP Basic authentication that a repository writes down: in its README, or in its sources.
"""

import ast
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from groundup.domain.records import Record
from groundup.grading.services.samples import drawn_form
from groundup.grammars import python_tree
from groundup.trees.walking import read_regular
from groundup_factory.services.operations import Kind, Operation, Parameter
from groundup_factory.services.starting import python_files

_WORDS = (
    *("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "indigo", "juniper", "kestrel"),
    *("lagoon", "meadow", "nectar", "opal", "prairie", "quartz", "raven", "saffron", "tundra", "umber", "violet"),
)
_FORMATS = {
    "email": "{word}.{number}@example.com",
    "date": "2024-01-{day:02d}",
    "date-time": "2024-01-{day:02d}T03:04:05Z",
    "uri": "http://localhost/{word}/{number}",
    "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c{number:04d}",
    "password": "{Word}-Pass-{number}",
    "ipv4": "10.0.0.{day}",
}
_NUMBERS = ("price", "amount", "total", "score", "rate", "lat", "lon", "weight")
_WHOLE = (
    "count",
    "quantity",
    "age",
    "year",
    "size",
    "limit",
    "offset",
    "page",
    "number",
    "num",
    "stock",
    "rating",
)


def sample(parameter: Parameter, draw: str) -> JsonValue:
    """Return a value for *parameter* that it should take."""
    dice = random.Random(f"{draw}/{parameter.name}/{parameter.kind}")  # noqa: S311 - it keeps no secret
    if parameter.choices:
        return dice.choice(parameter.choices)
    if parameter.kind == "object":
        return {one.name: sample(one, draw) for one in parameter.fields}
    if parameter.kind == "array":
        inner = parameter.items or Parameter(name=parameter.name)
        return [sample(inner.but(name=parameter.name), f"{draw}{number}") for number in range(2)]
    if parameter.kind == "boolean":
        return dice.random() < 0.5
    if parameter.kind in ("integer", "number"):
        least = int(parameter.minimum if parameter.minimum is not None else 1)
        whole = least + dice.randrange(1, 30)
        return whole if parameter.kind == "integer" else whole + 0.5
    if parameter.kind == "any" and parameter.example is not None:
        return parameter.example
    return _text(parameter, dice)


def _text(parameter: Parameter, dice: random.Random) -> JsonValue:
    word, number = dice.choice(_WORDS), dice.randrange(100, 1000)
    form = _FORMATS.get(parameter.format) or drawn_form(parameter.name)
    text = form.format(word=word, Word=word.capitalize(), number=number, day=number % 27 + 1)
    if parameter.shortest is not None:
        text = text.ljust(parameter.shortest, "x")
    return text[: parameter.longest] if parameter.longest else text


def named_kind(name: str) -> Kind:
    """Return the kind of a field of which only the name is known."""
    last = name.lower()
    if last.startswith(("is_", "has_")) or last in ("done", "active", "completed", "enabled", "available"):
        return "boolean"
    if any(word in last for word in _NUMBERS):
        return "number"
    return "integer" if name.endswith(("_id", "Id")) or any(word == last for word in _WHOLE) else "string"


def wrong(parameter: Parameter) -> JsonValue:
    """Return a value that *parameter* should not take, or None where any may do."""
    if parameter.kind in ("integer", "number", "boolean", "array", "object"):
        return "no such kind"
    return {"no": "text"} if parameter.kind == "string" else None


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


Account = tuple[str, str]
_CURL = re.compile(r"(?:-u|--user|-a)[ =]['\"]?([\w.@-]+):([^\s'\"]+)")
_TABLES = re.compile(r"users?|accounts?|credentials|passwords?", re.IGNORECASE)
_CHECKS = re.compile(r"(?:get|verify)_password")


def written_accounts(root: Path) -> tuple[Account, ...]:
    """Return names with their passwords, those of the README first."""
    found: list[Account] = []
    for path in sorted(root.glob("README*")):
        if path.is_file() and not path.is_symlink():
            found += _CURL.findall(read_regular(path).decode("utf-8", "replace"))
    for _, text in python_files(root):
        try:
            tree = python_tree(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _TABLES.fullmatch(ast.unparse(node.targets[0])):
                found += _of_table(node.value)
            elif isinstance(node, ast.FunctionDef) and any(
                _CHECKS.search(ast.unparse(one)) for one in node.decorator_list
            ):
                found += _of_check(node)
    return tuple(dict.fromkeys(found))


def _of_table(node: ast.expr) -> Iterator[Account]:
    """Yield the pairs of `{"ann": "secret", "bob": generate_password_hash("hidden")}`."""
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
        inner = value.args[0] if isinstance(value, ast.Call) and value.args else value
        pair = [one.value for one in (key, inner) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if len(pair) == 2:
            yield pair[0], pair[1]


def _of_check(function: ast.FunctionDef) -> Iterator[Account]:
    """Yield the pair of `if name == "ann": return "secret"`, and of `name == "ann" and password == "secret"`."""
    said = [
        node.value
        for one in ast.walk(function)
        if isinstance(one, ast.Compare | ast.Return)
        for node in ast.walk(one)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value
    ]
    kept = list(dict.fromkeys(said))
    if len(kept) == 2:
        yield kept[0], kept[1]
