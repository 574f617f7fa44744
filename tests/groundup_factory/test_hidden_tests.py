"""What can be read in hidden tests: those without a check, and names that the specification keeps to itself."""

from groundup.suites.base import HiddenCode
from groundup_factory.audit_findings import read_hidden_tests

TESTS = """
import demo
import demo.inner as inner
from demo import given, secret
from elsewhere import other

def same(a, b):
    if a != b:
        raise ValueError

def test_asserts():
    assert given(1) == 1

def test_through_a_helper():
    same(inner.hidden_too(), 2)

class TestThings:
    def test_method(self):
        self.assertEqual(demo.given(1), 1)

    def test_smoke(self):
        demo.loudly(secret)

    async def test_raises(self):
        with pytest.raises(TypeError):
            given()

def helper():
    assert True
"""


def test_tests_without_a_check_are_named() -> None:
    """A test asserts by a statement, a method, pytest or a helper of its file; what only calls is named."""
    found = read_hidden_tests(HiddenCode(files={"tests/test_a.py": TESTS}, packages=("demo",), specification=None))
    assert found.tests == 5
    assert found.assert_nothing == ("tests/test_a.py::TestThings::test_smoke",)
    assert found.hidden_names is None


def test_names_that_nobody_was_given_are_named() -> None:
    """Imports and attributes of the tested package count, whatever they are called in the file; others do not."""
    specification = "demo: `given(x)` returns x. The module `inner` helps. It can be used loudly."
    found = read_hidden_tests(
        HiddenCode(files={"test_a.py": TESTS}, packages=("demo",), specification=specification)
    )
    assert found.hidden_names == ("demo.inner.hidden_too", "demo.secret")


def test_paths_of_a_service_are_compared_with_its_readme() -> None:
    """Of a service, in any language, the fixed words of addresses must be in the specification."""
    files = {
        "tests/test_api.py": 'BASE = "/api"\ndef test_a(): assert get(f"/users/{number}/avatar")\n',
        "src/test/A.java": 'given().get("/users/{id}/roles")',
        "broken.py": "def test_(:",
    }
    found = read_hidden_tests(HiddenCode(files=files, specification="GET /api/users/{id}/avatar"))
    assert found.hidden_names == ("/users/{id}/roles",)
    assert found.tests == 1
