"""`groundup export`, `ablate` and `judge`: a run's submissions as plain files, changed, or scored by models."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import JudgeFlags, Output
from groundup.cli.console import UNFIT
from groundup.cli.options import DryRun, Examples, Json, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundup.api.judging import JudgingPlan, Opinions


EXAMPLES: dict[str, Examples] = {
    "export": (
        (
            "One folder per task, as `evaluate` and published harnesses read them",
            "groundup export my-run predictions/",
        ),
        ("Patches in DI-Bench's layout", "groundup export my-run results/ --format patch"),
        ("Trajectories for other tools", "groundup export my-run trajectories/ --format atif"),
        ("Training data: the best two of each task", "groundup export my-run data/ --format messages --best 2"),
    ),
    "ablate": (
        ("What do wrong versions cost?", "groundup ablate my-run oracle-metadata -o right-versions"),
        ("What do invented names cost?", "groundup ablate my-run without-fakes -o no-fakes"),
    ),
    "judge": (
        ("Two judges, everything", "groundup judge my-run -m openai/gpt-4.1 -m anthropic/claude-sonnet-4-5"),
        (
            "READMEs alone, for at most $2",
            "groundup judge my-run -m openai/gpt-4.1 --of readme --price 2:8 --max-cost 2",
        ),
        ("What was judged so far, for programs", "groundup judge my-run --json"),
    ),
}


UNUSABLE = 3
"""The exit code where judgements are missing that the same command may still bring."""


class ExportForm(StrEnum):
    """What is written."""

    TREE = "tree"
    PATCH = "patch"
    ATIF = "atif"
    MESSAGES = "messages"


def export(
    run: Run,
    destination: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    form: Annotated[
        ExportForm,
        typer.Option(
            "--format",
            help="tree: repositories; patch: diffs; atif: trajectories; messages: conversations with rewards.",
        ),
    ] = ExportForm.TREE,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, help="Only attempts with at least this score.")
    ] = None,
    best: Annotated[
        int | None, typer.Option(min=1, help="Only this many of the best attempts of each task.")
    ] = None,
    failures: Annotated[bool, typer.Option("--failures", help="Only attempts with a score below 1.")] = False,
    json: Json = False,
    output: Output = None,
) -> int:
    """Write the submissions or the trajectories of RUN into DIR."""
    from groundup.api.folders import run_folder
    from groundup.api.reports import unfit
    from groundup.cli.console import print_document, say
    from groundup.domain.names import count
    from groundup.runs.exporting import export
    from groundup.runs.training import ChosenEpisodes
    from groundup.settings import load
    from groundup.store.folder import RunFolder

    settings = load({"output": output})
    chosen = ChosenEpisodes(min_score=min_score, best=best, failures=failures)
    made = export(RunFolder(run_folder(run, settings)), destination, form.value, settings, chosen)
    if json:
        print_document(
            {"folder": str(destination), "format": form.value, "attempts": [str(key) for key in made.attempts]}
        )
    say(f"groundup: wrote {len(made.attempts)} of {count(made.planned, 'attempt')} to {destination}")
    for why in made.changed:
        say(f"groundup: left out {why}")
    told = unfit(run, output=output)
    if told:
        say(f"groundup: {told}; what does not fit was left out")
    if told or made.changed:
        return UNFIT
    return 0


def ablate(
    run: Run,
    ablation: Annotated[
        str, typer.Argument(metavar="ABLATION", help="Name of an ablation of the run's suite (docs/dibench.md).")
    ],
    output: Annotated[
        Path,
        typer.Option("--to", "-o", metavar="FOLDER", help="New folder for the changed predictions."),
    ],
    json: Json = False,
) -> int:
    """Write the submissions of RUN with one kind of mistake corrected, to evaluate them again."""
    from groundup.api.folders import run_folder
    from groundup.cli.console import print_document, say
    from groundup.runs.exporting import ablate
    from groundup.settings import load
    from groundup.store.folder import RunFolder

    settings = load()
    folder = RunFolder(run_folder(run, settings))
    made, refused, is_unfit = ablate(folder, ablation, output, settings)
    if json:
        print_document({"folder": str(output), "made": made, "refused": refused})
    for line in refused:
        say(f"groundup: left out: {line}")
    if unfit := folder.records().told(folder.path):
        say(f"groundup: {unfit}; what does not fit was left out")
    say(f"groundup: {made} changed predictions lie in {output}")
    return UNFIT if is_unfit or unfit else 0


def judge(run: Run, flags: JudgeFlags, dry_run: DryRun = False, json: Json = False) -> int:
    """Let models score the submissions of RUN: repository, README and tests, by five criteria.

    Judgements are kept in the run's folder and change no verdict. No judgement is asked for twice. Without -m, the
    command shows those that are there.
    """
    from groundup.api import judging
    from groundup.api.reports import unfit
    from groundup.cli.console import say
    from groundup.domain.errors import UsageError
    from groundup.models.protocol import BudgetSpentError

    code, edited = 0, unfit(run, output=flags.get("output"))
    if edited:
        say(f"groundup: {edited}")
    if dry_run:
        _print_plan(judging.judging_plan(run, **flags), json=json)
        return UNFIT if edited else 0
    if "model" in flags:
        try:
            judging.judge(run, progress=say, **flags)
        except BudgetSpentError as error:
            say(f"groundup: {error}; what was judged before is kept")
            code = UNUSABLE
    found = judging.opinions(run, output=flags.get("output"))
    if not found and "model" not in flags:
        raise UsageError(f"{run} has no judgements yet; name a judge with -m, such as `-m openai/gpt-4.1`")
    _print(found, run, json=json)
    if not any(one.overall.scores for one in found):
        say("groundup: no judge gave scores that can be used; the same command asks again")
        return UNUSABLE
    return UNFIT if edited else code


def _print_plan(plan: "JudgingPlan", *, json: bool) -> None:
    """Print how much would be asked."""
    from groundup.cli.console import print_document, print_table

    if json:
        print_document(plan)
        return
    row = (
        str(plan.pending),
        str(plan.done),
        f"at most about {plan.input_tokens}",
        f"at most {plan.output_tokens}",
    )
    print_table("What would be asked", ("questions", "judged already", "input tokens", "output tokens"), [row])


def _print(found: "Sequence[Opinions]", run: str, *, json: bool) -> None:
    """Print what the judges of a run say together."""
    from pathlib import Path

    from groundup.api.judging import CRITERIA
    from groundup.cli.console import print_document, print_table

    if json:
        print_document({"run": Path(run).name, "judged": [one.model_dump(mode="json") for one in found]})
        return
    columns = ("attempt", "of", "overall", "accepted", *CRITERIA, "notes")
    print_table("What judges say (0 to 10; apart from tests)", columns, [_row(one) for one in found])


def _row(one: "Opinions") -> tuple[str, ...]:
    notes = [f"{judge} sees an attempt to sway it" for judge in one.influenced]
    notes += [f"{judge} gives no scores" for judge in one.failed]
    shown = [_cell(agreement.mean, agreement.scores) for agreement in one.criteria.values()]
    accepted = "yes" if one.overall.accepted else "no" if one.overall.agreed else "-"
    overall = _cell(one.overall.mean, one.overall.scores)
    return (str(one.attempt), one.of, overall, accepted, *shown, "; ".join(notes))


def _cell(mean: float | None, scores: dict[str, float]) -> str:
    if mean is not None:
        return f"{mean:g}"
    return f"disagree: {', '.join(f'{score:g}' for score in scores.values())}" if scores else "-"
