"""Under which names the original of a task can be fetched, so that registries refuse them to whoever writes it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from groundup.suites.nl2repobench.official_environment import own_names
from groundup.suites.nl2repobench.recipe import Recipe


def withheld_names(task: str, recipe: Recipe | None) -> tuple[str, ...]:
    """Return the distributions that hand out the original of *task*, sorted: its own, forks and known copies."""
    names = {task, *_further_names().get(task, ())}
    if recipe is not None:
        names.update(own_names(recipe), recipe.tests.packages)
    return tuple(sorted(name.partition(".")[0] for name in names))


@cache
def _further_names() -> Mapping[str, tuple[str, ...]]:
    text = (files("groundup.suites.nl2repobench") / "withheld.toml").read_text(encoding="utf-8")
    return {task: tuple(names) for task, names in tomllib.loads(text)["names"].items()}
