"""Each lost test has one of a few kinds, by what it says; points by kind say what mending one can bring."""

import re

import pytest

from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict
from groundup.reports.kinds import NOT_RUN, kind_of_reason, kind_of_test, kinds_lost
from groundup.reports.why import kinds_words

TESTS = {
    "not collected: SyntaxError: invalid syntax (pkg/a.py, line 3)": "syntax",
    "not collected: ModuleNotFoundError: No module named 'attr' (pkg/a.py, line 3)": "missing module",
    "ModuleNotFoundError: No module named 'attr'": "missing module",
    "not collected: ImportError: cannot import name 'f' from 'pkg' (tests/test_a.py, line 1)": "missing name",
    "AttributeError: module 'pkg' has no attribute 'f'": "missing name",
    "AttributeError: 'Radio' object has no attribute 'scan'": "missing name",
    "TypeError: f() got an unexpected keyword argument 'x'": "wrong signature",
    "TypeError: f() takes 1 positional argument but 2 were given": "wrong signature",
    "TypeError: f() missing 1 required positional argument: 'x'": "wrong signature",
    "NotImplementedError": "not implemented",
    "NotImplementedError: soon": "not implemented",
    "AssertionError: assert 1 == 2": "wrong value",
    "org.opentest4j.AssertionFailedError: expected: <[a, b]> but was: <[b, a]>": "wrong value",
    "org.opentest4j.AssertionFailedError: expected: <Tern (2 days)> but was: <Tern (2 nights)>": "wrong text",
    "org.opentest4j.AssertionFailedError: Expected a.B to be thrown, but nothing was thrown.": "exception",
    "java.lang.UnsupportedOperationException: not implemented": "not implemented",
    "it does not compile: src/main/java/a/B.java:[3,9] ';' expected": "syntax",
    "it does not compile: src/main/java/a/B.java:[3,9] incompatible types": "did not install",
    "fetching what the project's pom.xml names: build error: 'version' is missing. @ line 28": "did not install",
    "org.opentest4j.AssertionFailedError: expected: <201> but was: <404>": "contract",
    "org.opentest4j.AssertionFailedError: \nexpected: 200\n but was: 404": "contract",
    "org.opentest4j.AssertionFailedError: expected: <20> but was: <404>": "wrong value",
    "the hidden tests do not compile with the submission: a/T.java:3: cannot find symbol": "missing name",
    "the hidden tests do not compile with the submission: a/T.java:3: method f in class B cannot be applied"
    " to given types;": "wrong signature",
    "assert False": "wrong value",
    "AssertionError: 1 != 2": "wrong value",
    "AssertionError: assert 'a' == 'b'": "wrong text",
    "AssertionError: 'a' != 'b'": "wrong text",
    "AssertionError: Markup('&amp;') != Markup('&')": "wrong text",
    "AssertionError: Regex pattern did not match.": "wrong text",
    "Failed: DID NOT RAISE <class 'ValueError'>": "exception",
    "AssertionError: ValueError not raised": "exception",
    "KeyError: 'k'": "exception",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'": "exception",
    "hung for 20 s in pkg/a.py, line 3, in f": "hung",
    "Failed: it took longer than 5 s": "hung",
    "requests.exceptions.ReadTimeout: HTTPConnectionPool(host='localhost', port=8000): Read timed out.": "hung",
    "httpx.ReadTimeout: timed out": "hung",
    "java.net.http.HttpTimeoutException: request timed out": "hung",
    "TimeoutError: the lock is held": "exception",
    "ended the test process by SIGABRT in pkg/a.py, line 3, in f": "crashed",
    "ended the test process with exit code 3": "crashed",
    "used too much memory": "limit",
    "requests.exceptions.ConnectionError: HTTPConnectionPool: Connection refused": "refused",
    "": NOT_RUN,
}

