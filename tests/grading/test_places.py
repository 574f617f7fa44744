"""Where a service or a Java class went wrong: the line of the submission, told to people alone."""

import pytest

from groundup.grading.java.placing import missed, placed
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import errors_in, of_service
from groundup.grading.submitted_sources import Sources

FLASK = """from flask import Flask
app = Flask(__name__)

@app.get("/boats")
def every():
    return []

@app.post("/boats")
def create():
    name = body["title"]
    return name, 201

@app.get("/boats/<int:number>")
def show(number):
    return BOATS[number]
"""
PLAIN = """class Handler:
    def do_GET(self):
        if self.path == "/boats":
            return self.answer(200)

    def do_POST(self):
        if self.path == "/boats":
            return self.answer(201)
"""
SPRING = """@RestController
@RequestMapping("/api/boats")
public class Boats {
    @GetMapping("/{id}")
    public Boat show(long id) {
        return null;
    }
    @DeleteMapping("/{id}")
    public void remove(long id) {
    }
}
"""
LEDGER = """package harbour;
public class Ledger {
    public int fee(int days) {
        return days * 25;
    }
}
"""
LOG = b"""Traceback (most recent call last):
  File "/opt/site-packages/flask/app.py", line 1511, in wsgi_app
    response = self.full_dispatch_request()
  File "/workspace/app.py", line 10, in create
    name = body["title"]
           ~~~~^^^^^^^^^
KeyError: 'title'
"""
TEST = NumberedTest.of("tests/test_boats.py::test_made")


def lost(exchange: str) -> Result:
    """Return a failed test that told its last request."""
    return Result(outcome="failed", message="assert 1 == 2", detail="E   assert 1 == 2", demand=exchange)


def test_request_is_answered_at_a_line() -> None:
    """By path and method, also with parameters, prefixes, and handlers that compare the path."""
    app = Sources({"app.py": FLASK})
    assert app.handler("POST", "/boats") == ("app.py", 8, 12)
    assert app.handler("GET", "/boats/7?x=1") == ("app.py", 13, 15)
    assert app.handler("DELETE", "/boats/7") is None
    assert Sources({"app.py": PLAIN}).handler("POST", "/boats") == ("app.py", 7, 8)
    assert Sources({"Boats.java": SPRING}).handler("DELETE", "/api/boats/3") == ("Boats.java", 8, 11)


@pytest.mark.parametrize(
    ("request_line", "place"),
    [
        ("GET /boat", 'app.py:4: @app.get("/boats")'),
        ("GET /boots/7", 'app.py:13: @app.get("/boats/<int:number>")'),
        ("DELETE /boats/7", 'app.py:13: @app.get("/boats/<int:number>")'),
        ("GET /harbours", None),
        ("GET /harbours/7/crew", None),
    ],
)
def test_a_request_that_none_answers_names_the_route_like_it(request_line: str, place: str | None) -> None:
    """Another word of the path, or another method; where nothing is like it, no line is told."""
    found = of_service({TEST: lost(f"last exchange: {request_line} -> 404 {{}}")}, b"", Sources({"app.py": FLASK}))
    assert (found[TEST].probably if TEST in found else None) == place


def test_a_field_of_an_answer_names_the_line_that_writes_it() -> None:
    """The one that the failed statement reads; of one that is not there the one that is called most like it."""
    text = FLASK.replace("return []", 'return {\n        "count": str(3),\n        "like_total": 2,\n    }')
    sources = Sources({"app.py": text})
    read = Result(
        outcome="failed",
        message="AssertionError: assert '3' == 3",
        demand='> assert answer.json()["count"] == 3\nlast exchange: GET /boats -> 200 {}',
    )
    absent = read.but(message="KeyError: 'total_likes'", demand="last exchange: GET /boats -> 200 {}")
    unknown = read.but(message="KeyError: 'owner'", demand="last exchange: GET /boats -> 200 {}")
    found = [of_service({TEST: one}, b"", sources)[TEST].probably for one in (read, absent, unknown)]
    assert found == ['app.py:7: "count": str(3),', 'app.py:8: "like_total": 2,', ""]


