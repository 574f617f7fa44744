"""What a person would find in a submission's sources: routes, functions, and where a request is answered."""

import re
from pathlib import Path

import pytest

from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import as_frames, called_in_java, errors_in, of_service
from groundup.grading.submitted_sources import Sources, block_end, java_method
from tests.grading.library.laboratory import write_tree

FAST = """from fastapi import APIRouter
router = APIRouter(prefix="/api/v1")
LIMIT_OF_PAGE = 10

@router.get("/boats")
@login
async def every():
    return found(LIMIT_OF_PAGE)

@router.post("/boats")
async def make(
    body: Boat,
):
    return store(body)

@router.get("/boats/{number}")
def one(number):
    return found(number)
"""
STORE = """# APIRouter(prefix="/old")
def found(what):
    # router.get("/nothing")
    return what

def store(body):
    return found(body)
"""
EXPRESS = """const list = async (req, res) => {
  res.json([])
}
app.get('/crews', list)
app.all('/any', (req, res) => {
  res.end()
})
"""
API = Sources({"api.py": FAST, "store.py": STORE, "app.js": EXPRESS})


@pytest.mark.parametrize(
    ("method", "address", "answers"),
    [
        ("GET", "/api/v1/boats", ("api.py", 5, 9)),
        ("GET", "/boats?page=2", ("api.py", 5, 9)),
        ("POST", "/api/v1/boats/", ("api.py", 10, 15)),
        ("GET", "/api/v1/boats/7", ("api.py", 16, 18)),
        ("DELETE", "/api/v1/boats/7", None),
        ("GET", "/crews", ("app.js", 1, 3)),
        ("GET", "/any", ("app.js", 5, 7)),
        ("PUT", "/any", ("app.js", 5, 7)),
        ("GET", "/nothing", None),
        ("GET", "/", None),
    ],
)
def test_what_answers_a_request(method: str, address: str, answers: tuple[str, int, int] | None) -> None:
    """By method and path, with a router's prefix or without; a line that names a function leads to it."""
    assert API.handler(method, address) == answers


def test_two_that_fit_alike_answer_nothing() -> None:
    """A place that may be wrong is none."""
    twice = Sources({"a.py": '@get("/a")\ndef a(): ...\n', "b.py": '@get("/a")\ndef b(): ...\n'})
    assert twice.handler("GET", "/a") is None
    assert twice.route_like("GET", "/b") is None


def test_a_form_or_a_link_that_names_the_same_address_answers_nothing() -> None:
    """Of several lines the only decorator is the route."""
    text = '<form action="/a" method="post">\n<a href="/a">\n"""\n@app.route("/a")\ndef a():\n    return 1\n'
    sources = Sources({"app.py": f'"""\n{text}'})
    assert sources.handler("POST", "/a") == ("app.py", 5, 7)
    assert sources.route_like("POST", "/aa") == ("app.py", 5)
    assert sources.route_like("GET", "/a") == ("app.py", 5)


@pytest.mark.parametrize(
    ("method", "address", "like"),
    [
        ("PUT", "/api/v1/boats/7", ("api.py", 16)),
        ("GET", "/api/v1/boat", ("api.py", 5)),
        ("POST", "/boatz", ("api.py", 10)),
        ("GET", "/something/else", None),
        ("GET", "/crew", ("app.js", 4)),
    ],
)
def test_what_is_most_like_a_request_that_nothing_answers(
    method: str, address: str, like: tuple[str, int] | None
) -> None:
    """One with another method, or with one other word that is written nearly so."""
    assert API.route_like(method, address) == like


def test_routes_that_nobody_asked() -> None:
    """They have the method, and differ by one word; those that are asked elsewhere are meant for that."""
    assert API.routes_unasked("GET", "/ships", []) == [("api.py", 5), ("app.js", 4)]
    assert API.routes_unasked("GET", "/ships", [("GET", "/crews")]) == [("api.py", 5)]
    assert API.routes_unasked("POST", "/ships", []) == [("api.py", 10)]
    assert API.routes_unasked("DELETE", "/ships", []) == []


