"""Calls of tools that a model wrote as text, in tags or as Python: what they are given, by name."""

import ast
import re
import warnings
from collections.abc import Iterator

from groundup.agents.delimited import enclosed

_CALL = re.compile(r"<(?:\w+:)?(invoke|function|tool_call)\b[^<>]*>", re.IGNORECASE)
_PARAMETER = re.compile(
    r"<(?:\w+:)?parameter(?:\s+name\s*=\s*[\"']?|=)(?P<name>\w+)[^<>]*>(?P<value>.*?)</(?:\w+:)?parameter>",
    re.DOTALL | re.IGNORECASE,
)
_KEYED = re.compile(r"<arg_key>(?P<name>\w+)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.DOTALL)
_WRITES = re.compile(r"write|create|save", re.IGNORECASE)
_MOST_PYTHON = 1_000_000
"""Characters of Python that are parsed."""


def calls_in_tags(text: str) -> Iterator[dict[str, str]]:
    """Yield the parameters of calls such as `<invoke name="..."><parameter name="path">`, `<function=...>`."""
    for call in enclosed(text, _CALL, lambda opening: rf"</(?:\w+:)?{opening[1].lower()}>", re.IGNORECASE):
        given = {one["name"]: one["value"] for form in (_PARAMETER, _KEYED) for one in form.finditer(call.inside)}
        # Templates put a line end around values, which a single word never has.
        yield {
            name: value.strip() if "\n" not in value.strip() else value.removeprefix("\n")
            for name, value in given.items()
        }


def calls_in_python(text: str) -> Iterator[dict[str, str]]:
    """Yield path and content of calls that write a file, both given as they are."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python that is not ours
            tree = ast.parse(text) if len(text) <= _MOST_PYTHON else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for call in ast.walk(tree) if tree else ():
        if not isinstance(call, ast.Call) or not _WRITES.search(_called(call.func)):
            continue
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
            values = [*call.func.value.args, *values]  # Path("a.py").write_text("...")
        match [value.value for value in values[:2] if isinstance(value, ast.Constant)]:
            case [str() as path, str() as content]:
                yield {"path": path, "content": content}


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
