"""Submissions that an agent makes in the run: seeds, the agent's work, and taking in what it leaves.

Owns how an attempt is prepared and put away. What the agent does is its own; grading is `attempt`'s. What is left
is a stranger's tree like any other, and what the agent was told of its score decides nothing later.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from groundup import catalog
from groundup.agents.base import Agent, AgentResult, Assignment, Preferring, SubmitResult
from groundup.agents.trajectories import paid_for
from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.limits import Effort, Feedback
from groundup.domain.plainly import plainly
from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.grading.bench import Bench
from groundup.models.cache import for_attempt
from groundup.models.protocol import ChatModel
from groundup.runs.interrupts import in_thread
from groundup.runs.options import RunOptions
from groundup.runs.submissions import SubmissionOrigin
from groundup.runs.workspaces import Workspace
from groundup.settings import Settings
from groundup.store.attempts import AttemptFolder, read_trajectory
from groundup.store.folder import RunFolder
from groundup.store.records import Generated
from groundup.suites.base import Suite, Withholding

if TYPE_CHECKING:
    from groundup.models.settings import ModelSettings

Grade = Callable[[Path], Awaitable[Verdict]]
"""Grades a tree in sandboxes of the grader's own; nothing of it is recorded."""


class GeneratedSource:
    """The agent of a run, made from the configuration. Starts nothing."""

    def __init__(self, spec: Generated, suite: Suite) -> None:
        """Raises `UsageError` for an unknown agent, a wrong option, or a missing model."""
        self.spec = spec
        self.suite = suite
        self.agent: Agent = catalog.find("agent", spec.agent)(spec.options)
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

    def withheld(self, task: Task) -> tuple[str, ...]:
        """Return the distributions that an agent must not find."""
        return tuple(sorted(self.suite.withheld(task))) if isinstance(self.suite, Withholding) else ()


@dataclass(frozen=True)
class Generation:
    """What all attempts of one start have in common."""

    source: GeneratedSource
    model: ChatModel | None

    def reservation_mb(self, task: Task) -> int:
        """Memory to keep for making one submission."""
        return self.source.agent.reservation_mb(task)

    async def make(
        self, task: Task, key: AttemptKey, folder: AttemptFolder, destination: Path, tools: tuple[Bench, Grade]
    ) -> Submission:
        """Let the agent work, and write what it leaves into the empty folder *destination*.

        Raises `SubmissionError` when that cannot be taken in, `InfrastructureError`, `TaskError`, and
        `BudgetSpentError` when the run's money is spent.
        """
        bench, grade = tools
        workspace = Workspace(self.source.suite, task, bench.scratch)
        await in_thread(workspace.prepare)
        began = time.monotonic()
        with folder.trajectory() as trajectory:
            agent = self.source.agent
            trajectory.append("began", agent=agent.name, version=agent.version, model=self.source.spec.model)
            (bench.scratch / "agent").mkdir()
            assignment = Assignment(
                task=task,
                workspace=workspace.path,
                provider=bench.provider,
                builder=bench.builder,
                scratch=bench.scratch / "agent",
                model=None if self.model is None else for_attempt(self.model, key.index),
                trajectory=trajectory,
                limits=self.source.spec.limits,
                submit=lambda: self._submitted(workspace, grade),
                keep=folder.keep_agent_log,
                withheld=self.source.withheld(task),
                label=str(key),
            )
            ended = await agent.attempt(assignment)
            trajectory.append("ended", outcome=ended.outcome.value, detail=ended.detail)
        return await self._taken_in(workspace, destination, ended, time.monotonic() - began)

    async def _taken_in(
        self, workspace: Workspace, destination: Path, ended: AgentResult, seconds: float
    ) -> Submission:
        spec = self.source.spec
        taken = await in_thread(lambda: workspace.take_in(destination))
        return Submission(
            digest=taken.digest.digest,
            files=taken.digest.files,
            bytes=taken.digest.bytes,
            dropped=taken.dropped,
            outcome=ended.outcome,
            provenance=Provenance(source="agent", agent_name=self.source.agent.name, model_name=spec.model),
            effort=Effort(
                detail=ended.detail,
                turns=ended.turns,
                usage=ended.usage,
                estimated=ended.estimated,
                cost_usd=ended.cost_usd,
                seconds=round(seconds, 3),
            ),
        )

    async def _submitted(self, workspace: Workspace, grade: Grade) -> SubmitResult:
        match self.source.spec.feedback:
            case Feedback.HIDDEN:
                return SubmitResult(shown=False, message="Submitted. The score is not shown.")
            case Feedback.END:
                return SubmitResult(shown=False, message="Submitted.", ends=True)
        async with workspace.copied() as tree:
            verdict = await grade(tree)
        return SubmitResult(shown=True, score=verdict.score, message=_told(verdict))


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

    preferred = source.agent.preferred if isinstance(source.agent, Preferring) else {}
    patience = {"timeout_s": options.model_timeout_s, "patience_s": options.model_patience_s}
    try:
        return ModelSettings.model_validate(
            {
                **preferred,
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


def _told(verdict: Verdict) -> str:
    """Return score and counts; a verdict's reasons may quote hidden tests."""
    if verdict.score is None or verdict.score.value is None:
        return "Submitted. There is no score."
    score = verdict.score
    return f"Submitted. Score {score.value:.4f}: {score.numerator:g} of {score.denominator:g} passed."