def test_what_answers_is_shown_with_what_it_calls() -> None:
    """At most four functions or constants, in their order, each once; none of the handler's own lines."""
    assert API.answering(("api.py", 5, 8)) == (
        'api.py:5: @router.get("/boats"); or in what it calls: LIMIT_OF_PAGE (api.py:3), found (store.py:2)'
    )
    assert API.answering(("app.js", 5, 7)) == "app.js:5: app.all('/any', (req, res) => {"
    calls = "def f():\n    a(b(c(d(e()))))\n" + "".join(f"def {name}(): ...\n" for name in "abcde")
    assert Sources({"a.py": calls}).answering(("a.py", 1, 2)) == (
        "a.py:1: def f():; or in what it calls: a (a.py:3), b (a.py:4), c (a.py:5), d (a.py:6)"
    )


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("def f(a):\n", "f", 1),
        ("    async def f(self):\n", "f", 1),
        ("# def f():\n", "f", None),
        ("def f(): ...\ndef f(): ...\n", "f", None),
        ("def ff(): ...\n", "f", None),
        ("f(1)\n", "f", None),
    ],
)
def test_a_function_is_found_where_there_is_one_of_its_name(text: str, name: str, line: int | None) -> None:
    """Comments, calls and longer names define nothing; of two nobody knows which is meant."""
    assert Sources({"a.py": text}).function(name) == (None if line is None else ("a.py", line))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.go", "func (s *Server) handle(w http.ResponseWriter) {\n"),
        ("a.go", "func handle(w http.ResponseWriter) {\n"),
        ("a.js", "export async function handle(req) {\n"),
        ("a.js", "const handle = (req) => {\n"),
        ("a.js", "export const handle = async req => {\n"),
        ("a.rs", "pub async fn handle(req: Request) {\n"),
        ("A.java", "    public Boat handle(long id) {\n"),
        ("A.kt", "    public Boat handle(long id) {\n"),
    ],
)
def test_a_function_is_found_in_each_language(file: str, text: str) -> None:
    """As it is written there."""
    assert Sources({file: text}).function("handle") == (file, 1)


def test_lines_are_shown_as_a_person_reads_them() -> None:
    """Without blanks around, up to 200 characters; a line that is not there is empty; comments match nothing."""
    sources = Sources({"a/b.py": "  x = 1\n" + "y" * 450 + "\n# x\n", "c/b.py": "", "d/e.py": "x"})
    assert (sources.line("a/b.py", 1), sources.line("a/b.py", 2)) == ("x = 1", "y" * 200)
    assert [sources.line("a/b.py", number) for number in (0, 4, -1)] == ["", "", ""]
    assert sources.line("absent.py", 1) == ""
    assert len(sources.text("a/b.py")[1]) == 400
    assert sources.lines_with(re.compile("x")) == [("a/b.py", 1), ("d/e.py", 1)]
    assert (sources.named("b.py"), sources.named("e.py"), sources.named("a/b.py")) == ("", "d/e.py", "a/b.py")
    assert sources.named(".py") == ""
    assert sources.shown("a/b.py", 1) == "a/b.py:1: x = 1"


def test_what_is_read_of_a_folder(tmp_path: Path) -> None:
    """Sources by their endings and files that are asked for; no tests, no packages, nothing large, no links."""
    write_tree(
        tmp_path,
        {
            "app.py": "a",
            "b/c.go": "b",
            "tests/t.py": "t",
            "node_modules/x.js": "x",
            "pom.xml": "p",
            "conf.yml": "y",
            "notes.txt": "n",
            "exact.py": "e" * 256 * 1024,
            "large.py": "l" * (256 * 1024 + 1),
        },
    )
    (tmp_path / "link.py").symlink_to("app.py")
    read = {path for path, _, _ in Sources.of(tmp_path, ("pom.xml", ".yml")).every()}
    assert read == {"app.py", "b/c.go", "pom.xml", "conf.yml", "exact.py"}


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("def f():\n    a\n\n    b\nc\n", 1, 4),
        ("def f():\n    a\n", 1, 2),
        ("@x\n@y\ndef f():\n    a\nb\n", 1, 4),
        ("f(\n  a\n)\nb\n", 1, 3),
        ("{\n  a\n}\n", 1, 3),
        ("  def f():\n    a\n  b\n", 1, 2),
    ],
)
def test_a_block_ends_before_the_next_one(text: str, begin: int, end: int) -> None:
    """Blank lines and closing brackets belong to it, decorators begin it."""
    assert block_end(text.splitlines(), begin) == end


