"""Which lines may have made what a test saw, by all that it asked a service."""

import pytest

from groundup.grading.guesses import RequestsOfTest, SentRequest
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import of_service
from groundup.grading.submitted_sources import Sources

TEST, OTHER = NumberedTest.of("ApiTest#testOne"), NumberedTest.of("ApiTest#testOther")
BOATS = """package harbour;
@RestController
@RequestMapping("/boats")
public class Boats {
    record Boat(String id, String name, String state, int berth) {}
    private static final class Crew {
        private final Set<String> people = new HashSet<>();
    }
    private final Map<String, Boat> boats = new HashMap<>();
    private final Map<String, Crew> crews = new HashMap<>();

    @PostMapping("")
    @ResponseStatus(HttpStatus.CREATED)
    Boat build(@RequestBody Boat told) {
        needed(told.name());
        String id = UUID.randomUUID().toString();
        Boat made = new Boat(
                id, told.name(),
                null, told.berth());
        boats.put(id, made);
        Crew crew = new Crew();
        crews.put(id, crew);
        return made;
    }

    @GetMapping("/{id}")
    Boat boat(@PathVariable String id) {
        return found(id);
    }

    @PutMapping("/{id}")
    Boat rename(@PathVariable String id, @RequestBody Boat told) {
        Boat old = found(id);
        Boat changed = new Boat(id, told.name(), old.state(), told.berth());
        boats.put(id, changed);
        return changed;
    }

    @DeleteMapping("/{id}")
    void sink(@PathVariable String id) {
        crews.remove(found(id).id());
    }

    @GetMapping("/{id}/state")
    Map<String, String> state(@PathVariable String id) {
        return Map.of("state", found(id).state());
    }

    @PostMapping("/{id}/log")
    Map<String, String> note(@PathVariable String id, @RequestBody Note told) {
        if (!crews.get(id).people.contains(told.author())) {
            throw new ResponseStatusException(HttpStatus.FORBIDDEN, "only its crew may write");
        }
        return Map.of("id", id);
    }

    @PostMapping("/{id}/flags")
    Map<String, String> hoist(@PathVariable String id) {
        return Map.of("id", id);
    }

    private Boat found(String id) {
        Boat boat = boats.get(id);
        if (boat == null) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND, "there is no such boat");
        }
        return boat;
    }

    private static void needed(String value) {
        if (value == null) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "a name is needed");
        }
    }
}
"""
BUILD = SentRequest("POST", "/boats", makes=frozenset({"boatId"}))
USES = frozenset({"boatId"})


def told(method: str, address: str, message: str, *between: SentRequest, statement: str = "") -> list[str]:
    """Return the lines that are told of a test that builds a boat, asks some more, and is lost by *message*."""
    asked = (BUILD, *between, SentRequest(method, address, USES))
    got = message.partition("was: <")[2][:3]
    answered = got if got.isdecimal() else "not known"
    result = Result(
        outcome="failed", message=message, demand=f"last exchange: {method} {address} -> {answered}",
        detail=f"ApiTest.java:9: in testOne\n    {statement}\nE   {message}",
    )  # fmt: skip
    results = {TEST: result, OTHER: Result(outcome="passed")}
    requests = {TEST.id: RequestsOfTest(asked), OTHER.id: RequestsOfTest((BUILD, SentRequest("GET", "/boats/{}")))}
    found = of_service(results, b"", Sources({"Boats.java": BOATS}), requests)
    return [place.partition(": ")[2] for place in found[TEST].probably.splitlines()]


@pytest.mark.parametrize(
    ("method", "address", "message", "between", "line"),
    [
        ("GET", "/boats/{}", "expected: <404> but was: <200>", "DELETE", "crews.remove(found(id).id());"),
        ("GET", "/boats/{}/state", "expected: <200> but was: <500>", "", "null, told.berth());"),
        ("POST", "/boats/{}/log", "expected: <200> but was: <403>", "", "Crew crew = new Crew();"),
        ("POST", "/boats/{}/flags", "expected: <201> but was: <200>", "",
         "Map<String, String> hoist(@PathVariable String id) {"),
    ],
)  # fmt: skip
def test_what_an_earlier_request_did_wrong_is_told(
    method: str, address: str, message: str, between: str, line: str
) -> None:
    """A thing that stays, a field without a value, somebody who was not noted, a status that others declare."""
    lines = told(method, address, message, *([SentRequest(between, "/boats/{}", USES)] if between else []))
    assert line in lines
    assert len(lines) <= 3


def test_the_argument_of_a_record_writes_its_field() -> None:
    """Of the one that answers first, then of the one before: the line of the argument, not of the record."""
    statement = 'assertEquals("afloat", answer.getString("state"));'
    message = "expected: <afloat> but was: <null>"
    changed = told("PUT", "/boats/{}", message, statement=statement)
    read = told("GET", "/boats/{}", message, statement=statement)
    assert changed[0] == "Boat changed = new Boat(id, told.name(), old.state(), told.berth());"
    assert read[0] == "null, told.berth());"


