"""What this package adds to groundup's tables (`groundup/extensions.py`)."""

from typing import TYPE_CHECKING

from groundup.catalog import Lazy

if TYPE_CHECKING:
    from groundup.grading.guesses import Guesser


def _origins() -> "Guesser":
    from groundup_origins.guessing import Origins

    return Origins()


GUESSERS: "dict[str, Lazy[Guesser]]" = {"origins": _origins}
