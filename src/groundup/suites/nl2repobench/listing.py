"""The table of tasks: what it says of each, and the shipped recipes' part of it, read without the whole recipes.

A shipped recipe is 30 KB, nearly all of it hashes and names of tests. Only the rest is parsed here, and nothing
heavy is imported: a person who asks which tasks there are wants to know at once.
"""

import json
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from groundup.environments.installed_tools import FETCHED, YES, python_at_hand

if TYPE_CHECKING:
    from groundup.environments.requests import AnySource

VERSION = "1"
"""Of the suite."""

COLUMNS = (
    "task",
    "here",
    "difficulty",
    "lines",
    "category",
    "specification",
    "expected",
    "declared",
    "python",
    "original",
)
SUFFIX = ".toml"
DIFFICULTIES = ("easy", "medium", "hard")
DEFAULT_DATA_VERSION = "781a1da"
"""Whose declared counts are shown while no data has been pulled."""

_PROGRAMS = re.compile(r"^programs = (\[.*\])$", re.MULTILINE)
_VALUES = re.compile(r"^(\w+) = ([^\[\n].*)$", re.MULTILINE)
"""What stands in one line. As recipes are written it is JSON: for a hundred files TOML's parser is slow."""


class RecipeHead(NamedTuple):
    """What the table says of a recipe."""

    label: str
    """Of the original."""
    python: str
    expected: int
    declared: Mapping[str, int]
    lines: int | None
    """Of the original's Python; None: the recipe is a draft."""
    programs: Sequence[str] = ()
    """Of this machine, which tests start."""
    by_git_only: bool = False
    """Whether the original comes by Git and by nothing else."""

    @property
    def is_frozen(self) -> bool:
        return self.lines is not None


def row(
    name: str,
    summary: RecipeHead | None,
    declared: int | None,
    difficulty: str | None,
    cache_dir: Path | None,
    *,
    has_specification: bool,
    source: "Callable[[], AnySource] | None" = None,
) -> tuple[str, ...]:
    """Return the row of a task. "-": not known. Interpreters that uv fetched lie in *cache_dir*.

    *source* returns what its original is; it is asked where Git is not here.
    """
    here = _here(summary, cache_dir)
    return (
        name,
        "no git" if here == YES and summary and _lacks_original(summary, source, cache_dir) else here,
        difficulty or "-",
        str((summary.lines if summary else None) or "-"),
        categories().get(name, "-"),
        "yes" if has_specification else "no",
        str(summary.expected or "-") if summary else "-",
        str(declared or "-"),
        summary.python if summary else "-",
        summary.label if summary else "-",
    )


def _lacks_original(summary: RecipeHead, source: "Callable[[], AnySource] | None", cache_dir: Path | None) -> bool:
    """Return whether the original comes by Git alone, which is not here, and was never fetched."""
    if not summary.by_git_only or source is None or cache_dir is None or shutil.which("git"):
        return False
    layers = cache_dir / "layers"
    if not (layers / "source").is_dir():
        return True  # without a look into the whole recipe
    from groundup.environments.layers import LayerStore  # heavy, and most machines have Git
    from groundup.environments.sources import present_source

    return present_source(source(), LayerStore(layers)) is None


@cache
def categories() -> Mapping[str, str]:
    """Return the category of each task, of the nine that the publishers name; the assignment is ours."""
    return _named_by_group("categories.toml")


@cache
def difficulties() -> Mapping[str, str]:
    """Return the published difficulty of each task: `easy`, `medium` or `hard`."""
    return _named_by_group("difficulty.toml")


def slug(category: str) -> str:
    """Return a category's name as `--tasks` takes it."""
    return "-".join(re.findall(r"[a-z]+", category.lower()))


def shipped_groups() -> list[str]:
    """Return the names that stand for several tasks while no data has been pulled."""
    names = shipped_summaries()
    kinds = {*map(difficulties().get, names), *(slug(categories().get(name, "")) for name in names)}
    return sorted({"full", "lite", *filter(None, kinds)})


def _named_by_group(file: str) -> Mapping[str, str]:
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    return {task: group for group, tasks in tomllib.loads(text).items() for task in tasks}


def _here(summary: RecipeHead | None, cache_dir: Path | None) -> str:
    """Return whether this machine can grade a task, or what it lacks."""
    if summary is None or not summary.is_frozen:
        return "no recipe"
    fetched = None if cache_dir is None else cache_dir / FETCHED
    if not python_at_hand(summary.python, fetched):
        return f"no Python {summary.python}"
    return next((f"no {program}" for program in summary.programs if shutil.which(program) is None), YES)


def shipped_rows(cache_dir: Path) -> tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]:
    """Return the suite's version, and the table's columns and rows as they are while no data has been pulled."""
    rows = [
        row(
            name,
            summary,
            summary.declared.get(DEFAULT_DATA_VERSION),
            difficulties().get(name),
            cache_dir,
            has_specification=False,
        )
        for name, summary in shipped_summaries().items()
    ]
    return VERSION, COLUMNS, rows


_RECIPES = Path(__file__).parent / "recipes"  # importlib.resources is heavy


def shipped_summaries() -> Mapping[str, RecipeHead]:
    names = sorted(path.name.removesuffix(SUFFIX) for path in _RECIPES.glob(f"*{SUFFIX}"))
    return {name: shipped_summary(name) for name in names}


@cache
def shipped_summary(task: str) -> RecipeHead:
    return summarized((_RECIPES / f"{task}{SUFFIX}").read_text(encoding="utf-8"))


def summarized(text: str) -> RecipeHead:
    """Return the summary of a recipe in the form in which recipes are written: one test per line."""
    head, _, tail = text.partition("\n[expected]\n")
    source, environment, declared, frozen = (
        dict(_VALUES.findall(head.partition(f"\n[{name}]\n")[2].partition("\n[")[0]))
        for name in ("source", "environment", "declared", "frozen")
    )
    programs = _PROGRAMS.search(head)
    return RecipeHead(
        label=label(*(json.loads(source.get(key, "null")) for key in ("name", "version", "commit"))),
        python=json.loads(environment["python"]),
        expected=tail.partition("\n[")[0].count('\n    "'),
        declared={version: int(count) for version, count in declared.items()},
        lines=int(frozen["original_lines"]) if frozen else None,
        programs=tuple(json.loads(programs[1])) if programs else (),
        by_git_only=json.loads(source.get("by_git_only", "false")) and "\n[source.released]\n" not in head,
    )


def label(name: str, version: str, commit: str | None = None) -> str:
    """Return what to call an original in a table."""
    return f"{name} {version}" + (f" ({commit[:10]})" if commit else "")
