"""Tests of our own, hidden among the original's, that cannot honestly pass.

A submission that makes pytest call everything a success makes them pass too. Their names are drawn anew for each
run.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from pydantic import Field

from groundup.domain.records import Record
from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup.grading.library.report import Result


class Canary(Record):
    """One test file with one test that must not pass."""

    path: str
    named: bool = Field(
        description="whether pytest must be given its name, because it lies in no folder that pytest is given"
    )
    content: str
    key: NumberedTest


def told_of(canary: Canary, results: Mapping[NumberedTest, Result]) -> list[Result]:
    """Return the results of a canary; a fixture that all tests use may have made several tests of it."""
    return [result for key, result in results.items() if _is(key, canary)]


def own_tests(canaries: Sequence[Canary], results: Iterable[NumberedTest]) -> set[NumberedTest]:
    """Return those of *results* that are ours."""
    return {key for key in results if any(_is(key, canary) for canary in canaries)}


def _is(key: NumberedTest, canary: Canary) -> bool:
    return key.id.partition("[")[0] == canary.key.id


def draw_canaries(hidden: HiddenTests) -> tuple[Canary, Canary]:
    """Return two canaries, beside the first and the last of the hidden tests."""
    return _draw(hidden.arguments[0], hidden), _draw(hidden.arguments[-1], hidden)


def _draw(argument: str, hidden: HiddenTests) -> Canary:
    word, other = secrets.token_hex(5), secrets.token_hex(5)
    place = PurePosixPath(argument.partition("::")[0])
    in_folder = not place.suffix
    path = str((place if in_folder else place.parent) / hidden.canary_name.format(word))
    body = f'def test_{word}():\n    value = "{other}"\n    assert value.upper() == "{word}"\n'
    return Canary(path=path, named=not in_folder, content=body, key=NumberedTest.of(f"{path}::test_{word}"))
