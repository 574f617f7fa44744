"""`groundup recipe build` and `groundup recipe check`: make the recipe of a task, and make it again."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples

if TYPE_CHECKING:
    from groundup.grading.bench import Bench
    from groundup.settings import Settings
    from groundup.suites.nl2repobench.published import PublishedData
    from groundup.suites.nl2repobench.recipe import Recipe

EXAMPLES: dict[str, Examples] = {
    "recipe build": (
        ("From the source that was decided for the task", "groundup recipe build sqlparse"),
        ("From another one", "groundup recipe build paillier --source sdist:phe==1.5.0 -o paillier.toml"),
        ("With more installed", "groundup recipe build schedule-master --with pytz --with freezegun"),
        ("From the best commit of a repository", "groundup recipe build funcy --source git:github.com/Suor/funcy"),
        ("From a draft that somebody edited", "groundup recipe build funcy --draft funcy.toml -o funcy.toml"),
    ),
    "recipe check": (
        ("Is a recipe still right?", "groundup recipe check sqlparse"),
        ("Before it is shipped", "groundup recipe check ./funcy.toml"),
    ),
}
NOT_AS_IT_WAS = 4


def build(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task of nl2repobench.")],
    source: Annotated[
        str | None,
        typer.Option(
            help="sdist:NAME[==VERSION] or git:REPOSITORY[@COMMIT] (default: what was decided for TASK)."
        ),
    ] = None,
    python: Annotated[str | None, typer.Option(help="Its minor version, when the specification is wrong.")] = None,
    add: Annotated[
        list[str] | None, typer.Option("--with", help="A requirement to install; can be repeated.")
    ] = None,
    draft: Annotated[Path | None, typer.Option(help="Go on from this edited file instead.")] = None,
    from_data: Annotated[Path | None, typer.Option(help="Published data (default: what was pulled).")] = None,
    declared: Annotated[
        list[str] | None, typer.Option(help="VERSION=COUNT of another data version; can be repeated.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File (default: TASK.toml).")] = None,
) -> int:
    """Make the recipe of TASK for review: source, environment, layout, expected tests, controls.

    What cannot be decided from the data ends with a draft to edit and a sentence on what is missing.
    """
    import asyncio

    from groundup.cli.console import say
    from groundup.settings import load
    from groundup.suites.nl2repobench.maker import build as making
    from groundup.suites.nl2repobench.maker.decisions import Decision, decisions
    from groundup.suites.nl2repobench.recipe import parse_recipe, recipe_text
    from groundup.trees.writer import disk_errors

    settings = load()
    target = output or Path(f"{task}.toml")

    async def made() -> "Recipe":
        async with _bench(settings) as bench:
            if draft is not None:
                begun = parse_recipe(_read(draft), str(draft))
                return await making.finish(begun, bench, say, may_repair=False)
            data = _published(from_data, settings)
            published = next((one for one in data.tasks if one.id == task), None)
            if published is None:
                from groundup.domain.errors import UsageError
                from groundup.domain.names import unknown

                raise UsageError(unknown("task", task, [one.id for one in data.tasks]))
            decision = decisions().get(task, Decision())
            counts = {**decision.declared, **_counts(declared or []), data.version: published.declared}
            given = {"source": source, "python": python, "add": (*decision.add, *(add or ()))}
            decision = decision.model_copy(update={name: value for name, value in given.items() if value})
            return await making.build(published, counts, decision, bench, settings, say)

    code = 0
    try:
        recipe = asyncio.run(made())
    except making.UnfinishedError as error:
        say(f"groundup: {error}")
        recipe, code = error.draft, 2
    with disk_errors(target):
        target.write_text(recipe_text(recipe), encoding="utf-8")
    how = "the recipe lies" if code == 0 else "the draft lies"
    more = "; review it" if code == 0 else f"; edit it and `groundup recipe build {task} --draft {target}`"
    say(f"groundup: {how} in {target}{more}")
    return code


def check(
    recipes: Annotated[list[str], typer.Argument(metavar="RECIPE...", help="Tasks with recipes, or files.")],
) -> int:
    """Make recipes again from their own decisions, and print what is not as it was."""
    import asyncio

    from groundup.cli.console import say
    from groundup.domain.errors import TaskError
    from groundup.settings import load
    from groundup.suites.nl2repobench.maker.controls import check as checked

    settings = load()

    async def changed() -> int:
        count = 0
        for name in recipes:
            recipe = _recipe(name)
            say(f"{recipe.task}:")
            async with _bench(settings) as bench:
                try:
                    _, changes = await checked(recipe, bench, say)
                except TaskError as error:
                    changes = [str(error)]
            count += bool(changes)
            typer.echo("\n".join(f"{recipe.task}: {line}" for line in changes or ["as it was"]))
        return count

    return NOT_AS_IT_WAS if asyncio.run(changed()) else 0


@asynccontextmanager
async def _bench(settings: "Settings") -> AsyncIterator["Bench"]:
    from groundup.episodes.equipment import equipment
    from groundup.trees.removal import remove_tree

    scratch = Path(tempfile.mkdtemp(prefix="groundup-recipe-"))
    try:
        async with equipment(settings.sandbox, settings) as tools:
            yield tools.bench(scratch, None)
    finally:
        remove_tree(scratch)


def _published(from_data: Path | None, settings: "Settings") -> "PublishedData":
    from groundup.domain.errors import UsageError
    from groundup.suites.nl2repobench.published import read_published
    from groundup.suites.pulling import data_folder

    folder = from_data or data_folder("nl2repobench", settings)
    if folder is None:
        raise UsageError(
            "there is no published data; `groundup data pull nl2repobench`, or name it by --from-data"
        )
    return read_published(folder)


def _recipe(name: str) -> "Recipe":
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.suites.nl2repobench.recipe import parse_recipe, shipped_recipes

    if name.endswith(".toml"):
        return parse_recipe(_read(Path(name)), name)
    shipped = shipped_recipes()
    if name not in shipped:
        raise UsageError(unknown("recipe", name, shipped))
    return shipped[name]


def _read(path: Path) -> str:
    from groundup.domain.errors import UsageError
    from groundup.trees.walking import read_regular

    try:
        return read_regular(path).decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a recipe") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start + 1}); name a recipe") from error


def _counts(given: list[str]) -> dict[str, int]:
    from groundup.domain.errors import UsageError

    counts = {}
    for text in given:
        version, _, number = text.partition("=")
        if not version or not number.isdecimal():
            raise UsageError(f"{text!r} is no count; write VERSION=COUNT, such as ae9fb81=140")
        counts[version] = int(number)
    return counts
