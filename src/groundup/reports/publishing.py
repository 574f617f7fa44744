"""What is said of lost tests on pages made for others: names and places, and nothing of a test's text. Pure.

A message holds what a hidden test compares, passes in or says. Kinds, exceptions and lines of the submission stay.
"""

import re

from groundup.domain.verdicts import TRIED, Reason, Stage
from groundup.reports.causes import Cause
from groundup.reports.document import AttemptRow

_EXCEPTION = re.compile(
    r"(?:not collected: )?(?P<name>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt))\b"
)
_NAMES = re.compile(
    r"(?:not collected: )?(?:"
    r"ModuleNotFoundError: No module named '[\w.]+'$"
    r"|ImportError: cannot import name '\w+' from (?:partially initialized module )?'[\w.]+'"
    r"|AttributeError: (?:module '[\w.]+'|type object '[\w.]+'|'[\w.]+' object) has no attribute '\w+'$)"
)
"""Messages that hold names of the interface alone."""
_FIRST = re.compile(r"(?P<lost>\d+ of \d+ \w+ tests did not pass)[,;] .*", re.DOTALL)
_SERVICE = "the service: "
_PARAMETERS = re.compile(r"\[.*", re.DOTALL)


def without_parameters(test: str) -> str:
    """Return the name of a test without its parameters, which are values of its text."""
    return _PARAMETERS.sub("[...]", test)


def cause_for_others(cause: Cause) -> Cause:
    """Return *cause* with its exception in place of the message; of names that are lacking, and no result, all.

    What a line would have to be for the test to pass may hold a value that the test expects.
    """
    said = cause.said
    if not _NAMES.match(said) and not said.startswith("no result"):
        found = _EXCEPTION.match(said.partition("; the test: ")[0].removeprefix(_SERVICE))
        said = found["name"] if found else cause.kind or "failed"
    probably = "\n".join(TRIED.split(place)[0] for place in cause.probably.splitlines())
    return cause.but(said=said, first=without_parameters(cause.first), probably=probably)


def reason_for_others(reason: Reason) -> Reason:
    """Return *reason* without the first lost test and what it said."""
    if reason.stage not in (Stage.TEST, Stage.COLLECTION):
        return reason
    return reason.but(message=_FIRST.sub(r"\g<lost>", reason.message))


def row_for_others(row: AttemptRow) -> AttemptRow:
    """Return *row* without what its lost tests said."""
    reasons = tuple(map(reason_for_others, row.reasons))
    if row.losses is None:
        return row.but(reasons=reasons)
    losses = row.losses.but(
        causes=tuple(map(cause_for_others, row.losses.causes)),
        reasons=tuple(map(reason_for_others, row.losses.reasons)),
    )
    return row.but(reasons=reasons, losses=losses)
