"""`groundup import`: make a run out of repositories that an IDE or another tool produced."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Beginning, Examples, Judging, Making, Selection, Suite, Talk, Work

EXAMPLES: Examples = (
    (
        "What an IDE made of RepoGenesis",
        "groundup import repogenesis --from out/ --agent cursor --model claude-sonnet",
    ),
    (
        "Take them in now, grade later",
        "groundup import nl2repobench --from out/ --agent trae --run-id trae --dry-run",
    ),
)


@dataclass(frozen=True)
class ImportOrigin:
    """Where repositories lie and what made them."""

    source: Annotated[
        Path, typer.Option("--from", help="A folder with one repository per task, or a JSONL file of them.")
    ]
    agent: Annotated[str, typer.Option("--agent", "-a", help="What made them, such as `cursor`.")]
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model that it used.")] = None


def import_run(
    suite: Suite,
    origin: ImportOrigin,
    selection: Selection,
    judging: Judging,
    work: Work,
    talk: Talk,
    begin: Beginning,
) -> int:
    """Make a run out of repositories that lie in a folder, and grade them.

    Their provenance says that they were imported, from where, and what made them. Layouts: docs/predictions.md.
    """
    from groundup.cli.working import new_run
    from groundup.store.records import Predictions

    submissions = Predictions(
        path=str(origin.source.absolute()), agent_name=origin.agent, model_name=origin.model, source="import"
    )
    return new_run(suite, submissions, (selection, judging), (work, Making()), talk, begin)