def test_wrong_answer_names_what_answers() -> None:
    """Where no error is logged, the handler is the place that a test leads to."""
    found = of_service({TEST: lost("last exchange: POST /boats -> 200 {}")}, b"", Sources({"app.py": FLASK}))
    assert found[TEST].calls == 'app.py:8: @app.post("/boats")'


def test_error_of_a_service_leads_to_its_line() -> None:
    """The service's own traceback stands before the test's, as the exception that led to it."""
    sources = Sources({"app.py": FLASK})
    found = of_service({TEST: lost("last exchange: POST /boats, sent {} -> 500 oops")}, LOG, sources)
    assert found[TEST].detail.startswith('app.py:10: in service\n    name = body["title"]\nE   KeyError')
    assert found[TEST].demand.endswith("the service: KeyError: 'title'")


def test_two_errors_of_unknown_requests_blame_no_line() -> None:
    """A place that may be wrong is not told as an error's."""
    sources = Sources({"app.py": FLASK})
    other = LOG.replace(b"line 10, in create", b"line 15, in show")
    assert len(errors_in(LOG + other, sources)) == 2
    found = of_service({TEST: lost("last exchange: PUT /nets -> 500 oops")}, LOG + other, sources)
    assert found == {}


def test_java_test_tells_its_line_and_what_it_calls() -> None:
    """Frames become files with their text; a variable leads to the call that made it."""
    test = NumberedTest.of("harbour.LedgerTest#fee")
    text = b"package harbour;\nclass LedgerTest {\n  int fee = ledger.fee(4);\n  assertEquals(100, fee);\n}\n"
    results = {test: Result(outcome="failed", message="expected: <100> but was: <104>")}
    sources = Sources({"src/main/java/harbour/Ledger.java": LEDGER})
    stack = {"harbour.LedgerTest#fee[1]": "harbour.LedgerTest LedgerTest.java 4 fee\n"}
    found = placed(results, stack, {"java/harbour/LedgerTest.java": text}, sources)[test]
    assert found.detail.startswith("harbour/LedgerTest.java:4: in fee\n    assertEquals(100, fee);\nE   expected")
    assert found.calls == "src/main/java/harbour/Ledger.java:3: public int fee(int days) {"


def test_compiler_names_all_that_is_missing() -> None:
    """One round is enough to learn each name that hidden tests in Java use."""
    said = """tests/java/T.java:3: error: cannot find symbol
    ledger.a();
          ^
  symbol:   method a()
  location: variable ledger of type Ledger
tests/java/T.java:4: error: cannot find symbol
    ledger.b(1);
          ^
  symbol:   method b(int)
  location: variable ledger of type Ledger
2 errors
"""
    assert missed(said) == "method a() of Ledger; method b(int) of Ledger"


def test_what_should_have_been_refused_leads_to_the_check_two_calls_away() -> None:
    """The line of the condition, where one line alone gives the status that was wanted; else what was given."""
    text = (
        "@app.post('/mails')\ndef send():\n    keep(body())\n    return jsonify(ok=True), 201\n\n"
        "def keep(mail):\n    checked(mail)\n\n"
        "def checked(mail):\n    if len(mail) > LARGEST:\n        # too much\n"
        "        raise Problem(413, 'too large')\n"
        "    if not mail:\n        raise Problem(400, 'empty')\n"
    )
    for wanted, place in (
        (413, "app.py:10: if len(mail) > LARGEST:"),
        (422, "app.py:4: return jsonify(ok=True), 201"),
    ):
        asked = lost("last exchange: POST /mails, sent {} -> 201").but(message=f"assert 201 == {wanted}")
        assert of_service({TEST: asked}, b"", Sources({"app.py": text}))[TEST].probably == place


