"""The base of every record (frozen, and strict about unknown fields), and the base of what users may add."""

from abc import ABC

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable value, checked where it enters the program."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Extension(ABC):  # noqa: B024 - what is abstract is up to the bases that derive from it
    """A class with defaults, so that a misspelt method would leave a default in force without a word.

    A method marked with `typing_extensions.override` must override something. mypy checks that, and so does this
    class, as soon as a subclass is defined: not every extension is checked by mypy.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for name, found in vars(cls).items():
            marked = getattr(found, "fget", found) if isinstance(found, property) else found
            if getattr(marked, "__override__", False) and not any(hasattr(base, name) for base in cls.__bases__):
                raise TypeError(f"{cls.__name__}.{name} is marked @override, but no base class has {name!r}")
