"""Losses in words: a line for each cause in reports, and one screen of them for `groundup why`. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from groundup.domain.limits import Effort
from groundup.domain.names import count
from groundup.domain.subjects import Outcome
from groundup.domain.verdicts import TRIED, Stage, TestResult
from groundup.reports.causes import (
    Cause,
    CauseGroup,
    Losses,
    difference_words,
    failing_line,
    heading_of,
    is_shortened,
    last_of_chain,
    places_of,
    where_and_name,
)
from groundup.reports.kinds import NOT_RUN, KindLoss
from groundup.reports.lost import stage_name

if TYPE_CHECKING:
    from groundup.reports.document import AttemptRow

_IN_A_ROW = 3
"""Causes that a row of a report names."""
_SAID = 120
UNCUT = 1_000_000
"""As the width and the number of lines of what goes into a file or a pipe: nothing is cut."""
_WIDTH = 200
"""Characters of what a stranger's test says in one line."""
_VALUES = 3
"""Lines in which a test tells the values that it compared."""
_AROUND = 6
"""Lines of a cause besides what its test demanded."""
_FILLER = re.compile(
    r"Omitting \d+ identical|Use -v|Full diff:|Differing (items|attributes):|(\.\.\.)?Full output truncated"
    r"|Skipping \d+ identical|Drill down into differing attribute|Matching attributes:|Common items:|\.\.\."
)
"""What pytest says beside values."""
_HELPERS = "; or in what it calls: "
"""As graders of services tell it behind what answers a request."""
_MISFIT = "call "
_COMPACT = 2
"""Lines of a cause for which there is no more room."""


def cause_words(cause: Cause) -> str:
    """Say in one line where in the submission a cause lies, and what it is."""
    where = f"{cause.place}: " if cause.place and not _names_its_place(cause) else ""
    return f"{where}{shortened(cause.said, _SAID)}"


def kinds_words(kinds: Sequence[KindLoss]) -> str:
    """Say what mending each kind would bring back; "" for none."""
    told = [f"{one.kind} {one.points:.1f} points" for one in kinds if one.kind != NOT_RUN and one.points >= 0.05]
    return f"mending would bring back: {', '.join(told)}" if told else ""


def losses_words(losses: Losses) -> str:
    """Say in one line what an attempt lost: how many tests, and by which causes."""
    (first, *others), tests = losses.causes, count(losses.tests, "test")
    if not others:
        named = "" if first.said.startswith("no result") else f", first {short_name(first.first)}"
        return f"{tests} lost{named}: {cause_words(first)}"
    named = "; ".join(f"{one.tests} {cause_words(one)}" for one in losses.causes[:_IN_A_ROW])
    causes = len(losses.causes) + losses.further
    more = f"; {causes - _IN_A_ROW} more" if causes > _IN_A_ROW else ""
    return f"{tests} lost by {causes} causes: {named}{more}"


def reasons_of(row: "AttemptRow") -> list[str]:
    """Return why an attempt lost points, each reason with its stage; lost tests are one of them, by cause."""
    if row.losses is None:
        return [f"{stage_name(row.scores, one.stage)}: {one.message}" for one in row.reasons]
    told = [f"{one.stage.value}: {one.message}" for one in row.losses.reasons]
    return [*told, f"{Stage.TEST.value}: {losses_words(row.losses)}"]


def ended_words(outcome: Outcome | None, effort: Effort | None) -> str:
    """Return how making a submission ended, where it did not end by itself."""
    if outcome is None or outcome is Outcome.SUBMITTED:
        return ""
    detail = effort.detail if effort else ""
    return f"ended by {outcome.value}{f' ({detail})' if detail else ''}"


def row_words(row: "AttemptRow") -> str:
    """Return why an attempt lost points, or how it ended, in one line."""
    reasons = reasons_of(row)
    if row.standing == "graded" and (ended := ended_words(row.outcome, row.effort)):
        reasons.insert(0, ended)
    elif row.standing == "graded" and row.effort and row.counted != 1.0:
        reasons.append(row.effort.detail)  # such as a reply that gives no file
    return "; ".join(filter(None, reasons))


_ADDRESS = re.compile(r"(https?://[^/\s]+)/\S*")


