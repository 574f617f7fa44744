"""What is read of hidden Java tests: each request with what it is made of and gives, and what tests wait for.

`python -m tests.grading.java.test_golden` writes golden/requests.txt anew: read what changed.
"""

from collections.abc import Iterator
from pathlib import Path

from groundup.grading.guesses import RequestsOfTest, SentRequest
from groundup.grading.java.placing import java_tests
from groundup.grading.java.requests import BrokenOff, JavaTests, java_path
from tests.grading.java.test_requests import API_TEST, BASE, ORDERED

GOLDEN = Path(__file__).parent / "golden" / "requests.txt"
MORE = """package harbour.more;
class MoreTest extends Base {
    static final String PATH = "/nets";
    private static final String FULL = "http://localhost:8080/full";
    static Long netId;
    public static String crewId = null;
    static int count = 3;
    static List<String> names;
    @BeforeAll
    static void begin() {
        post("/begin");
    }
    @BeforeEach
    void each() {
        get("/each");
    }
    @RepeatedTest(3)
    void testMany(int number) {
        // get("/comment")
        mvc.perform(post(PATH).content("{\\"name\\": \\"x\\"}")).andExpect(status().is(201));
        netId = read().get("id").path("inner");
        exchange("PUT", base + "/nets/" + netId, HttpMethod.PUT);
        HttpURLConnection open = (HttpURLConnection) new URL(FULL + "?x=" + netId).openConnection();
        open.setRequestMethod("PATCH");
        assertEquals(404, open.getResponseCode());
        helper(netId);
        map.get("key"); list.get("/not a path"); delete(url("x") + "/late/" + crewId + "/end", a, b);
    }
    private void helper(Long id) {
        deleteForObject(base + "/nets/" + id);
        assertEquals(200, code); assertEquals(204, code);
    }
    @ParameterizedTest
    @Order(value)
    void testOrdered() { getForEntity("/crew/" + crewId + "/{name}"); assertThat(1).isEqualTo(418); }
    @Test
    @Order(3)
    void testThird() {
        crewId = post("/crew").at("id");
        names = get("/names");
    }
    @Test
    @Order(4)
    void testFourth() {
        put("/crew/" + crewId);
        use(names, count);
    }
}
"""
FILES = {"java/BoatTest.java": ORDERED, "java/BaseTest.java": BASE, "java/MoreTest.java": MORE}
TESTS = [
    *(f"harbour.BoatTest#{name}" for name in ("testSails", "testBuilds", "crew", "absent")),
    *(f"harbour.more.MoreTest#{name}" for name in ("testMany(int)[2]", "testOrdered", "testThird", "testFourth")),
    "harbour.Absent#test",
]
PATHS = (
    'BASE + "/a/" + id + "/b"', '"/a/{id}/b/{name}" + x', 'url("x, y") + "/c", 3', '"http://x:1/d?e=f"', "id",
    '"/"', 'a(b(1), 2) + "/g" + h(3) ) + "/i"', '"https://host"', '"a" + "/b"',
)  # fmt: skip


def _shown(one: SentRequest) -> str:
    more = [f"uses {sorted(one.uses)}" if one.uses else "", f"makes {sorted(one.makes)}" if one.makes else ""]
    more += [f"reads {one.reads}" if one.reads else "", f"wants {one.wanted}" if one.wanted else ""]
    return "; ".join([f"{one.method} {one.address}", *filter(None, more)])


def _told(test: str, asked: RequestsOfTest) -> Iterator[str]:
    yield f"{test}: waits for {asked.waits_for!r}, {asked.unset!r}"
    yield from (f"  before {_shown(one)}" for one in asked.before)
    yield from (f"  own {_shown(one)}" for one in asked.own)


def _all() -> Iterator[str]:
    tests = java_tests({path: text.encode() for path, text in FILES.items()})
    more = "harbour/more/MoreTest.java"
    third = BrokenOff(more, 39)
    for failed in (
        {},
        {"harbour.BoatTest#testBuilds": BrokenOff("harbour/BoatTest.java", 23, is_refused=True)},
        {"harbour.more.MoreTest#testThird": third, "harbour.more.MoreTest#testMany(int)[2]": BrokenOff(more, 20)},
        {
            "harbour.more.MoreTest#testThird": third._replace(line=400),
            "harbour.BoatTest#testBuilds": BrokenOff("x", 24),
        },
    ):
        yield f"##### broken off {[*failed]}"
        for test, asked in tests.asked_by(TESTS, failed).items():
            yield from _told(test, asked)
    alone = JavaTests({"ApiTest.java": API_TEST})
    for known, path in ((alone, "ApiTest.java"), (tests, "harbour/BoatTest.java"), (tests, more)):
        yield f"##### last exchanges of {path}"
        for number in range(1, len(known.lines(path)) + 1):
            yield f"{number}: {known.last_exchange(path, number, 'expected: <200> but was: <404>')}"
    said = ("but was: 503", "but was <201>", "but was: <600>", "was <201>", "")
    yield from (alone.last_exchange("ApiTest.java", 8, one) for one in said)
    yield from (f"{path} -> {java_path(path)}" for path in PATHS)
    yield f"{alone.lines('absent')!r}"


def test_java_tests_are_read_as_ever() -> None:
    """By all clients, through helpers and classes above, up to where a test broke off."""
    assert "\n".join(_all()) + "\n" == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(_all()) + "\n", encoding="utf-8")
