"""`groundup recipe fingerprint`, and what commands share that write files beside recipes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json

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
    from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX, fingerprint_text, made_fingerprint

    target = free_for_us(folder / f"{recipe.task}{FINGERPRINT_SUFFIX}")
    async with opened_context(settings) as context:
        made = await made_fingerprint(recipe, context)
    written(target, fingerprint_text(made))
    say(f"groundup: {recipe.task}: {len(made.all_prints)} prints of {len(made.files)} files in {target}")
    return target


def free_for_us(target: Path) -> Path:
    """Return *target*, before what takes minutes. Raises `UsageError` where somebody else's file lies there."""
    from groundup.store.ownership import refuse_others

    refuse_others(target)
    return target


def free_for_recipe(target: Path, task: str, draft: Path | None) -> None:
    """Raise `UsageError` where somebody else's file is in the way of the recipe *target* made from *draft*."""
    from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX

    if not _is_same(target, draft):
        free_for_us(target)
    free_for_us(target.with_name(f"{task}{FINGERPRINT_SUFFIX}"))


def _is_same(target: Path, draft: Path | None) -> bool:
    """Whether the *draft*, which somebody edited to go on with, is the file to write."""
    return draft is not None and draft.resolve() == target.resolve()


def written(target: Path, text: str, draft: Path | None = None) -> None:
    """Write the file *target*, making its folder; it may be the *draft* that *text* was made from.

    Raises `InfrastructureError`, and `UsageError` where somebody else's file lies there.
    """
    from groundup.store.ownership import digest_of_file, note_made, write_made
    from groundup.trees.writer import disk_errors

    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    if _is_same(target, draft) and target.is_file():
        note_made(target, digest_of_file(target))
    write_made(target, text.encode())


def require_writable(folder: Path) -> None:
    """Make *folder* and try it, before what takes minutes. Raises `InfrastructureError`."""
    import tempfile

    from groundup.trees.writer import disk_errors

    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def named_recipe(name: str) -> "Recipe":
    """Return the shipped recipe of a task, or the one in a file. Raises `UsageError`."""
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.suites.nl2repobench.recipe import read_recipe, shipped_recipes

    if name.endswith(".toml"):
        return read_recipe(Path(name))
    shipped = shipped_recipes()
    if name not in shipped:
        raise UsageError(unknown("recipe", name, shipped))
    return shipped[name]
