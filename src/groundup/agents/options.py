"""Reading an agent's settings, which a user gives as `NAME=VALUE`."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.plainly import plainly
from groundup.domain.records import Record

R = TypeVar("R", bound=Record)


def read_options(kind: type[R], agent: str, options: Mapping[str, JsonValue]) -> R:
    """Return the settings of *agent*; raises `UsageError` naming the option that is wrong."""
    for name in options:
        if name not in kind.model_fields:
            raise UsageError(unknown(f"option of the agent {agent}", name, kind.model_fields))
    try:
        return kind.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"option {place} of the agent {agent}: {plainly(first)}") from error
