"""Which request a call becomes, and with which values."""

from typing import Any
from urllib.parse import quote

import pytest
from pydantic import JsonValue

from groundup_factory.services.operations import Operation, Parameter
from groundup_factory.services.scenarios import (
    Scenario,
    ServiceCall,
    ServiceRequest,
    absent,
    credentials,
    sample,
    step_of,
    wrong,
)

NAME, AGE = Parameter(name="name", required=True), Parameter(name="age", kind="integer")
DEEP = Parameter(name="deep", kind="boolean")
KEY = Parameter(name="key", required=True)
OPERATION = Operation(
    method="POST",
    path="/a/{id}/b",
    in_path=(Parameter(name="id", kind="integer"),),
    in_query=(DEEP, KEY),
    body=(NAME, AGE),
)
VALUES = {one.name: sample(one, "x") for one in (NAME, AGE, KEY, OPERATION.in_path[0])}
DEEP_VALUE = str(sample(DEEP, "x")).lower()


@pytest.mark.parametrize(
    ("call", "body", "query"),
    [
        ({}, ["name", "age"], ["deep", "key"]),
        ({"fields": "required"}, ["name"], ["key"]),
        ({"fields": "none"}, None, ["key"]),
        ({"omitted": "age"}, ["name"], ["deep", "key"]),
        ({"omitted": "key"}, ["name", "age"], ["deep"]),
        ({"with_query": "deep"}, ["name", "age"], ["deep", "key"]),
        ({"with_query": "key"}, ["name", "age"], ["key"]),
    ],
)
def test_fields_are_sent_as_a_call_says(call: dict[str, Any], body: list[str] | None, query: list[str]) -> None:
    """All, those that are required, or none; one that is left out, and of the query one alone beside these."""
    asked = step_of(ServiceCall(operation=OPERATION, **call), "x")
    values: dict[str, JsonValue] = {**VALUES, "deep": DEEP_VALUE}

    assert asked.body == ({} if body is None else {name: values[name] for name in body})
    assert asked.query == {name: values[name] for name in query}
    assert (asked.method, asked.path, asked.sends) == ("POST", f"/a/{VALUES['id']}/b", "json")
    assert (asked.operation, asked.headers, asked.basic) == ("POST /a/{id}/b", {}, None)


def test_a_call_without_a_body_sends_nothing() -> None:
    """And a GET of the query only what is required; where no field is required, all are sent."""
    plain = Operation(method="GET", path="/a", in_query=(DEEP, KEY))
    asked = step_of(ServiceCall(operation=plain), "x")
    assert (asked.body, asked.sends, list(asked.query)) == (None, "nothing", ["key"])
    free = OPERATION.but(body=(AGE,))
    sent = step_of(ServiceCall(operation=free, fields="required"), "x")
    assert sent.body == {"age": VALUES["age"]}


def test_a_broken_field_is_of_another_kind() -> None:
    """In the body or in the query; of what may be anything there is none."""
    body = step_of(ServiceCall(operation=OPERATION, broken="age"), "x").body
    assert body == {"name": VALUES["name"], "age": "no such kind"}
    assert step_of(ServiceCall(operation=OPERATION, broken="deep"), "x").query["deep"] == "no such kind"
    assert wrong(NAME) == {"no": "text"}
    assert wrong(NAME.but(kind="any")) is None


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("made", "/a/{made}/b"),
        ("=two words/", "/a/two%20words%2F/b"),
        (absent(OPERATION, "id"), "/a/987654/b"),
        (absent(OPERATION, "other"), "/a/zq-no-such-thing/b"),
        (NAME, f"/a/{quote(str(VALUES['name']))}/b"),
    ],
)
def test_a_place_in_a_path_is_a_variable_a_text_or_another_field(place: str | Parameter, path: str) -> None:
    """A text is quoted; what is absent is of the kind that the path takes."""
    assert step_of(ServiceCall(operation=OPERATION, places={"id": place}), "x").path == path


@pytest.mark.parametrize(
    ("call", "headers", "basic"),
    [
        ({"login": "bearer"}, {"Authorization": "Bearer {token}"}, None),
        ({"login": "plain"}, {"Authorization": "{token}"}, None),
        ({"login": "basic"}, {}, credentials("x")),
        ({"login": "basic", "account": ("ann", "secret")}, {}, ("ann", "secret")),
    ],
)
def test_a_login_is_a_header_or_an_account(
    call: dict[str, Any], headers: dict[str, str], basic: tuple[str, str] | None
) -> None:
    """The account is the original's own, or that of who registered in the same draw."""
    asked = step_of(ServiceCall(operation=OPERATION, **call), "x")
    assert (asked.headers, asked.basic) == (headers, basic)


def test_variables_are_put_in_when_a_request_is_sent() -> None:
    """Quoted; what no answer gave is empty, and lists stand in the query several times."""
    request = ServiceRequest(method="GET", path="/a/{one}/{two}", query={"x": [1, 2]}, operation="GET /a")
    assert request.target({"one": "a/b c"}) == "/a/a%2Fb%20c/?x=1&x=2"
    assert request.but(query={}).target({"one": "1", "two": "2"}) == "/a/1/2"


def test_values_keep_their_bounds() -> None:
    """Above a least, as long as they must and may be, one of the choices, and inner ones of their own kinds."""
    for draw in map(str, range(30)):
        whole = sample(AGE.but(minimum=40), draw)
        assert isinstance(whole, int)
        assert 41 <= whole <= 69
        half = sample(AGE.but(kind="number"), draw)
        assert isinstance(half, float)
        assert 2.5 <= half <= 30.5
        assert sample(AGE.but(choices=("a", "b")), draw) in ("a", "b")
        text = sample(NAME.but(shortest=60, longest=60), draw)
        assert isinstance(text, str)
        assert len(text) == 60
        assert sample(NAME.but(kind="any", example=[1]), draw) == [1]
        several = sample(NAME.but(kind="array", items=AGE), draw)
        assert isinstance(several, list)
        assert [type(one) for one in several] == [int, int]
        assert sample(NAME.but(kind="object", fields=(AGE,)), draw) == {"age": sample(AGE, draw)}
    assert {sample(DEEP, str(draw)) for draw in range(30)} == {True, False}
    scenario = Scenario(name="n", told="t", calls=(ServiceCall(operation=OPERATION),), draw="x")
    assert scenario.steps == (step_of(scenario.calls[0], "x"),)
