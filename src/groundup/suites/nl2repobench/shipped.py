"""What ships beside a recipe about its original: its fingerprint, by which copies are known."""

from functools import cache
from typing import TYPE_CHECKING

from groundup.suites.nl2repobench.recipe import shipped_beside

if TYPE_CHECKING:
    from groundup.trees.fingerprints import Fingerprint

FINGERPRINT_SUFFIX = ".prints.json"


@cache
def shipped_fingerprint(task: str) -> "Fingerprint | None":
    """Return the fingerprint that lies beside the recipe of *task*; None: there is none. Raises `TaskError`."""
    from groundup.trees.fingerprints import Fingerprint

    remedy = f"make it again with `groundup recipe fingerprint {task}`"
    return shipped_beside(Fingerprint, task, FINGERPRINT_SUFFIX, what="fingerprint", remedy=remedy)
