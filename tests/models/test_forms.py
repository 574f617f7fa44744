"""What is wrong with a request that an agent's program sends."""

import pytest
from pydantic import ValidationError

from groundup.domain.records import Record
from groundup.models.answering.forms import invalid


class _Request(Record):
    model: str
    messages: tuple[str, ...]


def test_of_several_faults_the_first_is_told() -> None:
    """In the order of the form, with the name of its field."""
    with pytest.raises(ValidationError) as raised:
        _Request.model_validate({})
    assert str(invalid(raised.value)).startswith("model: ")
