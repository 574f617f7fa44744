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
