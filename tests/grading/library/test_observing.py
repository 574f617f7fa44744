"""The encoding of compared values: equal values share one, and nothing that a value says of itself changes it."""

import enum
import json
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from groundup.grading.library.observing import MAX_TEXT, Observer, encoded


class _Liar(str):
    """Says that it equals everything."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __str__(self) -> str:
        return "right"


class _Colour(enum.IntEnum):
    RED = 3


_Point = namedtuple("_Point", "x y")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (2, 2.0),
        (-0.0, 0),
        (2**70, float(2**70)),
        ({"a": 1, "b": 2}, OrderedDict([("b", 2), ("a", 1)])),
        ({3, 1, 2}, frozenset([2, 3, 1])),
        (b"x", bytearray(b"x")),
        (_Colour.RED, 3),
        (_Point(1, 2), (1, 2)),
        ([_Liar("wrong")], ["wrong"]),
    ],
)
def test_equal_values_have_one_encoding(one: object, other: object) -> None:
    """A submission may return another type than the original where Python calls both equal."""
    assert encoded(one) == encoded(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", 1),
        ("a", b"a"),
        ([1], (1,)),
        (None, False),
        (0.1, 0.2),
        ({}, []),
        (_Liar("wrong"), "right"),
        ({1}, [1]),
    ],
)
def test_unequal_values_have_different_encodings(one: object, other: object) -> None:
    """What a test would tell apart is told apart, whatever a class says of equality."""
    assert encoded(one) != encoded(other)


def test_other_objects_are_opaque() -> None:
    """Of a class of the library only the name leaves, so that no code of it runs."""
    assert json.loads(encoded([object()])) == ["l", ["?", "object"]]
    assert '["?", ' not in encoded('["?", "no object"]')


def test_what_is_too_large_leaves_as_a_digest() -> None:
    """No value fills the channel, and what contains itself ends."""
    endless: list[object] = []
    endless.append(endless)

    assert encoded("a" * MAX_TEXT) != encoded("a" * MAX_TEXT + "b")
    assert len(encoded("a" * MAX_TEXT)) < 100
    assert '"?"' in encoded(endless)
    assert len(encoded(1 << 20_000)) > 5_000  # more digits than Python turns into a decimal text


class _Channel:
    def __init__(self) -> None:
        self.sent: list[tuple[int, list[str]]] = []

    def send(self, event: str, *, site: int, values: list[str]) -> None:
        """Keep what would leave."""
        assert event == "value"
        self.sent.append((site, values))


def test_nothing_is_decided_where_values_leave() -> None:
    """A traced test goes on whatever it found."""
    channel = _Channel()
    observer = Observer(channel)

    assert observer.value(1, 3)
    assert observer.pair(2, 3, 4)
    assert observer.truth(3, [])
    assert channel.sent == [(1, ['["n", "3"]']), (2, ['["n", "3"]', '["n", "4"]', "false"]), (3, ["false"])]


def test_the_classes_of_an_exception_leave() -> None:
    """Both forms of a block that should raise send what was raised, and give the test what it asks for."""
    channel = _Channel()
    observer = Observer(channel)

    with observer.raises(1, match="no") as caught:
        raise KeyError("no")
    with observer.raises_in_case(2) as case:
        raise ValueError("bad")

    assert isinstance(caught.value, KeyError)
    assert str(case.exception) == "bad"
    assert [json.loads(values[0])[1:3] for _, values in channel.sent] == [
        ["KeyError", "LookupError"],
        ["ValueError", "Exception"],
    ]


@pytest.mark.parametrize("block", ["raises", "raises_in_case"])
def test_a_block_that_raises_nothing_fails(block: str) -> None:
    """The traced test fails there as the test itself does."""
    observer: Any = Observer(_Channel())

    with pytest.raises((AssertionError, pytest.fail.Exception)), getattr(observer, block)(1):
        pass
