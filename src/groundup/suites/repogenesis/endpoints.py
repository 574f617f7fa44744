"""Endpoints that a README specifies: reading them, and comparing methods and paths. Pure.

Owns the one way in which paths are written (`/users/{id}`) and when two of them are the same or overlap.

Understood: `METHOD /path` in headings, lists, tables, bold, backticks and plain lines, with several methods or a
whole address too; tables with a column of paths and one of methods; `/path` (METHOD); pairs of lines such as
`Endpoint: /path` and `Method: GET`; and lines of code blocks that start with a method. A base path that the README
states is put before paths only when none of them starts with it.

Requests quoted as examples (`GET /health HTTP/1.1`, or a path with values where the README has parameters) and
commands for curl specify nothing.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from pydantic import Field
from typing_extensions import override

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

    @override
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


_WORD = rf"(?:{'|'.join(METHODS)})"
_WORDS = rf"{_WORD}(?:[ `*]*(?:,|/|\||\band\b|\bor\b)[ `*]*{_WORD})*"
_ADDRESS = r"(?:https?://[^\s/`|]+)?"
_PATH = rf"/(?!\s*{_WORD}\b)(?:[^\s`|*\"'(),;\\]*[^\s`|*\"'(),;\\.:?])?"
_MENTION = re.compile(rf"(?<![\w/-])({_WORDS})(?![\w-])[ \t`*|:\"']{{1,8}}{_ADDRESS}({_PATH})")
_METHOD_BEHIND = re.compile(rf"`?{_ADDRESS}({_PATH})`?[ \t*]*[(\[][ `*]*({_WORDS})[ `*]*[)\]]")
_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^\s*#{1,6}\s")
_KEY = r"^[\s>*_+\-\d.)`]*"
_VALUE = r"[\s*_`]*[:=][\s*_`\"']*"
_PATH_LINE = re.compile(
    rf"{_KEY}(?:endpoint|path|url|uri|route)(?: path)?{_VALUE}{_ADDRESS}({_PATH})", re.IGNORECASE
)
_METHOD_LINE = re.compile(rf"{_KEY}(?:http )?(?:method|verb)s?{_VALUE}({_WORDS})\b", re.IGNORECASE)
_BASE_LINE = re.compile(
    r"\b(?:base (?:path|url|uri)|(?:namespace|path|url|route) prefix|prefixed with)\b"
    rf"[\s*_`:=\"']*{_ADDRESS}(/[^\s`*\"',;)]*)?",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"HTTP/\d")
_LONGEST_LINE = 2000


class _Found(NamedTuple):
    endpoint: Endpoint
    quoted: bool
    """Whether it stands in a code block, where it may be an example."""


def specified_endpoints(readme: str) -> tuple[Endpoint, ...]:
    """Return every endpoint that *readme* specifies, once, in its order."""
    lines = [line[:_LONGEST_LINE] for line in readme.splitlines()]
    found = list(_mentions(lines))
    stated = [item.endpoint for item in found if not item.quoted]
    kept: dict[tuple[str, str], Endpoint] = {}
    for endpoint, quoted in found:
        if not (quoted and _is_example(endpoint, stated)):
            kept.setdefault(endpoint.shape, endpoint)
    base = _base_path(lines)
    endpoints = tuple(kept.values())
    if base and not any(_below(endpoint.path, base) for endpoint in endpoints):
        return tuple(one.but(path=base + one.path) for one in endpoints)
    return endpoints


def _mentions(lines: list[str]) -> Iterator[_Found]:
    fence: str | None = None
    pairs = _Pairs()
    for line in lines:
        mark = _FENCE.match(line)
        if mark and fence in (None, mark.group(1)):
            fence = mark.group(1) if fence is None else None
        elif fence is not None:
            yield from (_Found(one, quoted=True) for one in _in_code(line))
        else:
            if _HEADING.match(line):
                pairs = _Pairs()
            direct = list(_in_text(line))
            yield from (_Found(one, quoted=False) for one in direct or pairs.add(line))


def _in_text(line: str) -> Iterator[Endpoint]:
    for match in _MENTION.finditer(line):
        yield from _endpoints(match.group(1), match.group(2))
    for match in _METHOD_BEHIND.finditer(line):
        yield from _endpoints(match.group(2), match.group(1))
    if line.count("|") > 1:
        yield from _in_row(line)


def _in_row(line: str) -> Iterator[Endpoint]:
    """Read a table's row in which the path stands before the methods."""
    cells = [cell.strip(" `*") for cell in line.split("|")]
    path: str | None = None
    for cell in cells:
        if re.fullmatch(_PATH, cell):
            path = cell
        elif path is not None and re.fullmatch(_WORDS, cell):
            yield from _endpoints(cell, path)
            path = None


def _in_code(line: str) -> Iterator[Endpoint]:
    match = _MENTION.match(line.strip())
    if match and not _EXAMPLE.search(line):
        yield from _endpoints(match.group(1), match.group(2))


class _Pairs:
    """Lines that name a path or methods alone, until both are there."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._methods: str | None = None

    def add(self, line: str) -> list[Endpoint]:
        path, methods = _PATH_LINE.match(line), _METHOD_LINE.match(line)
        if path is None and methods is None:
            return []
        self._path = path.group(1) if path else self._path
        self._methods = methods.group(1) if methods else self._methods
        if self._path is None or self._methods is None:
            return []
        whole = list(_endpoints(self._methods, self._path))
        self._path = self._methods = None
        return whole


def _endpoints(methods: str, path: str) -> Iterator[Endpoint]:
    cleaned = with_braces(path.partition("?")[0].partition("#")[0])
    for method in _methods(methods):
        yield Endpoint(method=method, path=cleaned)


def _methods(text: str) -> Iterator[Method]:
    for word in re.findall(r"[A-Za-z]+", text):
        method = as_method(word)
        if method is not None:
            yield method


def _is_example(endpoint: Endpoint, stated: list[Endpoint]) -> bool:
    return any(one.method == endpoint.method and is_instance(endpoint.path, one.path) for one in stated)


def _base_path(lines: list[str]) -> str:
    """Return the first base path that is stated, without its trailing slash; "" for none."""
    for line in lines:
        match = _BASE_LINE.search(line)
        if match:
            return with_braces((match.group(1) or "").rstrip("/.:"))
    return ""


def _below(path: str, base: str) -> bool:
    return path == base or path.startswith(base + "/")
