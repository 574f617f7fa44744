"""Where the original of a library in a set's list is, and by what id its task goes."""

import shutil
from pathlib import Path

from groundup.environments.checkouts import RepositoryOrigin
from groundup.settings import Settings
from groundup.suites.nl2repobench.own_suite import BUNDLE
from groundup.suites.nl2repobench.recipe import Recipe, RecipeSource, RepositorySource
from groundup_factory.instances.repositories import check_out_listed
from groundup_factory.recipes.candidates import open_index, parse_source
from groundup_factory.recipes.drafting import UnpublishedLibrary
from groundup_factory.recipes.history import GitHistory
from groundup_factory.recipes.originals import newest_release
from groundup_factory.set_entries import SetWish, identity


async def original_of(
    wish: SetWish, work: Path, settings: Settings
) -> tuple[UnpublishedLibrary, RepositoryOrigin | None]:
    """Return where the original of an entry is; that of a folder is put into a bundle."""
    if wish.kind == "package":
        return UnpublishedLibrary(wish.name, f"sdist:{wish.what}"), None
    if wish.kind == "git":
        origin = await check_out_listed(wish.what, wish.commit, work / "tree", work, settings.git_mirror)
        return UnpublishedLibrary(wish.name, f"git:{wish.what}@{origin.commit}"), origin
    ours = GitHistory(work / "snapshot.git")
    await ours.create()
    bundle = work / f"{wish.name}{BUNDLE}"
    commit = await ours.snapshot(Path(wish.what), bundle)
    named = work / f"{identity(None, wish.name, commit[:12])}{BUNDLE}"
    shutil.move(bundle, named)
    return UnpublishedLibrary(wish.name, f"git:{named}@{commit}", kept=named.name), None


async def identity_of(library: UnpublishedLibrary, origin: RepositoryOrigin | None, settings: Settings) -> str:
    """Return the id that the task of *library* would get."""
    kind, what, version = parse_source(library.source)
    if kind == "git":
        assert version is not None
        return identity(origin.full_name if origin is not None else None, library.task, version[:12])
    async with open_index(settings) as registry:
        return identity(None, library.task, version or await newest_release(what, registry))


def identified(recipe: Recipe, origin: RepositoryOrigin | None) -> Recipe:
    """Return *recipe* by the id of the very original that it is of."""
    source = recipe.source
    is_release = isinstance(source, RepositorySource) and origin is None
    if isinstance(source, RecipeSource) or is_release:
        return recipe.but(task=identity(None, recipe.task, source.version))
    full_name = origin.full_name if origin is not None else None
    return recipe.but(task=identity(full_name, recipe.task, source.commit[:12]))
