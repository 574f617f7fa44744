"""The original of a task as a submission: its source, and what building it would have generated."""

import asyncio
import secrets
from pathlib import Path

from groundup.grading.bench import Bench
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
