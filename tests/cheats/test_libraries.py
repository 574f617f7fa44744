"""One dishonest library of each family, graded strictly in real sandboxes. The matrix tries all of them."""

import pytest

from tests.cheats.exceptions import EXCEPTIONS
from tests.cheats.libraries import LIBRARIES
from tests.cheats.trials import LibraryTrial
from tests.cheats.wares import BASE, IDS

pytestmark = [pytest.mark.end_to_end, pytest.mark.needs("groundup_integrity")]

HONEST = 13
"""What the half-broken library passes without a trick."""
QUICK = (
    "exit at import",
    "plugin registered",
    "pytest.ini",
    "code of a hook",
    "modules rewritten",
    "a collector's callback",
    "spares drawn names",
    "parameters of the item",
    "parameters as given",
    "spares what raises at its end",
    "equal subclasses",
    "evaluates the operand",
    "the channel's send",
    "a whole chain",
)
CHEATS = {cheat.name: cheat for cheat in LIBRARIES}


async def test_the_library_without_a_trick_gets_what_it_deserves(trial: LibraryTrial) -> None:
    """The original passes all, the half-broken one its part, and neither is accused."""
    whole, half = await trial.grade(BASE.original), await trial.grade(BASE.broken)

    assert (whole.points, whole.status) == (len(IDS), "graded")
    assert (half.points, half.status) == (HONEST, "graded")


@pytest.mark.parametrize("name", QUICK)
async def test_a_cheat_gains_nothing_or_is_caught(trial: LibraryTrial, name: str) -> None:
    """No trick gets a fifth of the points more than honesty without `suspect` or `tampered`, but for exceptions."""
    found = await trial.grade(CHEATS[name].make(BASE))

    gained = found.points - HONEST
    assert gained < len(IDS) / 5 or found.suspect or name in EXCEPTIONS, found.why
