"""Where a cause probably lies, by the sources: one line or none, and never more than a guess."""

from pathlib import Path

import pytest

from groundup.domain.verdicts import PASSES_WITH, TestResult
from groundup.grading.submitted_sources import Sources
from groundup_origins.probable import probable_place, with_guesses

LIBRARY = Sources({
    "boats/__init__.py": "from boats.hull import Hull\n\n\ndef split_cargo(cargo):\n    return cargo\n",
    "boats/deck.py": "from boats.hull import (\n    moor_quick as quick,\n)\n",
    "boats/knots.py": "def tie(rope):\n    return rope\n",
    "boats/hull.py": (
        "PREFIX = 'boat> '\n\n\nclass Hull:\n    def paint_all(self):\n        return f'{PREFIX}painted & dry'\n\n"
        "    def sink(self):\n        import os; os._exit(7)\n\n\ndef moor(boat, rope, *, knots):\n    pass\n\n\n"
        "def moor_quick(boat):\n    pass\n"
    ),
})  # fmt: skip


@pytest.mark.parametrize(
    ("message", "demand", "place"),
    [
        ("AttributeError: module 'boats' has no attribute 'split'", "", "boats/__init__.py:4"),
        ("AttributeError: module 'boats.hull' has no attribute 'moor_fast'", "", "boats/hull.py:12"),
        ("AttributeError: module 'boats.hull' has no attribute 'moor_quickly'", "", "boats/hull.py:16"),
        ("ImportError: cannot import name 'anchor' from 'boats' (boats/__init__.py)", "", "boats/__init__.py:1"),
        ("ImportError: cannot import name 'moor' from 'boats' (boats/__init__.py)", "", "boats/__init__.py:1"),
        ("ImportError: cannot import name 'moor' from 'boats.deck' (boats/deck.py)", "", "boats/deck.py:1"),
        ("ImportError: cannot import name 'tie' from 'boats' (boats/__init__.py)", "", "boats/knots.py:1"),
        ("AttributeError: module 'boats.deck' has no attribute 'moor_quick'", "", "boats/deck.py:2"),
        ("not collected: ModuleNotFoundError: No module named 'boats.ropes.knots'", "", "boats/knots.py:1"),
        ("ModuleNotFoundError: No module named 'ships.ropes.knots'", "", ""),
        ("ModuleNotFoundError: No module named 'boats.ropes'", "", ""),
        ("AttributeError: 'Hull' object has no attribute 'paint'", "", "boats/hull.py:5"),
        ("AttributeError: 'Sail' object has no attribute 'paint'", "", ""),
        ("TypeError: moor() missing 1 required keyword-only argument: 'knots'", "", "boats/hull.py:12"),
        ("assert <bound method Hull.paint_all of <boats.hull.Hull object at 0x7>> == 'b'", "", "boats/hull.py:5"),
        ("AssertionError: 'b' != <bound method Hull.paint_all of Hull()>", "", "boats/hull.py:5"),
        ("ended the test process with exit code 7", "", "boats/hull.py:9"),
        ("AssertionError: assert 'boat> a' == 'ship> a'", "", "boats/hull.py:1"),
        ("assert '...", "left  'painted & dry'\nright 'painted and dry'", "boats/hull.py:6"),
        ("AssertionError: assert 3 == 4", "", ""),
        ("AssertionError: assert 'one' == 'two'", "", ""),
    ],
)  # fmt: skip
def test_a_message_leads_to_one_line_or_to_none(message: str, demand: str, place: str) -> None:
    """A name like the missing one, elsewhere or renamed; a signature, a property, an exit, a literal of a text."""
    assert probable_place(message, demand, LIBRARY).rpartition(": ")[0].partition(": ")[0] == place


def test_a_line_of_backslashes_takes_no_longer_than_another() -> None:
    """Such as one in a table of characters: it is read once, not in each way in which its quote may end."""
    sources = Sources({"tables.py": "ALL = '" + r"\ud" * 90 + "\nSAID = 'below deck'\n"})
    assert probable_place("AssertionError: 'below deck' != 'above'", "", sources).startswith("tables.py:2: ")


def test_only_lost_tests_get_a_guess(tmp_path: Path) -> None:
    """What the message names comes before what is known."""
    (tmp_path / "hull.py").write_text("import os\n\n\ndef sink():\n    os._exit(7)\n")
    lost = TestResult(
        id="a.py::a", outcome="failed", expected=True, message="ended the test process with exit code 7"
    )
    known = lost.but(probably="x.py:1: y")
    passed = lost.but(outcome="passed", message="")
    guesses = [one.probably.partition(": ")[0] for one in with_guesses((lost, known, passed), tmp_path)]
    assert guesses == ["hull.py:5", "hull.py:5", ""]


CREW = """def one_of(self, items, strict):
    inner = "below deck"
    return [inner]


def crew(boat):
    return one_of(boat)
"""
BELOW = "AssertionError: assert 'below deck' == 'above'"
FITS_NOT = "TypeError: one_of() missing 1 required positional argument: 'strict'"


@pytest.mark.parametrize(
    ("message", "known", "lines"),
    [
        (FITS_NOT, "crew.py:7: return one_of(boat)", "1 7"),
        (FITS_NOT, "/workspace/crew.py:7: return one_of(boat)\ncrew.py:1: def one_of\ncrew.py:3: return", "1 7 3"),
        (FITS_NOT, f"crew.py:7: return one_of(boat){PASSES_WITH}return boat", "7"),
        (BELOW, "crew.py:3: return [inner]", "2 3"),
        (BELOW, "crew.py:7: return one_of(boat)", "7 2"),
        (BELOW, "hull.py:7: a\nhull.py:8: b\nhull.py:9: c\nhull.py:9: d", "7 8 2"),
        ("assert 3 == 4", "crew.py:7: return one_of(boat)", "7"),
        ("assert 3 == 4", "", ""),
    ],
)
def test_what_the_message_names_comes_before_lines_that_lost_tests_run(
    tmp_path: Path, message: str, known: str, lines: str
) -> None:
    """A text only where it stands in a function of one of them; beside a change that mends the test is nothing."""
    (tmp_path / "crew.py").write_text(CREW)
    lost = TestResult(id="a.py::a", outcome="failed", expected=True, message=message, probably=known)
    (told,) = with_guesses((lost,), tmp_path)
    assert [line.split(":")[1] for line in told.probably.splitlines()] == lines.split()
    assert "workspace" not in told.probably
