"""What is wrong with tasks themselves, whoever solves them."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from groundup.domain.records import Record

FlagKind = Literal[
    "untouched", "hidden-names", "hidden-requirement", "collection", "skips", "port-clash", "no-compilation"
]
"""`untouched`: tests never use the submission. `hidden-names`: they import what nothing names.
`hidden-requirement`: they need what the README does not say. `collection`: pytest does not find them.
`skips`: skipped tests leave the denominator. `port-clash`: they want a port that is taken.
`no-compilation`: without compiling there is no denominator."""

GraderName = Literal["official", "strict"]


class Flag(Record):
    """One thing that is wrong with a task, and whose verdicts it spoils."""

    kind: FlagKind
    graders: tuple[GraderName, ...] = Field(min_length=1, description="whose verdicts it spoils")
    reason: str = Field(min_length=1, max_length=300)


def is_valid(flags: Iterable[Flag], grader: GraderName = "strict") -> bool:
    """Whether a submission made from the README alone can be measured by *grader*."""
    return not any(grader in flag.graders for flag in flags)


def told(flags: Iterable[Flag]) -> str:
    """Return the kinds for a table's cell; those that only spoil official verdicts in parentheses."""
    words = (flag.kind if "strict" in flag.graders else f"({flag.kind})" for flag in flags)
    return ", ".join(dict.fromkeys(words)) or "valid"
