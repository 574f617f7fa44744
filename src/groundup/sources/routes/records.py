"""What a declared route is."""

from typing import NamedTuple

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
ANY = "*"
"""Every method: the handler decides."""


class Route(NamedTuple):
    """One method on one path. Parameters are `{}`; `{*}` stands for any rest, slashes included."""

    method: str
    path: str
    framework: str
    file: str
    line: int