def test_a_test_that_waits_for_another_has_the_lines_of_that_one() -> None:
    """What it lacks is told beside them, with who should have set it, also where it came to ask nothing."""
    lost = Result(
        outcome="failed", message="expected: <201> but was: <200>", demand="last exchange: POST /boats -> 200"
    )
    follows = lost.but(message="expected: <200> but was: <404>", demand="last exchange: GET /boats/{} -> 404")
    requests = {
        OTHER.id: RequestsOfTest((BUILD,)),
        TEST.id: RequestsOfTest((SentRequest("GET", "/boats/{}", USES),), (), OTHER.id, "boatId"),
    }
    for one in (follows, follows.but(message="IllegalArgumentException: null", demand="")):
        found = of_service({OTHER: lost, TEST: one}, b"", Sources({"Boats.java": BOATS}), requests)
        assert found[TEST].probably == found[OTHER].probably != ""
        assert found[TEST].demand.endswith(f"it uses boatId, which {OTHER.id} was lost before it set")


def test_what_was_not_stored_is_told_of_an_error_for_lack_of_it() -> None:
    """Of other errors the place that the log names is enough."""
    log = (
        b'java.lang.%s: Cannot invoke "Crew.people()" because the return value of "Map.get(Object)" is null\n'
        b"\tat harbour.Boats.note(Boats.java:57)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
    )
    lost = Result(
        outcome="failed",
        message="expected: <200> but was: <500>",
        demand="last exchange: POST /boats/{}/log -> 500",
    )
    requests = {TEST.id: RequestsOfTest((BUILD, SentRequest("POST", "/boats/{}/log", USES)))}
    sources = Sources({"harbour/Boats.java": BOATS})
    for kind, is_told in ((b"NullPointerException", True), (b"IllegalStateException", False)):
        found = of_service({TEST: lost}, log % kind, sources, requests)[TEST]
        assert "in service" in found.detail
        assert ("crews.put(id, crew);" in found.probably) is is_told


HARBOUR = """package harbour;
public final class Harbour {
    private static final Set<String> FLAGS = Set.of("red", "green");
    private record Berth(int id, String flag, int depth) {}
    private final Map<Integer, Berth> berths = new ConcurrentSkipListMap<>();

    void routes(Javalin server) {
        server.post("/berths", this::dig);
        server.get("/berths", this::deep);
        server.put("/berths/{id}", this::fill);
        server.post("/pilots", this::hire);
        server.get("/pilots/me", this::pilot);
    }

    private void dig(Context context) {
        JsonNode body = body(context);
        String flag = text(body, "flag");
        if (!FLAGS.contains(flag)) {
            throw new Refusal(400, "there is no such flag");
        }
        Berth made = new Berth(berths.size(), flag, number(body, "depth"));
        berths.put(made.id(), made);
        context.status(201).json(made);
    }

    private void deep(Context context) {
        context.json(berths.values().stream()
                .filter(one -> one.depth() > 5)
                .toList());
    }

    private void fill(Context context) {
        JsonNode body = body(context);
        String owner = text(body, "owner");
        int depth = number(body, "depth");
        context.json(Map.of("silt", number(body, "depth"), "flag", "red", "depth_m", depth));
    }

    private void hire(Context context) {
        String name = text(body(context), "name");
        context.json(Map.of("key", UUID.randomUUID().toString(), "name", name));
    }

    private void pilot(Context context) {
        if (context.header("Authorization") == null) {
            throw new Refusal(401, "log in first");
        }
        context.json(Map.of("name", "Ann"));
    }

    private static int number(JsonNode body, String name) {
        JsonNode value = body.get(name);
        return value == null || value.isInt() ? 0 : value.asInt();
    }
}
"""


