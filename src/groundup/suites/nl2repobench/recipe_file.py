"""Recipes as TOML files: reading them strictly, writing them so that a diff shows what changed."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from groundup.domain.errors import TaskError
from groundup.domain.plainly import plainly
from groundup.grading.library.hidden import NumberedTest
from groundup.suites.nl2repobench.recipe import Recipe

_SEPARATOR = "::"
_KINDS = ("sdist", "git")
"""Of sources: which of them it is stands in a place of an error, and not in the file."""


def parse_recipe(text: str, origin: str) -> Recipe:
    """Return the recipe in *text*; *origin* names it in errors. Raises `TaskError`."""
    try:
        document = tomllib.loads(text)
        document["expected"] = frozenset(_ungrouped(document.get("expected", {})))
        return Recipe.model_validate(document)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{origin}: not valid TOML: {error}; mend the recipe") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part not in _KINDS)
        raise TaskError(f"{origin}: {where}: {plainly(first)}; see docs/recipes.md") from error
    except (TypeError, AttributeError) as error:
        raise TaskError(f"{origin}: [expected] must hold one list of test names per file") from error


def recipe_text(recipe: Recipe) -> str:
    """Return the file of *recipe*: the same text for the same record, one test per line."""
    fields = recipe.model_dump(mode="json", exclude={"expected", "excluded", "differences"}, exclude_defaults=True)
    lines = [f"format = {recipe.format}", f"task = {_value(recipe.task)}"]
    if recipe.notes:
        lines.append(f"notes = {_value(recipe.notes)}")
    source = {"kind": recipe.source.kind, **fields.pop("source")}
    lines += _table("source", source)
    for name in ("environment", "tests", "declared", "published", "reasons", "frozen"):
        lines += _table(name, fields.get(name) or {})
    if recipe.expected:
        lines += ["", "[expected]"]
        for file, names in _grouped(recipe.expected).items():
            lines += [f"{_value(file)} = [", *(f"    {_value(name)}," for name in names), "]"]
    for name, records in (("differences", recipe.differences), ("excluded", recipe.excluded)):
        for record in records:
            lines += ["", f"[[{name}]]"]
            lines += [f"{key} = {_value(value)}" for key, value in record.model_dump(mode="json").items() if value]
    return "\n".join(lines) + "\n"


def _grouped(tests: Iterable[NumberedTest]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for test in sorted(tests):
        file, separator, name = test.id.partition(_SEPARATOR)
        groups.setdefault(file + separator, []).append(str(NumberedTest(name, test.ordinal)))
    return groups


def _ungrouped(groups: Mapping[str, list[str]]) -> Iterable[NumberedTest]:
    for prefix, names in groups.items():
        for text in names:
            test = NumberedTest.parse(text)
            yield NumberedTest(prefix + test.id, test.ordinal)


def _table(name: str, fields: Mapping[str, Any]) -> list[str]:
    """Return a table, its own tables after its plain keys."""
    if not fields:
        return []
    tables = {key: value for key, value in fields.items() if isinstance(value, dict)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in fields.items() if key not in tables]
    if lines or not tables:
        lines = ["", f"[{name}]", *lines]
    for key, value in tables.items():
        lines += _table(f"{name}.{_key(key)}", value)
    return lines


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _value(key)


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return _list(list(value))
    if isinstance(value, str):
        # A JSON string is a TOML string, but for one control character that JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _list(values: list[object]) -> str:
    short = "[" + ", ".join(map(_value, values)) + "]"
    if len(short) <= 100:
        return short
    return "[\n" + "".join(f"    {_value(value)},\n" for value in values) + "]"
