"""The owner of a run reads the body of a failed test, the failing line marked, and its fixtures."""

import pytest

from groundup.domain.verdicts import TestResult
from groundup.reports.bodies import body_of

CONFTEST = """import pytest

@pytest.fixture
def base():
    return 1

@pytest.fixture(name='other')
def _o():
    pass
"""
TESTS = """import pytest

@pytest.fixture
def made(base):
    return base + 1

class TestA:
    def setup_method(self):
        self.x = 1

    @pytest.mark.parametrize("n", [1, 2])
    def test_b(self, made, n):
        found = made + n
        assert found == 7
"""
FILES = {"lib/tests/conftest.py": CONFTEST, "lib/tests/test_a.py": TESTS}


def _lost(name: str, detail: str) -> TestResult:
    return TestResult(id=name, outcome="failed", expected=True, detail=detail)


def test_the_body_has_its_failing_line_marked_below_its_fixtures() -> None:
    """Also those that a fixture uses, and what sets up its class."""
    detail = "tests/test_a.py:14: in test_b\n    assert found == 7\nE   assert 3 == 7"
    lines = body_of(_lost("tests/test_a.py::TestA::test_b[1]", detail), FILES)
    assert [line for line in lines if line.startswith("lib/")] == [
        "lib/tests/conftest.py:4",
        "lib/tests/test_a.py:4",
        "lib/tests/test_a.py:8",
        "lib/tests/test_a.py:12",
    ]
    assert ">>          assert found == 7" in lines
    assert [line for line in lines if line.startswith(">>")] == [">>          assert found == 7"]
    assert '        @pytest.mark.parametrize("n", [1, 2])' in lines
    assert not any("_o" in line for line in lines)


HELPED = """class TestA:
    def _run(self, *words):
        assert main(words) == 0

    def test_b(self):
        self._run('-a')
        self._run('-b')
        assert self._unknown()

    def test_c(self):
        self._run('-c')
"""


def test_the_body_stands_below_the_helpers_that_it_calls() -> None:
    """Where one of them failed, the line that called it is marked; other tests are no helpers."""
    detail = "tests/test_a.py:7: in test_b\n    self._run('-b')\ntests/test_a.py:3: in _run\n    assert main()"
    lines = body_of(_lost("tests/test_a.py::TestA::test_b", detail), {"tests/test_a.py": HELPED})
    assert [line for line in lines if line.startswith("tests/")] == ["tests/test_a.py:2", "tests/test_a.py:5"]
    assert [line for line in lines if line.startswith(">>")] == [">>          self._run('-b')"]


def test_a_test_without_text_has_no_body() -> None:
    """Such as one of another language, or of data that is another version."""
    assert body_of(_lost("tests/test_b.py::test_x", ""), FILES) == []
    assert body_of(_lost("tests/test_a.py::test_gone", ""), FILES) == []
    assert body_of(_lost("tests/test_a.py::test_gone", ""), {"tests/test_a.py": "def ("}) == []


def test_a_long_body_is_shown_around_the_failing_line() -> None:
    """Head, and what led there."""
    text = "def test_x():\n" + "".join(f"    a{n} = {n}\n" for n in range(300))
    lines = body_of(_lost("t.py::test_x", "t.py:200: in test_x\n    a198 = 198\nE   x"), {"t.py": text})
    assert len(lines) < 70
    assert lines[1] == "    def test_x():"
    assert ">>      a198 = 198" in lines


USED = """import pytest

@pytest.fixture(name="shop", scope="module")
def _shop(till):
    return 1

@pytest.fixture
def till():
    return 2

@fixture
def unused(): ...

def helper(): ...

class Outer:
    def setUp(self): ...

    @classmethod
    def setUpClass(cls): ...

    class Inner:
        async def test_a(self, *, shop):
            helper()
            unknown()
            other.till()

    @pytest.mark.usefixtures("till", "shop")
    def test_b(self):
        cls.setUp()

def test_c(a, b, c, d, e, f, g): ...
"""


def places(name: str, text: str = USED) -> list[str]:
    """Return where the functions begin that are shown with a test."""
    lines = body_of(_lost(f"t.py::{name}", ""), {"t.py": text})
    return [line.removeprefix("t.py:") for line in lines if line.startswith("t.py:")]


def test_what_a_test_uses_stands_above_it() -> None:
    """A fixture by its own name, what it needs above it, helpers called by name, and what sets up a class.

    Each once; a method of another object is no helper, and a fixture that nobody asks for is not shown.
    """
    assert places("Outer::Inner::test_a") == ["8", "14", "4", "20", "17", "23"]
    assert places("Outer::test_b") == ["4", "8", "20", "17", "29"]
    assert places("test_c") == ["32"]
    assert places("Outer") == places("Outer::absent") == places("test_absent") == []


def test_at_most_six_fixtures_are_shown() -> None:
    """Those that are used first."""
    fixtures = "".join(f"@pytest.fixture\ndef f{n}(): ...\n" for n in range(8))
    asked = ", ".join(f"f{n}" for n in range(8))
    assert places("test_a", f"{fixtures}def test_a({asked}): ...\n") == ["12", "10", "8", "6", "4", "2", "17"]


@pytest.mark.parametrize(
    ("length", "failing", "shown", "marks"),
    [
        (60, 0, 61, []),
        (61, 0, 61, ["... 1 lines ..."]),
        (59, 60, 60, []),
        (60, 61, 52, ["... 9 lines ..."]),
        (300, 200, 62, ["... 148 lines ...", "... 91 lines ..."]),
        (300, 301, 52, ["... 249 lines ..."]),
    ],
)
def test_of_a_long_function_sixty_lines_are_shown(length: int, failing: int, shown: int, marks: list[str]) -> None:
    """From its beginning, or those that lead to the failing line and ten after it; how many lack is said."""
    text = "def test_x():\n" + "".join(f"    a{n}\n" for n in range(length))
    detail = f"t.py:{failing}: in test_x\n    a\nE   x" if failing else ""
    lines = body_of(_lost("t.py::test_x", detail), {"t.py": text})[1:]
    assert [line.strip() for line in lines if "..." in line] == marks
    assert len(lines) - len(marks) == shown
    assert [line.strip() for line in lines if line.startswith(">>")] == (
        [f">>      a{failing - 2}"] if failing else []
    )
    assert lines[0] == "    def test_x():"


def test_a_test_of_another_file_with_the_same_end_is_not_taken() -> None:
    """The whole name of a file must end a path, from a folder on; a test's own number is no part of its name."""
    files = {"xt.py": "def test_a(): ...\n", "a/t.py": "\ndef test_a(): ...\n"}
    assert body_of(_lost("t.py::test_a[1-2] #2", ""), files) == ["a/t.py:2", "    def test_a(): ..."]
    assert body_of(_lost("t.py::test_a", ""), {"xt.py": "def test_a(): ...\n"}) == []
