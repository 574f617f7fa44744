"""The owner of a run reads the body of a failed test, the failing line marked, and its fixtures."""

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
