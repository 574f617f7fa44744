"""Tasks of NL2RepoBench's kind for a set: a library with its recipe and a specification."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from groundup.episodes.backends import opened_context
from groundup.grading.context import GradingContext
from groundup.store.files import write_atomically
from groundup.store.ownership import copy_made, digest_of_entry, is_made, write_made
from groundup.suites.nl2repobench.own_suite import RECIPES, SPECIFICATIONS
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import KeptSource, Recipe, read_recipe
from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX
from groundup.suites.sets import SetTask
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import disk_errors, in_thread
from groundup_factory.filters import UNKNOWN, facts_of, licence_of, refuse
from groundup_factory.library_originals import identified, identity_of, original_of
from groundup_factory.recipes.extracted import extracted
from groundup_factory.recipes.files import fingerprint_of, fingerprint_text, recipe_text
from groundup_factory.recipes.sound import refuse_unsound
from groundup_factory.recipes.unpublished import (
    MakingRules,
    make_recipe,
)
from groundup_factory.recipes.written import MARK, Specified, checked_specification
from groundup_factory.set_entries import (
    EarlierTask,
    EntryWalk,
    MadeTask,
    SetEntry,
    SetPlace,
    SetWish,
    earlier_task,
    parse_wish,
)

REFUSED = "refused-specification.md"
"""In an entry's evidence: what a model wrote last, and the checks refused."""


