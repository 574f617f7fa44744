"""Identifiers that become file names: of tasks, runs and attempts."""

import re
from typing import Annotated

from pydantic import AfterValidator

from groundup.domain.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")


def checked_name(value: str) -> str:
    """Return *value* when it is safe as one path component; raise `UsageError` otherwise."""
    if not _NAME.fullmatch(value) or value.endswith((".", ".lock")):
        raise UsageError(
            f"{value!r} is not a usable name: use up to 128 letters, digits, '.', '_', '+' and '-', "
            "starting with a letter or digit"
        )
    return value


def _validated(value: str) -> str:
    try:
        return checked_name(value)
    except UsageError as error:
        raise ValueError(str(error)) from error


Name = Annotated[str, AfterValidator(_validated)]
"""A string that is safe as one path component."""
