"""Settings of agents and models as `NAME=VALUE`, from the command line or from Python."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from groundup.api.flags import Assignments
from groundup.domain.errors import UsageError
from groundup.trees.walking import read_regular


def assigned(given: Assignments, flag: str) -> dict[str, JsonValue]:
    """Return settings by name, each as it would arrive from the command line. Raises `UsageError`."""
    if isinstance(given, Mapping):
        given = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in given.items()
        ]
    return read_assignments(given or (), flag)


def read_assignments(texts: Iterable[str], flag: str) -> dict[str, JsonValue]:
    """Read `NAME=VALUE`; an object, a list, true, false and null are what they say, all else is a text.

    `NAME=@FILE` takes the file's text, which the run then keeps. The option decides whether a text is a number:
    for some, 3.10 is a version. Raises `UsageError`.
    """
    found: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {text!r}: write NAME=VALUE")
        if value.startswith("@"):
            value = _text_of(value[1:], flag)
        try:
            said = json.loads(value)
        except (ValueError, RecursionError):
            said = value
        plain = isinstance(said, str | int | float) and not isinstance(said, bool)
        found[name.strip().replace("-", "_")] = value if plain else said
    return found


def _text_of(path: str, flag: str) -> str:
    try:
        return read_regular(Path(path)).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise UsageError(f"{flag}: the file {path} cannot be read: {reason}") from error
