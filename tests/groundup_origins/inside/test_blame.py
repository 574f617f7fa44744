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


HARBOUR = """
import re
slips = {}
docks = {}

@app.exception_handler(Wrong)
def wrong(request, problem):
    return answer(problem, 422)

def malformed(request, problem):
    return answer(problem, 400)

def answer(data, status):
    return {"data": data}, status

@app.get("/slips")
def every(kind, place):
    found = [one for one in slips.values() if kind in one]
    found.sort(key=lambda one: one["kind"])
    berth = request.args.get("berth")
    least = request.args.get("least", 20)
    return answer(found, 200)

@app.post("/slips")
def rent(body):
    for name in ("kind",):
        if body.get(name) is None:
            raise Wrong(name)
    number = parsed(body["berth"])
    return answer(number, 201)

def parsed(text):
    try:
        return int(text)
    except KeyError:
        raise Wrong(text) from None

@app.delete("/docks/<name>")
def close(name):
    gone = docks.get(name)
    return answer(gone, 200)

@app.get("/docks/<name>")
def dock(name):
    known = docks.get(name)
    return answer(known, 200)
"""


@pytest.fixture
def harbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of a service with routes."""
    monkeypatch.setitem(globals(), "SERVICE", HARBOUR)
    monkeypatch.setitem(globals(), "LINES", HARBOUR.splitlines())
    return tmp_path


EVERY = "found = [; found.sort; berth = ; return answer(found; return {"


def test_what_answers_is_the_function_of_the_route(harbour: Path) -> None:
    """Not one that it calls last."""
    asked = [exchange("GET", "/slips", 200, {}, EVERY)]
    passed = [exchange("GET", "/slips", 200, {}, 'return {"data"')]
    found = told(harbour, "assert [] == [1]", "last exchange: GET /slips -> 200 {}", asked, passed)
    assert any(line.startswith("found = [") for line in found)
    assert found[0] == "return answer(found, 200)"


def test_an_order_that_is_looked_at_leads_to_what_sorts(harbour: Path) -> None:
    """A statement of a test that compares neighbours, or sorts, looks at an order."""
    asked = [exchange("GET", "/slips", 200, {}, EVERY)]
    said = "last exchange: GET /slips -> 200 {}\nassert rows[at]['kind'] <= rows[at + 1]['kind']"
    assert told(harbour, "assert 3 <= 1", said, asked)[0].startswith("found.sort(")


def test_a_sent_text_that_a_test_looks_for_leads_to_what_reads_it(harbour: Path) -> None:
    """By the name under which it was sent."""
    asked = [exchange("GET", "/slips?berth=north", 200, {}, EVERY)]
    said = "last exchange: GET /slips?berth=north -> 200 {}"
    assert told(harbour, "assert 'north' in ''", said, asked)[0].startswith("berth = ")


def test_a_wrong_value_leads_to_what_has_it_as_a_literal(harbour: Path) -> None:
    """A number of one digit stands in too many statements."""
    asked = [exchange("GET", "/slips", 200, {}, f"{EVERY}; least = ")]
    said = "last exchange: GET /slips -> 200 {}"
    assert told(harbour, "assert 20 == 50", said, asked)[0] == 'least = request.args.get("least", 20)'
    assert told(harbour, "assert 2 == 5", said, asked)[0] != 'least = request.args.get("least", 20)'


def test_a_handler_that_no_framework_knows_is_told_of_a_refusal(harbour: Path) -> None:
    """Others like it are handed on by decorators."""
    asked = [exchange("POST", "/slips", 422, "no", 'for name; return answer(problem, 422; return {"data"')]
    found = told(harbour, "assert 422 == 400", "last exchange: POST /slips, sent no -> 422 {}", asked)
    assert "def malformed(request, problem):" in found
    assert not any(line in found for line in ("def wrong(request, problem):", "def answer(data, status):"))


def test_an_exception_that_a_handler_does_not_name_leads_to_it(harbour: Path) -> None:
    """It was tried, and what stands in it did not run."""
    ran = "for name; if body; number = ; return int; except KeyError"
    asked = [exchange("POST", "/slips", 500, {"kind": 1, "berth": "x"}, ran)]
    found = told(harbour, "assert 500 == 422", "last exchange: POST /slips, sent {} -> 500 oops", asked)
    assert {"return int(text)", "except KeyError:"} <= {*found[:3]}


def test_a_condition_that_let_something_through_led_to_it(harbour: Path) -> None:
    """And so did the loop around it, which lacks a name."""
    asked = [exchange("POST", "/slips", 500, {"kind": 1}, "for name; if body; number = ")]
    found = told(harbour, "assert 500 == 422", "last exchange: POST /slips, sent {} -> 500 oops", asked)
    assert "if body.get(name) is None:" in found
    assert 'for name in ("kind",):' in found


def test_what_should_be_gone_leads_to_what_only_read_it(harbour: Path) -> None:
    """Where the latest exchange before changed nothing."""
    asked = [
        exchange("DELETE", "/docks/a", 200, {}, "gone = ; return answer(gone; return {"),
        exchange("GET", "/docks/a", 200, {}, "known = ; return answer(known; return {"),
    ]
    assert "gone = docks.get(name)" in told(
        harbour, "assert 200 == 404", "last exchange: GET /docks/a -> 200 {}", asked
    )


def test_a_test_that_gave_up_leads_to_what_refused(harbour: Path) -> None:
    """No message compares the status then."""
    asked = [
        exchange("POST", "/slips", 422, {}, "for name; if body; raise Wrong(name); return answer(problem, 422")
    ]
    found = told(harbour, "Skipped: no slip", "last exchange: POST /slips, sent {} -> 422 {}", asked)
    assert "if body.get(name) is None:" in found


def test_a_refusal_that_an_except_should_have_caught_leads_to_it(harbour: Path) -> None:
    """It was raised below a `try` whose handler names something else."""
    ran = "for name; if body; number = ; return int; except KeyError; return answer(problem, 422"
    asked = [exchange("POST", "/slips", 422, {"kind": 1}, f"raise Wrong(name); {ran}")]
    found = told(harbour, "assert 422 == 201", "last exchange: POST /slips, sent {} -> 422 {}", asked)
    assert "except KeyError:" in found