class LibrarySets:
    """How a library becomes a task."""

    steps: tuple[str, ...] = ("fetched", "filtered", "proven", "audited", "specified")

    def __init__(self, rules: MakingRules, *, is_written: bool = False) -> None:
        """Take *rules*, and whether a model is to write the specifications."""
        self._rules = rules
        self._is_written = is_written

    def parse(self, text: str) -> SetWish:
        """Return what an entry names: a package, a folder or a repository. Raises `UsageError`."""
        return parse_wish(text)

    async def make(self, walk: EntryWalk, place: SetPlace) -> MadeTask:
        """Make recipe, fingerprint and specification, and put them in place; of what is there, a specification."""
        there = place.settled.get(walk.wish.text)
        if there is not None and self.is_pending(there, place.folder):
            return await self._write(there, walk, place)
        with scratch_folder("set") as work:
            library, origin = await original_of(walk.wish, work, place.settings)
            if place.earlier is not None:
                same = earlier_task(place.earlier, await identity_of(library, origin, place.settings))
                if same is not None:
                    return await asyncio.to_thread(_taken_over, same, walk, place)

            def look(root: Path, moment: str) -> None:
                walk.at("filtered")
                date = moment or (origin.commit_date if origin is not None else None)
                walk.facts = facts_of(root, date, walk.wish.stars, "python")
                refuse(walk.facts, place.filters)
                walk.at("proven")

            async with opened_context(place.settings) as context:
                recipe = await make_recipe(library, self._rules, context, place.settings, walk.say, look)
                recipe = identified(recipe, origin)
                original = await original_tree(recipe, context)
                walk.at("audited")
                await refuse_unsound(recipe, original, context)
                walk.at("specified")  # last, so that no model is paid for what makes no task
                text = await self._specified(recipe, original, context, walk, place)
                prints = await asyncio.to_thread(fingerprint_of, recipe, original)
                licence = await asyncio.to_thread(licence_of, original)
            if licence != UNKNOWN:
                walk.facts = walk.facts.but(licence=licence)
            elif recipe.source.licence:
                walk.facts = walk.facts.but(licence=recipe.source.licence)
            self._put(recipe, text, fingerprint_text(prints), work, place.folder)
        return MadeTask(recipe.task, len(recipe.expected), len(recipe.excluded))

    async def _write(self, there: SetEntry, walk: EntryWalk, place: SetPlace) -> MadeTask:
        """Let the model write the specification of a task that is there."""
        walk.facts = there.facts
        walk.at("specified")
        recipe = read_recipe(place.folder / RECIPES / f"{there.task}.toml")
        if isinstance(recipe.source, KeptSource):
            recipe = recipe.but(source=recipe.source.within(place.folder / RECIPES))
        async with opened_context(place.settings) as context:
            original = await original_tree(recipe, context)
            text = await self._specified(recipe, original, context, walk, place)
        write_made(_specification(place.folder, there.task), text)
        return MadeTask(there.task, there.tests, there.left_out)

    async def _specified(
        self, recipe: Recipe, original: Path, context: GradingContext, walk: EntryWalk, place: SetPlace
    ) -> bytes:
        """Return the specification, and keep what the checks refused of a written one."""
        canary, rounds = place.manifest.canary, self._rules.rounds
        if place.spending is None:
            found = Specified(await in_thread(extracted, recipe, original, canary))
        else:
            async with place.spending.opened(walk.wish.text) as model:
                found = await checked_specification(recipe, original, canary, model, rounds, context, walk.say)
        if found.refused is not None:
            walk.gaps = found.refused.gaps
            write_atomically(walk.evidence / REFUSED, found.refused.text.encode("utf-8", "replace"))
        return found.text.encode("utf-8", "replace")

    def _put(self, recipe: Recipe, text: bytes, prints: str, work: Path, folder: Path) -> None:
        with disk_errors(folder):
            for place in (RECIPES, SPECIFICATIONS):
                (folder / place).mkdir(exist_ok=True)
        if isinstance(recipe.source, KeptSource):
            copy_made(work / recipe.source.bundle, folder / RECIPES / recipe.source.bundle)
        write_made(_specification(folder, recipe.task), text)
        write_made(folder / RECIPES / f"{recipe.task}{FINGERPRINT_SUFFIX}", prints.encode())
        write_made(folder / RECIPES / f"{recipe.task}.toml", recipe_text(recipe).encode())

    def finished(self, one: SetEntry, folder: Path) -> None:
        """Do nothing: an entry that was interrupted begins anew, with the environments that were built."""

    def is_there(self, one: SetEntry, folder: Path) -> bool:
        """Whether there is a recipe, which is written last."""
        return (folder / RECIPES / f"{one.task}.toml").is_file()

    def is_pending(self, one: SetEntry, folder: Path) -> bool:
        """Whether a model is to write the specification, which was extracted and never edited."""
        if not self._is_written or one.standing != "accepted" or not self.is_there(one, folder):
            return False
        return is_made(_specification(folder, one.task)) and not _is_written(folder, one.task)

    def described(self, one: SetEntry, folder: Path) -> SetTask:
        """Return what the manifest says of a library."""
        recipe = read_recipe(folder / RECIPES / f"{one.task}.toml")
        places = [f"{SPECIFICATIONS}/{one.task}.md"]
        places += [f"{RECIPES}/{one.task}{suffix}" for suffix in (".toml", FINGERPRINT_SUFFIX)]
        if isinstance(recipe.source, KeptSource):
            places.append(f"{RECIPES}/{recipe.source.bundle}")
        digests = {path: digest_of_entry(folder / path) for path in places}
        return SetTask(
            id=one.task,
            entry=one.entry,
            specification="written" if _is_written(folder, one.task) else "extracted",
            source=recipe.source.label,
            licence=one.facts.licence if one.facts.licence != UNKNOWN else recipe.source.licence,
            tests=len(recipe.expected),
            left_out=len(recipe.excluded),
            files={path: digest for path, digest in digests.items() if digest is not None},
        )

    def adopt(self, one: SetEntry, part: Path, folder: Path) -> None:
        """Copy its files, the recipe last."""
        for path in sorted(self.described(one, part).files, key=lambda path: path.endswith(".toml")):
            with disk_errors(folder):
                (folder / path).parent.mkdir(exist_ok=True)
            copy_made(part / path, folder / path)

    def shared(self, folder: Path) -> Mapping[str, str]:
        """Return none: each task has its own files."""
        return {}


def _specification(folder: Path, task: str) -> Path:
    return folder / SPECIFICATIONS / f"{task}.md"


def _is_written(folder: Path, task: str) -> bool:
    text = _specification(folder, task).read_text(encoding="utf-8", errors="replace")
    return f"\nThis specification was {MARK} by " in text


def _taken_over(same: EarlierTask, walk: EntryWalk, place: SetPlace) -> MadeTask:
    """Put the files of an earlier version in place, with this one's canary."""
    walk.facts = same.entry.facts
    walk.at("specified")
    for path in sorted(same.task.files, key=lambda path: path.endswith(".toml")):
        content = (same.folder / path).read_bytes()
        (place.folder / path).parent.mkdir(exist_ok=True)
        write_made(place.folder / path, content.replace(same.canary.encode(), place.manifest.canary.encode()))
    return MadeTask(same.task.id, same.task.tests, same.task.left_out)
