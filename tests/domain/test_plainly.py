"""What is wrong with a value is said in words of ours."""

from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, Field, HttpUrl, Json, TypeAdapter, ValidationError

from groundup.domain.records import Record, SettingRecord, plainly


class Status(StrEnum):
    """One of two."""

    RED = "red"
    GREEN = "green"


def _only_one(value: int) -> int:
    if value != 1:
        raise ValueError("there is one alone")
    return value


class Everything(Record):
    """A value of each kind that settings, scripts and data have."""

    number: Annotated[int, Field(ge=1)] = 1
    share: Annotated[float, Field(gt=0, le=1)] = 1
    flag: bool = False
    text: Annotated[str, Field(pattern="^[a-z]+$", min_length=1)] = "a"
    word: Literal["one", "two"] = "one"
    several: Annotated[tuple[str, ...], Field(min_length=1)] = ("a",)
    table: dict[str, int] = {}
    at: datetime | None = None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"number": "x"}, "must be a whole number"),
        ({"number": 1.5}, "must be a whole number"),
        ({"number": 0}, "must be at least 1"),
        ({"share": 0}, "must be more than 0"),
        ({"share": 2}, "must be at most 1"),
        ({"share": "much"}, "must be a number"),
        ({"flag": "maybe"}, "must be true or false"),
        ({"text": 3}, "must be text"),
        ({"text": "A"}, "is not written as it must be"),
        ({"word": "three"}, "must be 'one' or 'two'"),
        ({"several": "a"}, "must be a list"),
        ({"several": []}, "has too few items"),
        ({"table": []}, "must be a table"),
        ({"at": "soon"}, "must be a date"),
        ({"other": 1}, "nothing is known by this name"),
    ],
)
def test_the_checkers_words_are_not_ours(given: dict[str, object], words: str) -> None:
    """No user reads of inputs that should be valid integers, of fields required and extra inputs."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Everything).validate_python(given)
    assert words in plainly(caught.value.errors()[0])


class Odd(Record):
    """Values of the rarer kinds, and one of each form that texts must have."""

    below: Annotated[int, Field(lt=5, multiple_of=2)] = 0
    most: Annotated[str, Field(max_length=2)] = ""
    few: Annotated[list[int], Field(max_length=1)] = []
    some: Annotated[str, Field(min_length=1)] = "a"
    finite: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    place: Path = Path()
    inside: Everything | None = None
    names: frozenset[str] = frozenset()
    day: date = date(2024, 1, 1)
    nothing: None = None
    address: HttpUrl | None = None
    kind: Status | None = None
    text: Json[int] | None = None
    checked: Annotated[int, AfterValidator(_only_one)] = 1
    root: Annotated[str, Field(pattern=r"^/")] = "/"
    python: Annotated[str, Field(pattern=r"^3\.\d+$")] = "3.12"
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] = "0" * 40
    short: Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")] = "0" * 7
    sha: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = "0" * 64
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] = f"sha256:{'0' * 64}"
    variable: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] = "A"
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")] = "a"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("below", 6, "must be less than 5"),
        ("below", 3, "must be a multiple of 2"),
        ("most", "abc", "is too long"),
        ("few", [1, 2], "has too many items"),
        ("some", "", "must not be empty"),
        ("finite", float("inf"), "must be a finite number"),
        ("place", 3, "must be a path"),
        ("inside", 3, "must be a table of keys and values"),
        ("names", 3, "must be a list"),
        ("day", "soon", "must be a date"),
        ("nothing", 1, "must be left out"),
        ("address", "x", "must be an address"),
        ("kind", "x", "must be 'red' or 'green'"),
        ("text", "{", "is not valid JSON"),
        ("checked", 2, "there is one alone"),
        ("root", "a", "must begin with /"),
        ("python", "2.7", "must be a minor version of Python, such as 3.12"),
        ("commit", "0" * 7, "must be a whole commit: 40 hexadecimal digits"),
        ("short", "0" * 6, "must be a commit: 7 to 40 hexadecimal digits"),
        ("sha", "0", "must be a SHA-256: 64 hexadecimal digits"),
        ("digest", "0" * 64, "must be `sha256:` and 64 hexadecimal digits"),
        ("variable", "a", "must be the name of a variable: capitals, digits and _"),
        ("name", "-a", "must be small letters, digits and -, 64 at most, the first no -"),
    ],
)
def test_every_kind_of_value_has_its_words(field: str, value: object, words: str) -> None:
    """To the letter: they stand in messages, behind the field."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Odd).validate_python({field: value})
    assert plainly(caught.value.errors()[0]) == words


def test_an_error_that_nobody_knew_of_has_words_too() -> None:
    """Also one that does not say what it should."""
    error = {"loc": (), "msg": "x", "input": 1}
    for kind in ("made_up", "greater_than", "callable_type"):
        assert plainly({"type": kind, **error}) == "is not what is expected here"  # type: ignore[typeddict-item]
    assert plainly({"type": "missing", **error}) == "it is missing"  # type: ignore[typeddict-item]


class Numbers(SettingRecord):
    """What a user sets."""

    whole: int = 1
    share: float | None = 1.0
    flag: bool = False
    either: bool | int = 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"whole": True}, "must be a whole number"),
        ({"share": False}, "must be a number"),
        ({"flag": True}, None),
        ({"either": True}, None),
        ({"whole": 3, "share": None}, None),
    ],
)
def test_true_is_no_number_to_a_user(given: dict[str, object], words: str | None) -> None:
    """Though Python takes it for 1; where both may stand, it stands for itself."""
    if words is None:
        assert Numbers.model_validate(given).model_dump(include=set(given)) == given
        return
    with pytest.raises(ValidationError) as caught:
        Numbers.model_validate(given)
    assert plainly(caught.value.errors()[0]) == words


def test_a_record_changes_only_what_it_has() -> None:
    """A misspelt field would leave the old value without a word."""
    assert Everything().but(number=2).number == 2
    with pytest.raises(TypeError, match="Everything has no field 'nunber'"):
        Everything().but(nunber=2)
