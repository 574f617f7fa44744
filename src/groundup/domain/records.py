"""The bases of records and of what users may add, and what is wrong with a value, in plain words."""

from abc import ABC
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic_core import PydanticKnownError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Record(BaseModel):
    """An immutable value, checked where it enters the program."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def but(self, **changes: Any) -> Self:
        """Return this record with *changes* of fields. Raises `TypeError` for a field that it does not have."""
        for name in changes:
            if name not in type(self).model_fields:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
        return self.model_copy(update=changes)


class SettingRecord(Record):
    """What a user sets. True and false are no numbers here, though Python takes them for 1 and 0."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_number_by_boolean(cls, value: object, info: ValidationInfo) -> object:
        kind = cls.model_fields[str(info.field_name)].annotation
        kinds = get_args(kind) or (kind,)
        if isinstance(value, bool) and bool not in kinds:
            if int in kinds:
                raise PydanticKnownError("int_type")
            if float in kinds:
                raise PydanticKnownError("float_type")
        return value


class Extension(ABC):  # noqa: B024 - what is abstract is up to the bases that derive from it
    """A class with defaults, so that a misspelt method would leave a default in force without a word.

    A method marked with `typing_extensions.override` must override something. mypy checks that, and so does this
    class, as soon as a subclass is defined: not every extension is checked by mypy.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for name, found in vars(cls).items():
            marked = getattr(found, "fget", found)  # of a property its function has the mark
            if getattr(marked, "__override__", False) and not any(hasattr(base, name) for base in cls.__bases__):
                raise TypeError(f"{cls.__name__}.{name} is marked @override, but no base class has {name!r}")


_WORDS = {
    "missing": "it is missing",
    "extra_forbidden": "nothing is known by this name",
    "int": "must be a whole number",
    "float": "must be a number",
    "decimal": "must be a number",
    "finite_number": "must be a finite number",
    "bool": "must be true or false",
    "string": "must be text",
    "bytes": "must be text",
    "path": "must be a path",
    "dict": "must be a table of keys and values",
    "mapping": "must be a table of keys and values",
    "model": "must be a table of keys and values",
    "dataclass": "must be a table of keys and values",
    "list": "must be a list",
    "tuple": "must be a list",
    "set": "must be a list",
    "frozen_set": "must be a list",
    "datetime": "must be a date with a time",
    "date": "must be a date",
    "json": "is not valid JSON",
    "none": "must be left out",
    "url": "must be an address",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_pattern_mismatch": "is not written as it must be",
    "string_too_short": "must not be empty",
    "too_short": "has too few items",
    "string_too_long": "is too long",
    "too_long": "has too many items",
    "union_tag_invalid": "must be of a known kind: {expected_tags}",
    "union_tag_not_found": "must name its kind",
    "value_error": "{error}",
    "assertion_error": "{error}",
}
"""By the type of error, or by the first words of it."""
_FORMS = {
    r"^/": "must begin with /",
    r"^3\.\d+$": "must be a minor version of Python, such as 3.12",
    r"^[0-9a-f]{40}$": "must be a whole commit: 40 hexadecimal digits",
    r"^[0-9a-f]{7,40}$": "must be a commit: 7 to 40 hexadecimal digits",
    r"^[0-9a-f]{64}$": "must be a SHA-256: 64 hexadecimal digits",
    r"^sha256:[0-9a-f]{64}$": "must be `sha256:` and 64 hexadecimal digits",
    r"^[A-Z_][A-Z0-9_]*$": "must be the name of a variable: capitals, digits and _",
    r"^[a-z0-9][a-z0-9-]{0,63}$": "must be small letters, digits and -, 64 at most, the first no -",
}
"""Regular expressions that texts must match, in words."""


def plainly(error: "ErrorDetails") -> str:
    """Say what is wrong with a value that a check refused."""
    kind, context = error["type"], error.get("ctx") or {}
    if form := _FORMS.get(str(context.get("pattern"))):
        return form
    words = _WORDS.get(kind) or _WORDS.get(_family(kind))
    return _filled(words, context) if words else "is not what is expected here"


def _family(kind: str) -> str:
    """Return `int` for `int_parsing` and `int_type`, and so on: the longest beginning that is known."""
    parts = kind.split("_")
    starts = ("_".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((start for start in starts if start in _WORDS), "")


def _filled(words: str, context: Mapping[str, object]) -> str:
    try:
        return words.format_map(context)
    except (KeyError, ValueError):
        return "is not what is expected here"