def common_cause(text: str, task: str) -> str:
    """Return *text* without what only *task* has: two attempts with the same result have one cause."""
    return _ADDRESS.sub(r"\1", text).replace(task, "TASK")


def short_name(test: str) -> str:
    """Return the name of a test in one line: of a long one the beginning, and the end with its parameters."""
    return test if len(test) <= _SAID else f"{test[: _SAID // 3]}...{test[-_SAID * 2 // 3 :]}"


def lacking_lines(tests: Sequence[TestResult]) -> list[str]:
    """Return all names at once that tests use and a submission lacks, and calls that signatures do not take."""
    found = [*dict.fromkeys(one for test in tests for one in test.lacks)]
    names = [one for one in found if not one.startswith(_MISFIT)]
    lines = []
    if names:
        lines.append(f"names that the tests use and the submission lacks: {', '.join(names)}")
    calls = [one.removeprefix(_MISFIT).replace("/workspace/", "") for one in found if one.startswith(_MISFIT)]
    if calls:
        lines.append(f"{count(len(calls), 'call')} that the submission's signatures do not take:")
        lines += [f"  {one}" for one in calls]
    return lines


def why_lines(groups: Sequence[CauseGroup], room: int, width: int) -> list[list[str]]:
    """Return the lines of each cause, a heading first, so that all of them fit *room* lines of *width*.

    The first causes show one of their tests with its values, as long as there is room; causes for which there is
    none are counted in one last line.
    """
    shown = groups if len(groups) * _COMPACT <= room else groups[: max(room - _COMPACT, 0) // _COMPACT]
    left = room - _COMPACT * (len(shown) + (len(shown) < len(groups)))
    blocks = []
    for number, group in enumerate(shown):
        # What a cause takes, others lack: each has its part, and the last ones what is left.
        block = list(_whole(group, width, max(_VALUES, left // (len(shown) - number) - _AROUND)))
        left -= _rows(block, width) + 2 - _COMPACT  # two are for the empty lines around it
        if left < 0:  # causes after it are smaller; none is shown at more length
            block = _compact(group, width)
        blocks.append(block)
    if rest := groups[len(shown) :]:
        tests = sum(group.cause.tests for group in rest)
        more = f"and {count(len(rest), 'cause')} more" if shown else count(len(rest), "cause")
        blocks.append([f"{more}, of {_unit(rest[0], tests)}; --full prints them"])
    return blocks


def _rows(lines: Sequence[str], width: int) -> int:
    """Return how many lines of a screen *lines* take: a terminal breaks those that are longer than it is wide."""
    return sum(max(-(-len(line) // max(width, 1)), 1) for line in lines)


def _unit(group: CauseGroup, number: int) -> str:
    return count(number, "name" if group.tests[0].kind == "dependency" else "test")


def _compact(group: CauseGroup, width: int) -> list[str]:
    cause = group.cause
    heading = shortened(f"{_unit(group, cause.tests)}: {cause_words(cause)}", width)
    known = where_and_name(group.tests[0])[0] if group.tests[0].kind == "dependency" else ""  # the heading has it
    return [heading, shortened(f"  {', '.join(_names(group.tests, known))}", width)]


def _whole(group: CauseGroup, width: int, values: int) -> Iterator[str]:
    cause, first = group.cause, group.tests[0]
    flaky = sum(one.flaky for one in group.tests)
    again = f" ({flaky} passed when run again: flaky)" if flaky else ""
    yield shortened(f"{_unit(group, cause.tests)}: {cause.said}", _WIDTH) + again
    yield from (shortened(f"  {line}", max(width, _SAID)) for line in place_lines(cause))
    if first.kind == "dependency":
        yield shortened(f"  {where_and_name(first)[1]}: {first.detail}", _WIDTH)
    else:
        yield f"  {first.id}"
        yield from (f"    {line}" for line in _values(first, width - 4, values))
    if others := group.tests[1:]:
        yield from _differing(group.tests, width, values // 2)
        yield from _others(others, where_and_name(first)[0], width)


def place_lines(cause: Cause) -> Iterator[str]:
    """Yield where in the submission a cause lies, what the failing statement calls, and where it probably lies."""
    if cause.place:
        yield f"{cause.place}{f': {cause.code}' if cause.code else ''}"
    called, _, helpers = cause.calls.partition(_HELPERS)
    if called:
        yield f"calls {called}"
    told = f"{cause.place}:"
    guesses = [one for one in places_of(cause) if not (cause.place and one.startswith(told)) or TRIED.search(one)]
    yield from guess_lines(guesses)
    if helpers and not guesses:
        yield f"or in what it calls: {helpers}"


def guess_lines(places: Sequence[str]) -> list[str]:
    """Return in lines where something probably lies."""
    return [f"{'else' if at else 'probably'} {place}" for at, place in enumerate(places)]


def _values(test: TestResult, width: int, room: int) -> Iterator[str]:
    """Yield where a test called the submission, and what it demanded, in about *room* lines of *width*."""
    lines = [line.rstrip() for line in last_of_chain(test.detail).splitlines() if line.strip(" ^~\t")]
    way = [line for line in lines if not line.startswith("E ")]
    statement = [line for line in test.demand.splitlines() if line.startswith("> ")]
    heading, code = failing_line(test)
    at = [heading, code] if heading else way
    yield from (shortened(line, _WIDTH) for line in at[: 1 if statement else 2] if line)
    told = [f"E   {line}" if not line.startswith("> ") else line for line in demanded(test)]
    if len(way) > 2 and told and not statement:
        yield "..."
    for number, line in enumerate(told):
        room -= _rows([line], width)
        if room < 0 and number >= _VALUES and number < len(told) - 1:
            yield f"... {count(len(told) - number, 'line')} more: -t shows them"
            break
        yield line


def demanded(test: TestResult) -> list[str]:
    """Return what *test* demanded, in lines: its statement, what differs with both values, its exception."""
    said = [line[1:].strip() for line in _last_told(test.detail)]
    if not test.demand:
        return said[:_VALUES]
    lines = test.demand.splitlines()
    statement = [line for line in lines if line.startswith("> ")]
    values = [line for line in lines if not line.startswith("> ") and not _is_in(line, said[:1])]
    if said and is_shortened(said[0]) and difference_words(test.demand):  # the values say it whole
        return [*statement, *values]
    return [*statement, *said[:1], *values]


def _is_in(line: str, said: Sequence[str]) -> bool:
    """Whether *line* is a value of a whole comparison that *said* holds already."""
    side, _, value = line.partition(" ")
    return side in ("left", "right") and any(value.strip() in one for one in said)


def _last_told(detail: str) -> list[str]:
    """Return the lines in which pytest tells the last exception of a chain, without those that tell no value."""
    told = [line.rstrip() for line in last_of_chain(detail).splitlines() if line.startswith("E ")]
    return [line for line in told if line.strip("E ^~?-+") and not _FILLER.match(line[1:].strip())]


def _differing(tests: Sequence[TestResult], width: int, room: int) -> Iterator[str]:
    """Yield what further tests of a cause demand, a line each, where it is something else."""
    told = {heading_of(tests[0])}
    for test in tests[1:]:
        words = heading_of(test)
        if words in told or test.kind == "dependency":
            continue
        if len(told) > room:
            yield "  ..."
            return
        told.add(words)
        yield shortened(f"  or {words}", max(width, _SAID))


def _others(tests: Sequence[TestResult], before: str, width: int) -> Iterator[str]:
    """Yield the names of *tests*, which follow *before*, in two lines: as many as fit, and how many more.

    Where nothing is cut, all of them in as many lines as they take.
    """
    lines: list[str] = []
    line = "  also"
    for number, name in enumerate(_names(tests, before)):
        more = f" and {len(tests) - number} more" if width < UNCUT else ""
        piece = f" {name}" if line.endswith("also") else f", {name}"
        if len(line) + len(piece) + len(more) > (width if width < UNCUT else _SAID):
            if lines and more:
                line += more
                break
            lines.append(line + ",")
            line, piece = "      ", name
        line += shortened(piece, width - 20)
    yield from (*lines, line)


def _names(tests: Sequence[TestResult], before: str = "") -> Iterator[str]:
    """Yield the names of *tests*, with their file where it is another than *before*."""
    for test in tests:
        where, name = where_and_name(test)
        yield name if name and where == before else test.id
        before = where


def _names_its_place(cause: Cause) -> bool:
    file, _, line = cause.place.rpartition(":")
    return f"({file}, line {line})" in cause.said


def shortened(text: str, width: int) -> str:
    """Return *text* in at most *width* characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
