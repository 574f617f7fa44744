"""Tests of our own, hidden among the original's, that cannot honestly pass.

A submission that makes pytest call everything a success makes them pass too. Their names are drawn anew for each
run.
"""

import secrets
from pathlib import PurePosixPath

from groundup.domain.records import Record
from groundup.grading.library.hidden import HiddenTests, NumberedTest


class Canary(Record):
    """One test file with one test that must not pass."""

    path: str
    content: str
    key: NumberedTest


def draw_canaries(hidden: HiddenTests) -> tuple[Canary, Canary]:
    """Return two canaries beside the hidden tests: one to run first, one to run last."""
    return _draw(hidden.arguments[0], hidden), _draw(hidden.arguments[-1], hidden)


def _draw(argument: str, hidden: HiddenTests) -> Canary:
    word, other = secrets.token_hex(5), secrets.token_hex(5)
    place = PurePosixPath(argument.partition("::")[0])
    folder = place.parent if place.suffix else place
    path = str(folder / f"test_{word}.py")
    body = f'def test_{word}():\n    value = "{other}"\n    assert value.upper() == "{word}"\n'
    return Canary(path=path, content=body, key=NumberedTest.of(f"{path}::test_{word}"))
