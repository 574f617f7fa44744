"""Paths as frameworks write them, brought into one form: `{}` for a parameter, `{*}` for any rest."""

import re
from collections.abc import Iterable

_ANY_REST = "{*}"
_LONGEST = 1000

_ANGLES = re.compile(r"<(?:([^<>:/]+)(?:\([^<>]*\))?:)?([^<>/]+)>")
_COLON = re.compile(r"(?<=/):[A-Za-z_]\w*\??")
_BRACES = re.compile(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>(?:[^()]|\([^()]*\))*\)|\((?!\?)(?:[^()]|\([^()]*\))*\)")


def join(parts: Iterable[str]) -> str:
    """Join *parts* with one slash between them; a trailing slash stays, "" stands for nothing."""
    whole = ""
    for part in parts:
        if part:
            whole = f"{whole.rstrip('/')}/{part.lstrip('/')}"
    return whole[:_LONGEST] or "/"


def from_angles(path: str) -> str:
    """Read `<id>`, `<int:id>` and `<path:rest>`, of Flask and Django."""
    return _ANGLES.sub(lambda match: _ANY_REST if match.group(1) == "path" else "{}", path)


def from_braces(path: str) -> str:
    """Read `{id}`, `{id:[0-9]+}`, `{rest:path}`, `{+rest}`, `{?query}` and `**`."""
    read = _BRACES.sub(_one_brace, path)
    if read != path and read.endswith("/") and path.endswith("}"):
        read = read.removesuffix("/")  # an optional query stood there
    return re.sub(r"/\*\*?(?=$|/)", "/" + _ANY_REST, read)


def _one_brace(match: re.Match[str]) -> str:
    name, _, kind = match.group(1).partition(":")
    if name.startswith(("?", "&")):
        return ""
    if name == "*" or name.startswith(("+", "*")) or kind.strip() in ("path", ".*", ".+"):
        return _ANY_REST
    return "{}"


def from_javalin(path: str) -> str:
    """Read `{id}`, `:id`, `<rest>` and `*`."""
    braced = from_braces(from_colons(path))
    return re.sub(r"<[^<>/]+>|(?<=/)\*(?=$|/)", _ANY_REST, braced)


def from_colons(path: str) -> str:
    """Read `:id` and `*`, of Spark."""
    return re.sub(r"(?<=/)\*(?=$|/)", _ANY_REST, _COLON.sub("{}", path))


def from_regex(pattern: str) -> str:
    """Read a regular expression whose groups are parameters, of Django."""
    bare = pattern.removeprefix("^").removesuffix("$").removesuffix("\\Z").removesuffix("/?")
    return re.sub(r"\\(.)", r"\1", _NAMED_GROUP.sub("{}", bare))


def matches(route: str, path: str) -> bool:
    """Whether *route* and *path* are one but for a trailing slash; parameters only stand for parameters."""
    return _bare(route) == _bare(path)


def serves(route: str, path: str) -> bool:
    """Whether a request for *path* would land on *route*: parameters stand for anything, `{*}` for any rest."""
    wanted, given = _bare(route).split("/"), _bare(path).split("/")
    for at, part in enumerate(wanted):
        if _ANY_REST in part:
            return True
        if at >= len(given) or not (part == given[at] or "{}" in part):
            return False
    return len(wanted) == len(given)


def _bare(path: str) -> str:
    return path.rstrip("/") or "/"
