"""What a probe of an endpoint sends: the body that the README shows for it.

That is the JSON object beside an endpoint's mention, else the first one below it, if no answer. Words for types
in it (`"string (required)"`, `number`) become values.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from groundup.grading.services.samples import fixed_text
from groundup.suites.repogenesis.endpoints import METHODS, Endpoint, specified_endpoints

_WITH_BODY = ("POST", "PUT", "PATCH")
_METHOD = re.compile(rf"\b({'|'.join(METHODS)})\b(?=[ `*|:]+/)")
_MOST_LINES = 60
_ASKED = re.compile(r"\b(?:input|request|body|payload|parameters)\b", re.IGNORECASE)
_ANSWERED = re.compile(r"\b(?:output|response|returns?|success|error)\b", re.IGNORECASE)
_FIELD = re.compile(r"[\"']?(\w+)[\"']?\s*:\s*(\"[^\"\n]*\"|'[^'\n]*'|\[|\{|[^,}\n\s]+)")
_KINDS: tuple[tuple[re.Pattern[str], JsonValue], ...] = (
    (re.compile(r"\b(?:array|list)\b|\[\]", re.IGNORECASE), []),
    (re.compile(r"\b(?:object|dict|map)\b", re.IGNORECASE), {}),
    (re.compile(r"\b(?:number|int|integer|long|float|double)\b", re.IGNORECASE), 1),
    (re.compile(r"\bbool", re.IGNORECASE), True),
)
_TEXT = re.compile(r"\b(?:string|str|text|uuid|email|date|datetime|timestamp|required|optional)\b", re.IGNORECASE)
_CHOICES = re.compile(r"(?:^|[:(,]\s*)([\w-]+)(?:\s*\|\s*[\w-]+)+")
_SHOWN = re.compile(r"(?:\be\.g\.|\benum\b|\bone of\b|\bvalues?\b|\bsuch as\b)[^'\"]{0,20}['\"]([^'\"]+)['\"]")
_MOMENT = re.compile(r"\bISO\b|\bdate-?time\b", re.IGNORECASE)
Body = Mapping[str, JsonValue]


def sample_bodies(readme: str, endpoints: Iterable[Endpoint]) -> dict[Endpoint, Body]:
    """Return for those of *endpoints* that take a body what *readme* says of it."""
    lines = readme.splitlines()
    wanted = [endpoint for endpoint in endpoints if endpoint.method in _WITH_BODY]
    found: dict[Endpoint, Body] = {}
    for mentioned, section in (*_beside(lines), *_sections(lines)):
        for endpoint in wanted:
            described = any(
                one.method == endpoint.method and endpoint.path.endswith(one.path) for one in mentioned
            )
            body = _body(section) if described and endpoint not in found else None
            if body:
                found[endpoint] = body
    return found


def _beside(lines: Sequence[str]) -> Iterator[tuple[tuple[Endpoint, ...], str]]:
    """Yield the endpoints that a line mentions, each with what stands behind it up to the next one."""
    for line in lines:
        pieces = _METHOD.split(line)[1:] if "{" in line else ()
        for method, rest in zip(pieces[::2], pieces[1::2], strict=True):
            path, _, behind = rest.lstrip(" `*|:").partition(" ")
            if found := specified_endpoints(f"{method} {path}"):
                yield found, behind


def _sections(lines: Sequence[str]) -> Iterator[tuple[tuple[Endpoint, ...], str]]:
    """Yield the endpoints that a line mentions, or completes, with the lines up to the next such line."""
    mentions: list[tuple[int, tuple[Endpoint, ...]]] = []
    for at, line in enumerate(lines):
        found = specified_endpoints(line)
        if not found and at and (not mentions or mentions[-1][0] < at - 1):
            found = specified_endpoints(f"{lines[at - 1]}\n{line}")
        if found:
            mentions.append((at, found))
    ends = [at for at, _ in mentions[1:]] + [len(lines)]
    for (at, found), after in zip(mentions, ends, strict=False):
        yield found, "\n".join(lines[at + 1 : min(after, at + _MOST_LINES)])


def _body(section: str) -> Body | None:
    asked = _ASKED.search(section)
    described = section[asked.start() :] if asked else section
    place = described.find("{")
    answered = _ANSWERED.search(described, asked.end() - asked.start() if asked else 0)
    if place < 0 or (answered is not None and answered.start() < place):
        return None
    text = _balanced(described[place:])
    try:
        read = json.loads(text)
    except ValueError:
        read = {name: _plain(value) for name, value in _FIELD.findall(text[1:-1])}
    return {name: _value(name, value) for name, value in read.items()} if isinstance(read, dict) else None


def _balanced(text: str) -> str:
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return text[: at + 1]
    return text


def _plain(text: str) -> JsonValue:
    if text in "[{":
        return [] if text == "[" else {}
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text.strip("'\"")
    return value


def _value(name: str, described: JsonValue) -> JsonValue:
    """Return a value for a field; words that describe one are replaced."""
    if isinstance(described, dict):
        return {inner: _value(inner, value) for inner, value in described.items()}
    if isinstance(described, list):
        return [_value(name, value) for value in described]
    return _worded(name, described) if isinstance(described, str) else described


def _worded(name: str, described: str) -> JsonValue:
    is_text = described.lower().startswith("str")
    for words, value in () if is_text else _KINDS:
        if words.search(described):
            return value
    if shown := _SHOWN.search(described) or _CHOICES.search(described):
        return shown[1]
    if described and not is_text and not _TEXT.search(described) and described != "...":
        return described
    if _MOMENT.search(described):
        return "2024-01-02T03:04:05Z"
    return fixed_text(f"{name} {described}")
