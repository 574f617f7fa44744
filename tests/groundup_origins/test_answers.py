"""Which line of a service an answer that a test did not want leads to."""

import pytest

from groundup.domain.verdicts import TestResult
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import of_service
from groundup.grading.submitted_sources import Sources
from groundup.reports.kinds import kind_of_test
from tests.grading.test_places import FLASK, TEST, lost


@pytest.mark.parametrize(
    ("request_line", "place"),
    [
        ("GET /boat", 'app.py:4: @app.get("/boats")'),
        ("GET /boots/7", 'app.py:13: @app.get("/boats/<int:number>")'),
        ("DELETE /boats/7", 'app.py:13: @app.get("/boats/<int:number>")'),
        ("GET /harbours", ""),
        ("GET /harbours/7/crew", ""),
    ],
)
def test_a_request_that_none_answers_names_the_route_like_it(request_line: str, place: str) -> None:
    """Another word of the path, or another method; where nothing is like it, no line is told."""
    found = of_service({TEST: lost(f"last exchange: {request_line} -> 404 {{}}")}, b"", Sources({"app.py": FLASK}))
    assert found[TEST].probably == place


def test_a_method_that_is_not_allowed_leads_to_the_route_that_names_none() -> None:
    """Frameworks have a default then; what a second run saw comes behind it."""
    sources = Sources({"app.py": '@app.route("/results")\ndef results():\n    return "won"\n'})
    refused = lost("last exchange: POST /results, sent choice=paper -> 405 <html>")
    for known in ("", 'app.py:3: return "won"'):
        told = of_service({TEST: refused.but(probably=known)}, b"", sources)[TEST].probably
        assert told.splitlines() == ['app.py:1: @app.route("/results")', *filter(None, [known])]


def test_a_field_of_an_answer_names_the_line_that_writes_it() -> None:
    """The one that the failed statement reads; of one that is not there the one that is called most like it.

    Where none is like it, the few lines of what answered are told.
    """
    text = FLASK.replace("return []", 'return {\n        "count": str(3),\n        "like_total": 2,\n    }')
    sources = Sources({"app.py": text})
    read = Result(
        outcome="failed",
        message="AssertionError: assert '3' == 3",
        demand='> assert answer.json()["count"] == 3\nlast exchange: GET /boats -> 200 {}',
    )
    absent = read.but(message="KeyError: 'total_likes'", demand="last exchange: GET /boats -> 200 {}")
    unknown = read.but(message="KeyError: 'owner'", demand="last exchange: GET /boats -> 200 {}")
    traced = read.but(
        demand=absent.demand, detail="t.py:9: in test_a\n    assert told['count'] == 3\nE   assert '3' == 3"
    )
    found = [of_service({TEST: one}, b"", sources)[TEST].probably for one in (read, absent, unknown, traced)]
    whole = 'app.py:6: return {\napp.py:7: "count": str(3),\napp.py:8: "like_total": 2,'
    assert found == [
        'app.py:7: "count": str(3),', 'app.py:8: "like_total": 2,', whole, 'app.py:7: "count": str(3),',
    ]  # fmt: skip


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
        ('{"code":"other"}', "app.py:3: return one(two(three(four(five(body())))))"),
        (
            "",
            "app.py:7: raise Problem(422, 'invalid', f'the {mail} is not valid')\n"
            "app.py:19: raise Problem(422, 'conflict', 'exists already')",
        ),
    ],
)
def test_the_text_of_an_answer_decides_among_lines_of_one_status(answer: str, place: str) -> None:
    """All functions that are called count, also a fifth; of a text that none has the line that answered is told.

    Without one both are. Lines that a second run told stay as they are.
    """
    asked = lost(f"last exchange: POST /mails, sent {{}} -> 422 {answer}").but(message="assert 422 == 409")
    assert of_service({TEST: asked}, b"", Sources({"app.py": MANY_CALLS}))[TEST].probably == place
    ran = of_service({TEST: asked.but(probably="app.py:2: ran")}, b"", Sources({"app.py": MANY_CALLS}))
    assert ran[TEST].probably == "app.py:2: ran"


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
    told = of_service({TEST: asked}, b"", Sources({"app.py": MANY_CALLS}))[TEST].probably
    assert told == "app.py:3: return one(two(three(four(five(body())))))"


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
    text = FLASK.replace("return []", "return []\n" + 4 * "    pass\n") + 'KINDS = ["rowing boat"]\n'
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


APP = """package harbour;
public final class App {
    private void routes(Javalin server) {
        server.post("/boats", known(this::launch));
        server.get("/boats/{id}", context -> context.json(boat(context)));
    }
    private void launch(Context context) {
        if (taken(context)) {
            throw new ConflictResponse("taken");
        }
        context.status(201).json("{}");
    }
    private Object boat(Context context) {
        return found(context);
    }
    private boolean taken(Context context) {
        return false;
    }
}
"""


