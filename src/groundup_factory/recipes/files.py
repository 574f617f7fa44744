"""What is written of a recipe: its TOML file, and the fingerprint of its original."""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import NumberedTest, source_files
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.fingerprints import Fingerprint
from groundup.trees.writer import in_thread

_SEPARATOR = "::"
_OTHERS = frozenset({"_vendor", "_vendored", "vendor", "vendored", "third_party", "extern"})
"""Folders with copies of others' libraries, which may be had under their own names."""


def recipe_text(recipe: Recipe) -> str:
    """Return the file of *recipe*: the same text for the same record, one test per line."""
    fields = recipe.model_dump(
        mode="json", exclude={"expected", "floor", "excluded", "differences", "twin"}, exclude_defaults=True
    )
    lines = [f"format = {recipe.format}", f"task = {_value(recipe.task)}"]
    if recipe.notes:
        lines.append(f"notes = {_value(recipe.notes)}")
    source = {"kind": recipe.source.kind, **fields.pop("source")}
    lines += _table("source", source)
    for name in ("environment", "tests", "declared", "published", "image", "edits", "reasons", "frozen"):
        lines += _table(name, fields.get(name) or {})
    if recipe.twin is not None:
        tailed = list(recipe.twin.tailed)
        lines += _table("twin", {"runs": recipe.twin.runs, **({"tailed": tailed} if tailed else {})})
        lines += [*_named_tests("twin.free", recipe.twin.free), *_named_tests("twin.leaning", recipe.twin.leaning)]
    for name, tests in (("floor", recipe.floor), ("expected", recipe.expected)):
        lines += _named_tests(name, tests)
    for name, records in (("differences", recipe.differences), ("excluded", recipe.excluded)):
        for record in records:
            lines += ["", f"[[{name}]]"]
            lines += [f"{key} = {_value(value)}" for key, value in record.model_dump(mode="json").items() if value]
    return "\n".join(lines) + "\n"


def _named_tests(name: str, tests: Collection[NumberedTest]) -> list[str]:
    """Return a table with one list of test names per file; nothing where there are none."""
    if not tests:
        return []
    lines = ["", f"[{name}]"]
    for file, names in _grouped(tests).items():
        lines += [f"{_value(file)} = [", *(f"    {_value(name)}," for name in names), "]"]
    return lines


def _grouped(tests: Iterable[NumberedTest]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for test in sorted(tests):
        file, separator, name = test.id.partition(_SEPARATOR)
        groups.setdefault(file + separator, []).append(str(NumberedTest(name, test.ordinal)))
    return groups


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
    return "[\n" + "".join(f"    {_inline(value)},\n" for value in values) + "]"


def _inline(value: object) -> str:
    return f"[{', '.join(map(_inline, value))}]" if isinstance(value, list) else _value(value)


def fingerprint_of(recipe: Recipe, original: Path) -> Fingerprint:
    """Return the fingerprint of the tree *original*: its own source files, without what it vendors and tests."""
    sources = {str(path.relative_to(original)): path for path in source_files(original, recipe.tests)}
    own = {name: path for name, path in sources.items() if _OTHERS.isdisjoint(Path(name).parts)}
    return Fingerprint.of(recipe.task, {name: path.read_bytes() for name, path in own.items()})


async def made_fingerprint(recipe: Recipe, context: GradingContext) -> Fingerprint:
    """Fetch the original of *recipe* and return its fingerprint. Raises as the environment builder does."""
    return await in_thread(fingerprint_of, recipe, await original_tree(recipe, context))


def fingerprint_text(fingerprint: Fingerprint) -> str:
    return fingerprint.model_dump_json(indent=1) + "\n"
