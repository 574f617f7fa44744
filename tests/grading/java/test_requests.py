"""What Java tests ask a service, read from their sources: last, before that, and what they wait for."""

from groundup.grading.java.placing import java_tests
from groundup.grading.java.requests import BrokenOff, JavaTests

API_TEST = """public class ApiTest {
    @Test
    public void testLaunch() {
        HttpResponse<JsonNode> first = Unirest.get(BASE + "/boats/" + id + "/crew").asJson();
        HttpResponse<JsonNode> response = Unirest.post(BASE + "/boats")
                .body(boat)
                .asJson();
        assertEquals(201, response.getStatus());
    }
    @Test
    public void testOther() throws Exception {
        HttpRequest request = HttpRequest.newBuilder()
                .uri(URI.create(BASE + "/boats/" + id))
                .DELETE()
                .build();
        assertEquals(204, client.send(request, ofString()).statusCode());
        given().when().get("/api/boats/{id}").then().statusCode(200);
        assertThat(1).isEqualTo(1);
    }
}
""".splitlines()
ORDERED = """package harbour;
public class BoatTest extends BaseTest {
    private static final String BOATS = "/boats";
    private static String boatId;
    private static String name = "Nina";
    @BeforeEach
    void login() {
        token = post("/login").asJson().get("token");
    }
    int crew() {
        return given().post("/crew").then().extract().path("id");
    }
    @Test
    @Order(2)
    void testSails() {
        int crewId = crew();
        given().pathParam("id", boatId).put("/boats/{id}/sail").then().statusCode(200);
    }
    @Test
    @Order(1)
    void testBuilds() {
        Response built = given().body(name).post(BOATS);
        assertEquals(201, built.getStatus());
        boatId = built.get("id");
    }
}
"""
BASE = """package harbour;
class BaseTest {
    @BeforeAll
    static void begin() {
        post("/reset");
    }
}
"""
SAILS, BUILDS = "harbour.BoatTest#testSails", "harbour.BoatTest#testBuilds"
PATH = "harbour/BoatTest.java"


def ordered() -> JavaTests:
    """Return tests that lean on each other."""
    return java_tests({"java/BoatTest.java": ORDERED.encode(), "java/BaseTest.java": BASE.encode()})


def test_the_last_request_of_a_java_test_is_read_from_its_text() -> None:
    """By several clients, up to the failing line, within the test; the key of a document is no path."""
    tests = JavaTests({"ApiTest.java": API_TEST})
    told = [tests.last_exchange("ApiTest.java", line, said) for line, said in (
        (8, "expected: <201> but was: <409>"), (4, ""), (16, ""), (17, ""), (3, ""))]  # fmt: skip
    assert told == [
        "last exchange: POST /boats -> 409", "last exchange: GET /boats/{}/crew -> not known",
        "last exchange: DELETE /boats/{} -> not known", "last exchange: GET /api/boats/{} -> not known", "",
    ]  # fmt: skip
    assert ordered().last_exchange(PATH, 24, "") == "last exchange: POST /boats -> not known"


def test_what_a_test_leans_on_was_asked_before_it() -> None:
    """What runs before each test and its helpers ask belongs to it; the class and earlier tests asked before."""
    asked = ordered().asked_by([SAILS], {})[SAILS]
    assert [one[:2] for one in asked.own] == [("POST", "/login"), ("POST", "/crew"), ("PUT", "/boats/{}/sail")]
    assert [one[:2] for one in asked.before] == [("POST", "/reset"), ("POST", "/boats")]
    assert "boatId" in asked.own[-1].uses
    assert "boatId" in asked.before[-1].makes


def test_a_test_waits_for_the_lost_one_that_gives_its_variable_a_value() -> None:
    """Only where that one broke off before; what has a value from the start is waited for by none."""
    refused, later = BrokenOff(PATH, 23, is_refused=True), BrokenOff(PATH, 25)
    for failed, waits_for, before in ((refused, (BUILDS, "boatId"), 0), (later, ("", ""), 1)):
        asked = ordered().asked_by([SAILS], {BUILDS: failed, SAILS: BrokenOff(PATH, 17)})[SAILS]
        assert (asked.waits_for, asked.unset) == waits_for
        assert len(asked.before) == before + 1  # a request that was refused changed nothing
