"""`groundup judge`: a run's submissions, scored by models."""

from typing import TYPE_CHECKING

from groundup.cli.console import UNFIT
from groundup.cli.options import DryRun, Examples, Json, Run
from groundup_judging.flags import JudgeFlags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundup_judging.api import JudgingPlan
    from groundup_judging.questions import Opinions

EXAMPLES: dict[str, Examples] = {
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


def judge(run: Run, flags: JudgeFlags, dry_run: DryRun = False, json: Json = False) -> int:
    """Let models score the submissions of RUN: repository, README and tests, by five criteria.

    Judgements are kept in the run's folder and change no verdict. No judgement is asked for twice. Without -m, the
    command shows those that are there.
    """
    from groundup.api.reports import unfit
    from groundup.cli.console import say
    from groundup.domain.errors import UsageError
    from groundup.models.protocol import BudgetSpentError
    from groundup_judging import api

    code, edited = 0, unfit(run, output=flags.get("output"))
    if edited:
        say(f"groundup: {edited}")
    if dry_run:
        _print_plan(api.judging_plan(run, **flags), json=json)
        return UNFIT if edited else 0
    if "model" in flags:
        try:
            api.judge(run, progress=say, **flags)
        except BudgetSpentError as error:
            say(f"groundup: {error}; what was judged before is kept")
            code = UNUSABLE
    found = api.opinions(run, output=flags.get("output"))
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

    from groundup.cli.console import print_document, print_table
    from groundup_judging.questions import CRITERIA

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
