"""What decides a run's numbers besides its subject: what the agent could see, stand-ins, second gradings. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pydantic import Field

from groundup.domain.inventory import Inventory, differing_programs
from groundup.domain.limits import Feedback
from groundup.domain.names import count
from groundup.domain.records import Record
from groundup.domain.subjects import SUBMITTING_AGENT
from groundup.domain.verdicts import Verdict
from groundup.store.records import Generated, RunConfiguration, Served

HiddenScores = Literal["shown", "not shown", "unknown"]
_BUILT_IN = ":"
"""Names of agents without it are of the catalog."""
_SHOWN = {
    "shown": "the agent saw hidden scores while it worked",
    "not shown": "the agent saw no hidden score while it worked",
    "unknown": "whether hidden scores were seen while it was made is not known",
}


class Conditions(Record):
    """Two runs that differ in one of these are not alike, whatever their subjects are called."""

    hidden_scores: HiddenScores = Field(description="while submissions were made; unknown of those handed in")
    verdicts: int = Field(description="that count")
    stand_ins: int = Field(description="of these, with another interpreter or tool than the task asks for")
    graded_twice: int = Field(description="of these, where the first grading may have been the machine's doing")
    programs: tuple[str, ...] = Field(default=(), description="that agents had: whose, how many, and their digest")
    inventories: tuple[Inventory, ...] = Field(default=(), exclude=True, description="the same, one by one")


def conditions_of(
    configuration: RunConfiguration, verdicts: Iterable[Verdict], inventories: Sequence[Inventory] = ()
) -> Conditions:
    """Return the conditions of a run by what it was asked for, its verdicts, and the programs of its agents."""
    counting = [one for one in verdicts if one.settles]
    return Conditions(
        hidden_scores=_hidden_scores(configuration),
        verdicts=len(counting),
        stand_ins=sum(
            one.grader.environment == "stand-in" or bool(one.facts.get("substitutes")) for one in counting
        ),
        graded_twice=sum(bool(one.facts.get("graded_twice")) for one in counting),
        programs=tuple(one.words for one in inventories),
        inventories=tuple(inventories),
    )


def _hidden_scores(configuration: RunConfiguration) -> HiddenScores:
    match configuration.submissions:
        case Generated() as made:
            if made.rounds > 1:  # it is told its score after each round
                return "shown"
            if made.feedback is not Feedback.SCORE:
                return "not shown"
            if made.agent == SUBMITTING_AGENT:
                return "shown"
            return "unknown" if _BUILT_IN in made.agent else "not shown"
        case Served(submits=1):
            return "not shown"  # the first one ends the episode
        case Served(shows_scores=shown, reward=reward):
            return "shown" if shown or reward == "submit" else "not shown"
    return "unknown"


def condition_sentences(found: Conditions) -> Iterator[str]:
    """Yield what a reader must know; nothing of what is as usual."""
    if found.hidden_scores != "unknown" and found.verdicts:  # without a verdict nobody may have begun
        yield _SHOWN[found.hidden_scores]
    if found.programs and found.verdicts:
        yield f"agents had {', then '.join(found.programs)}"
    if found.stand_ins:
        yield f"another interpreter or tool than the task asks for stood in for {_of(found.stand_ins, found)}"
    if found.graded_twice:
        yield f"{_of(found.graded_twice, found)} graded twice, because the machine was busy; the second counts"


def _of(number: int, found: Conditions) -> str:
    return f"{number} of {count(found.verdicts, 'verdict')}"


def differing(base: Conditions, other: Conditions) -> Iterator[str]:
    """Yield in what the conditions of two runs differ."""
    if base.hidden_scores != other.hidden_scores:
        yield f"hidden scores while it worked: {base.hidden_scores} and {other.hidden_scores}"
    if base.programs and other.programs and base.programs != other.programs:
        had = [", then ".join(one.programs) for one in (base, other)]
        lasts = zip(base.inventories[-1:], other.inventories[-1:], strict=False)
        more = "".join(f": {differing_programs(*pair)}" for pair in lasts)
        yield f"agents had other programs: {had[0]} and {had[1]}{more}"
    if base.stand_ins != other.stand_ins and 0 in (base.stand_ins, other.stand_ins):
        yield f"stand-ins for what tasks ask for: {_of(base.stand_ins, base)} and {_of(other.stand_ins, other)}"
    if base.graded_twice != other.graded_twice and 0 in (base.graded_twice, other.graded_twice):
        yield f"graded twice: {_of(base.graded_twice, base)} and {_of(other.graded_twice, other)}"
