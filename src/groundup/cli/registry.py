"""`groundup registry snapshot`: write down which packages exist, for offline and repeatable grading."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples, Json

EXAMPLES: dict[str, Examples] = {
    "registry snapshot": (
        (
            "Everything that a benchmark's originals declare",
            "groundup registry snapshot --names-from dibench -o names.jsonl",
        ),
        ("And what a run's submissions name", "groundup registry snapshot --names-from my-run -o names.jsonl"),
    ),
}


def snapshot(
    names_from: Annotated[
        list[str], typer.Option("--names-from", metavar="RUN|SUITE", help="Whose packages to ask for; repeatable.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The snapshot; what is in it is not asked again."),
    ],
    json: Json = False,
) -> int:
    """Ask the registries that your own package managers use, and write their answers down.

    Grade with it by the setting `registry = "FILE"` in groundup.toml, or GROUNDUP_REGISTRY=FILE.
    """
    from groundup.api import submissions
    from groundup.cli.console import print_document, say

    made = submissions.snapshot(names_from, output)
    if json:
        print_document({"file": str(output), **made.model_dump()})
    say(f"groundup: {output} holds {made.names} names, {made.absent} of which do not exist")
    if made.unanswered:
        say(
            f"groundup: no registry answered for {made.unanswered} names: their registries are not configured or "
            "down"
        )
        return 3
    return 0
