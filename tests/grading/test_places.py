"""Where a service or a Java class went wrong: the line of the submission, told to people alone."""

from groundup.grading.java.placing import java_tests, missed, placed
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


def test_the_line_that_a_services_traceback_shows_takes_no_place_of_a_probable_one() -> None:
    """A change of it that passes is told as ever."""
    sources = Sources({"app.py": FLASK})
    result = lost("last exchange: POST /boats, sent {} -> 500 oops")
    places = 'app.py:10: name = body["title"]\napp.py:2: app = Flask(__name__)'
    found = of_service({TEST: result.but(probably=places)}, LOG, sources)
    assert found[TEST].probably == "app.py:2: app = Flask(__name__)"
    tried = 'app.py:10: name = body["title"] -- the test passes with: name = 1'
    assert of_service({TEST: result.but(probably=tried)}, LOG, sources)[TEST].probably == tried


def test_two_errors_of_unknown_requests_blame_no_line() -> None:
    """A place that may be wrong is not told as an error's."""
    sources = Sources({"app.py": FLASK})
    other = LOG.replace(b"line 10, in create", b"line 15, in show")
    assert len(errors_in(LOG + other, sources)) == 2
    found = of_service({TEST: lost("last exchange: PUT /nets -> 500 oops")}, LOG + other, sources)
    assert found[TEST] == lost("last exchange: PUT /nets -> 500 oops")


def test_java_test_tells_its_line_and_what_it_calls() -> None:
    """Frames become files with their text; a variable leads to the call that made it."""
    test = NumberedTest.of("harbour.LedgerTest#fee")
    text = b"package harbour;\nclass LedgerTest {\n  int fee = ledger.fee(4);\n  assertEquals(100, fee);\n}\n"
    results = {test: Result(outcome="failed", message="expected: <100> but was: <104>")}
    sources = Sources({"src/main/java/harbour/Ledger.java": LEDGER})
    stack = {"harbour.LedgerTest#fee[1]": "harbour.LedgerTest LedgerTest.java 4 fee\n"}
    found = placed(results, stack, java_tests({"java/harbour/LedgerTest.java": text}), sources)[test]
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
    more = "".join(
        f"tests/T.java:{at}: error: cannot find symbol\n    a;\n    ^\n  symbol:   method m{at}()\n"
        for at in range(14)
    )
    assert missed(more).endswith("; method m11() and 2 more")


def test_an_exception_behind_a_message_of_a_logger_is_an_error() -> None:
    """As Quarkus writes it, with the request in the message; a message alone is none."""
    sources = Sources(
        {"src/blog/Posts.java": "package blog;\nclass Posts { List list() {\n  return skip(-10);\n} }\n"}
    )
    log = (
        b"12:30:33 INFO  [main] nothing: java.lang.Exception: is only told\n"
        b"12:30:33 ERROR [io.quarkus] (thread-1) HTTP Request to /api/posts failed, error id: 2f-1: "
        b"java.lang.IllegalArgumentException: -10\n"
        b"\tat java.base/java.util.stream.ReferencePipeline.skip(ReferencePipeline.java:575)\n"
        b"\tat blog.Posts.list(Posts.java:3)\n"
        b"\tat io.quarkus.Handler.handle(Handler.java:29)\n"
    )
    (error,) = errors_in(log, sources)
    assert (error.said, error.frames[-1]) == (
        "java.lang.IllegalArgumentException: -10",
        ("src/blog/Posts.java", 3),
    )
    assert "/api/posts" in error.around