@pytest.mark.parametrize(
    ("last", "message", "statement", "lines"),
    [
        (SentRequest("POST", "/berths"), "expected: <201> but was: <400>", "",
         {'private static final Set<String> FLAGS = Set.of("red", "green");', "if (!FLAGS.contains(flag)) {"}),
        (SentRequest("GET", "/berths"), "expected: <true> but was: <false>", "assertTrue(found);",
         {".filter(one -> one.depth() > 5)",
          'Berth made = new Berth(berths.size(), flag, number(body, "depth"));'}),
        (SentRequest("PUT", "/berths/{}"), "expected: <400> but was: <200>", "",
         {'String owner = text(body, "owner");', 'int depth = number(body, "depth");'}),
        (SentRequest("GET", "/pilots/me"), "expected: <200> but was: <401>", "",
         {'context.json(Map.of("key", UUID.randomUUID().toString(), "name", name));'}),
    ],
)  # fmt: skip
def test_what_a_test_saw_says_where_to_look(
    last: SentRequest, message: str, statement: str, lines: set[str]
) -> None:
    """What refuses with its constant; what chooses with what was stored; what is read in vain; what lacks."""
    hired = SentRequest("POST", "/pilots", makes=frozenset({"token"}), reads=("token",))
    dug = SentRequest("POST", "/berths", reads=("id",))
    earlier = (hired,) if last.address == "/pilots/me" else (dug,) if last.method == "GET" else ()
    got = message.partition("was: <")[2][:3]
    answered = got if got.isdecimal() else "not known"
    lost = Result(
        outcome="failed", message=message, demand=f"last exchange: {last.method} {last.address} -> {answered}",
        detail=f"T.java:9: in testOne\n    {statement}\nE   {message}",
    )  # fmt: skip
    requests = {TEST.id: RequestsOfTest((*earlier, last))}
    found = of_service({TEST: lost}, b"", Sources({"harbour/Harbour.java": HARBOUR}), requests)[TEST].probably
    assert lines <= {place.partition(": ")[2] for place in found.splitlines()}


def test_a_route_that_nothing_asks_is_told_where_one_is_missing() -> None:
    """It differs by a word, however unlike; what tests ask elsewhere is none."""
    lost = Result(
        outcome="failed", message="expected: <201> but was: <404>", demand="last exchange: POST /boots -> 404"
    )
    text = HARBOUR.replace('"/berths", this::dig', '"/moorings", this::dig')
    asked = RequestsOfTest((SentRequest("POST", "/pilots"), SentRequest("POST", "/boots")))
    found = of_service({TEST: lost}, b"", Sources({"Harbour.java": text}), {TEST.id: asked})[TEST]
    assert found.probably == 'Harbour.java:8: server.post("/moorings", this::dig);'


YARD = """package yard;
public final class Yard {
    private final Map<String, Object> owner = new HashMap<>();

    void routes(Javalin server) {
        server.put("/owner", this::change);
        server.post("/hulls", this::lay);
        server.post("/sails", this::cut);
        server.get("/hulls/{hull}", this::hull);
        server.get("/masts/{id}", this::mast);
    }

    private void change(Context context) {
        JsonNode body = body(context);
        Map<String, Object> shown = new TreeMap<>(owner);
        owner.put("port", text(body, "port"));
        context.json(shown);
    }

    private void lay(Context context) {
        context.status(201).json(Map.of("beam", number(body(context), "beam")));
    }

    private void cut(Context context) {
        context.status(201).json(Map.of("area", number(body(context), "area")));
    }

    private void hull(Context context) {
        context.json(found(context));
    }

    private void mast(Context context) {
        for (int at = 1; at <= masts.size(); at++) {
            context.json(masts.get(at));
        }
    }

    private static String text(JsonNode body, String name) {
        return body.get(name).toString();
    }

    private static int number(JsonNode body, String name) {
        JsonNode value = body.get(name);
        if (value == null || !value.isInt()) {
            throw new Refusal(400, "it must be a number");
        }
        return value.asInt();
    }

    private Object found(Context context) {
        Object thing = things.get(context.pathParam("id"));
        if (thing == null) {
            throw new Refusal(404, "there is no such thing");
        }
        return thing;
    }
}
"""


@pytest.mark.parametrize(
    ("last", "message", "statement", "line"),
    [
        (SentRequest("PUT", "/owner"), "expected: <Bergen> but was: <Oslo>", 'json.getString("port")',
         "Map<String, Object> shown = new TreeMap<>(owner);"),
        (SentRequest("PUT", "/owner"), 'expected: <Bergen> but was: <"Bergen">', 'json.getString("port")',
         "return body.get(name).toString();"),
        (SentRequest("POST", "/sails"), "expected: <201> but was: <400>", "",
         "if (value == null || !value.isInt()) {"),
        (SentRequest("GET", "/hulls/{}"), "expected: <200> but was: <404>", "",
         'server.get("/hulls/{hull}", this::hull);'),
        (SentRequest("GET", "/masts/{}"), "expected: <404> but was: <200>", "", "context.json(masts.get(at));"),
    ],
)  # fmt: skip
def test_what_an_answer_is_made_of_is_followed_back(
    last: SentRequest, message: str, statement: str, line: str
) -> None:
    """A copy made too early; what a helper returns; a check of what no passing test sent; a part of another name;
    no check at all."""
    got = message.partition("was: <")[2][:3]
    answered = got if got.isdecimal() else "not known"
    lost = Result(
        outcome="failed", message=message, demand=f"last exchange: {last.method} {last.address} -> {answered}",
        detail=f"T.java:9: in testOne\n    {statement}\nE   {message}",
    )  # fmt: skip
    requests = {TEST.id: RequestsOfTest((last,)), OTHER.id: RequestsOfTest((SentRequest("POST", "/hulls"),))}
    results = {TEST: lost, OTHER: Result(outcome="passed")}
    found = of_service(results, b"", Sources({"yard/Yard.java": YARD}), requests)[TEST].probably
    assert line in {place.partition(": ")[2] for place in found.splitlines()}


