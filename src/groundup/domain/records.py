"""The base of every record: frozen, and strict about unknown fields."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable value, checked where it enters the program."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
