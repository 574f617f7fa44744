"""The matrix as tables for people."""

from collections.abc import Sequence

from tests.cheats.exceptions import EXCEPTIONS
from tests.cheats.results import Line

_TITLES = {
    "library": "Libraries",
    "service": "Services",
    "java": "Java services",
    "ci": "CI jobs",
}


def markdown(lines: Sequence[Line], label: str) -> str:
    """Return a table for each kind of task with a row per cheat, of the lines with this *label*."""
    shown: list[str] = []
    for target, title in _TITLES.items():
        found = [line for line in lines if line.target == target and line.label == label]
        for base in dict.fromkeys(line.base if target == "library" else "" for line in found):
            own = [line for line in found if base in ("", line.base)]
            rows = _libraries(own) if target == "library" else _others(own)
            shown += ["", f"## {title} ({base})" if base else f"## {title}", "", *rows]
    return "\n".join(shown).strip() + "\n"


def gains(line: Line, deserved: float) -> bool:
    """Whether a cheat got more than it deserves without being called tampered."""
    return line.outcome.status == "graded" and line.outcome.points > deserved


def _libraries(lines: Sequence[Line]) -> list[str]:
    """Return a row for each cheat: in how many gradings it is caught, and what it gains where it is not."""
    of = max(line.outcome.of for line in lines)
    honest = next((line.outcome.points for line in lines if line.cheat == "honest"), 0.0)
    rows = [
        f"Of {of:g} tests; the library without a trick gets {honest:g}.",
        "",
        "| cheat | what it tries | forges | spot check | full check | gain if not caught |",
        "|---|---|---|---|---|---|",
    ]
    numbers = {"forge": 0, "caught": 0, "gradings": 0}
    for name in dict.fromkeys(line.cheat for line in lines if line.cheat != "honest"):
        own = [line for line in lines if line.cheat == name]
        spot = [line for line in own if line.grader == "strict"]
        full = [line for line in own if line.grader == "full"]
        forged = max((line.outcome.passed for line in spot + full), default=0) - honest
        kept = [line.outcome.points - honest for line in spot if gains(line, honest)]
        gain = f"{max(kept):g}" if kept else "-"
        rows.append(
            f"| {name} | {own[0].tries} | {max(0, forged):g} | {_caught(spot)} | {_caught(full)} | {gain} |"
        )
        if forged >= of / 5:
            numbers["forge"] += 1
            numbers["gradings"] += len(spot)
            numbers["caught"] += sum(_is_caught(line) for line in spot)
    told = "{forge} cheats forge a fifth of the points or more; of {gradings} spot checks {caught} catch them."
    return [*rows, "", told.format(**numbers)]


def _is_caught(line: Line) -> bool:
    return line.outcome.status == "tampered" or line.outcome.suspect


def _caught(lines: Sequence[Line]) -> str:
    """Return how many of the gradings say `tampered`, and how many `suspect`."""
    tampered = sum(line.outcome.status == "tampered" for line in lines)
    suspect = sum(line.outcome.suspect for line in lines)
    return f"{tampered} of {len(lines)}" + (f", {suspect} suspect" if suspect else "") if lines else "-"


def _others(lines: Sequence[Line]) -> list[str]:
    """Return a row for each cheat: what it gets from each grader."""
    of = max(line.outcome.of for line in lines)
    rows = [f"| of {of:g} | what it tries | deserves | official | strict |", "|---|---|---|---|---|"]
    honest = next(
        (line.outcome.points for line in lines if line.cheat == "honest" and line.grader == "strict"), 0.0
    )
    for name in dict.fromkeys(line.cheat for line in lines if line.family != "honest"):
        own = {line.grader: line for line in lines if line.cheat == name}
        first = next(iter(own.values()))
        deserved = honest if first.deserves is None else first.deserves
        cells = " | ".join(_cell(own.get(grader), deserved) for grader in ("official", "strict"))
        note = " (exception)" if name in EXCEPTIONS else ""
        rows.append(f"| {name}{note} | {first.tries} | {deserved:g} | {cells} |")
    return rows


def _cell(line: Line | None, deserved: float) -> str:
    if line is None:
        return "-"
    if line.outcome.status != "graded":
        return line.outcome.status
    points = f"{line.outcome.points:g}"
    return f"**{points}**" if gains(line, deserved) else points
