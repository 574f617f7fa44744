"""`groundup runs check`: whether the files of runs fit one another."""

from collections.abc import Sequence

from groundup.api.flags import AnyPath

_NAMED = 20
"""So many places of one fault are named; `--json` has all."""


def check(runs: Sequence[str], output: AnyPath | None, *, json: bool) -> int:
    """Print what in the folders of *runs* does not fit. Raises `UsageError`, also without a run."""
    from groundup.api.reports import check as checked
    from groundup.cli.console import UNFIT, print_document, say
    from groundup.domain.errors import UsageError

    if not runs:
        raise UsageError("name the runs to check, such as `groundup runs check my-run`")
    found = [checked(run, output=output) for run in runs]
    if json:
        print_document({"runs": [one.model_dump(mode="json") for one in found]})
    else:
        for one in found:
            _print(one.run, [(str(fault.place), fault.why) for fault in one.faults])
    for one in found:
        for note in one.notes:
            say(f"groundup: {one.run}: {note}")
        say(f"groundup: {one.run}: {one.conclusion}")
    return UNFIT if any(one.faults for one in found) else 0


def _print(run: str, faults: Sequence[tuple[str, str]]) -> None:
    """Print faults; of many that say the same, the first places."""
    from groundup.cli.console import print_table
    from groundup.domain.names import printable

    places: dict[str, list[str]] = {}
    for place, why in faults:
        places.setdefault(why, []).append(place)
    rows = []
    for why, named in places.items():
        rows += [(printable(place), printable(why)) for place in named[:_NAMED]]
        if len(named) > _NAMED:
            rows.append((f"and {len(named) - _NAMED} more", printable(why)))
    if rows:
        print_table(f"What does not fit in {run}", ("where", "why"), rows)
