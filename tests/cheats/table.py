"""The matrix as a table for people."""

from collections.abc import Sequence

from tests.cheats.results import Line


def markdown(lines: Sequence[Line], before: str, now: str) -> str:
    """Return a table with a row per cheat: what it gets from each grader, before and now."""
    latest = {(line.target, line.base, line.cheat, line.grader, line.label): line for line in lines}
    honest = {
        (key[1], key[3], key[4]): line.outcome.points for key, line in latest.items() if line.family == "honest"
    }
    shown: list[str] = []
    rows = dict.fromkeys((line.target, line.base, line.family, line.cheat) for line in lines)
    for target, base in dict.fromkeys(row[:2] for row in rows):
        shown += [
            "",
            f"## {target}: {base}",
            "",
            "| cheat | deserves | official | strict before | strict now |",
            "|---|---|---|---|---|",
        ]
        for place, own, family, cheat in rows:
            if (place, own) != (target, base):
                continue
            found = {
                name: latest.get((target, base, cheat, grader, label))
                for name, grader, label in (
                    ("official", "official", now),
                    ("before", "strict", before),
                    ("now", "strict", now),
                )
            }
            found["official"] = found["official"] or latest.get((target, base, cheat, "official", before))
            known = next((line for line in found.values() if line is not None), None)
            if known is None:
                continue
            deserved = (
                known.deserves
                if known.deserves is not None
                else honest.get((base, "strict", now), honest.get((base, "strict", before)))
            )
            cells = [_cell(line, deserved) for line in found.values()]
            shown.append(
                f"| {family}: {cheat} | {deserved:g} | {' | '.join(cells)} |" if deserved is not None else ""
            )
    return "\n".join(shown).strip() + "\n"


def gains(line: Line, deserved: float) -> bool:
    """Whether a cheat got more than it deserves without being called tampered."""
    return line.outcome.status == "graded" and line.outcome.points > deserved


def _cell(line: Line | None, deserved: float | None) -> str:
    if line is None:
        return "-"
    if line.outcome.status != "graded":
        return line.outcome.status
    points = f"{line.outcome.points:g}"
    return f"**{points}**" if deserved is not None and gains(line, deserved) else points