REASONS = {
    (Stage.IMPORT, "pkg lies at code/pkg in the submission; the tests expect it at pkg/"): "wrong place",
    (Stage.IMPORT, "No module named 'pkg'; the submission has it at a/pkg.py"): "wrong place",
    (Stage.IMPORT, "No module named 'pkg'; the tests expect it at pkg.py or pkg/"): "not handed in",
    (Stage.IMPORT, "p cannot be imported: AttributeError: module 'p.q' has no attribute 'r'"): "missing name",
    (Stage.IMPORT, "p cannot be imported: AttributeError: module 'os' has no attribute 'r'"): "exception",
    (Stage.INTAKE, "its archive cannot be read"): "not handed in",
    (Stage.INSTALL, "requirements.txt does not resolve"): "did not install",
    (Stage.START, "nothing answered within 30 s"): "did not start",
    (Stage.START, "it listens on port 80, not on 8000"): "wrong port",
    (Stage.START, "port 80 did not answer HTTP: it listens on 0.0.0.0:8000; last words: x"): "wrong port",
    (Stage.START, "port 80 did not answer HTTP: it listens on 127.0.0.9:80, and not"): "did not start",
    (Stage.TIMEOUT, "the tests were stopped after 20 s"): "hung",
    (Stage.LIMIT, "the tests were stopped for using too much memory"): "limit",
    (Stage.CRASH, "pytest gave up with exit code 4"): "gave up",
}
DEPENDENCIES = {
    "missing": "not declared",
    "one too many": "one too many",
    "one too many: no registry has it": "made up",
    "one too many: no registry has it: probably in the place of x": "misnamed",
    "missing: y probably stands in its place": "misnamed",
    "declared elsewhere": "wrong place",
    "declared otherwise": "declared otherwise",
}


@pytest.mark.parametrize(("message", "kind"), TESTS.items())
def test_the_kind_follows_from_the_words(message: str, kind: str) -> None:
    """As pytest, unittest, the runner and the grader write them."""
    test = TestResult(id="t.py::x", outcome="failed", expected=True, message=message)
    assert kind_of_test(test, in_submission=False) == kind


def test_the_page_on_lost_points_explains_each_kind(pytestconfig: pytest.Config) -> None:
    """Those of tests, of reasons and of dependencies."""
    page = (pytestconfig.rootpath / "docs/why.md").read_text()
    rows = re.findall(r"^\| ([a-z ,]+) \| ", page, re.MULTILINE)
    explained = {name for row in rows for name in row.split(", ")}
    assert {*TESTS.values(), *REASONS.values(), *DEPENDENCIES.values()} - {NOT_RUN} <= explained


def test_an_exception_within_the_submission_is_no_missing_name() -> None:
    """What its own code lacks is no name that a test demands."""
    test = TestResult(id="t.py::x", outcome="failed", expected=True, message="AttributeError: no attribute 'x'")
    assert kind_of_test(test, in_submission=True) == "exception"


def test_a_wrong_answer_of_a_service_is_of_the_contract() -> None:
    """The statement compares a status."""
    detail = "tests/test_a.py:3: in test_x\n    assert response.status_code == 200\nE   assert 404 == 200"
    test = TestResult(id="t.py::x", outcome="failed", expected=True, message="assert 404 == 200", detail=detail)
    assert kind_of_test(test, in_submission=False) == "contract"


@pytest.mark.parametrize("message", ["KeyError: 'total'", "AssertionError: assert 'total' in {'count': 1}"])
def test_a_field_that_an_answer_lacks_is_of_the_contract(message: str) -> None:
    """Where a service answered; in a library a missing key is what it was."""
    answered = "last exchange: GET /stats -> 200 {}"
    test = TestResult(id="t.py::x", outcome="failed", expected=True, message=message, demand=answered)
    assert kind_of_test(test, in_submission=False) == "contract"
    assert kind_of_test(test.but(demand=""), in_submission=False) != "contract"
    assert (
        kind_of_test(test.but(demand="last exchange: GET /stats -> 500 oops"), in_submission=False) != "contract"
    )


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("200 {}", "contract"),
        ("404 {}", "contract"),
        ("not known", "contract"),
        ("500 oops", "wrong value"),
        ("no answer", "wrong value"),
        ("", "wrong value"),
    ],
)
@pytest.mark.parametrize("message", ["AssertionError: assert 0 >= (0 + 1)", "AssertionError: assert 'a' == 'b'"])
def test_a_wrong_value_in_an_answer_is_of_the_contract(message: str, answer: str, kind: str) -> None:
    """Whatever variable the statement took it from; where no service answered, it is a value or a text."""
    demand = f"last exchange: GET /stats -> {answer}" if answer else ""
    test = TestResult(id="t.py::x", outcome="failed", expected=True, message=message, demand=demand)
    found = kind_of_test(test, in_submission=False)
    assert found == (kind if kind == "contract" or "0" in message else "wrong text")


