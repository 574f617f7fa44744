"""What is locked with the suite: the packages that hidden tests need, and those of the published fallback."""

from functools import cache
from importlib.resources import files

from groundup.environments.requests import PythonRequest
from groundup.grading.services.records import Lifecycle

PYTHON = "3.10"
"""The published images' Python."""
PLUGINS = ("pytest_timeout",)


@cache
def test_environment() -> PythonRequest:
    """Return the environment of hidden HTTP tests: pytest, requests, httpx and what single tasks' tests import."""
    return PythonRequest(python=PYTHON, requirements=_lines("tests.txt"))


@cache
def lifecycle() -> Lifecycle:
    """Return the published limits, with the published fallback packages."""
    return Lifecycle(python=PYTHON, fallback=_lines("fallback.txt"))


@cache
def java_lifecycle() -> Lifecycle:
    """Return the published limits of services in Java."""
    return lifecycle().model_copy(update={"install_s": 300.0, "ready_s": 20.0, "tests_s": 600.0})


def _lines(name: str) -> tuple[str, ...]:
    text = (files("groundup.suites.repogenesis") / "locks" / name).read_text(encoding="utf-8")
    return tuple(text.splitlines())
