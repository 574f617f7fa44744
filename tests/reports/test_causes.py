"""Lost tests are grouped by cause, the cause of most tests first."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.verdicts import PASSES_WITH, Reason, Stage, TestResult
from groundup.reports.causes import CAUSES_KEPT, HiddenFiles, grouped, losses_of, untold

CALLED = """tests/test_a.py:8: in test_fx
    def test_fx(): return pkg.h({0})
                     ^^^^^^^^
pkg/__init__.py:6: in h
    def h(x): return g(
pkg/deep.py:{1}: in g
    raise ValueError(f"bad {{x}}")
/usr/lib/python3.11/json/decoder.py:353: in raw_decode
    obj, end = self.scan_once(s, idx)
E   ValueError: bad {0}"""
"""As pytest writes it: test, submission, standard library."""
FAILED_IN_TEST = "tests/test_a.py:14: in test_b\n    assert len(t) == 2\nE   AssertionError: assert {0} == 2"


def lost(
    name: str, message: str, detail: str = "", outcome: Literal["failed", "error", "missing"] = "failed"
) -> TestResult:
    """Return a lost test of a file."""
    return TestResult(
        id=f"tests/test_a.py::{name}", outcome=outcome, expected=True, message=message, detail=detail
    )


def test_the_same_exception_at_the_same_line_of_the_submission_is_one_cause() -> None:
    """Whatever values it has and whoever called; another line, or another exception there, is another cause."""
    tests = [
        lost("z", "KeyError: 'k'", CALLED.format(0, 5)),
        lost("c", "ValueError: bad 1", CALLED.format(1, 5)),
        lost("b", "ValueError: worse", CALLED.format("worse", 5)),
        lost("a", "ValueError: bad 3", CALLED.format(3, 9)),
        TestResult(id="tests/test_a.py::fine", outcome="passed", expected=True),
        TestResult(id="tests/test_a.py::uncounted", outcome="failed", expected=False),
    ]
    groups = grouped(tests)
    assert [[one.id[-1] for one in group.tests] for group in groups] == [["b", "c"], ["a"], ["z"]]
    first = groups[0].cause
    assert (first.said, first.place, first.tests) == ("ValueError: worse", "pkg/deep.py:5", 2)
    assert (first.code, first.first) == ('raise ValueError(f"bad {x}")', "tests/test_a.py::b")


def test_of_causes_with_as_many_tests_one_that_a_change_mends_comes_first() -> None:
    """Then one whose line is known: others may be tests that nobody passes. What has more tests stays first."""
    named = {"a": "KeyError: 'k'", "b": "ValueError: bad", "c": "OSError: shut", "d": "OSError: shut", "e": "E: e"}
    tests = [lost(name, said) for name, said in named.items()]
    tests[1] = tests[1].but(probably=f"a.py:9: w{PASSES_WITH}v")
    tests[4] = tests[4].but(probably="a.py:7: u")
    names = [[one.id[-1] for one in group.tests] for group in grouped(tests)]
    assert names == [["c", "d"], ["b"], ["e"], ["a"]]


def test_places_of_a_cause_are_those_of_its_tests() -> None:
    """The first that most have first, then those that most have high; never more than one of its tests has."""
    said = "AssertionError: assert 1 == 2"
    guesses = ["/workspace/a.py:1: x\na.py:2: y\na.py:3: z", "a.py:1: x\na.py:3: z\na.py:9: w", "a.py:3: z", ""]
    tests = [lost(str(at), said, FAILED_IN_TEST.format(1)).but(probably=guess) for at, guess in enumerate(guesses)]
    assert [one.cause.probably for one in grouped(tests)] == ["a.py:1: x\na.py:3: z\na.py:2: y"]
    assert grouped(tests[2:])[0].cause.probably == "a.py:3: z"
    assert grouped(tests[3:])[0].cause.probably == ""
    mended = f"a.py:9: w{PASSES_WITH}v"
    assert (
        grouped([*tests, tests[0].but(id="m", probably=mended)])[0].cause.probably
        == f"{mended}\na.py:1: x\na.py:3: z"
    )
    many = tests[0].but(probably="\n".join(f"a.py:{at}: x" for at in range(1, 99)))
    assert len(grouped([many])[0].cause.probably.splitlines()) == 3


def test_without_a_line_of_the_submission_the_message_decides_digits_aside() -> None:
    """A failed comparison stands in the hidden test; no line of that is given as the submission's."""
    tests = [
        lost("a", "AssertionError: assert 1 == 2", FAILED_IN_TEST.format(1)),
        lost("b", "AssertionError: assert 3 == 2", FAILED_IN_TEST.format(3)),
        lost("c", "AssertionError: assert 'x' == 2", FAILED_IN_TEST.format("'x'")),
        lost("d", "object at 0x7fa0 differs"),
        lost("e", "object at 0xbeef differs"),
    ]
    assert [(group.cause.tests, group.cause.place) for group in grouped(tests)] == [(2, ""), (2, ""), (1, "")]


def test_of_chained_exceptions_the_last_one_with_a_line_of_the_submission_is_placed() -> None:
    """What the test made of the submission's exception is the answer; the earlier one says where it came from."""
    chained = f"{CALLED.format(1, 5)}\n\nThe above exception was the direct cause of the following exception:\n"
    (group,) = grouped(
        [lost("a", "KeyError: 'z'", chained + "tests/test_a.py:5: in t\n    raise KeyError\nE   K")]
    )
    assert (group.cause.place, group.cause.said) == ("pkg/deep.py:5", "KeyError: 'z'")
    own = chained + "pkg/other.py:9: in f\n    raise KeyError\nE   K"
    (group,) = grouped([lost("a", "KeyError: 'z'", own)])
    assert group.cause.place == "pkg/other.py:9"


def test_assertions_are_grouped_by_what_is_called_and_what_differs() -> None:
    """`assert False` of two functions is two causes; the same key with other values in other documents is one."""
    failed = "tests/test_a.py:14: in test_b\n    assert {0}\nE   assert False"
    tests = [
        lost("a", "assert False", failed.format("is_a(x)")),
        lost("b", "assert False", failed.format("is_a(y)")),
        lost("c", "assert False", failed.format("is_b(x)")),
    ]
    tests += [
        lost(name, f"AssertionError: assert {{'k': {name!r}}} == {{}}", failed.format("f(x) == y")).but(
            demand=demand, calls="/workspace/pkg/a.py:3: def f(x):"
        )
        for name, demand in (
            ("d", "['p']['k']: only left: 'd'"),
            ("e", "['q'][0]['k']: only left: 'e'"),
            ("f", "['p']['l']: 1 != 2"),
        )
    ]
    groups = grouped(tests)
    assert [[one.id[-1] for one in group.tests] for group in groups] == [["a", "b"], ["d", "e"], ["c"], ["f"]]
    assert [group.cause.calls for group in groups] == ["", "pkg/a.py:3: def f(x):", "", "pkg/a.py:3: def f(x):"]


def test_a_message_may_name_the_line_in_brackets() -> None:
    """So do files that are not collected and tests that ended the process, which have no traceback."""
    said = "ImportError: cannot import name 'x' (/workspace/pkg/a.py) (/workspace/pkg/b.py, line 3)"
    (group,) = grouped([lost(name, said, outcome="missing") for name in "ab"])
    assert (group.cause.place, group.cause.tests) == ("pkg/b.py:3", 2)
    assert group.cause.said == "ImportError: cannot import name 'x' (pkg/a.py) (pkg/b.py, line 3)"


def test_tests_without_a_word_are_one_cause() -> None:
    """Such as all tests of a submission that could not be taken in."""
    (group,) = grouped([lost(name, "", outcome="missing") for name in "abc"])
    assert (group.cause.said, group.cause.tests) == ("no result", 3)


def test_dependencies_are_grouped_by_manifest_section_and_what_is_wrong() -> None:
    """A name more in one section is no name less in it, nor one more in another. Old verdicts have no sections."""
    section = "a/Cargo.toml::[dependencies]"
    names = {f"{section}::x": "missing", f"{section}::y": "missing", f"{section}::z": "one too many: fake"}
    names |= {"a/Cargo.toml::[dev-dependencies]::w": "missing", "Cargo.toml::x": "missing", "Cargo.toml::fine": ""}
    tests = [
        TestResult(
            id=name, outcome="failed" if said else "passed", expected=False, message=said, kind="dependency"
        )
        for name, said in names.items()
    ]
    assert [(group.cause.said, group.cause.tests) for group in grouped(tests)] == [
        ("a/Cargo.toml, [dependencies]: missing", 2),
        ("Cargo.toml: missing", 1),
        ("a/Cargo.toml, [dependencies]: one too many: fake", 1),
        ("a/Cargo.toml, [dev-dependencies]: missing", 1),
    ]


@pytest.mark.parametrize(
    ("file", "is_own"),
    [
        ("pkg/a.py", True),
        ("/workspace/src/pkg/a.py", True),
        ("pkg/tests_of_it.py", True),
        ("tests/test_a.py", False),
        ("tests/helpers/more.py", False),
        ("conftest.py", False),
        ("test_top.py", False),
        ("/usr/lib/python3.11/json/decoder.py", False),
        ("env/lib/python3.10/site-packages/x/y.py", False),
        ("../elsewhere.py", False),
        ("<string>", False),
    ],
)
def test_whose_line_it_is(file: str, is_own: bool) -> None:
    """Files of hidden tests, and all that lies beside them, are not the submission's; nor what is installed."""
    hidden = HiddenFiles.of([lost("a", ""), TestResult(id="test_top.py::b", outcome="passed", expected=True)])
    assert hidden.leave(file) is is_own


def test_a_report_keeps_the_largest_causes_and_counts_the_others() -> None:
    """A row stays short, whatever was lost; reasons that no test tells stay beside it."""
    tests = [
        lost(f"t{name}{number}", f"E: {name}") for name in "abcdefg" for number in range(ord("h") - ord(name))
    ]
    reasons = (
        Reason(stage=Stage.IMPORT, message="pkg.x cannot be imported"),
        Reason(stage=Stage.TEST, message=f"28 of 30 expected tests did not pass, first {tests[0].id}: E: a"),
        Reason(stage=Stage.TEST, message="1 of 4 endpoints is missing"),
    )
    found = losses_of(tests, reasons)
    assert found is not None
    assert (found.tests, len(found.causes), found.further) == (28, CAUSES_KEPT, 2)
    assert [one.tests for one in found.causes] == [7, 6, 5, 4, 3]
    assert found.reasons == untold(reasons, tests[:1]) == (reasons[0], reasons[2])
    assert losses_of([], reasons) is None


NAMES = st.text("ab/.:[]0", min_size=1, max_size=8)


@given(
    st.lists(
        st.builds(
            TestResult,
            id=NAMES,
            outcome=st.sampled_from(["passed", "failed", "missing"]),
            expected=st.booleans(),
            message=st.text(max_size=12),
            detail=st.one_of(st.text(max_size=40), st.builds(CALLED.format, NAMES, st.integers(0, 3))),
        )
    )
)
def test_each_lost_test_has_one_cause(tests: list[TestResult]) -> None:
    """No text of a stranger loses a test, doubles it or puts it below a smaller cause."""
    groups = grouped(tests)
    assert sorted(one.id for group in groups for one in group.tests) == sorted(one.id for one in tests if one.lost)
    counts = [group.cause.tests for group in groups]
    assert counts == sorted((len(group.tests) for group in groups), reverse=True)


@pytest.mark.parametrize(
    ("detail", "place", "code"),
    [
        ("one too many: no registry has it; declared as `yamlx>=2` in runtime, line 7", "p.toml:7", "yamlx>=2"),
        (
            "declared elsewhere, in dev, not runtime: `a` in dev, line 9; the original has `a` in runtime, line 6",
            "p.toml:9",
            "a",
        ),
        (
            "declared elsewhere, in q/p.toml: `a` in runtime, line 9; the original has `a` in runtime, line 6",
            "q/p.toml:9",
            "a",
        ),
        ("missing: the original declares `a` in runtime, line 5", "", ""),
        ("declared otherwise: not at all; the original has `a` in runtime, line 6", "", ""),
    ],
)
def test_dependency_stands_at_a_line_of_the_submission(detail: str, place: str, code: str) -> None:
    """A line of the original's manifest is no line of the submission."""
    message = detail.partition(":")[0]
    one = TestResult(
        id="p.toml::runtime::a", outcome="failed", expected=True, message=message, detail=detail, kind="dependency"
    )
    (group,) = grouped([one])
    assert (group.cause.place, group.cause.code) == (place, code)


def test_compiler_names_a_line() -> None:
    """Of a Java class that does not compile, the line is the compiler's."""
    said = "it does not compile: src/main/java/a/B.java:[35,22] ';' expected"
    (group,) = grouped([TestResult(id="a.T#one", outcome="error", expected=True, message=said)])
    assert (group.cause.place, group.cause.kind) == ("src/main/java/a/B.java:35", "syntax")


def test_error_of_a_service_is_one_cause() -> None:
    """However tests notice it: the service's own error and line are what they share."""
    chained = "The above exception was the direct cause of the following exception:"
    detail = f"app.py:24: in service\n    name = body['t']\nE   KeyError: 't'\n\n{chained}\n\nE   {{}}"
    tests = [
        TestResult(
            id=f"tests/test_a.py::{number}",
            outcome="failed",
            expected=True,
            message=said,
            detail=detail.format(said),
            demand="last exchange: POST /a -> 500\nthe service: KeyError: 't'",
        )
        for number, said in enumerate(["assert 500 == 201", "requests.ConnectionError: closed", "KeyError: 'id'"])
    ]
    (group,) = grouped(tests)
    assert (group.cause.kind, group.cause.place, group.cause.tests) == ("exception", "app.py:24", 3)


def _compared(
    name: str, statement: str, demand: str, message: str = "AssertionError: assert 'a' == 'b'"
) -> TestResult:
    detail = f"tests/test_a.py:14: in {name}\n    {statement}\nE   {message}"
    return lost(name, message, detail).but(demand=demand)


@pytest.mark.parametrize(
    ("tests", "groups"),
    [
        pytest.param(
            [
                _compared("a", "assert size(1) == '1.00 MB'", "left  '1'\nright '1.00 MB'"),
                _compared("b", "assert size(2) == '2.5 GB'", "left  '3'\nright '2.5 GB'"),
                _compared("c", "assert size(3) == 'x', 'no x'", "left  'y'\nright 'x'", "AssertionError: no x"),
                _compared("d", "assert other(3) == 'x'", "left  'y'\nright 'x'"),
            ],
            [["a", "b", "c"], ["d"]],
            id="whole values of one function, with a message of the test's own, too",
        ),
        pytest.param(
            [
                _compared(
                    "a", "self.assertEqual(a, b)", "[0]: 1 != 2", "AssertionError: Lists differ: [1] != [2]"
                ),
                _compared("b", "self.assertEqual(c, d)", "[0]: 'x' != 'y'", "AssertionError: Lists differ: x"),
                _compared("c", "self.assertEqual(c, d)", "['k']: 1 != 2", "AssertionError: 'a' != 'b'"),
                _compared("d", "self.assertEqual(e, f)", "['k']: 3 != 4", "AssertionError: 'c' != 'd'"),
            ],
            [["c", "d"], ["a"], ["b"]],
            id="items where nothing tells what is examined",
        ),
        pytest.param(
            [
                _compared("a", "assert write(1) == x", "left  'p(b, abs=1e-07)'\nright 'p(b)'"),
                _compared("b", "assert write(2) == x", "left  'q(b, abs=1e-07) # c'\nright 'q(b) # c'"),
                _compared("c", "assert write(3) == x", "left  'p(b, abs=c(1))'\nright 'p(b, delta=c(1))'"),
                _compared("d", "assert write(4) == x", "left  'f(b)\\n'\nright 'f(b)'"),
                _compared("e", "assert write(5) == x", "line 1: 'p( z' != 'p('\nline 2: only right: 'q'"),
                _compared("f", "assert write(6) == x", "line 3: 'r( z' != 'r('\nline 4: 'q' != 's'"),
            ],
            [["a", "b"], ["e", "f"], ["c"], ["d"]],
            id="texts of one function, by the edit that tests share",
        ),
        pytest.param(
            [
                _compared("a", "self.assertEqual(sorted(self.of.output),", ".length: 2 != 1\n[1]: only left: 'x'"),
                _compared("b", "self.assertEqual(of.output,", "[1]: only right: 'z'\n[0]: 'a' != 'b'"),
                _compared("c", "self.assertPathsEqual(finder.files(),", ".length: 2 != 1\n[1]: only left: 'x'"),
            ],
            [["a", "b"], ["c"]],
            id="elements of lists, by what is examined",
        ),
        pytest.param(
            [
                _compared("a", "assert change({}) == {}", "['aB']: only left: 1\n['a_b']: only right: 1"),
                _compared("b", "assert change({}) == {}", "['cD']: only left: 1\n['c_d']: only right: 1"),
                _compared("c", "assert change({}) == {}", "['k']: 1 != 2"),
            ],
            [["a", "b"], ["c"]],
            id="renamed keys",
        ),
        pytest.param(
            [
                _compared(
                    "a", "assert run('a') == rc", "with rc = 0\nprinted to stderr: error: no -a", "assert 2 == 0"
                ),
                _compared(
                    "b", "assert run('b') == rc", "with rc = 0\nprinted to stderr: error: no -b", "assert 2 == 0"
                ),
                _compared("c", "assert run('c') == rc", "with rc = 1", "assert 0 == 1"),
            ],
            [["a"], ["b"], ["c"]],
            id="codes of exits are no amounts, and a program says why it ended",
        ),
        pytest.param(
            [
                _compared(name, "assert r.ok", f"last exchange: {asked}", "assert False")
                for name, asked in (
                    ("a", "GET /users/1?x=2 -> 404"),
                    ("b", "GET /users/7 -> 404"),
                    ("c", "GET /u -> 404"),
                )
            ],
            [["a", "b"], ["c"]],
            id="requests of a service, identifiers and queries aside",
        ),
        pytest.param(
            [
                _compared("a", "f(1)", "", "Failed: DID NOT RAISE <class 'ValueError'>"),
                _compared("b", "g(1)", "", "Failed: DID NOT RAISE <class 'ValueError'>"),
                _compared("c", "f(1)", "", "AttributeError: module 'pkg' has no attribute 'x'"),
                _compared("d", "g(1)", "", "AttributeError: module 'pkg' has no attribute 'x'"),
            ],
            [["c", "d"], ["a"], ["b"]],
            id="an exception of two calls is two causes, a lacking name is one",
        ),
        pytest.param(
            [
                _compared(name, f"assert {examined} == 3", "left  2\nright 3", "assert 2 == 3").but(
                    calls="/workspace/pkg/q.py:5: def where(key):"
                )
                for name, examined in (
                    ("a", "db.count(where('n') == 1)"),
                    ("b", "db.count(where('n') == 2)"),
                    ("c", "db.get(where('n') == 1)['n']"),
                    ("d", "len(db.cached)"),
                    ("e", "where('n').depth"),
                    ("f", "where('m').depth"),
                    ("g", "found"),
                )
            ],
            [["e", "f", "g"], ["a", "b"], ["c"], ["d"]],
            id="what an argument or an earlier statement calls is not what is examined",
        ),
    ],
)
def test_groups_are_causes(tests: list[TestResult], groups: list[list[str]]) -> None:
    """By what is examined and how it differs; values and a test's own words say nothing of the cause."""
    assert [[one.id[-1] for one in group.tests] for group in grouped(tests)] == groups


def test_heading_has_values_where_pytest_cut_them() -> None:
    """Two texts that look alike once they are cut say nothing; an exit code goes with what was printed."""
    cut = "AssertionError: assert 'assert a == ...x(b)' == 'assert a == ...x(b)'"
    (group,) = grouped([_compared("a", "assert f() == x", "with x = 1\nleft  'p(b, 1)'\nright 'p(b)'", cut)])
    assert group.cause.said == "AssertionError: 'p(b, 1)' != 'p(b)'"
    (group,) = grouped([_compared("a", "assert f() == x", "line 1: 'a' != 'b'\n['k']: only left: 3", cut)])
    assert group.cause.said == "AssertionError: line 1: 'a' != 'b'; ['k']: only left: 3"
    printed = "with rc = 2\nprinted to stderr: usage: x\nprinted to stderr: x: error: unknown -a"
    (group,) = grouped([_compared("a", "assert f() == x", printed, "AssertionError: 2 != 0")])
    assert group.cause.said == "AssertionError: 2 != 0; printed to stderr: x: error: unknown -a"
    (group,) = grouped([_compared("a", "assert f() == x", "left  1\nright 2", "AssertionError: 1 != 2")])
    assert group.cause.said == "AssertionError: 1 != 2"


def test_a_wrong_name_and_the_missing_one_are_one_cause() -> None:
    """With the line of the wrong one; a missing name that nothing stands for has none."""
    said = {
        "Polly": ("missing: polly.retries probably stands in its place", "missing: the original declares `Polly`"),
        "Polly.Retries": (
            "one too many: no registry has it: probably in the place of polly",
            'one too many: no registry has it; declared as `<P Include="Polly.Retries" />` in P, line 7',
        ),
        "Serilog": ("missing", "missing: the original declares `Serilog`, line 9"),
    }
    tests = [
        lost(f"a.csproj::P::{name}", message, detail).but(kind="dependency", id=f"a.csproj::P::{name}")
        for name, (message, detail) in said.items()
    ]
    assert [(one.cause.tests, one.cause.place, one.cause.kind) for one in grouped(tests)] == [
        (2, "a.csproj:7", "misnamed"),
        (1, "", "not declared"),
    ]
