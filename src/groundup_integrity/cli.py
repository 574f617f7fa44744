"""`groundup recipe freshen`: hidden tests with other inputs, made from a recipe's original."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json
from groundup.cli.recipe_files import free_for_us, named_recipe, written

if TYPE_CHECKING:
    from groundup.settings import Settings
    from groundup.suites.nl2repobench.recipe import Recipe

EXAMPLES: dict[str, Examples] = {
    "recipe freshen": (
        ("Other inputs for the tests, on this machine alone", "groundup recipe freshen jsonlines sqlparse"),
        ("The same that somebody else made", "groundup recipe freshen jsonlines --seed 7 -o fresh"),
    ),
}


def freshen(
    recipes: Annotated[list[str], typer.Argument(metavar="RECIPE...", help="Tasks with recipes, or files.")],
    seed: Annotated[str | None, typer.Option(help="Of what is drawn (default: a secret one).")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--to", "-o", help="The folder for the files (default: where strict grading looks)."),
    ] = None,
    json: Json = False,
) -> int:
    """Give hidden tests fresh inputs, with the values that the original returns for them.

    Strict grading then says how many tests a submission passes with inputs that the public suite does not have.
    Those made here come before those that groundup brings.
    """
    import asyncio
    import secrets

    from groundup.cli.console import print_document, say
    from groundup.domain.errors import GroundupError
    from groundup.settings import load

    settings = load()
    folder = output or settings.cache_dir / "fresh"
    failed, files = 0, []
    for name in recipes:
        try:
            made = _write_fresh(named_recipe(name), folder, settings, seed or secrets.token_hex(8))
            files.append(str(asyncio.run(made)))
        except GroundupError as error:
            if len(recipes) == 1:
                raise
            say(f"groundup: {name}: {error}")
            failed = 2
    if json:
        print_document({"files": files})
    return failed


async def _write_fresh(recipe: "Recipe", folder: Path, settings: "Settings", seed: str) -> Path:
    from groundup.cli.console import say
    from groundup.domain.names import count
    from groundup.episodes.backends import opened_context
    from groundup_integrity.freshening import SUFFIX, fresh_text, made_fresh

    target = free_for_us(folder / f"{recipe.task}{SUFFIX}")
    async with opened_context(settings) as context:
        made = await made_fresh(recipe, context, seed)
    written(target, fresh_text(made))
    functions, tests = len(made.functions()), len(made.tests)
    made_of = f"{count(functions, 'test function')} ({count(tests, 'test')})"
    say(f"groundup: {recipe.task}: {made_of} with fresh inputs in {target}")
    return target
