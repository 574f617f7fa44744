"""What is wrong with a value is said in words of ours."""

from datetime import datetime
from typing import Annotated, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from groundup.domain.records import Record, plainly


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
