"""A task's original as a submission, and the names under which registries hand it out."""

import asyncio
import secrets
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from groundup.grading.bench import Bench
from groundup.suites.nl2repobench.official_environment import own_names
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.copy import copy_tree


async def original_tree(recipe: Recipe, bench: Bench) -> Path:
    """Return the original of *recipe* to read: its layer, or a copy in the scratch folder with generated files."""
    if not recipe.source.generated:
        return (await bench.builder.source(recipe.source_request())).path
    copy = bench.scratch / f"original-{secrets.token_hex(4)}"
    await write_original(recipe, copy, bench)
    return copy


async def write_original(recipe: Recipe, destination: Path, bench: Bench) -> None:
    """Write the original of *recipe* into the empty folder *destination*. Raises as the environment builder."""
    source = await bench.builder.source(recipe.source_request())
    await asyncio.to_thread(copy_tree, source.path, destination)
    for name, text in recipe.source.generated.items():
        place = destination / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


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
