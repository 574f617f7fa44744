"""Of a service's lost test those statements are told that led to what it saw, in the exchange that did it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from groundup_origins.inside import statements
from groundup_origins.inside.afar import Code
from groundup_origins.inside.blame import Blame, Exchange

SERVICE = """
import re
NAME = re.compile(r"\\w+")
CHECKS = {
    "name": lambda value: isinstance(value, str) and NAME.fullmatch(value),
    "age": lambda value: isinstance(value, int),
}
tokens = {}
boats = {}

def login(body):
    token = make()
    tokens[token] = body["name"] + "?"
    return {"token": token}, 200

def caller(header):
    user = tokens.get(header)
    if user not in boats:
        raise Problem(401, "log in first")
    return user

def own(header):
    user = caller(header)
    return {"boat": boats[user]}, 200

def add(body):
    if not CHECKS["name"](body["name"]):
        raise Problem(422, "no name")
    boats[body["name"]] = made(body)
    return {"name": body["name"]}, 201

def made(body):
    return {
        "name": body["name"],
        "length": body["length"] * 2,
    }

def shown(name):
    boat = boats[name]
    return boat, 200

crews = {}

def hire(body):
    member = body["name"].strip()
    return {"crew": member}, 201

def crew(name):
    found = crews.get(name)
    return found, 200
"""
LINES = SERVICE.splitlines()


def exchange(method: str, path: str, status: int, sent: object, ran: str) -> tuple[Mapping[str, object], object]:
    """Return an exchange that ran the statements with these beginnings, in this order."""
    wanted = ran.split("; ")
    numbers = [next(at for at, line in enumerate(LINES, 1) if line.strip().startswith(one)) for one in wanted]
    code = Code("/workspace/app.py", 1, ())
    told = {"method": method, "address": f"http://here{path}", "sent": json.dumps(sent), "status": status}
    return told, {(code, number): order for order, number in enumerate(numbers, 1)}


def told(
    tmp_path: Path, message: str, said: str, asked: Sequence[object], passed: Sequence[object] = ()
) -> list[str]:
    """Return the statements that are told of a lost test beside a passing one."""
    (tmp_path / "app.py").write_text(SERVICE)
    lost = SimpleNamespace(key="lost", message=message, said=f"{message}\n{said}", cause=message)
    fine = SimpleNamespace(key="fine")
    blame = Blame(
        statements,
        lambda path: path.replace("/workspace", str(tmp_path)),
        {"lost": asked, "fine": passed},
        [lost],
        [fine],
    )
    return [LINES[line - 1].strip() for _, line in blame.of(lost, [])]


def test_a_refusal_leads_to_what_an_earlier_exchange_stored(tmp_path: Path) -> None:
    """The condition comes first, and one of another function is among the three."""
    asked = [
        exchange("POST", "/login", 200, {"name": "ann"}, 'token = make; tokens[token]; return {"token"'),
        exchange("GET", "/own", 401, {}, "user = caller; user = tokens.get; if user not; raise Problem(401"),
        exchange("DELETE", "/own", 401, {}, "user = caller; user = tokens.get; if user not; raise Problem(401"),
    ]
    found = told(tmp_path, "assert 401 == 200", "last exchange: GET /own -> 401 {}", asked)
    assert found[0] in ("if user not in boats:", "user = tokens.get(header)")
    assert 'tokens[token] = body["name"] + "?"' in found


def test_what_was_taken_leads_to_what_should_have_checked_the_odd_field(tmp_path: Path) -> None:
    """The field whose value no passing test sends is looked for in checks that no line of a test runs, too."""
    ran = 'if not CHECKS; boats[body; return {"name"'
    asked = [exchange("POST", "/boats", 201, {"name": " ", "age": 3}, ran)]
    passed = [exchange("POST", "/boats", 201, {"name": "ann", "age": 4}, ran)]
    found = told(tmp_path, "assert 201 == 422", "last exchange: POST /boats, sent {} -> 201 {}", asked, passed)
    assert found[0] == 'if not CHECKS["name"](body["name"]):'
    assert '"name": lambda value: isinstance(value, str) and NAME.fullmatch(value),' in found
    assert not any(line.startswith('"age"') for line in found)


def test_a_wrong_value_leads_to_where_its_field_was_written(tmp_path: Path) -> None:
    """By an earlier exchange, and to the line of the key in a statement of several lines."""
    asked = [
        exchange("POST", "/boats", 201, {"name": "ann"}, 'if not CHECKS; boats[body; return {; return {"name"'),
        exchange("GET", "/boats/ann", 200, {}, "boat = boats; return boat"),
    ]
    asked[0][1].update({(Code("/workspace/app.py", 1, ()), LINES.index("    return {") + 1): 9})  # type: ignore[attr-defined]
    said = "last exchange: GET /boats/ann -> 200 {}\nassert boat['length'] == 3"
    assert '"length": body["length"] * 2,' in told(tmp_path, "assert 6 == 3", said, asked)


def test_what_is_read_and_never_stored_leads_to_the_exchange_that_should_have(tmp_path: Path) -> None:
    """Unless one of them fills it."""
    asked = [
        exchange("POST", "/crews", 201, {"name": "ann"}, 'member = body; return {"crew"'),
        exchange("GET", "/crews/ann", 200, {}, "found = crews.get; return found"),
    ]
    said = "last exchange: GET /crews/ann -> 200 null"
    assert 'member = body["name"].strip()' in told(tmp_path, "assert None == 'ann'", said, asked)
    filled = exchange("POST", "/boats", 201, {"name": "ann"}, "boats[body")
    read = exchange("GET", "/boats/ann", 200, {}, "boat = boats; return boat")
    said = "last exchange: GET /boats/ann -> 200 null"
    found = told(tmp_path, "assert None == 'ann'", said, [filled, asked[0], read])
    assert 'boats[body["name"]] = made(body)' in found
    assert 'member = body["name"].strip()' not in found


def test_a_test_without_an_answer_has_what_whole_tests_tell(tmp_path: Path) -> None:
    """Nothing more is known of it."""
    blame = Blame(statements, str, {}, [SimpleNamespace(key="lost", message="", said="", cause="")], [])
    lost = SimpleNamespace(key="lost", message="", said="", cause="")
    assert blame.of(lost, [("/workspace/app.py", 3)]) == [("/workspace/app.py", 3)]


@pytest.mark.parametrize(
    ("path", "body", "sent"),
    [
        ("/a?b=1", "", {"b": "1"}),
        ("/a", '{"b": 1}', {"b": 1}),
        ("/a", "b=1&c=2", {"b": "1", "c": "2"}),
        ("/a", "[1]", {}),
    ],
)
def test_what_is_sent_has_names(path: str, body: str, sent: Mapping[str, object]) -> None:
    """In a query, in JSON, or in a form."""
    told = {"method": "POST", "address": f"http://here{path}", "sent": body, "status": 200}
    assert Exchange(told, {}, lambda _: None).sent == sent
