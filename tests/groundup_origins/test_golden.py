"""Which lines of services are told for lost tests of every kind, and what is known of their functions.

`python -m tests.groundup_origins.test_golden` writes golden/services.txt anew: read what changed.
"""

from collections.abc import Iterator
from pathlib import Path

from groundup.grading.guesses import RequestsOfTest, SentRequest
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import of_service
from groundup.grading.submitted_sources import Sources
from groundup_origins.code_map import CodeMap, arguments, bracketed, mutated, variable_of, words
from tests.groundup_origins.test_stories import BOATS

HERE = Path(__file__).parent / "golden"
GOLDEN = HERE / "services.txt"
QUAY = """package harbour;
@Service
class Quay {
    static final int MAX_BERTHS = 12;
    private Map<Integer, Berth> berths = new HashMap<>();
    private int count;
    record Berth(int number, String boat_id, boolean isFree) {}

    Berth take(String boatId, int number) {
        if (number > MAX_BERTHS) {
            throw new IllegalStateException("no such berth: " + number);
        }
        boolean free = isFree(number);
        Berth taken = new Berth(number, boatId, free);
        for (Berth one : this.berths.values()) {
            if (!one.isFree()) { count += 1; }
        }
        keep(berths, taken);
        return taken;
    }
    boolean isFree(int number) {
        return !berths.containsKey(number);
    }
    void keep(Map<Integer, Berth> all, Berth one) {
        all.put(one.number(), one);
    }
}
"""
QUAYS = """package harbour;
@RestController
public class Quays {
    private final Quay quay;
    @PutMapping("/quay/{number}")
    ResponseEntity<Berth> moor(@PathVariable int number, @RequestBody Map<String, String> body) {
        String boatId = text(body, "boat_id");
        Berth taken = quay.take(boatId, number);
        return ResponseEntity.status(201).body(taken);
    }
    @GetMapping("/quay/{berth}")
    Map<String, Object> berth(@PathVariable("number") int number) {
        Berth one = quay.take(null, number);
        return Map.of("number", one.number(), "boat", one.boat_id());
    }
    @GetMapping("/quay")
    List<Berth> every(@RequestParam(required = false) String state) {
        return quay.every().stream()
            .filter(one -> one.isFree())
            .sorted()
            .toList();
    }
    private String text(Map<String, String> body, String key) {
        String value = body.get(key);
        if (value == null || value.isBlank()) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, key + " is needed");
        }
        return value.trim();
    }
}
"""
JAVA = {"Boats.java": BOATS, "Quay.java": QUAY, "Quays.java": QUAYS}
ASKED = {
    "java": (
        ("POST", "/boats"), ("GET", "/boats/{}"), ("PUT", "/boats/{}"), ("DELETE", "/boats/{}"),
        ("GET", "/boats/{}/state"), ("POST", "/boats/{}/log"), ("POST", "/boats/{}/flags"), ("PUT", "/quay/{}"),
        ("GET", "/quay/{}"), ("GET", "/quay"), ("GET", "/boat/{}"), ("PATCH", "/boats/{}"),
    ),
    "python": (
        ("POST", "/boats"), ("GET", "/boats"), ("GET", "/boats/7"), ("DELETE", "/boats/7"),
        ("PUT", "/boats/7/crew"), ("GET", "/bots/7"), ("PUT", "/boats/7"),
    ),
}  # fmt: skip
LOSSES = {
    "refused": ("400", "expected: <200> but was: <400>", ""),
    "refused by the rest": ("403", "assert 403 == 200", ""),
    "conflict": ("409", "assert 409 == 201", ""),
    "not found": ("404", "expected: <200> but was: <404>", ""),
    "method": ("405", "assert 405 == 200", ""),
    "accepted": ("200", "expected: <400> but was: <200>", ""),
    "there still": ("200", "Expected status code <404> but was <200>", ""),
    "allowed": ("201", "assert 201 == 409", ""),
    "other success": ("200", "expected: <201> but was: <200>", ""),
    "broken": ("500", "expected: <200> but was: <500>", ""),
    "other field": ("200", "assert None == 'x'", 'assertEquals("x", boat.get("state"))'),
    "field is absent": ("200", "KeyError: 'berth'", 'x = boat["berth"]'),
    "other number": ("200", "assert 3 == 2", 'assert answer.json()["total"] == 2'),
    "other text": ("200", "JSON path name doesn't match.", 'has("name")'),
}
ERRORS = {
    "key": 'Traceback (most recent call last):\n  File "/workspace/boats.py", line 69, in board\n'
    "    crew = logs[boat_id]\n"
    "KeyError: '7'\n",
    "null": 'java.lang.NullPointerException: Cannot invoke "Crew.people()" because "this.crews" is null\n'
    "\tat harbour.Quay.take(Quay.java:14)\n\tat harbour.Quays.moor(Quays.java:8)\n",
    "state": "java.lang.IllegalStateException: no such berth: 13\n\tat harbour.Quay.take(Quay.java:11)\n"
    "\tat harbour.Quays.berth(Quays.java:13)\n",
}  # fmt: skip
TEXTS = (
    'put(a, f(b, "c, d"), Map<K, V> e) rest', "(", "[x, {y: 1, z}]", "int x = y + 1;", "for (Boat one : all) {",
    "for one in two:", "this.boats.values().remove(a);", 'boats.get(id).put("x = 1", y)', "count += 1",
    "count == 1",
    "del logs[x]", "self.name = name", "Boat made = new Boat(", "return;", "'it\\'s', b",
)  # fmt: skip


