"""What this package adds to groundup's tables (`groundup/extensions.py`)."""

from typing import TYPE_CHECKING

from groundup.catalog import Lazy

if TYPE_CHECKING:
    from groundup.grading.library.belief import Checker
    from groundup.suites.nl2repobench.fresh import FreshMaker


def _false_forms() -> "Checker":
    from groundup_integrity.check import ByFalseForms

    return ByFalseForms()


def _recipes() -> "FreshMaker":
    from groundup_integrity.freshening import fresh_of_recipes

    return fresh_of_recipes


CHECKERS: "dict[str, Lazy[Checker]]" = {"false forms": _false_forms}
FRESH_MAKERS: "dict[str, Lazy[FreshMaker]]" = {"recipes": _recipes}
