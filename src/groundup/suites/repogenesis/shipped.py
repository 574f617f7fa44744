"""What ships with the suite: locked packages of hidden tests and of the published fallback, and drivers.

A driver is a program that stands for a published container's entry point: one file that needs nothing else.
"""

from functools import cache
from importlib.resources import files

from groundup.environments.requests import PythonRequest
from groundup.grading.services.records import Lifecycle

PYTHON = "3.10"
"""The published images' Python."""
PLUGINS = ("pytest_timeout",)
_STOPWATCH = "from groundup.sandbox.stopwatch import Stopwatch, inside\n"


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


def driver(name: str) -> bytes:
    """Return the program of this file name, with the stopwatch that it imports written out in it."""
    text = (files("groundup.suites.repogenesis") / name).read_text()
    stopwatch = (files("groundup.sandbox") / "stopwatch.py").read_text()
    return text.replace(_STOPWATCH, stopwatch).encode()
