"""The corpus itself: enough cheats, each different, each a submission that can be read."""

from collections import Counter

from tests.cheats.ci import CI
from tests.cheats.exceptions import EXCEPTIONS
from tests.cheats.java import JAVA
from tests.cheats.libraries import LIBRARIES
from tests.cheats.services import SERVICES
from tests.cheats.wares import BASE, BROKEN, IDS, LIBRARY

NAMES = [
    *(one.name for one in LIBRARIES),
    *(one.name for one in (*SERVICES, *CI, *JAVA) if one.family != "honest"),
]
FAMILIES = ({one.family for one in LIBRARIES} | {one.family for one in (*SERVICES, *CI, *JAVA)}) - {"honest"}


def test_there_are_many_cheats_of_many_families() -> None:
    """At least 60 submissions in at least 15 families, and no name stands for two."""
    assert len(NAMES) >= 60
    assert len(FAMILIES) >= 15
    assert not [name for name, count in Counter(NAMES).items() if count > 1]


def test_every_library_is_python_and_differs_from_an_honest_one() -> None:
    """A cheat that does not compile, or does nothing, would prove nothing."""
    for cheat in LIBRARIES:
        files = cheat.make(BASE)
        assert files != BASE.broken, cheat.name
        compile(files[BASE.init], BASE.init, "exec")
        assert cheat.tries[0].islower(), f"{cheat.name}: a sentence without its subject"


def test_the_library_that_cheats_start_from_is_half_broken() -> None:
    """There is something to gain, and something that passes honestly."""
    assert BROKEN != LIBRARY
    assert len(set(IDS)) == 27


def test_exceptions_name_cheats() -> None:
    """An exception for a cheat that is gone would hide the next one of that name."""
    assert not set(EXCEPTIONS) - set(NAMES)
