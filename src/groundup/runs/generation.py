"""The model of a run whose submissions an agent makes: how it is asked, what it may cost, what it has cost."""

import functools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import count
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.usage import TokenUsage
from groundup.models.protocol import ChatModel
from groundup.runs.plan import RunOptions, RunPlan
from groundup.runs.submissions import AgentSource, SubmissionOrigin
from groundup.settings import Settings
from groundup.store.attempts import read_trajectory
from groundup.store.folder import RunFolder
from groundup.trees.scratch import scratch_folder

if TYPE_CHECKING:
    from groundup.models.settings import ModelSettings


@asynccontextmanager
async def model_of_run(
    source: SubmissionOrigin,
    options: RunOptions,
    settings: Settings,
    earlier: RunFolder | None,
    keys: Sequence[AttemptKey],
) -> AsyncIterator[ChatModel | None]:
    """Yield the model that makes submissions of *keys*, open and reached; None where none does.

    *earlier* is the folder of a run that goes on. Raises `UnusableModelError`, and `UsageError` for a
    limit on the cost of a model without a price, before anything begins.
    """
    if not isinstance(source, AgentSource) or source.spec.model is None:
        yield None
    else:
        from groundup.models.client import EndpointModel
        from groundup.models.opening import open_model
        from groundup.models.prices import CostLedger, price_of

        asked = model_settings(source, options, settings)
        limited = options.max_cost_usd is not None or source.spec.limits.cost_usd is not None
        if limited and price_of(source.spec.model, asked) is None:
            raise UsageError(
                f"a limit on the cost needs a price, and {source.spec.model} has none; give --price INPUT:OUTPUT "
                "(USD per million tokens) or a --prices file"
            )
        # The limit is the run's, over all its starts: what was paid before a resume counts.
        paid_usd = paid_so_far(earlier) if earlier and options.max_cost_usd is not None else 0.0
        ledger = CostLedger(options.max_cost_usd, paid_usd)
        async with open_model(source.spec.model, asked, ledger=ledger) as model:
            is_made = earlier is not None and all(earlier.attempt(key).made() for key in keys)
            if isinstance(model, EndpointModel) and not is_made:  # who reuses replies may have all of them
                await model.reach(options.model_wait_s)
            yield model


def model_settings(source: AgentSource, options: RunOptions, settings: Settings) -> "ModelSettings":
    """Return how the model of a run is asked. Raises `UsageError`."""
    from groundup.models.settings import ModelSettings

    patience = {"timeout_s": options.model_timeout_s, "patience_s": options.model_patience_s}
    try:
        return ModelSettings.model_validate(
            {
                **source.agent.preferred,
                **source.spec.model_settings,
                "concurrency": options.model_concurrency,
                **{name: seconds for name, seconds in patience.items() if seconds is not None},
                "prices": options.prices,
                "price": options.price,
                "max_cost_usd": options.max_cost_usd,
                "cache_dir": settings.cache_dir / "replies" if options.reuse_replies else None,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"model setting {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error


def paid_so_far(run: RunFolder) -> float:
    """Return what the attempts of a run paid for replies, as their trajectories say."""
    from groundup.agents.trajectories import paid_for

    return sum(
        paid_for(read_trajectory(run.attempt(key).trajectory_file)).cost_usd or 0.0
        for key in run.config().planned.keys
    )


class Estimate(Record):
    """Tokens and money for all attempts of a run."""

    attempts: int
    usage: TokenUsage
    cost_usd: float | None
    """None: the model has no price."""

    def __str__(self) -> str:
        lacks = ", and the model has no price" if self.cost_usd is None else ""
        return f"a guess for {count(self.attempts, 'attempt')}: {self.usage.told(self.cost_usd)}{lacks}"


def estimate_of(plan: RunPlan, options: RunOptions | None) -> Estimate | None:
    """Return what making the submissions of *plan* may take; None where that is unknown."""
    source = plan.source
    if not isinstance(source, AgentSource) or source.spec.model is None:
        return None
    usage = TokenUsage()
    for task in plan.tasks.values():
        expected = _expected(source, task)
        if expected is None:
            return None
        for _ in range(plan.planned.attempts):
            usage += expected
    return Estimate(
        attempts=len(plan.planned), usage=usage, cost_usd=_cost(source, source.spec.model, usage, options)
    )


def _expected(source: AgentSource, task: Task) -> TokenUsage | None:
    """Return what the agent expects; some look at the task's seeds for that, and those are gone afterwards."""
    from groundup.episodes.episode import Workspace

    with scratch_folder("guess") as folder:
        workspace = Workspace(source.suite, task, folder)

        # Seeding may unpack a repository, and only some agents look at it.
        @functools.cache
        def seeded() -> Path:
            workspace.prepare()
            return workspace.path

        try:
            return source.agent.expected_usage(task, source.spec.limits, seeded)
        except TaskError:  # an attempt would say the same
            return None


def _cost(source: AgentSource, model: str, usage: TokenUsage, options: RunOptions | None) -> float | None:
    from groundup.models.prices import price_of

    price = price_of(model, model_settings(source, options or RunOptions(), Settings()))
    return None if price is None else price.cost_usd(usage)
