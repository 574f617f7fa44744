"""What ships beside a recipe about its original: its fingerprint, by which copies are known."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.grading.context import GradingContext
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe, shipped_beside
from groundup.trees.writer import in_thread

if TYPE_CHECKING:
    from groundup.trees.fingerprints import Fingerprint

FINGERPRINT_SUFFIX = ".prints.json"
_OTHERS = frozenset({"_vendor", "_vendored", "vendor", "vendored", "third_party", "extern"})
"""Folders with copies of others' libraries, which may be had under their own names."""


def fingerprint_of(recipe: Recipe, original: Path) -> "Fingerprint":
    """Return the fingerprint of the tree *original*: its own source files, without what it vendors and tests."""
    from groundup.grading.library.hidden import source_files  # to make one only
    from groundup.trees.fingerprints import Fingerprint

    sources = {str(path.relative_to(original)): path for path in source_files(original, recipe.tests)}
    own = {name: path for name, path in sources.items() if _OTHERS.isdisjoint(Path(name).parts)}
    return Fingerprint.of(recipe.task, {name: path.read_bytes() for name, path in own.items()})


async def made_fingerprint(recipe: Recipe, context: GradingContext) -> "Fingerprint":
    """Fetch the original of *recipe* and return its fingerprint. Raises as the environment builder does."""
    return await in_thread(fingerprint_of, recipe, await original_tree(recipe, context))


def fingerprint_text(fingerprint: "Fingerprint") -> str:
    return fingerprint.model_dump_json(indent=1) + "\n"


@cache
def shipped_fingerprint(task: str) -> "Fingerprint | None":
    """Return the fingerprint that lies beside the recipe of *task*; None: there is none. Raises `TaskError`."""
    from groundup.trees.fingerprints import Fingerprint

    remedy = f"make it again with `groundup recipe fingerprint {task}`"
    return shipped_beside(Fingerprint, task, FINGERPRINT_SUFFIX, what="fingerprint", remedy=remedy)
