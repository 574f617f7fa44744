"""`groundup judge`: let models score what a run's attempts handed in, apart from what tests say."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json, Output, Run, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundup.judging.answers import Opinions
    from groundup.judging.work import Docketed
    from groundup.models.protocol import ChatModel
    from groundup.models.settings import ModelSettings

EXAMPLES: Examples = (
    ("Two judges, everything", "groundup judge my-run -m openai/gpt-4.1 -m anthropic/claude-sonnet-4-5"),
    (
        "READMEs alone, for at most $2",
        "groundup judge my-run -m openai/gpt-4.1 --of readme --price 2:8 --max-cost 2",
    ),
    ("What was judged so far, for programs", "groundup judge my-run --json"),
)
_MATTERS = ("repository", "readme", "tests")


@dataclass(frozen=True)
class Judges:
    """Who judges, and for how much."""

    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="A judge, PROVIDER/NAME; may be repeated.")
    ] = None
    base_url: Annotated[
        list[str] | None,
        typer.Option(help="Address of the judges' endpoint: one for all, or one for each -m in order."),
    ] = None
    context_tokens: Annotated[
        int | None, typer.Option(min=6000, help="What a judge can read at once (default: 32768).")
    ] = None
    own_temperature: Annotated[
        bool,
        typer.Option("--own-temperature", help="Leave the temperature to the endpoint: some models refuse our 0."),
    ] = False
    price: Annotated[str | None, typer.Option(help="USD per million tokens, INPUT:OUTPUT.")] = None
    prices: Annotated[Path | None, typer.Option(help="Price file (docs/models.md).")] = None
    max_cost: Annotated[float | None, typer.Option(help="USD, for all judges together, this time.")] = None
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Questions at once.")] = 8

    def settings(self) -> "ModelSettings":
        """Return how all judges are asked."""
        from groundup.cli.settings import money
        from groundup.models.settings import ModelSettings

        return ModelSettings(
            context_tokens=self.context_tokens,
            temperature=None if self.own_temperature else 0.0,
            price=self.price,
            prices=self.prices,
            max_cost_usd=money("--max-cost", self.max_cost),
            concurrency=self.jobs,
        )

    def opened(self, *, asked: bool) -> "list[ChatModel]":
        """Return the judges, not yet entered, with one budget. Raises `UsageError`."""
        from groundup.domain.errors import UsageError
        from groundup.models.opening import open_model
        from groundup.models.prices import CostLedger

        models, urls, settings = self.model or [], self.base_url or [], self.settings()
        if len(urls) not in (0, 1, len(models)):
            raise UsageError(
                f"{len(urls)} times --base-url for {len(models)} judges: say one for all, or one for each"
            )
        if len(set(models)) < len(models):
            raise UsageError("the same judge twice is no second opinion; name each -m once")
        ledger = CostLedger(settings.max_cost_usd)
        addresses = urls if len(urls) > 1 else [urls[0] if urls else None] * len(models)
        return [
            open_model(name, settings.model_copy(update={"base_url": url}), ledger=ledger, asked=asked)
            for name, url in zip(models, addresses, strict=True)
        ]


@dataclass(frozen=True)
class Docket:
    """What is judged."""

    of: Annotated[
        list[str] | None,
        typer.Option(metavar="MATTERS", help="What is judged, of repository,readme,tests (default: all three)."),
    ] = None
    tasks: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Only these tasks; can be repeated.")
    ] = None

    def owed(self, folder: Path, judges: "Sequence[ChatModel]") -> "Docketed":
        """Return what is still to be asked of *judges*. Raises `UsageError`."""
        from groundup.domain.errors import UsageError
        from groundup.domain.names import unknown
        from groundup.judging.work import JudgingRequest, owed_judgements
        from groundup.settings import load
        from groundup.store.folder import RunFolder
        from groundup.suites.base import open_suite

        matters = names(self.of, "--of") or _MATTERS
        for matter in matters:
            if matter not in _MATTERS:
                raise UsageError(unknown("matter to judge", matter, _MATTERS))
        suite = open_suite(RunFolder(folder).config().configuration.suite, load())
        instructions = {task.id: task.instruction for task in suite.tasks()}
        wanted = JudgingRequest.model_validate({"of": matters, "tasks": names(self.tasks, "--tasks")})
        return owed_judgements(folder, wanted, judges, instructions)


def judge(
    run: Run,
    judges: Judges,
    docket: Docket,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how much would be asked, and ask nothing.")
    ] = False,
    output: Output = None,
    json: Json = False,
) -> int:
    """Let models score what the attempts of RUN handed in: repository, README and tests, by five criteria.

    Judgements lie in the run's folder and change no verdict. Those that are there already are not asked for again;
    without -m they are only shown.
    """
    from groundup.cli.settings import run_folder, settings_from

    folder = run_folder(run, settings_from(output=output))
    models = judges.opened(asked=not dry_run)
    if dry_run:
        _print_plan(folder, models, docket, json)
        return 0
    code = _ask(folder, models, docket, judges.jobs) if models else 0
    _print(folder, json)
    return code


def _print_plan(folder: Path, judges: "Sequence[ChatModel]", docket: Docket, json: bool) -> None:
    """Print how much would be asked."""
    from groundup.cli.console import print_document, print_table
    from groundup.judging.questions import OUTPUT_TOKENS
    from groundup.models.counting import estimated_tokens

    found = docket.owed(folder, judges)
    questions = len(found.owed)
    tokens = sum(estimated_tokens(one.question.request()) for one in found.owed)
    if json:
        print_document(
            {
                "owed": questions,
                "done": found.done,
                "input_tokens": tokens,
                "output_tokens": OUTPUT_TOKENS * questions,
            }
        )
    else:
        row = (str(questions), str(found.done), f"at most about {tokens}", f"at most {OUTPUT_TOKENS * questions}")
        print_table("What would be asked", ("questions", "judged already", "input tokens", "output tokens"), [row])


def _ask(folder: Path, judges: "Sequence[ChatModel]", docket: Docket, jobs: int) -> int:
    """Ask for what is owed; return the exit code: 3 when the money does not suffice for all of it."""
    import asyncio
    from contextlib import AsyncExitStack

    from groundup.cli.console import say
    from groundup.judging.work import judge as ask
    from groundup.models.protocol import BudgetSpentError
    from groundup.store.judgements import Judgement

    async def work() -> None:
        async with AsyncExitStack() as stack:
            for one in judges:
                await stack.enter_async_context(one)
            found = docket.owed(folder, judges)
            say(f"{len(found.owed)} judgements to ask for, {found.done} there already")
            for of, keys in found.absent.items():
                say(f"nothing to judge as {of} in {len(keys)} attempts: {', '.join(map(str, keys[:10]))}")
            await ask(folder, found.owed, judges, at_once=jobs, report=tell)

    def tell(judgement: Judgement) -> None:
        if judgement.failed is not None:
            say(f"{judgement.attempt} {judgement.of}: {judgement.judge} gives no scores: {judgement.failed}")

    try:
        asyncio.run(work())
    except BudgetSpentError as error:
        say(f"groundup: {error}; what was judged before is kept")
        return 3
    return 0


def _print(folder: Path, json: bool) -> None:
    """Print what the judges of a run say together."""
    from groundup.cli.console import print_document, print_table
    from groundup.judging.answers import CRITERIA, by_matter
    from groundup.store.judgements import read_judgements

    found = by_matter(read_judgements(folder))
    if json:
        print_document({"run": folder.name, "judged": [one.model_dump(mode="json") for one in found]})
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