def _mapped(code: CodeMap) -> Iterator[str]:
    yield f"records {code.records}"
    yield f"owners { {name: sorted(some) for name, some in sorted(code.owners.items())} }"
    yield f"constants {code.constants}"
    for span in code.spans:
        yield f"{span}: {[at for at, _ in code.statements(span)]}"
        yield f"  calls {[one.name for one in code.calls(span)]}, hands {sorted(code.handed(span))}"
        fields = {name: code.writing(span, name) for name in (*sorted(code.owners), "id", "boat_id", "state")}
        yield f"  writes { {name: lines for name, lines in fields.items() if lines} }"
        yield f"  statements {[code.statement(span, at)[0] for at in range(span.first, span.last + 1)]}"
        yield f"  around {code.around((span.path, span.last))}"


def _lost(sources: Sources, asked: tuple[str, str], loss: tuple[str, str, str], log: str, way: str) -> str:
    method, address = asked
    status, message, statement = loss
    test, other, third = map(NumberedTest.of, ("ApiTest#testLimitsName", "ApiTest#testOther", "ApiTest#testThird"))
    answered = status if way != "unanswered" else "no answer"
    result = Result(
        outcome="failed",
        message=message,
        demand=f"last exchange: {method} {address} -> {answered}",
        detail=f"ApiTest.java:9: in testLimitsName\n    {statement}\nE   {message}",
    )
    build = SentRequest("POST", "/boats", makes=frozenset({"id"}), reads=("id", "berth"))
    uses = frozenset({"id"})
    between = {"sunk": "DELETE /boats/{}", "named": "PUT /boats/{}", "moored": "PUT /quay/{}"}.get(way, "")
    more = [SentRequest(between.partition(" ")[0], between.partition(" ")[2], uses)] if between else []
    own = (build, *more, SentRequest(method, address, uses, reads=("state",)))
    passed = (build, SentRequest("GET", "/boats/{}"), SentRequest("PUT", "/boats/7/crew"))
    requests = {test.id: RequestsOfTest(own), other.id: RequestsOfTest(passed), third.id: RequestsOfTest(own[-1:])}
    alike = result if message.startswith("expected: <201>") else Result(outcome="passed")
    results = {test: result, other: Result(outcome="passed"), third: alike}
    found = of_service(results, log.encode(), sources, requests if way != "nothing" else None)
    told = [one.partition(": ")[0] for one in found[test].probably.splitlines()] if test in found else []
    return " ".join(told[:12])


def _all() -> Iterator[str]:
    yield from (f"{one!r}: {arguments(one)}, {bracketed(one, one.find('('))!r}, {sorted(words(one))}, "
                f"{variable_of(one)!r}, {mutated(one)!r}" for one in TEXTS)  # fmt: skip
    python = {"boats.py": (HERE / "boats.py.txt").read_text(encoding="utf-8")}
    for name, files in (("java", JAVA), ("python", python)):
        sources = Sources(files)
        yield f"##### {name}"
        yield from _mapped(CodeMap(sources))
        for asked in ASKED[name]:
            for what, loss in LOSSES.items():
                yield f"{' '.join(asked)}, {what}: {_lost(sources, asked, loss, '', 'plain')}"
            for way in ("nothing", "sunk", "named", "moored"):
                for what in ("refused", "there still", "broken"):
                    yield f"{' '.join(asked)}, {what}, {way}: {_lost(sources, asked, LOSSES[what], '', way)}"
            for what, log in ERRORS.items() if name == "java" or asked[0] == "PUT" else ():
                for way in ("plain", "nothing", "unanswered"):
                    told = _lost(sources, asked, LOSSES["broken"], log, way)
                    yield f"{' '.join(asked)}, broken by {what}, {way}: {told}"


def test_lines_of_services_are_told_as_recorded() -> None:
    """For each request and each kind of loss, by what was asked before and by what the service printed."""
    assert "\n".join(_all()) + "\n" == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(_all()) + "\n", encoding="utf-8")
