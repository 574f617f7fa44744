"""Endpoints that a README specifies: a method and a path with parameters in braces. Pure.

Owns the one way in which paths are written (`/users/{id}`) and when two of them are the same or overlap.
"""

import re
from typing import Literal, get_args

from pydantic import Field

from groundup.domain.records import Record

Method = Literal["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]
METHODS: tuple[Method, ...] = get_args(Method)

_PARAMETER = re.compile(r"\{[^{}/]*\}")
_OTHER_PARAMETERS = (
    re.compile(r"<(?:[^<>:/]+:)?([^<>:/]+)>"),  # <id>, <int:id>
    re.compile(r"(?<=/):([A-Za-z_]\w*)"),  # /:id
    re.compile(r"\{([A-Za-z_]\w*):(?:[^{}]|\{[^{}]*\})*\}"),  # {id:path}, {id:[0-9]+}
)


class Endpoint(Record):
    """One method on one path; a trailing slash is part of the path."""

    method: Method
    path: str = Field(pattern=r"^/")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def shape(self) -> tuple[str, str]:
        """What decides whether two endpoints are the same: no parameter's name, no trailing slash."""
        return self.method, path_shape(self.path)


def path_shape(path: str) -> str:
    """Return *path* with `{}` for every parameter and without a trailing slash."""
    return _PARAMETER.sub("{}", path).rstrip("/") or "/"


def parse_endpoint(text: str) -> Endpoint:
    """Parse `METHOD /path`. Raises `ValueError`."""
    method, _, path = text.partition(" ")
    known = as_method(method)
    if known is None or not path.startswith("/"):
        raise ValueError(f"{text!r} is no endpoint; write a method and a path, such as 'GET /users/{{id}}'")
    return Endpoint(method=known, path=with_braces(path.strip()))


def as_method(word: str) -> Method | None:
    """Return *word* as a method, whatever its case; None when it is none."""
    return next((method for method in METHODS if method == word.upper()), None)


def with_braces(path: str) -> str:
    """Write every parameter of *path* as `{name}`, whatever framework's way it is written in."""
    for pattern in _OTHER_PARAMETERS:
        path = pattern.sub(r"{\1}", path)
    return path


def segments(path: str) -> list[str]:
    """Return what stands between the slashes of *path*; parameters become `{}`."""
    return [part for part in path_shape(path).split("/") if part]


def is_instance(path: str, pattern: str) -> bool:
    """Whether *path* is *pattern* with values for its parameters."""
    given, wanted = segments(path), segments(pattern)
    return len(given) == len(wanted) and all(map(_fills, given, wanted))


def _fills(value: str, pattern: str) -> bool:
    """Whether *value* is *pattern* with something in place of every `{}`; linear, for both may be hostile."""
    first, *rest = pattern.split("{}")
    if not rest:
        return value == pattern
    if not value.startswith(first):
        return False
    place = len(first)
    for literal in rest[:-1]:
        place = value.find(literal, place + 1)
        if place < 0:
            return False
        place += len(literal)
    return len(value) - len(rest[-1]) > place and value.endswith(rest[-1])
