"""The few expressions that can be known before a workflow runs: values of the matrix, of `env`, and literals."""

import re
from collections.abc import Mapping

from pydantic import JsonValue

from groundup.grading.ci.workflow import as_text

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_PLACE = re.compile(r"(matrix|env)((?:\.[A-Za-z_][\w-]*|\[\s*'[^']*'\s*\])+)")
_KEY = re.compile(r"\.([A-Za-z_][\w-]*)|\[\s*'([^']*)'\s*\]")
_LITERAL = re.compile(r"'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)|(true|false)")
_TEMPORARY = re.compile(r"runner\.os|runner\.arch")
_KNOWN = {"runner.os": "Linux", "runner.arch": "X64"}


def resolved(text: str, leg: Mapping[str, JsonValue], environment: Mapping[str, str]) -> str | None:
    """Return *text* with its expressions replaced; None when one of them is known only while a workflow runs."""
    parts: list[str] = []
    at = 0
    for match in _EXPRESSION.finditer(text):
        value = _value(match[1].strip(), leg, environment)
        if value is None:
            return None
        parts += [text[at : match.start()], value]
        at = match.end()
    return "".join((*parts, text[at:]))


def _value(expression: str, leg: Mapping[str, JsonValue], environment: Mapping[str, str]) -> str | None:
    """Return the first alternative of `a || b` that is not empty."""
    value: str | None = None
    for alternative in expression.split("||"):
        value = _single(alternative.strip(), leg, environment)
        if value is None or value not in ("", "false"):
            return value
    return value


def _single(expression: str, leg: Mapping[str, JsonValue], environment: Mapping[str, str]) -> str | None:
    if match := _LITERAL.fullmatch(expression):
        return match[1].replace("''", "'") if match[1] is not None else match[0]
    if _TEMPORARY.fullmatch(expression):
        return _KNOWN[expression]
    match = _PLACE.fullmatch(expression)
    if match is None:
        return None
    value: JsonValue = dict(leg) if match[1] == "matrix" else dict(environment)
    for key in _KEY.finditer(match[2]):
        value = value.get(key[1] or key[2]) if isinstance(value, dict) else None
    if isinstance(value, str) and "${{" in value:
        return resolved(value, leg, {}) if match[1] == "env" else None
    return as_text(value) or ""