def test_a_route_leads_to_the_method_that_it_names_and_to_the_line_of_the_status() -> None:
    """The method behind `this::launch`, and within it and what it calls the one line with that status."""
    test = NumberedTest.of("ApiTest#testLaunch")
    lost = Result(
        outcome="failed",
        message="expected: <201> but was: <409>",
        demand="last exchange: POST /boats -> 409",
    )
    (told,) = of_service({test: lost}, b"", Sources({"App.java": APP})).values()
    assert told.calls.startswith(
        "App.java:7: private void launch(Context context) {; or in what it calls: taken (App.java:16)"
    )
    assert told.probably == 'App.java:9: throw new ConflictResponse("taken");'


def test_an_answer_500_without_a_log_leads_to_what_is_not_written() -> None:
    """And is of that kind."""
    app = '@app.post("/boats")\ndef launch():\n    return moored()\n\n\n'
    app += "def moored():\n    raise NotImplementedError\n"
    lost = Result(outcome="failed", message="assert 500 == 201", demand="last exchange: POST /boats -> 500")
    (told,) = of_service({NumberedTest.of("t.py::a"): lost}, b"", Sources({"app.py": app})).values()
    assert told.probably == "app.py:7: raise NotImplementedError"
    test = TestResult(id="t.py::a", outcome="failed", expected=True, message=lost.message, probably=told.probably)
    assert kind_of_test(test, in_submission=False) == "not implemented"


def _of_java(request: str, message: str, statement: str, body: str) -> str:
    """Return where a Java service lost a test, of which the body of one method is known."""
    app = APP.replace('context.status(201).json("{}");\n', f"{body}\n")
    test = NumberedTest.of("ApiTest#testLaunch")
    detail = f"tests/ApiTest.java:9: in testLaunch\n    {statement}\nE   {message}"
    lost = Result(outcome="failed", message=message, detail=detail, demand=f"last exchange: {request}")
    return of_service({test: lost}, b"", Sources({"App.java": app}))[test].probably


def test_without_a_second_run_what_chooses_a_field_is_told_first() -> None:
    """Java: a line that only reads the field of a request comes after it, a check that refuses never."""
    told = _of_java(
        "POST /boats -> not known",
        "expected: <Sea> but was: <Lake>",
        'assertEquals("Sea", answer.getString("water"));',
        '        String water = text(body(context), "water");\n'
        "        Boat boat = new Boat(next(), water == null ? water : old.water());\n"
        "        boats.add(boat);\n        context.json(boat);",
    )
    assert told == (
        "App.java:12: Boat boat = new Boat(next(), water == null ? water : old.water());\n"
        'App.java:11: String water = text(body(context), "water");'
    )


@pytest.mark.parametrize(
    "line", ["context.json(new Boat(next(), old.water(), old.owner()));", "boat.setWater(old.water());"]
)
def test_a_record_or_a_setter_of_java_writes_its_fields(line: str) -> None:
    """Where the record is made, by the place of the field in it."""
    told = _of_java(
        "POST /boats -> not known",
        "expected: <Sea> but was: <Lake>",
        'assertEquals("Sea", answer.getString("water"));',
        f'        String water = text(body(context), "water");\n        {line}\n    }}\n\n'
        "    private record Boat(String id, String water, int owner) {\n",
    )
    assert told == f"App.java:12: {line}"


def test_without_a_second_run_what_chooses_among_values_is_told() -> None:
    """Java: of an answer of which no field is known."""
    told = _of_java(
        "POST /boats -> not known",
        "expected: <true> but was: <false>",
        "assertTrue(body.length() > 0);",
        "        int owner = id(context);\n        context.json(boats.stream()\n"
        "                .filter(boat -> boat.owner() != owner)\n                .toList());",
    )
    assert told == "App.java:13: .filter(boat -> boat.owner() != owner)"


def test_what_should_have_been_refused_and_has_no_such_check_leads_to_where_checks_begin() -> None:
    """The first statements of what answered."""
    text = "@app.put('/boats/1')\ndef change():\n    boat = found(1)\n    return filled(boat)\n"
    asked = lost("last exchange: PUT /boats/1, sent {} -> 200").but(message="assert 200 == 403")
    told = of_service({TEST: asked}, b"", Sources({"app.py": text}))[TEST].probably
    assert told == "app.py:3: boat = found(1)\napp.py:4: return filled(boat)"


@pytest.mark.parametrize(("wanted", "first"), [(403, "app.py:9: token = new()"), (422, "app.py:3: read = body()")])
def test_a_check_that_is_nowhere_belongs_behind_the_others_unless_it_is_of_the_request(
    wanted: int, first: str
) -> None:
    """Who may do it is asked when it is known what and who; whether a request is right comes before."""
    text = (
        "@app.post('/keys')\ndef make():\n    read = body()\n    if not read:\n        raise Problem(\n"
        "            400,\n            'empty',\n        )\n    token = new()\n    return token\n"
    )
    asked = lost("last exchange: POST /keys, sent {} -> 200").but(message=f"assert 200 == {wanted}")
    told = of_service({TEST: asked}, b"", Sources({"app.py": text}))[TEST].probably
    assert told.splitlines()[0] == first
