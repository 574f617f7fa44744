"""The templates of pages, and what they can do with values."""

from collections.abc import Sequence
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from groundup.domain.figures import money, size
from groundup.domain.names import printable
from groundup.domain.verdicts import share
from groundup.reports import pages
from groundup.reports.document import TaskPair
from groundup.reports.lost import shares_lost, stage_name
from groundup.reports.numbers import standing_words, words
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
        demanded=demanded,
        places=place_lines,
        standing=standing_words,
        money=money,
        size=size,
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


def _part(text: str) -> str:
    """Quote a name as one part of a path."""
    return quote(text, safe="")
