"""Recipes as TOML files: reading and writing them, and those that come with groundup.

docs/developers/recipes.md explains the keys.
"""

import json
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from typing_extensions import override

from groundup.domain.errors import TaskError, UsageError
from groundup.domain.records import Record, plainly
from groundup.grading.library.hidden import NumberedTest
from groundup.suites.nl2repobench.listing import SUFFIX
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.walking import read_regular

Kept = TypeVar("Kept", bound=Record)

_SEPARATOR = "::"
_RETIRED = (("twin", "mixed"), ("tests", "canary_name"), ("tests", "copied_canaries"))
"""Keys of earlier recipes that nothing reads any more."""
_KINDS = ("sdist", "git", "kept")
"""Of sources: which of them it is stands in a place of an error, and not in the file."""


def read_recipe(path: Path) -> Recipe:
    """Return the recipe in a file. Raises `UsageError` where it is unreadable, and as `parse_recipe` does."""
    try:
        text = read_regular(path).decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a recipe") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start + 1}); name a recipe") from error
    return parse_recipe(text, str(path))


def parse_recipe(text: str, origin: str) -> Recipe:
    """Return the recipe in *text*; *origin* names it in errors. Raises `TaskError`."""
    try:
        document = tomllib.loads(text)
        for table, key in _RETIRED:
            document.get(table, {}).pop(key, None)
        for name in ("floor", "expected"):
            document[name] = frozenset(_ungrouped(document.get(name, {})))
        for name in {"free", "leaning"} & document.get("twin", {}).keys():
            document["twin"][name] = frozenset(_ungrouped(document["twin"][name]))
        return Recipe.model_validate(document)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{origin}: not valid TOML: {error}; mend the recipe") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part not in _KINDS)
        raise TaskError(f"{origin}: {where}: {plainly(first)}; see docs/developers/recipes.md") from error
    except (TypeError, AttributeError) as error:
        raise TaskError(
            f"{origin}: [expected], [floor], [twin.free], [twin.leaning]: one list of test names per file"
        ) from error


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
    for name in ("environment", "tests", "declared", "published", "reasons", "frozen"):
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


class RecipeFolder(Mapping[str, Recipe]):
    """The recipes in a folder by their tasks, sorted; each is read when it is first asked for.

    To ask for one raises `TaskError` where its file holds no recipe, or that of another task.
    """

    def __init__(self, folder: Traversable, python: str | None = None) -> None:
        """Look which recipes there are. *python* stands in for the interpreter of each."""
        self._folder = folder
        self._python = python
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(SUFFIX))
        self._recipes: dict[str, Recipe | None] = dict.fromkeys(name.removesuffix(SUFFIX) for name in names)

    @override
    def __getitem__(self, task: str) -> Recipe:
        recipe = self._recipes[task]
        if recipe is None:
            name = f"{task}{SUFFIX}"
            recipe = parse_recipe((self._folder / name).read_text(encoding="utf-8"), name)
            if recipe.task != task:
                raise TaskError(f"{name}: holds the recipe of {recipe.task!r}; rename one of them")
            if self._python is not None:
                environment = recipe.environment.but(python=self._python)
                recipe = recipe.but(environment=environment)
            self._recipes[task] = recipe
        return recipe

    @override
    def __contains__(self, task: object) -> bool:
        return task in self._recipes

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._recipes)

    @override
    def __len__(self) -> int:
        return len(self._recipes)


@cache
def shipped_recipes(python: str | None = None) -> RecipeFolder:
    """Return the recipes that come with groundup, all with the interpreter *python* where it is given."""
    return RecipeFolder(files("groundup.suites.nl2repobench") / "recipes", python)


def shipped_beside(kind: type[Kept], task: str, suffix: str, *, what: str, remedy: str) -> Kept | None:
    """Return what lies beside the shipped recipe of *task*, in a file with *suffix*; None: there is none.

    Raises `TaskError`, which ends with *remedy*, for a file that holds no *what*.
    """
    place = files("groundup.suites.nl2repobench") / "recipes" / f"{task}{suffix}"
    if not place.is_file():
        return None
    try:
        return kind.model_validate_json(place.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise TaskError(f"{place.name} is no {what} ({error.error_count()} errors); {remedy}") from error
