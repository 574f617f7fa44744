"""The matrix as a table for people."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.cheats.exceptions import EXCEPTIONS
from tests.cheats.results import Line

_TITLES = {
    "library": "Libraries",
    "service": "Services",
    "java": "Java services",
    "ci": "CI jobs",
}


def markdown(lines: Sequence[Line], before: str, now: str) -> str:
    """Return a table for each kind of task with a row per cheat: what it gets from each grader, before and now."""
    shown: list[str] = []
    for target, title in _TITLES.items():
        found = [line for line in lines if line.target == target]
        for base in dict.fromkeys(line.base if target == "library" else "" for line in found):
            own = [line for line in found if base in ("", line.base)]
            shown += ["", f"## {title} ({base})" if base else f"## {title}", "", *_rows(own, before, now)]
    return "\n".join(shown).strip() + "\n"


def gains(line: Line, deserved: float) -> bool:
    """Whether a cheat got more than it deserves without being called tampered."""
    return line.outcome.status == "graded" and line.outcome.points > deserved


def _rows(lines: Sequence[Line], before: str, now: str) -> list[str]:
    latest = {(line.cheat, line.grader, line.label): line for line in lines}
    of = max(line.outcome.of for line in lines)
    has_trace = any(line.grader == "trace" for line in lines)
    titles = ["tries", "deserves", "official", "before", "now", *(["trace"] if has_trace else [])]
    rows = [f"| of {of:g} | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    found: Counter[str] = Counter()
    for line in {line.cheat: line for line in lines if line.family != "honest"}.values():
        deserved = line.deserves if line.deserves is not None else _honest(latest, now, before)
        official = latest.get((line.cheat, "official", now)) or latest.get((line.cheat, "official", before))
        tried = [official, latest.get((line.cheat, "strict", before)), latest.get((line.cheat, "strict", now))]
        tried += [latest.get((line.cheat, "trace", now))] if has_trace else []
        cells = " | ".join(_cell(one, deserved) for one in tried)
        note = " (exception)" if line.cheat in EXCEPTIONS else ""
        rows.append(f"| {line.cheat}{note} | {line.tries} | {deserved:g} | {cells} |")
        for grader, last in (("strict", tried[2]), ("trace", tried[-1] if has_trace else None)):
            if last is not None:
                found[grader] += 1
                found[f"tampered by {grader}"] += last.outcome.status == "tampered"
                found[f"gains by {grader}"] += gains(last, deserved)
    told = f"{found['strict']} tried now: {_told(found, 'strict')}."
    rows += ["", told + (f" {found['trace']} tried with the trace: {_told(found, 'trace')}." if has_trace else "")]
    return rows


def _told(found: Mapping[str, int], grader: str) -> str:
    return f"{found[f'gains by {grader}']} gain, {found[f'tampered by {grader}']} are called tampered"


def _honest(latest: dict[tuple[str, str, str], Line], *labels: str) -> float:
    known = (latest.get(("honest", "strict", label)) for label in labels)
    return next((line.outcome.points for line in known if line is not None), 0.0)


def _cell(line: Line | None, deserved: float) -> str:
    if line is None:
        return "-"
    if line.outcome.status != "graded":
        return line.outcome.status
    points = f"{line.outcome.points:g}"
    return f"**{points}**" if gains(line, deserved) else points
