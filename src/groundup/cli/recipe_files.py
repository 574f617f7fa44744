"""What commands share that write recipes and files beside them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundup.suites.nl2repobench.recipe import Recipe


def free_for_us(target: Path) -> Path:
    """Return *target*, before what takes minutes. Raises `UsageError` where somebody else's file lies there."""
    from groundup.store.ownership import refuse_others

    refuse_others(target)
    return target


def is_same(target: Path, draft: Path | None) -> bool:
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
    if is_same(target, draft) and target.is_file():
        note_made(target, digest_of_file(target))
    write_made(target, text.encode())


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
