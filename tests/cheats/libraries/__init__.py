"""Dishonest libraries, a module for each group of families."""

from tests.cheats.corpus import Cheat
from tests.cheats.libraries import (
    discerning,
    foreseeing,
    informed,
    inventing,
    kindred,
    leaving,
    lenient,
    patching,
    pretending,
    selecting,
    smuggling,
    stealing,
    wagering,
)

LIBRARIES: tuple[Cheat, ...] = tuple(
    cheat
    for module in (
        *(leaving, smuggling, patching, selecting, informed),
        *(pretending, stealing, wagering, foreseeing, discerning),
        *(inventing, kindred, lenient),
    )
    for cheat in module.CHEATS
)
