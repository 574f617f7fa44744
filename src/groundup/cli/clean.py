"""`groundup clean`: remove what killed processes left, and what was not used for a while."""

import re
from typing import Annotated

import typer

from groundup.cli.options import DryRun, Examples, Json, Output

EXAMPLES: dict[str, Examples] = {
    "clean": (
        ("What did killed processes leave?", "groundup clean --dry-run"),
        ("Runs, layers and verdicts untouched for a month, too", "groundup clean --older-than 30d -y"),
    ),
}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def clean(
    older_than: Annotated[
        str | None, typer.Option(help="Also runs, layers and verdicts untouched for so long, such as 12h or 30d.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    output: Output = None,
    json: Json = False,
    dry_run: DryRun = False,
) -> int:
    """Remove scratch folders that killed processes left; with --older-than also old runs and caches."""
    import sys

    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.errors import UsageError
    from groundup.runs.leftovers import leftovers, remove
    from groundup.settings import load

    settings = load({"output": output})
    found = leftovers(settings, None if older_than is None else seconds(older_than))
    total = sum(leftover.bytes for leftover in found)
    removing = bool(found) and not dry_run
    if not json:
        print_table("", ("kind", "size", "path"), [(one.kind, size(one.bytes), str(one.path)) for one in found])
    if removing and not yes:
        if json or not sys.stdin.isatty():
            raise UsageError(
                f"would remove {len(found)} things ({size(total)}); say --yes, or look with --dry-run"
            )
        removing = typer.confirm(f"Remove these {len(found)} ({size(total)})?", err=True)
    if removing:
        remove(found, settings)
    if json:
        documents = [one.model_dump(mode="json") for one in found]
        print_document({"removed": removing, "bytes": total, "found": documents})
    what = f"{len(found)} things, {size(total)}"
    say(f"groundup: {'removed' if removing else 'left'} {what}" if found else "groundup: nothing to remove")
    return 0


def seconds(text: str) -> float:
    """Return a time such as `12h` in seconds; raises `UsageError`."""
    from groundup.domain.errors import UsageError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if not match:
        raise UsageError(f"{text!r} is no time; write a number and s, m, h, d or w, such as 30d")
    return float(match[1]) * _UNITS[match[2]]


def size(count: float) -> str:
    """Return bytes as people say them."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
