"""All names that hidden tests use and a submission lacks are told at once, and nothing that it has."""

from pathlib import Path

from tests.inside.test_runner import run_told

LIBRARY = """
class Base:
    def __init__(self, name):
        self.name = name

class Radio(Base):
    kind = "fm"
    def scan(self, times=1):
        self.station = times
    @property
    def now(self):
        return 1
    @classmethod
    def made(cls, name):
        return cls(name)

class Dynamic:
    def __getattr__(self, name):
        return 1

def play(radio, loud=False):
    return radio
"""
TESTS = """
import pytest
import lib
from lib import Dynamic, Order, Radio, play
import lib.extra

@pytest.fixture
def radio():
    return Radio("a")

def test_first():
    radio = Radio("a")
    radio.toggle_amfm()
    radio.scan(2, 3)
    assert radio.name and radio.kind and radio.station and radio.now
    Radio.made("b").absent
    radio.own = 1
    assert radio.own

def test_second(radio):
    lib.stop()
    radio.anything()
    play(radio, volume=3)
    Dynamic().whatever
    with pytest.raises(AttributeError):
        lib.never()
    with pytest.raises(TypeError):
        play()

def test_third():
    play(*[1, 2, 3])
    play(1, loud=True).something
    Order(3).discount_strategy
"""


def _lacking(tmp_path: Path, library: str, tests: str) -> dict[str, tuple[str, ...]]:
    return run_told(tmp_path, library, tests, "lacking").lacking


def test_a_file_that_cannot_be_collected_tells_all_that_it_needs(tmp_path: Path) -> None:
    """Of modules, classes and objects, with calls that do not fit; what may be there is not named."""
    (found,) = _lacking(tmp_path, LIBRARY, TESTS).values()
    names = [one for one in found if not one.startswith("call ")]
    calls = [one.replace(f"{tmp_path}/", "") for one in found if one.startswith("call ")]
    assert names == ["lib.Order", "module lib.extra", "Radio.toggle_amfm", "lib.stop"]
    assert calls == [
        "call radio.scan(2, 3) of scan(self, times=1) at lib.py:8: too many positional arguments",
        "call play(radio) of play(radio, loud=False) at lib.py:21: got an unexpected keyword argument 'volume'",
    ]


def test_tests_that_pass_need_nothing(tmp_path: Path) -> None:
    """Nobody asks about a file of which nothing was lost."""
    assert _lacking(tmp_path, LIBRARY, "import lib\n\ndef test_a():\n    if 0:\n        lib.never()\n") == {}


def test_a_hostile_library_costs_only_the_names(tmp_path: Path) -> None:
    """Whatever its metaclass does when it is looked at."""
    library = "class Meta(type):\n    def __getattribute__(cls, name):\n        raise SystemError(name)\n"
    library += "class A(metaclass=Meta): pass\n"
    tests = "import lib\n\ndef test_a():\n    lib.gone()\n\ndef test_b():\n    lib.A().x\n"
    (found,) = _lacking(tmp_path, library, tests).values() or ((),)
    assert "lib.gone" in found or found == ()
