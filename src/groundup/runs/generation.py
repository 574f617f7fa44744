"""Submissions that an agent makes in the run: which agent, which model, at what cost."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from groundup.agents.base import open_agent
from groundup.agents.trajectories import paid_for
from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.plainly import plainly
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.models.protocol import ChatModel
from groundup.runs.options import RunOptions
from groundup.runs.submissions import SubmissionOrigin
from groundup.settings import Settings
from groundup.store.attempts import read_trajectory
from groundup.store.folder import RunFolder
from groundup.store.records import Generated
from groundup.suites.base import Suite

if TYPE_CHECKING:
    from groundup.models.settings import ModelSettings


class GeneratedSource:
    """The agent of a run, made from the configuration. Starts nothing."""

    def __init__(self, spec: Generated, suite: Suite) -> None:
        """Raises `UsageError` for an unknown agent, a wrong option, or a missing model."""
        self.spec = spec
        self.suite = suite
        self.agent = open_agent(spec.agent, spec.options)
        if self.agent.needs_model and spec.model is None:
            raise UsageError(f"the agent {spec.agent} needs a model; name one with -m PROVIDER/MODEL")

    def attempts(self) -> int:
        """Return 1."""
        return 1

    def identity(self) -> Mapping[str, str]:
        """Return the digest of the agent with its settings."""
        agent = self.agent
        return {"agent": digest_of([agent.name, agent.version, agent.identity()])}

    def holds(self, attempt: AttemptKey) -> bool:
        """Every task can be attempted."""
        return True


@dataclass(frozen=True)
class Generation:
    """What makes submissions in one start of a run."""

    source: GeneratedSource
    model: ChatModel | None


@asynccontextmanager
async def generation(
    source: SubmissionOrigin, options: RunOptions, settings: Settings, paid_usd: Callable[[], float]
) -> AsyncIterator[Generation | None]:
    """Yield what makes submissions, with the model open; None for a source that brings them.

    *paid_usd* says what earlier starts of the run paid.
    """
    if not isinstance(source, GeneratedSource):
        yield None
    elif source.spec.model is None:
        yield Generation(source, None)
    else:
        from groundup.models.opening import open_model
        from groundup.models.prices import CostLedger, price_of

        asked = model_settings(source, options, settings)
        limited = options.max_cost_usd is not None or source.spec.limits.cost_usd is not None
        if limited and price_of(source.spec.model, asked) is None:
            raise UsageError(
                f"a limit on the cost needs a price, and {source.spec.model} has none; give --price INPUT:OUTPUT "
                "(USD per million tokens) or a --prices file"
            )
        ledger = CostLedger(options.max_cost_usd, paid_usd() if options.max_cost_usd is not None else 0.0)
        async with open_model(source.spec.model, asked, ledger=ledger) as model:
            yield Generation(source, model)


def model_settings(source: GeneratedSource, options: RunOptions, settings: Settings) -> "ModelSettings":
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
    return sum(
        paid_for(read_trajectory(run.attempt(key).trajectory_file)).cost_usd or 0.0
        for key in run.config().planned.keys
    )


def check_instructions(suite: str, tasks: Mapping[str, Task]) -> None:
    """Raise `UsageError` when one of *tasks* has no instruction to give to an agent."""
    lacking = [name for name, task in tasks.items() if task.instruction is None]
    if lacking:
        raise UsageError(
            f"the specification of {lacking[0]} is not at hand, so no agent can do it; "
            f"`groundup data pull {suite}` brings it"
        )
