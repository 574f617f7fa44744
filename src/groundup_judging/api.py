"""Models' opinions of what a run's attempts handed in. They change no verdict."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Unpack

from groundup.api.flags import AnyPath, money, names
from groundup.api.folders import run_folder
from groundup.api.requests import checked
from groundup.domain.errors import UsageError
from groundup.domain.names import count, unknown
from groundup.domain.records import Record
from groundup.models.opening import open_model
from groundup.models.prices import CostLedger, estimated_tokens
from groundup.models.protocol import ChatModel
from groundup.models.settings import ModelSettings, usual_address
from groundup.settings import Settings, with_flags
from groundup.store.folder import RunFolder
from groundup.store.judgements import Judgement, read_judgements
from groundup.suites.opening import open_suite
from groundup_judging.flags import JudgeFlags
from groundup_judging.questions import OUTPUT_TOKENS, Opinions, by_matter
from groundup_judging.work import JudgingItem, JudgingRequest, owed_judgements
from groundup_judging.work import judge as ask

_MATTERS = ("repository", "readme", "tests")


class JudgingPlan(Record):
    """How much would be asked."""

    pending: int
    """Questions."""
    done: int
    """Those that are answered already."""
    input_tokens: int
    output_tokens: int


def opinions(run: AnyPath, *, output: AnyPath | None = None, settings: Settings | None = None) -> list[Opinions]:
    """Return the opinions of models on *run* so far: scores from 0 to 10 for each matter of each attempt."""
    found = with_flags(settings, {"output": output})
    return by_matter(read_judgements(run_folder(run, found)))


def judging_plan(run: AnyPath, *, settings: Settings | None = None, **flags: Unpack[JudgeFlags]) -> JudgingPlan:
    """Return how much `judge` would ask; asks nothing and needs no key. Raises `UsageError`."""
    given: JudgeFlags = checked(JudgeFlags, flags)
    found = with_flags(settings, {"output": given.get("output")})
    docket = _docket(run_folder(run, found), _opened(given, asked=False), given, found)
    return JudgingPlan(
        pending=len(docket.pending),
        done=docket.done,
        input_tokens=sum(estimated_tokens(one.question.request()) for one in docket.pending),
        output_tokens=OUTPUT_TOKENS * len(docket.pending),
    )


def judge(
    run: AnyPath,
    *,
    progress: Callable[[str], None] | None = None,
    settings: Settings | None = None,
    **flags: Unpack[JudgeFlags],
) -> list[Opinions]:
    """Ask models for the missing opinions on *run*, and return all. Not for a running event loop.

    *progress* is called with sentences. Raises `UsageError`, and `BudgetSpentError` when `max_cost` (USD) does not
    suffice; what was judged before is kept.
    """
    return asyncio.run(judge_async(run, progress=progress, settings=settings, **flags))


async def judge_async(
    run: AnyPath,
    *,
    progress: Callable[[str], None] | None = None,
    settings: Settings | None = None,
    **flags: Unpack[JudgeFlags],
) -> list[Opinions]:
    """Do what `judge` does, in this event loop."""
    given: JudgeFlags = checked(JudgeFlags, flags)
    found = with_flags(settings, {"output": given.get("output")})
    folder = run_folder(run, found)
    say = progress or (lambda _: None)

    def tell(judgement: Judgement) -> None:
        if judgement.failed is not None:
            say(f"{judgement.attempt} {judgement.of}: {judgement.judge} gives no scores: {judgement.failed}")

    async with AsyncExitStack() as stack:
        judges = [await stack.enter_async_context(one) for one in _opened(given, asked=True)]
        docket = _docket(folder, judges, given, found)
        say(f"{count(len(docket.pending), 'judgement')} to ask for, {docket.done} there already")
        for of, keys in docket.absent.items():
            say(f"nothing to judge as {of} in {count(len(keys), 'attempt')}: {', '.join(map(str, keys[:10]))}")
        await ask(folder, docket.pending, judges, at_once=given.get("jobs") or 8, report=tell)
    return by_matter(read_judgements(folder))


def _opened(given: JudgeFlags, *, asked: bool) -> list[ChatModel]:
    """Return the judges, not yet entered, with one budget. Raises `UsageError`."""
    models, urls = _several(given.get("model")), _several(given.get("base_url"))
    if len(urls) not in (0, 1, len(models)):
        raise UsageError(
            f"{len(urls)} times --base-url for {len(models)} judges: say one for all, or one for each"
        )
    if len(set(models)) < len(models):
        raise UsageError("the same judge twice is no second opinion; name each -m once")
    prices = given.get("prices")
    settings = ModelSettings(
        context_tokens=given.get("context_tokens"),
        temperature=None if given.get("own_temperature") else 0.0,
        price=given.get("price"),
        prices=Path(prices) if prices else None,
        max_cost_usd=money("--max-cost", given.get("max_cost")),
        concurrency=given.get("jobs") or 8,
    )
    ledger = CostLedger(settings.max_cost_usd)
    addresses = urls if len(urls) > 1 else [urls[0] if urls else None] * len(models)
    return [
        open_model(name, settings.but(base_url=url or usual_address(name)), ledger=ledger, asked=asked)
        for name, url in zip(models, addresses, strict=True)
    ]


def _several(given: str | Sequence[str] | None) -> list[str]:
    """Return names that may hold commas."""
    return [given] if isinstance(given, str) else list(given or ())


def _docket(folder: Path, judges: Sequence[ChatModel], given: JudgeFlags, settings: Settings) -> JudgingItem:
    """Return what is still to be asked of *judges*. Raises `UsageError`."""
    matters = names(given.get("of"), "--of") or _MATTERS
    for matter in matters:
        if matter not in _MATTERS:
            raise UsageError(unknown("matter to judge", matter, _MATTERS))
    suite = open_suite(RunFolder(folder).config().configuration.suite, settings)
    instructions = {task.id: task.instruction for task in suite.tasks()}
    wanted = JudgingRequest.model_validate({"of": matters, "tasks": names(given.get("tasks"), "--tasks")})
    return owed_judgements(folder, wanted, judges, instructions)
