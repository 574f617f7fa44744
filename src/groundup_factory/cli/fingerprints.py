"""`groundup recipe fingerprint`: by which copies of originals are recognised."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json
from groundup.cli.recipe_files import free_for_us, named_recipe, written

if TYPE_CHECKING:
    from groundup.settings import Settings
    from groundup.suites.nl2repobench.recipe import Recipe

EXAMPLES: dict[str, Examples] = {
    "recipe fingerprint": (
        ("Fingerprints of two recipes", "groundup recipe fingerprint six tenacity -o fingerprints"),
    ),
}


def fingerprint(
    recipes: Annotated[list[str], typer.Argument(metavar="RECIPE...", help="Tasks with recipes, or files.")],
    output: Annotated[Path, typer.Option("--to", "-o", help="The folder for the files.")] = Path(),
    json: Json = False,
) -> int:
    """Write the fingerprints of originals, by which copies are recognised: hashes, one file for each recipe.

    Registries and sandboxes use the files beside the shipped recipes.
    """
    import asyncio

    from groundup.cli.console import print_document
    from groundup.settings import load

    made = [asyncio.run(write_fingerprint(named_recipe(name), output, load())) for name in recipes]
    if json:
        print_document({"files": list(map(str, made))})
    return 0


async def write_fingerprint(recipe: "Recipe", folder: Path, settings: "Settings") -> Path:
    """Write by which copies of *recipe*'s original are recognised, and say so. Return the file."""
    from groundup.cli.console import say
    from groundup.episodes.backends import opened_context
    from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX
    from groundup_factory.recipes.files import fingerprint_text, made_fingerprint

    target = free_for_us(folder / f"{recipe.task}{FINGERPRINT_SUFFIX}")
    async with opened_context(settings) as context:
        made = await made_fingerprint(recipe, context)
    written(target, fingerprint_text(made))
    say(f"groundup: {recipe.task}: {len(made.all_prints)} prints of {len(made.files)} files in {target}")
    return target
