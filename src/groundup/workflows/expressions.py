"""GitHub's expressions, as far as they can be known before a workflow runs.

A value is JSON, or UNKNOWN, which spreads: `unknown || true` is true, `unknown && true` is unknown. The job is
taken to run on Linux and to go well; `events` says what starts it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

from pydantic import JsonValue

from groundup.workflows.events import github_of
from groundup.workflows.workflow import as_text


class _Unknown(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = _Unknown.UNKNOWN
"""A value that only a running workflow knows."""
Value = JsonValue | _Unknown

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_*][\w*-]*)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[!<>()\[\],.]))"
)
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_RUNNER: Mapping[str, JsonValue] = {"os": "Linux", "arch": "X64", "environment": "github-hosted"}
_OPEN = frozenset({"github", "steps", "needs", "job", "runner", "env"})
"""Contexts whose missing keys are unknown, not empty. Any step may set variables for those after it."""
_EMPTY = frozenset({"secrets", "vars"})
"""What a repository's owner sets on GitHub: here nobody did."""


class Contexts:
    """What the names in expressions stand for, in one leg of a job."""

    def __init__(
        self,
        matrix: Mapping[str, JsonValue] | None = None,
        environment: Mapping[str, str] | None = None,
        inputs: Mapping[str, JsonValue] | None = None,
        event: str = "push",
    ) -> None:
        """Take the leg (None: any of several) and the variables; *inputs* of None are unknown.

        Values of *environment* may hold expressions, but none that name other variables of it.
        """
        self.matrix = matrix
        self.inputs = inputs
        self.event = event
        self.environment: dict[str, str] = {}
        """Variables with their values. A value that still holds an expression is unknown."""
        self.environment = {key: self.shown(value) for key, value in (environment or {}).items()}

    def within(self, environment: Mapping[str, str]) -> "Contexts":
        """Return the contexts of a part that sets further variables, whose values may name those around it."""
        inner = Contexts(self.matrix, {}, self.inputs, self.event)
        inner.environment = self.environment | {key: self.shown(value) for key, value in environment.items()}
        return inner

    def mapping(self, expression: str | None) -> dict[str, str]:
        """Return the variables that `env: ${{ matrix.env }}` stands for; none where that is unknown."""
        inner = _EXPRESSION.fullmatch((expression or "").strip())
        value = self.value(inner[1]) if inner else UNKNOWN
        return {key: as_text(item) or "" for key, item in value.items()} if isinstance(value, dict) else {}

    def called(self, inputs: Mapping[str, JsonValue]) -> "Contexts":
        """Return the contexts inside an action that is called with *inputs*."""
        inner = Contexts(self.matrix, {}, inputs, self.event)
        inner.environment = self.environment
        return inner

    def find(self, name: str) -> Value:
        """Return a whole context by its name."""
        if name == "matrix":
            return UNKNOWN if self.matrix is None else dict(self.matrix)
        if name == "env":
            return dict(self.environment)
        if name == "inputs":
            return UNKNOWN if self.inputs is None else dict(self.inputs)
        if name == "runner":
            return dict(_RUNNER)
        if name in _EMPTY:
            return {}
        if name == "github":
            return github_of(self.event)
        return UNKNOWN

    def text(self, text: str) -> str | None:
        """Return *text* with its expressions replaced; None when one of them is unknown."""
        parts: list[str] = []
        at = 0
        for match in _EXPRESSION.finditer(text):
            value = self.value(match[1])
            if value is UNKNOWN:
                return None
            parts += [text[at : match.start()], as_text(value) or ""]
            at = match.end()
        return "".join((*parts, text[at:]))

    def shown(self, text: str) -> str:
        """Return *text* with the expressions replaced that are known."""

        def known(match: re.Match[str]) -> str:
            value = self.value(match[1])
            return match[0] if value is UNKNOWN else as_text(value) or ""

        return _EXPRESSION.sub(known, text)

    def value(self, expression: str) -> Value:
        """Return the value of *expression*; UNKNOWN where it is no valid expression."""
        try:
            return _Reader(list(_tokens(expression)), self).whole()
        except (ValueError, IndexError, RecursionError):
            return UNKNOWN

    def holds(self, condition: str | None) -> bool | None:
        """Return whether an `if` holds; None when that is unknown."""
        if condition is None:
            return True
        inner = _EXPRESSION.fullmatch(condition.strip())
        value = self.value(inner[1] if inner else self.shown(condition))
        return None if value is UNKNOWN else bool(value)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no expression: {text[at : at + 20]}")
        at = match.end()
        assert match.lastgroup is not None
        yield match.lastgroup, match[match.lastgroup]


