"""The templates of pages, and what they can do with values."""

from collections.abc import Sequence
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from groundup.domain.names import printable
from groundup.reports import pages
from groundup.reports.document import TaskPair
from groundup.reports.lost import shares_lost, stage_name
from groundup.reports.numbers import share, words
from groundup.reports.why import demanded, kinds_words, place_lines
from groundup.runs import evidence


def templates(*, still: bool) -> Environment:
    """Return the templates; with *still*, of pages that are files."""
    made = pages.templates("groundup.viewer")
    made.filters.update(
        share=share,
        plain=evidence.plain,
        coded=_coded,
        farthest=_farthest,
        words=words,
        part=_part,
        size=_size_words,
        demanded=demanded,
        places=place_lines,
    )
    made.globals.update(shares_lost=shares_lost, stage_name=stage_name, kinds_words=kinds_words, still=still)
    return made


def _farthest(pairs: Sequence[TaskPair]) -> list[TaskPair]:
    """Return pairs of scores, those that are farthest apart first."""
    return sorted(pairs, key=lambda pair: (-abs(pair.difference), pair.task))


def _coded(text: str) -> Markup:
    """Show what stands between backticks as code."""
    parts = enumerate(printable(text).split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in parts
    )


def _size_words(size: int) -> str:
    """Return a number of bytes as people read it."""
    for unit, bytes_of in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= bytes_of:
            return f"{size / bytes_of:.1f} {unit}"
    return f"{size} B"


def _part(text: str) -> str:
    """Quote a name as one part of a path."""
    return quote(text, safe="")
