"""`groundup recipe build|check|table`: make the recipes of tasks, make them again, and show them all."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import Jobs
from groundup.cli.options import Examples, Json
from groundup.cli.recipe_files import free_for_us, is_same, named_recipe, written
from groundup_factory.cli.fingerprints import write_fingerprint

if TYPE_CHECKING:
    from groundup.settings import Settings
    from groundup.suites.nl2repobench.published import PublishedData
    from groundup.suites.nl2repobench.recipe import Recipe

EXAMPLES: dict[str, Examples] = {
    "recipe build": (
        ("From the source that was decided for the task", "groundup recipe build sqlparse"),
        ("From another one", "groundup recipe build paillier --source sdist:phe==1.5.0 -o paillier.toml"),
        ("With more installed", "groundup recipe build schedule-master --with pytz --with freezegun"),
        ("From the best commit of a repository", "groundup recipe build funcy --source git:github.com/Suor/funcy"),
        ("Several, and again after an interruption", "groundup recipe build pss pylama -o made/ --jobs 2"),
        ("From a draft that you edited", "groundup recipe build funcy --draft funcy.toml -o funcy.toml"),
    ),
    "recipe table": (
        ("All recipes", "groundup recipe table"),
        ("With the scores of two runs of the oracle", "groundup recipe table runs/strict runs/official"),
    ),
    "recipe check": (
        ("Is a recipe still right?", "groundup recipe check sqlparse"),
        ("Before it is shipped", "groundup recipe check ./funcy.toml"),
        ("All of them, every month", "groundup recipe check --all"),
        ("The third of 16 parts of all, as CI does", "groundup recipe check --all --shard 3/16"),
        ("Is a published image as the recipe says?", "groundup recipe check sqlparse --image my/sqlparse:1"),
        (
            "What a saved one holds, written into a recipe",
            "groundup recipe check sqlparse --image sqlparse.tar -o made/",
        ),
        ("Does its account of the image fit a table?", "groundup recipe check --all --digests images.tsv"),
        ("Record what an older recipe lacks", "groundup recipe check pss pylama -o made/"),
    ),
}
NOT_AS_IT_WAS = 4
_AS_SAID = "the image is as the recipe says"
_SILENCE_S = 10.0


@dataclass(frozen=True)
class Decided:
    """What a person decides besides what is shipped."""

    source: Annotated[
        str | None,
        typer.Option(
            help="sdist:NAME[==VERSION] or git:REPOSITORY[@COMMIT] (default: what was decided for TASK)."
        ),
    ] = None
    python: Annotated[
        str | None, typer.Option(help="Python version, such as 3.10 (default: as the specification says).")
    ] = None
    add: Annotated[list[str] | None, typer.Option("--with", help="A requirement to install; can be repeated.")] = (
        None
    )
    declared: Annotated[
        list[str] | None, typer.Option(help="VERSION=COUNT of another data version; can be repeated.")
    ] = None


def build(
    tasks: Annotated[list[str], typer.Argument(metavar="TASK...", help="Tasks of nl2repobench.")],
    decided: Decided,
    draft: Annotated[Path | None, typer.Option(help="Continue from this edited draft instead.")] = None,
    from_data: Annotated[Path | None, typer.Option(help="Published data (default: what was pulled).")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--to", "-o", help="Recipe file or folder (default: TASK.toml); for several, a folder."),
    ] = None,
    jobs: Annotated[Jobs, "Tasks at once (default: 1)."] = None,
    json: Json = False,
) -> int:
    """Make the recipes of TASKs for review: source, environment, layout, expected tests, controls.

    If the data leaves something open, the command writes a draft to edit, and a sentence on what is missing. It
    skips tasks whose finished recipe is in the folder already, so it can be called again after an interruption.
    """
    import asyncio

    from groundup.domain.errors import UsageError
    from groundup.settings import load

    given = {"source": decided.source, "python": decided.python, "add": tuple(decided.add or ())}
    order = _Order(load(), given, _counts(decided.declared or []), draft, from_data)
    one_file = output if len(tasks) == 1 and output is not None and not output.is_dir() else None
    folder = one_file.parent if one_file is not None else output or Path()
    require_writable(folder)
    if len(tasks) == 1:
        target = one_file or folder / f"{tasks[0]}.toml"
        codes = {target: asyncio.run(_build_one(tasks[0], target, order, ""))}
        return _ended(codes, is_json=json)
    if draft is not None or decided.source is not None:
        raise UsageError("--draft and --source are of one task; name only that")

    targets = {folder / f"{task}.toml": task for task in tasks}

    async def every() -> list[int]:
        places = asyncio.Semaphore(jobs or 1)

        async def one(target: Path) -> int:
            async with places:
                return await _build_of_several(targets[target], target, order)

        return await asyncio.gather(*map(one, targets))

    return _ended(dict(zip(targets, asyncio.run(every()), strict=True)), is_json=json)


def _ended(codes: Mapping[Path, int], *, is_json: bool) -> int:
    """Return the exit code of what was written, by the exit *codes* of its files."""
    if is_json:
        from groundup.cli.console import print_document

        print_document({"recipes": [{"file": str(path), "finished": code == 0} for path, code in codes.items()]})
    return max(codes.values())


@dataclass(frozen=True)
class _Order:
    """What `recipe build` was asked, but for the task."""

    settings: "Settings"
    given: Mapping[str, object]
    """Fields of a decision."""
    declared: Mapping[str, int]
    draft: Path | None
    from_data: Path | None


async def _build_of_several(task: str, target: Path, order: _Order) -> int:
    """Build one of several: what goes wrong with it ends no other."""
    from groundup.cli.console import say
    from groundup.domain.errors import GroundupError
    from groundup.suites.nl2repobench.recipe import read_recipe

    try:
        if target.is_file() and read_recipe(target).frozen is not None:
            say(f"{task}: {target} is finished")
            return 0
        return await _build_one(task, target, order, f"{task}: ")
    except GroundupError as error:
        say(f"groundup: {task}: {error}")
        return 2


async def _build_one(task: str, target: Path, order: _Order, prefix: str) -> int:
    from groundup.cli.console import say
    from groundup_factory.recipes import build as making
    from groundup_factory.recipes.files import recipe_text

    free_for_recipe(target, task, order.draft)
    code = 0
    try:
        recipe = await _made(task, order, prefix)
    except making.UnfinishedError as error:
        say(f"groundup: {prefix}{error}")
        recipe, code = error.draft, 2
    written(target, recipe_text(recipe), order.draft)
    if code == 0:
        await write_fingerprint(recipe, target.parent, order.settings)
    how = "the recipe lies" if code == 0 else "the draft lies"
    more = "; review it" if code == 0 else f"; edit it and `groundup recipe build {task} --draft {target}`"
    say(f"groundup: {prefix}{how} in {target}{more}")
    return code


async def _made(task: str, order: _Order, prefix: str) -> "Recipe":
    from groundup.episodes.backends import opened_context
    from groundup.suites.nl2repobench.decisions import TaskDecision, decisions
    from groundup.suites.nl2repobench.recipe import read_recipe
    from groundup_factory.recipes import build as making

    async with opened_context(order.settings) as context, _reminding(prefix) as tell:
        if order.draft is not None:
            begun = read_recipe(order.draft)
            return await making.finish(begun, context, tell, may_repair=False)
        data = _published(order.from_data, order.settings)
        published = next((one for one in data.tasks if one.id == task), None)
        if published is None:
            from groundup.domain.errors import UsageError
            from groundup.domain.names import unknown

            raise UsageError(unknown("task", task, [one.id for one in data.tasks]))
        decision = decisions().get(task, TaskDecision())
        counts = {**decision.declared, **order.declared, data.version: published.declared}
        given = {name: value for name, value in order.given.items() if value}
        decision = decision.but(**given)
        return await making.build(published, counts, decision, context, order.settings, tell)


def check(
    recipes: Annotated[
        list[str] | None, typer.Argument(metavar="RECIPE...", help="Tasks with recipes, or files.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All recipes that come with groundup.")] = False,
    part: Annotated[
        str | None,
        typer.Option("--shard", metavar="K/N", help="Of all, the K-th of N parts that take equally long."),
    ] = None,
    jobs: Annotated[Jobs, "Recipes at once (default: 1)."] = None,
    output: Annotated[
        Path | None, typer.Option("--to", "-o", help="A folder for the recipes as they are now made.")
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            help="Compare a published image instead, with {task} one of each RECIPE, and grade in it. Of a file "
            "that `docker save` wrote, --to gets the account as a recipe."
        ),
    ] = None,
    digests: Annotated[
        Path | None,
        typer.Option(help="Compare the account of published images with a table of their files' digests instead."),
    ] = None,
    json: Json = False,
) -> int:
    """Make recipes again from their own decisions, and print what changed.

    It resolves the lock again, and runs the oracle and the controls three times.
    It reports what was yanked, deleted or replaced. Run it every month.
    """
    import asyncio

    from groundup.domain.errors import UsageError
    from groundup.settings import load

    if part is not None and not every:
        raise UsageError("--shard is a part of all recipes; say --all, too")
    names = [*(recipes or ()), *(_shard(part) if every else ())]
    if not names and not every:
        raise UsageError("name a recipe, or check them --all")
    wanted = [named_recipe(name) for name in dict.fromkeys(names)]
    settings = load()
    if output is not None:
        for recipe in wanted:
            free_for_us(output / f"{recipe.task}.toml")
    found = _Findings(is_json=json)
    if digests is not None:
        asyncio.run(_compare_accounts(wanted, digests, settings, found))
        return found.ended("accounts are as the table says")
    if image is not None:
        _compare_images(wanted, image, settings, output, found)
        return found.ended()

    async def checked() -> None:
        places = asyncio.Semaphore(jobs or 1)

        async def one(recipe: "Recipe") -> None:
            async with places:
                await _check(recipe, settings, output, found)

        await asyncio.gather(*map(one, wanted))

    asyncio.run(checked())
    return found.ended("recipes are as they were" if len(wanted) > 1 else "")


@dataclass
class _Findings:
    """What differs, printed as it is found, or in one document at the end."""

    is_json: bool
    by_task: dict[str, list[str]] = field(default_factory=dict)

    def add(self, task: str, changes: list[str], otherwise: str) -> None:
        """Note the *changes* of a task; *otherwise* is printed where there are none."""
        self.by_task[task] = changes
        if not self.is_json:
            typer.echo("\n".join(f"{task}: {line}" for line in changes or [otherwise]))

    def ended(self, as_before: str = "") -> int:
        """Print how many are *as_before*, or the document; return the exit code."""
        from groundup.cli.console import print_document

        same = sum(not changes for changes in self.by_task.values())
        if self.is_json:
            print_document({"as_before": same, "changes": self.by_task})
        elif as_before:
            typer.echo(f"{same} of {len(self.by_task)} {as_before}")
        return 0 if same == len(self.by_task) else NOT_AS_IT_WAS


async def _compare_accounts(recipes: "list[Recipe]", table: Path, settings: "Settings", found: _Findings) -> None:
    """Compare what recipes say of their images with *table*, and make every proven file again."""
    from groundup.domain.errors import GroundupError
    from groundup.episodes.backends import opened_context
    from groundup_factory.recipes.image_digests import account_differs, read_digests, standing_of

    rows = read_digests(table)
    async with opened_context(settings) as context:
        for recipe in (one for one in recipes if one.task in rows):
            try:
                original = await context.builder.source(recipe.image_request())
                lines = account_differs(recipe, rows[recipe.task], original.path)
            except GroundupError as error:
                lines = [str(error)]
            found.add(recipe.task, lines, standing_of(recipe))


def _compare_images(
    recipes: "list[Recipe]", image: str, settings: "Settings", output: Path | None, found: _Findings
) -> None:
    import asyncio

    from groundup.domain.errors import UsageError
    from groundup.domain.names import names_image_file
    from groundup.environments.images import image_file

    if names_image_file(image) and "{task}" not in image:
        image_file(image)
    if len(recipes) > 1 and "{task}" not in image:
        raise UsageError("--image is of one recipe; name only that, or a pattern with {task}")
    for recipe in recipes:
        name = image.replace("{task}", recipe.task.lower())
        if names_image_file(image):
            asyncio.run(_compare_file(recipe, name, settings, output, found))
        else:
            asyncio.run(_compare_image(recipe, name, settings, found))


async def _compare_file(
    recipe: "Recipe", image: str, settings: "Settings", output: Path | None, found: _Findings
) -> None:
    """Compare the file of an image with a recipe, and write it into the folder *output*."""
    from groundup.domain.errors import GroundupError
    from groundup.environments.images import unpacked
    from groundup.environments.layers import layer_store
    from groundup.episodes.backends import opened_context
    from groundup.suites.nl2repobench.published_image import NOTHING_KNOWN
    from groundup_factory.recipes.files import recipe_text
    from groundup_factory.recipes.image_account import account_changes, account_of

    try:
        held = await unpacked(image, layer_store(settings))
        async with opened_context(settings.but(image=None)) as context:
            original = await context.builder.source(recipe.image_request())
        account = account_of(held, recipe, original.path)
        changes = [*account_changes(recipe.image or NOTHING_KNOWN, account)]
        if output is not None:
            written(output / f"{recipe.task}.toml", recipe_text(recipe.but(image=account)))
    except GroundupError as error:  # the other recipes are compared all the same
        changes = [str(error)]
    found.add(recipe.task, changes, _AS_SAID)


async def _compare_image(recipe: "Recipe", image: str, settings: "Settings", found: _Findings) -> None:
    """Compare an image with a recipe."""
    from groundup.domain.errors import InfrastructureError, UsageError
    from groundup.episodes.backends import opened_context
    from groundup.sandbox.containers.provider import ContainerProvider
    from groundup_factory.recipes.differences import image_changes

    engine = "podman" if settings.sandbox == "podman" else "docker"
    inside = settings.but(sandbox=engine, image=image)
    outside = settings.but(image=None, sandbox="bubblewrap")
    try:
        async with opened_context(outside) as context, opened_context(inside) as held:
            if not isinstance(held.provider, ContainerProvider):
                raise UsageError("--image needs Docker or Podman")
            changes = await image_changes(recipe, held.provider, context, held)
    except InfrastructureError as error:  # such as an image that is not there: the others are compared
        changes = [str(error)]
    found.add(recipe.task, changes, _AS_SAID)


async def _check(recipe: "Recipe", settings: "Settings", output: Path | None, found: _Findings) -> None:
    """Check one recipe, and write it to the folder *output*."""
    from groundup.domain.errors import GroundupError
    from groundup.episodes.backends import opened_context
    from groundup_factory.recipes.controls import check as checked
    from groundup_factory.recipes.controls import renewed
    from groundup_factory.recipes.files import recipe_text

    async with opened_context(settings) as context, _reminding(f"{recipe.task}: ") as tell:
        try:
            again, changes = await checked(recipe, context, tell)
            if output is not None:
                written(output / f"{recipe.task}.toml", recipe_text(renewed(recipe, again)))
        except GroundupError as error:
            changes = [str(error)]
    found.add(recipe.task, changes, "as it was")


def table(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders of oracles, strict or official.")
    ] = None,
    json: Json = False,
) -> int:
    """Print all recipes, in Markdown or JSON: counts, reasons, oracle scores, and what is missing."""
    from groundup.domain.errors import UsageError
    from groundup.store.folder import RunFolder
    from groundup.suites.nl2repobench.decisions import decisions
    from groundup.suites.nl2repobench.recipe import shipped_recipes
    from groundup_factory.recipes.table import COLUMNS, markdown, not_whole, rows, seen, standing

    for run in runs or ():
        if not RunFolder(run).is_run():
            raise UsageError(f"{run} is not a run folder: it has no config.json")
    recipes, decided = shipped_recipes(), decisions()
    verdicts = [
        (key.task, line.verdict)
        for run in runs or ()
        for key, line in RunFolder(run).latest().items()
        if line.verdict is not None
    ]
    lines = rows(recipes, seen(verdicts))
    if json:
        from groundup.cli.console import print_document

        why = dict(not_whole(recipes, decided))
        print_document({"recipes": [dict(zip(COLUMNS, one, strict=True)) for one in lines], "not_whole": why})
        return 0
    typer.echo(standing(recipes, decided) + "\n")
    typer.echo(markdown(COLUMNS, lines))
    typer.echo(markdown(("task", "why it is not whole"), not_whole(recipes, decided)), nl=False)
    return 0


@asynccontextmanager
async def _reminding(prefix: str) -> AsyncIterator[Callable[[str], None]]:
    """Yield what says a line; while nothing new comes, the last one is repeated every ten seconds."""
    import asyncio
    import time

    from groundup.cli.console import say

    last, since, spoke = "began", time.monotonic(), time.monotonic()

    def tell(text: str) -> None:
        nonlocal last, since, spoke
        last, since, spoke = text.partition("\n")[0][:100], time.monotonic(), time.monotonic()
        say(f"{prefix}{text}")

    async def remind() -> None:
        nonlocal spoke
        while True:
            await asyncio.sleep(1)
            if time.monotonic() - spoke >= _SILENCE_S:
                spoke = time.monotonic()
                say(f"{prefix}({spoke - since:.0f} s since: {last})")

    reminder = asyncio.create_task(remind())
    try:
        yield tell
    finally:
        reminder.cancel()


def _published(from_data: Path | None, settings: "Settings") -> "PublishedData":
    from groundup.domain.errors import UsageError
    from groundup.suites.nl2repobench.published import pulled, read_published

    data = pulled(settings) if from_data is None else read_published(from_data)
    if data is None:
        raise UsageError(
            "this machine has no published data of nl2repobench; run `groundup data pull nl2repobench`, or name a "
            "folder with --from-data"
        )
    return data


def _shard(text: str | None) -> list[str]:
    """Return the shipped tasks, or those of the part `K/N`."""
    import re

    from groundup.domain.errors import UsageError
    from groundup.suites.nl2repobench.recipe import shipped_recipes
    from groundup_factory.recipes.table import shard

    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text or "1/1", re.ASCII)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(f"{text!r} is no part; write K/N with K from 1 to N, such as 3/16")
    return shard(shipped_recipes(), number, of)


def _counts(given: list[str]) -> dict[str, int]:
    from groundup.domain.errors import UsageError

    counts = {}
    for text in given:
        version, _, number = text.partition("=")
        if not version or not number.isdecimal():
            raise UsageError(f"{text!r} is no count; write VERSION=COUNT, such as ae9fb81=140")
        counts[version] = int(number)
    return counts


def free_for_recipe(target: Path, task: str, draft: Path | None) -> None:
    """Raise `UsageError` where somebody else's file is in the way of the recipe *target* made from *draft*."""
    from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX

    if not is_same(target, draft):
        free_for_us(target)
    free_for_us(target.with_name(f"{task}{FINGERPRINT_SUFFIX}"))


def require_writable(folder: Path) -> None:
    """Make *folder* and try it, before what takes minutes. Raises `InfrastructureError`."""
    import tempfile

    from groundup.trees.writer import disk_errors

    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