class _Reader:
    """Reads by precedence: or, and, comparison, not, places."""

    def __init__(self, tokens: Sequence[tuple[str, str]], contexts: Contexts) -> None:
        self._tokens = tokens
        self._at = 0
        self._contexts = contexts

    def whole(self) -> Value:
        value = self._either()
        if self._at < len(self._tokens):
            raise ValueError("more than one expression")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *signs: str) -> str | None:
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "sign" and self._peek() in signs:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _either(self) -> Value:
        value = self._both()
        # As on GitHub, `||` and `&&` give one of their sides, not a truth.
        while self._take("||"):
            other = self._both()
            if value is UNKNOWN:
                # Unknown or true is true, and unknown or false is unknown.
                value = other if other is not UNKNOWN and other else UNKNOWN
            elif not value:
                value = other
        return value

    def _both(self) -> Value:
        value = self._compared()
        while self._take("&&"):
            other = self._compared()
            if value is UNKNOWN:
                value = other if other is not UNKNOWN and not other else UNKNOWN
            elif value:
                value = other
        return value

    def _compared(self) -> Value:
        value = self._single()
        sign = self._take("==", "!=", "<", ">", "<=", ">=")
        if sign is None:
            return value
        other = self._single()
        if value is UNKNOWN or other is UNKNOWN or sign not in ("==", "!="):
            return UNKNOWN
        return _equal(value, other) == (sign == "==")

    def _single(self) -> Value:
        if self._take("!"):
            value = self._single()
            return UNKNOWN if value is UNKNOWN else not value
        if self._take("("):
            value = self._either()
            self._need(")")
            return self._below(value)
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        self._at += 1
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return float(text) if "." in text else int(text)
        if kind != "name":
            raise ValueError(f"unexpected {text!r}")
        if text in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[text]
        if self._take("("):
            return self._below(self._called(text))
        return self._below(self._contexts.find(text), is_open=text in _OPEN)

    def _below(self, value: Value, *, is_open: bool = False) -> Value:
        while self._peek() in (".", "["):
            if self._take("."):
                key: Value = self._tokens[self._at][1] if self._at < len(self._tokens) else ""
                self._at += 1
            else:
                self._need("[")
                key = self._either()
                self._need("]")
            value = _member(value, key, is_open=is_open)
        return value

    def _called(self, name: str) -> Value:
        arguments: list[Value] = []
        while not self._take(")"):
            arguments.append(self._either())
            self._take(",")
            if self._at >= len(self._tokens) and self._peek() != ")":
                raise ValueError("a call is not closed")
        function = _FUNCTIONS.get(name.lower())
        if function is None or any(argument is UNKNOWN for argument in arguments):
            return UNKNOWN
        return function([argument for argument in arguments if argument is not UNKNOWN])

    def _need(self, sign: str) -> None:
        if self._take(sign) is None:
            raise ValueError(f"{sign} is missing")


def _member(value: Value, key: Value, *, is_open: bool) -> Value:
    if value is UNKNOWN or key is UNKNOWN or key == "*":
        return UNKNOWN
    if isinstance(value, dict):
        found = value.get(as_text(key) or "", UNKNOWN if is_open else None)
        # It still has an expression in it, which only a running workflow can replace.
        return UNKNOWN if isinstance(found, str) and "${{" in found else found
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    return None


def _equal(one: JsonValue, other: JsonValue) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        # GitHub compares texts without regard to case, and values of two types as numbers.
        return one.lower() == other.lower()
    return _number(one) == _number(other) if type(one) is not type(other) else one == other


def _number(value: JsonValue) -> float | None:
    if value is None or value == "":
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _lower(value: JsonValue) -> str:
    return (as_text(value) or "").lower()


def _contains(given: Sequence[JsonValue]) -> Value:
    where, what = given[:2]
    if isinstance(where, list):
        return any(_equal(item, what) for item in where)
    return _lower(what) in _lower(where)


def _format(given: Sequence[JsonValue]) -> Value:
    values = [as_text(value) or "" for value in given[1:]]

    def put(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        return values[int(match[1])] if int(match[1]) < len(values) else match[0]

    return re.sub(r"\{\{|\}\}|\{(\d{1,3})\}", put, as_text(given[0]) or "")


def _from_json(given: Sequence[JsonValue]) -> Value:
    found: JsonValue = json.loads(as_text(given[0]) or "")
    return found


_FUNCTIONS: Mapping[str, Callable[[Sequence[JsonValue]], Value]] = {
    "contains": _contains,
    "startswith": lambda given: _lower(given[0]).startswith(_lower(given[1])),
    "endswith": lambda given: _lower(given[0]).endswith(_lower(given[1])),
    "format": _format,
    "fromjson": _from_json,
    "always": lambda _: True,
    "success": lambda _: True,
    "failure": lambda _: False,
    "cancelled": lambda _: False,
}
