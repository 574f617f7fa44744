"""`groundup evaluate`: grade repositories that somebody already has."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import WHICH, Beginning, Examples, Judging, Making, Selection, Suite, Talk, Work

EXAMPLES: Examples = (
    ("A folder with one repository per task", "groundup evaluate nl2repobench -p predictions/"),
    ("One repository", "groundup evaluate nl2repobench -p ~/my-sqlparse --task sqlparse"),
    ("In CI: exit with 4 below 90 %", "groundup evaluate nl2repobench -p out.jsonl --fail-under 0.9 --json"),
    ("Name who made them", "groundup evaluate nl2repobench -p out/ --model-name m1 --agent-name my-agent -j 4"),
)


@dataclass(frozen=True)
class PredictionOrigin:
    """Where predictions lie and who made them."""

    predictions: Annotated[
        Path,
        typer.Option("--predictions", "-p", help="A folder, an archive or a JSONL file (docs/predictions.md)."),
    ]
    task: Annotated[
        str | None, typer.Option(help="The predictions are one repository, for this task.", rich_help_panel=WHICH)
    ] = None
    model_name: Annotated[str | None, typer.Option(help="Model that made them.")] = None
    agent_name: Annotated[str | None, typer.Option(help="Agent that made them.")] = None


def evaluate(
    suite: Suite,
    origin: PredictionOrigin,
    selection: Selection,
    judging: Judging,
    work: Work,
    talk: Talk,
    begin: Beginning,
) -> int:
    """Grade repositories that you already have.

    Predictions are `<task>/`, `<task>/<attempt>/`, `<task>/submission.tar.gz`, or lines of JSON.
    Tasks without a prediction count as not attempted, unless --tasks leaves them out.
    """
    from groundup.cli.working import new_run
    from groundup.runs.predictions import model_named_in
    from groundup.store.records import Predictions

    submissions = Predictions(
        path=str(origin.predictions.absolute()),
        task=origin.task,
        agent_name=origin.agent_name,
        model_name=origin.model_name or model_named_in(origin.predictions),
    )
    return new_run(suite, submissions, (selection, judging), (work, Making()), talk, begin)
