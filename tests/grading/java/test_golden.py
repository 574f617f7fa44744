"""What is read of hidden Java tests: requests, what tests wait for, who runs which test, and where each may end.

`python -m tests.grading.java.test_golden` writes golden/requests.txt and hidden.txt anew: read what changed.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from groundup.grading.guesses import RequestsOfTest, SentRequest
from groundup.grading.java.hidden import (
    ending_tests,
    heirs,
    named_tests,
    outer_classes,
    sources,
    varied_tests,
    with_ends,
)
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


HIDDEN = GOLDEN.parent / "hidden.txt"
PORT = """package port;
abstract class Base<T> extends lib.Other<Map<String, T>> implements Odd, port.Even<T> {
    @Test void kept() { run(() -> { return 1; }); }
    @Test void over() { return; }
    @Nested class Inner { @Test void inside() { if (x) { return; } done(); } }
    class Plain { @Test void never() { } }
}
interface Even<T> { @Test default void even() { new A() { int f() { return 2; } }; } @Test void bodiless(); }
class NorthTest extends Base<String> { @Override @Test void over() { } void helper() { } }
class SouthTest extends NorthTest implements Even<Integer> {
    @TestFactory List<T> made() { return all(); }
    @RepeatedTest(2) void often() { }
    @org.junit.Test @Disabled void off() { }
    @Test @Disabled("late") void later() { }
    @Test int number() { throw new E(); }
    enum Kind { ONE; @Test void odd() { class L { int g() { return 3; } } } }
    record Pair(int a) { @Test void paired() { } }
    @ParameterizedClass static class Many { @Test void each() { } @Nested class Deep { @Test void deep() { } } }
}
"""
ALONE = (
    "@ClassTemplate class AloneTest { @Test public void one() { } @Test void one(int x) { } @Test void two() { } }"
)


def _hidden() -> Iterator[str]:
    for name, texts in (("port", {"p/Port.java": PORT, "Alone.java": ALONE}), ("boats", FILES)):
        found = {place: text.encode() for place, text in texts.items()}
        named = named_tests(found)
        yield f"##### {name}"
        yield from named
        yield f"varied {sorted(varied_tests(found))}"
        yield f"ending {sorted(ending_tests(found))}"
        yield f"heirs {heirs(found)}"
        yield f"outer {outer_classes(named, {})}, with heirs {outer_classes(named, heirs(found))}"
        fails = {test: number % 2 == 0 for number, test in enumerate(named) if number % 5}
        for place, text in with_ends(found, fails, named[1::3]).items():
            yield f"##### {place}"
            yield re.sub(
                r'assertNotSame\("(\w{6})", "(\w{6})"\);|if \("(\w{6})"\.equals\("(\w{6})"\)\) throw null;',
                lambda one: "FAILS;" if (one[1] or one[3]) == (one[2] or one[4]) else "MAY PASS;",
                text.decode(),
            )


def test_who_runs_hidden_tests_is_read_as_ever() -> None:
    """Names, classes that inherit, those that come to their end, and where one more expectation is put."""
    assert "\n".join(_hidden()) + "\n" == HIDDEN.read_text(encoding="utf-8")


def test_only_java_files_of_a_folder_are_sources(tmp_path: Path) -> None:
    """In the order of their places; a folder that is called like one is none."""
    for name in ("b/B.java", "A.java", "b/notes.txt", "C.java.bak"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "D.java").mkdir()

    assert [*sources(tmp_path).items()] == [("A.java", b"A.java"), ("b/B.java", b"b/B.java")]


if __name__ == "__main__":
    HIDDEN.write_text("\n".join(_hidden()) + "\n", encoding="utf-8")
    GOLDEN.write_text("\n".join(_all()) + "\n", encoding="utf-8")