TRACE = b"""INFO: 127.0.0.1 - "GET /boats HTTP/1.1" 500
Traceback (most recent call last):
  File "/opt/lib/x.py", line 9, in call
    go()
  File "/workspace/api.py", line 8, in every
    return found(LIMIT_OF_PAGE)
  File "./store.py", line 4, in found
    return what
store.Lost: no
ValueError: of nothing
after
"""


def test_an_error_has_its_places_and_its_surroundings() -> None:
    """The submission's own lines, the innermost last; two lines before and two behind may name the request."""
    log = TRACE.replace(b"store.Lost: no\n", b"")
    (error,) = errors_in(b"one\ntwo\n" + log + b"four\nfive\n", API)
    assert (error.said, error.frames) == ("ValueError: of nothing", (("api.py", 8), ("store.py", 4)))
    assert error.around.splitlines() == [
        "",
        "two",
        'INFO: 127.0.0.1 - "GET /boats HTTP/1.1" 500',
        "after",
        "four",
    ]
    assert as_frames(error, API) == (
        "api.py:8: in service\n    return found(LIMIT_OF_PAGE)\n"
        "store.py:4: in service\n    return what\nE   ValueError: of nothing"
    )
    assert errors_in(b"ValueError: alone\n", API) == []
    assert len(errors_in(log * 60, API)) == 50


CHECK = NumberedTest.of("tests/test_a.py::test_a")


def asked(exchange: str) -> Result:
    """Return what a lost test says of its last exchange with the service."""
    result = Result(outcome="failed", message="x", detail="E   x", demand=f"last exchange: {exchange}")
    return of_service({CHECK: result}, TRACE.replace(b"store.Lost: no\n", b""), API).get(CHECK, result)


@pytest.mark.parametrize("status", ["500", "599", "no answer"])
def test_an_answer_that_a_server_owes_has_its_error(status: str) -> None:
    """A status from 500 on, or none at all: the log's error led to it."""
    told = asked(f"GET /boats -> {status} oops")
    assert told.demand == f"last exchange: GET /boats -> {status} oops\nthe service: ValueError: of nothing"
    assert told.detail.startswith("api.py:8: in service\n")
    assert told.detail.endswith("exception:\n\nE   x")
    assert told.calls == ""


@pytest.mark.parametrize("status", ["200", "404", "600"])
def test_any_other_answer_has_its_place(status: str) -> None:
    """Whatever the log says besides, for it is of other requests."""
    told = asked(f"GET /boats -> {status} oops")
    assert (told.detail, told.calls.partition(";")[0]) == ("E   x", 'api.py:5: @router.get("/boats")')


def test_what_a_java_statement_calls() -> None:
    """By its own calls first, then by those that gave its variables their values, the nearest first."""
    ledger = "class Ledger {\n  public int fee(int days) {\n  }\n  public int tax(int sum) {\n  }\n}\n"
    sources = Sources({"Ledger.java": ledger})
    fee, tax = "Ledger.java:2: public int fee(int days) {", "Ledger.java:4: public int tax(int sum) {"
    assert called_in_java("assertEquals(3, ledger.fee(4));", ["int x = ledger.tax(1);"], sources) == fee
    assert (
        called_in_java("assertEquals(3, x);", ["int y = ledger.fee(1);", "int x = ledger.tax(1);"], sources) == tax
    )
    assert called_in_java("assertEquals(3, x);", ["x == ledger.fee(1);"], sources) == ""
    assert called_in_java("assertEquals(3, 4);", ["int x = ledger.tax(1);"], sources) == ""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    private static <T> T found(Map<String, T> things, Context context) {", "found"),
        ("    @Override public Term withId(int number) {", "withId"),
        ("    int size() { return size; }", "size"),
        ("    private static Object kept(", "kept"),
        ("    void close();", None),
        ("        return made(1, 2,", None),
        ("        } else if (made(1)) {", None),
        ("        throw new Refusal(400,", None),
        ("    record Boat(String id) implements Row {", "Boat"),
        ("        String made = made(1,", None),
    ],
)
def test_where_a_method_of_java_begins(line: str, name: str | None) -> None:
    """Its signature may go on below; what is called, thrown, or only declared begins none."""
    found = java_method(line)
    assert (found["name"] if found else None) == name
