"""Which line lost a test is asked outside the core, which counts the same without an answer."""

from importlib.util import find_spec

import pytest

from groundup import extensions
from groundup.grading.guesses import Guesser, guesser
from groundup.grading.places import followed
from groundup.grading.submitted_sources import Sources
from tests.grading.test_places import FLASK, TEST, lost


def test_without_the_package_that_guesses_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a service answered, and where, is told all the same."""
    assert (type(guesser()) is Guesser) is (find_spec("groundup_origins") is None)
    monkeypatch.setattr(extensions.ExtensionPackage, "present", lambda _package: False)
    asked = lost("last exchange: POST /boats -> 200 {}").but(message="assert 200 == 201")
    told = followed({TEST: asked}, b"", Sources({"app.py": FLASK}))[TEST]
    assert told == asked.but(calls='app.py:8: @app.post("/boats")')
    assert guesser().listener() is None
