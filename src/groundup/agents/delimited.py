"""What stands between an opening and its closing in a reply, in time that grows with the reply alone."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Enclosed(NamedTuple):
    """An opening, the text after it, and where its closing ends."""

    opening: re.Match[str]
    inside: str
    ends: int


def enclosed(
    text: str, opens: re.Pattern[str], closes: Callable[[re.Match[str]], str], flags: re.RegexFlag
) -> Iterator[Enclosed]:
    """Yield what each opening encloses up to the next match of what *closes* it, a pattern, in order.

    A model that repeats itself opens thousands of tags and closes none. A single pattern with `.*?` looks for
    each of their ends down to the end of the reply (20 s for 100,000 characters); here one look is enough.
    """
    at = 0
    without_end = set()
    while (opening := opens.search(text, at)) is not None:
        at = opening.end()
        closing = closes(opening)
        if closing in without_end:
            continue
        if (end := re.compile(closing, flags).search(text, at)) is None:
            without_end.add(closing)
            continue
        yield Enclosed(opening, text[at : end.start()], end.end())
        at = end.end()
