"""Where no change proves a line, a few statements are told: those that lost tests run above all come first."""

import linecache
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from groundup_origins.inside.functions import functions_of
from groundup_origins.inside.spectrum import LineTracer, Spectrum
from groundup_origins.inside.suspects import Suspects, steps_to

LIBRARY = """
def price(number, is_member):
    count = number + 1
    noise = [number]
    noise.append(3)
    total = 10 * (
        count
    )
    if is_member:
        total = total - 1
    return total

def checked(word):
    text = word.strip()
    if not text:
        raise ValueError(word)
    return text

def loaded(rows):
    found = {}
    for row in rows:
        key = row[0]
        found[key] = row[1]
    return found

def locked(word):
    with LOCK:
        text = word + "!"
        return text

def answered(word):
    told = checked(word)
    return told

def joined(word, other):
    return (
        word
        and other
        and word + other[0]
    )

def halved(number, is_exact):
    part = number / 2
    return part

def total(number):
    part = halved(number, True)
    return part + number * 3 - 1

class Shelf:
    def halved(self, number, is_exact):
        return number / 2

    def kept(self, number):
        place = number * 2
        return number

PARTS = {"a": 1, "b": 2}

def is_part(word):
    found = PARTS.get(word)
    if found is None:
        return False
    return True

def read(text):
    try:
        return int(text)
    except ValueError:
        raise KeyError(text) from None
"""


@pytest.fixture
def library(tmp_path: Path) -> ModuleType:
    """A module that no other test has."""
    path = tmp_path / "lib.py"
    path.write_text(LIBRARY)
    linecache.checkcache()
    module = ModuleType("lib")
    exec(compile(LIBRARY, str(path), "exec"), vars(module))
    module.__file__ = str(path)
    return module


def _ran(module: ModuleType, function: str, *given: object, origin: int = 0, tests: str = "") -> SimpleNamespace:
    own = f"{module.__file__}"
    lines = LineTracer(lambda code: code.co_filename == own, None, lambda code: code.co_filename == tests)
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        vars(module)[function](*given)
    except (ValueError, KeyError):
        pass
    finally:
        sys.settrace(before)
    place = (module.__file__, origin) if origin else None
    return SimpleNamespace(lines=lines.last, origin=place, message="", cause=place, begun=lines.begun)


def _told(module: ModuleType, lost: SimpleNamespace, *passing: SimpleNamespace) -> list[int]:
    seen = Spectrum([lost], passing)
    found = Suspects(functions_of, str).of(lost, seen.ranked(lost), seen.of(lost))
    assert {path for path, _ in found} == {module.__file__}
    return [line for _, line in found]


def test_what_lost_tests_alone_run_comes_first_then_what_computes(library: ModuleType) -> None:
    """Of equal ones what ran last; a statement of several lines is told once, where it computes most."""
    lost, passing = _ran(library, "price", 1, True), _ran(library, "price", 1, False)
    assert _told(library, lost, passing)[0] == 10
    assert _told(library, _ran(library, "price", 1, False)) == [6, 5, 3]
    lost, passing = _ran(library, "joined", "b", "a"), _ran(library, "checked", "a")
    assert _told(library, lost, passing) == [39]


def test_of_equal_ones_those_come_first_that_made_the_value_which_was_returned(library: ModuleType) -> None:
    """Assignments and what they use, by how many are between; a variable that is only returned made nothing."""
    assert _told(library, _ran(library, "price", 1, False, origin=11)) == [6, 3, 11]
    assert _told(library, _ran(library, "loaded", [("a", 1)], origin=24)) == [23, 22, 21]


def test_a_line_that_raises_or_only_holds_others_is_told_last(library: ModuleType) -> None:
    """Its traceback names the one already; a lock runs once more when it is given back."""
    assert _told(library, _ran(library, "checked", " ")) == [15, 14, 16]
    library.LOCK = threading.Lock()  # type: ignore[attr-defined]
    assert _told(library, _ran(library, "locked", "a")) == [28, 29, 27]


def test_where_an_answer_should_have_been_a_refusal_functions_that_refuse_come_first(library: ModuleType) -> None:
    """What called them ran last; other comparisons keep the order."""
    lost = _ran(library, "answered", "a")
    assert _told(library, lost) == [15, 14, 32]
    for message in ("assert 200 == 403", "AssertionError: 400 != 201"):
        lost.message = message
        assert _told(library, lost) == [15, 14, 17]
    lost.message = "assert 200 == 201"
    assert _told(library, lost) == [15, 14, 32]


TESTS = """
def test_apart():
    assert lib.checked("a") == "a"
    total = lib.halved(4, True)
    assert lib.price(
        total, False
    ) == 30

def test_all_shared():
    text = "a"
    assert lib.checked(text) == text
    assert lib.joined(text, text) == "aa"

def test_called_back():
    assert lib.total(4) == 13
    assert lib.loaded(
        one + "b"
        for one in ["a"]
    ) == {"a": "b"}
"""


def test_lines_of_statements_that_share_nothing_with_the_failing_one_count_less(
    library: ModuleType, tmp_path: Path
) -> None:
    """Those before it in its function, of which it uses no variable; what it gave to the submission is its own."""
    path = tmp_path / "test_lib.py"
    path.write_text(TESTS)
    module = ModuleType("test_lib")
    module.__file__ = library.__file__
    exec(compile(TESTS, str(path), "exec"), vars(module))
    vars(module)["lib"] = library
    suspects = Suspects(functions_of, str)

    def apart(name: str) -> set[int]:
        return {line for _, line in suspects._apart(_ran(module, name, tests=str(path)))}

    assert apart("test_apart") == {14, 15, 17}
    (tmp_path / "page.html").write_text("<p>{{ word }}</p>\n")
    templated = _ran(module, "test_apart", tests=str(path))
    templated.begun = [(count, str(tmp_path / "page.html"), 1) for count, _, _ in templated.begun]
    assert suspects._apart(templated) == set()
    assert apart("test_all_shared") == set()
    assert apart("test_called_back") == {43, 44, 47, 48}
    assert _told(library, _ran(module, "test_apart", tests=str(path))) == [43, 44, 6]


def test_functions_that_use_nowhere_what_they_take_or_make_come_first(library: ModuleType) -> None:
    """What used it is missing; a method may have to take what it does not use."""
    assert _told(library, _ran(library, "total", 4)) == [43, 44, 48]
    forgetful = [one.node.name for one in functions_of(str(library.__file__)) if one.forgets()]
    assert forgetful == ["halved", "kept"]


def test_what_led_to_a_statement_that_computes_nothing_comes_second(library: ModuleType) -> None:
    """Also a constant of the module; to where an exception is handled it is what raised it."""
    assert _told(library, _ran(library, "is_part", "c"), _ran(library, "is_part", "a")) == [63, 58, 62]
    assert _told(library, _ran(library, "read", "a"), _ran(library, "read", "1")) == [69, 68, 70]


def test_steps_follow_variables_conditions_and_methods(library: ModuleType) -> None:
    """Backwards from a statement, among those that ran; what it does not lead back to is left out."""
    price, _, loaded, *_ = functions_of(str(library.__file__))
    assert dict(steps_to(price.node, 11, range(1, 12))) == {6: 1, 10: 1, 3: 2, 9: 2, 11: 3}
    assert dict(steps_to(price.node, 5, range(1, 12))) == {5: 0, 4: 1}
    assert 10 not in dict(steps_to(price.node, 11, {3, 6, 9, 11}))
    assert dict(steps_to(loaded.node, 23, range(19, 25)))[22] == 1
    assert dict(steps_to(loaded.node, 1, range(19, 25))) == {}