MANY_CALLS = (
    "@app.post('/mails')\ndef send():\n    return one(two(three(four(five(body())))))\n\n"
    "def one(mail):\n    if not mail:\n        raise Problem(422, 'invalid', f'the {mail} is not valid')\n\n"
    "def two(mail):\n    pass\n\ndef three(mail):\n    pass\n\ndef four(mail):\n    pass\n\n"
    "def five(mail):\n    raise Problem(422, 'conflict', 'exists already')\n"
)


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        (
            '{"code":"conflict","message":"exists already"}',
            "app.py:19: raise Problem(422, 'conflict', 'exists already')",
        ),
        (
            '{"code":"invalid","message":"the mail is not valid"}',
            "app.py:7: raise Problem(422, 'invalid', f'the {mail} is not valid')",
        ),
        ('{"code":"other"}', ""),
        ("", ""),
    ],
)
def test_the_text_of_an_answer_decides_among_lines_of_one_status(answer: str, place: str) -> None:
    """All functions that are called count, also a fifth; of a text that none of them has no line is told."""
    asked = lost(f"last exchange: POST /mails, sent {{}} -> 422 {answer}").but(message="assert 422 == 409")
    assert of_service({TEST: asked}, b"", Sources({"app.py": MANY_CALLS}))[TEST].probably == place


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("AssertionError: Expected error 409, got 422.", "left  422\nright 409\nassert 422 == 409"),
        ("AssertionError: it should be refused: 422 != 409", ""),
        ("AssertionError: 409 != 422 : it should be refused", ""),
        ("AssertionError: it is refused; 422 != 409", ""),
        ("AssertionError: words\nassert 422 in [201, 409]", ""),
        ("AssertionError: 422 not found in (200, 409)", ""),
        ("AssertionError: words; assert 200 == 404", "assert 422 == 409"),
        ("org.opentest4j.AssertionFailedError: it is refused ==> expected: <409> but was: <422>", ""),
    ],
)
def test_statuses_are_read_behind_words_of_the_test(message: str, more: str) -> None:
    """By pytest, unittest and JUnit, in whatever order; the answer says which of two the service gave."""
    answer = 'last exchange: POST /mails, sent {} -> 422 {"code":"conflict","message":"exists already"}'
    asked = lost(f"{answer}\n{more}").but(message=message)
    found = of_service({TEST: asked}, b"", Sources({"app.py": MANY_CALLS}))[TEST]
    assert found.probably == "app.py:19: raise Problem(422, 'conflict', 'exists already')"


def test_numbers_that_no_answer_had_are_no_statuses() -> None:
    """Two lengths may look like them."""
    asked = lost("last exchange: POST /mails, sent {} -> 201 {}").but(message="assert 422 == 409")
    assert of_service({TEST: asked}, b"", Sources({"app.py": MANY_CALLS}))[TEST].probably == ""


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("AssertionError: a total should be there", "assert 'total_likes' in {'likes': 3}"),
        ("AssertionError: a total should be there", "left  'total_likes'\nright {'likes': 3}"),
        ("AssertionError: a total should be there: 'total_likes' != {'likes': 3}", ""),
        ("AssertionError: 'total_likes' not found in {'likes': 3} : a total should be there", ""),
    ],
)
def test_words_of_a_test_do_not_hide_the_field_that_is_absent(message: str, more: str) -> None:
    """They stand in place of the assertion with pytest, before or after it with others."""
    text = FLASK.replace("return []", 'return {\n        "count": 3,\n        "like_total": 2,\n    }')
    asked = lost(f"last exchange: GET /boats -> 200 {{}}\n{more}").but(message=message)
    assert of_service({TEST: asked}, b"", Sources({"app.py": text}))[TEST].probably == 'app.py:8: "like_total": 2,'


def test_a_text_that_was_not_found_in_an_answer_leads_to_no_literal() -> None:
    """A literal of the text that was wanted stands anywhere in the service by chance."""
    text = FLASK + 'KINDS = ["rowing boat"]\n'
    asked = lost("last exchange: GET /boats -> 200 x\nleft  'one rowing boat'\nright 'one sailing boat'").but(
        message="AssertionError: assert 'one rowing boat' in 'one sailing boat'"
    )
    assert of_service({TEST: asked}, b"", Sources({"app.py": text}))[TEST].probably == ""


def test_a_part_of_a_request_that_is_not_there_leads_to_the_line_that_reads_it() -> None:
    """Flask answers for the service then."""
    text = FLASK.replace("return []", 'return rows(request.args["order"])')
    said = '{"error":"The browser (or proxy) sent a request that this server could not understand."}'
    asked = lost(f"last exchange: GET /boats -> 400 {said}").but(message="assert 400 == 200")
    found = of_service({TEST: asked}, b"", Sources({"app.py": text}))[TEST]
    assert found.probably == 'app.py:6: return rows(request.args["order"])'