@pytest.mark.parametrize(("said", "kind"), REASONS.items())
def test_an_attempt_without_tests_has_the_kind_of_its_reason(said: tuple[Stage, str], kind: str) -> None:
    """By what it says, and by its stage."""
    assert kind_of_reason(Reason(stage=said[0], message=said[1])) == kind


def _verdict(right: float, of: float, *reasons: Reason, names: bool = False) -> Verdict:
    score = Score(numerator=right, denominator=of)
    return Verdict(
        status=Status.GRADED,
        score=score,
        scores={"precision": score, "recall": score} if names else {},
        reasons=reasons,
        grader=GraderIdentity(name="strict", version="1"),
    )


def test_points_by_kind_are_what_mending_can_bring() -> None:
    """Together what was lost; tests without a word have the kind of their attempt."""
    verdict = _verdict(2, 10, Reason(stage=Stage.INSTALL, message="it does not resolve"))
    found = kinds_lost([("wrong value", 2), (NOT_RUN, 5), ("wrong value", 1)], verdict)
    assert [(one.kind, one.tests, one.points) for one in found] == [
        ("did not install", 5, 50.0),
        ("wrong value", 3, 30.0),
    ]
    assert kinds_words(found) == "mending would bring back: did not install 50.0 points, wrong value 30.0 points"


def test_tests_of_a_service_that_could_not_be_installed_have_its_kind() -> None:
    """Whatever they say of their own: none of them found it. One that starts nevertheless is told by its tests."""
    said = [("exception", 19)]
    compiles = Reason(stage=Stage.INSTALL, message="it does not compile: A.java:[3,9] cannot find symbol")
    started = Reason(stage=Stage.START, message="the start command had ended")
    found = kinds_lost(said, _verdict(0, 19, compiles, started))
    assert [(one.kind, one.tests, one.points) for one in found] == [("did not install", 19, 100.0)]
    assert [one.kind for one in kinds_lost(said, _verdict(0, 19, compiles))] == ["exception"]
    assert [one.kind for one in kinds_lost(said, _verdict(1, 20, compiles, started))] == ["exception"]


def test_without_tests_all_points_have_the_kind_of_the_first_reason() -> None:
    """Such as of `official`; a full score lost nothing."""
    verdict = _verdict(0, 10, Reason(stage=Stage.START, message="no answer"))
    assert [(one.kind, one.points) for one in kinds_lost([], verdict)] == [("did not start", 100.0)]
    assert kinds_lost([], _verdict(10, 10)) == ()
    assert kinds_lost([], None) == ()


@pytest.mark.parametrize(
    ("kind", "f1"),
    [
        ("not declared", 8 / 9),
        ("wrong place", 8 / 8),
        ("one too many", 6 / 7),
        ("declared otherwise", 6 / 8),
        ("misnamed", 7 / 8),
    ],
)
def test_points_of_names_are_what_f1_gains(kind: str, f1: float) -> None:
    """Three right of four declared and four wanted: 6/8; a mended name moves both numbers as F1 does."""
    (found,) = kinds_lost([(kind, 1)], _verdict(6, 8, names=True))
    assert found.points == pytest.approx(100 * (f1 - 6 / 8), abs=1e-3)


def test_a_package_in_another_place_is_no_missing_module() -> None:
    """Every test misses a module, and the grader says where it lies."""
    verdict = _verdict(
        0, 4, Reason(stage=Stage.IMPORT, message="No module named 'p'; the submission has it at a/p.py")
    )
    assert [(one.kind, one.points) for one in kinds_lost([("missing module", 4)], verdict)] == [
        ("wrong place", 100.0)
    ]


@pytest.mark.parametrize(("message", "kind"), DEPENDENCIES.items())
def test_dependency_says_what_is_wrong_with_it(message: str, kind: str) -> None:
    """Lost names of a manifest have classes, too."""
    one = TestResult(id="a.toml::runtime::x", outcome="failed", expected=True, message=message, kind="dependency")
    assert kind_of_test(one, in_submission=False) == kind