def test_the_head_of_a_loop_is_told_of_an_error_in_it() -> None:
    """The frame of the error stands elsewhere; it is told first here, for why leaves out what it has shown."""
    log = (
        b"java.lang.IndexOutOfBoundsException: Index 2 out of bounds for length 2\n"
        b"\tat yard.Yard.mast(Yard.java:34)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
    )
    lost = Result(
        outcome="failed",
        message="expected: <200> but was: <500>",
        demand="last exchange: GET /masts/{} -> 500",
    )
    requests = {TEST.id: RequestsOfTest((SentRequest("GET", "/masts/{}"),))}
    found = of_service({TEST: lost}, log, Sources({"yard/Yard.java": YARD}), requests)[TEST].probably
    assert [place.partition(": ")[2] for place in found.splitlines()] == [
        "context.json(masts.get(at));",
        "for (int at = 1; at <= masts.size(); at++) {",
    ]


def test_a_class_that_is_not_registered_is_told_where_nothing_says_not_found() -> None:
    """Its route is there, and none of its lines answers 404."""
    text = """package yard;

public class Health {
    @GetMapping("/health")
    Map<String, Object> health() {
        return Map.of("status", "UP");
    }
}
"""
    lost = Result(
        outcome="failed", message="expected: <200> but was: <404>", demand="last exchange: GET /health -> 404"
    )
    requests = {TEST.id: RequestsOfTest((SentRequest("GET", "/health"),))}
    found = of_service({TEST: lost}, b"", Sources({"Health.java": text}), requests)[TEST].probably
    assert found.splitlines()[0] == "Health.java:3: public class Health {"


def test_a_key_of_the_same_words_is_told_of_a_field_that_an_answer_lacks() -> None:
    """Also where a record of the service has the field's own name."""
    text = """package yard;
public final class Yard {
    private record Hull(int ownerId) {}

    void routes(Javalin server) {
        server.post("/hulls", this::lay);
    }

    private void lay(Context context) {
        Hull made = new Hull(4);
        Map<String, Object> shown = new TreeMap<>();
        shown.put("owner_id", made.ownerId());
        context.json(shown);
    }
}
"""
    lost = Result(
        outcome="error", message='JSONException: JSONObject["ownerId"] not found.',
        demand="last exchange: POST /hulls -> not known",
    )  # fmt: skip
    requests = {TEST.id: RequestsOfTest((SentRequest("POST", "/hulls"),))}
    found = of_service({TEST: lost}, b"", Sources({"Yard.java": text}), requests)[TEST].probably
    assert found.splitlines()[0] == 'Yard.java:12: shown.put("owner_id", made.ownerId());'


def test_the_name_of_a_test_says_which_check_let_something_pass() -> None:
    """Of two checks of what was sent, the one that is called like it, with its constant."""
    text = """package yard;
public final class Yard {
    private static final Pattern COLOUR = Pattern.compile(".*");
    private static final int LONGEST = 10;

    void routes(Javalin server) {
        server.post("/hulls", this::lay);
    }

    private void lay(Context context) {
        int beam = length(context);
        String dye = dye(context);
        hulls.add(new Hull(beam, dye));
        context.json(Map.of("beam", beam, "dye", dye));
    }

    private static int length(Context context) {
        if (context.beam() > LONGEST) {
            throw new Refusal(400, "it is too long");
        }
        return context.beam();
    }

    private static String dye(Context context) {
        if (!COLOUR.matcher(context.dye()).matches()) {
            throw new Refusal(400, "there is no such dye");
        }
        return context.dye();
    }
}
"""
    lost = Result(
        outcome="failed", message="expected: <400> but was: <200>", demand="last exchange: POST /hulls -> 200",
        detail="T.java:9: in testInvalidColour\n    .statusCode(400)\nE   expected: <400> but was: <200>",
    )  # fmt: skip
    requests = {TEST.id: RequestsOfTest((SentRequest("POST", "/hulls"),))}
    found = of_service({TEST: lost}, b"", Sources({"Yard.java": text}), requests)[TEST].probably
    assert [place.partition(": ")[2] for place in found.splitlines()[:2]] == [
        "if (!COLOUR.matcher(context.dye()).matches()) {",
        'private static final Pattern COLOUR = Pattern.compile(".*");',
    ]
