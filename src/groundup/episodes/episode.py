"""One attempt while it is open: a seeded workspace, `submit` as often as wanted, and handing in at the end.

An agent plays it (`Playing`), or somebody outside drives it (`driving`). What lies in the workspace at the end is
a stranger's tree like any other. What `submit` answered decides nothing later.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from groundup.agents.base import Agent, AgentResult, Assignment, SubmitResult, Trajectory
from groundup.domain.errors import SubmissionError
from groundup.domain.limits import Effort, Feedback
from groundup.domain.subjects import Provenance, Submission
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Stage, Verdict
from groundup.episodes.grading import Grading, Phase, Room
from groundup.episodes.records import EpisodeSpec
from groundup.episodes.sinks import EpisodeSink
from groundup.episodes.workspaces import Workspace
from groundup.models.cache import for_attempt
from groundup.models.protocol import ChatModel
from groundup.suites.base import Suite
from groundup.trees.removal import remove_tree
from groundup.trees.writer import in_thread


def withheld_from(suite: Suite, task: Task) -> tuple[str, ...]:
    """Return the packages that a subject must not find in registries."""
    return tuple(sorted(suite.withheld(task)))


class Episode:
    """An open attempt. All its files lie below *scratch*, which the opener removes."""

    def __init__(self, spec: EpisodeSpec, grading: Grading, scratch: Path) -> None:
        self.spec = spec
        self.grading = grading
        self._scratch = scratch
        self._bench = grading.bench(scratch / "intake")
        self._workspace = Workspace(grading.suite, grading.task, self._bench.scratch)
        self._submits = count(1)
        self._began = time.monotonic()

    async def prepare(self) -> None:
        """Write the task's seeds into the workspace."""
        await in_thread(self._workspace.prepare)
        (self._bench.scratch / "agent").mkdir()
        self._began = time.monotonic()

    def assignment(
        self, model: ChatModel | None, trajectory: Trajectory, keep: Callable[[str, bytes], None]
    ) -> Assignment:
        """Return what an agent may use."""
        task = self.grading.task
        return Assignment(
            task=task,
            workspace=self._workspace.path,
            provider=self._bench.provider,
            builder=self._bench.builder,
            scratch=self._bench.scratch / "agent",
            model=model,
            trajectory=trajectory,
            limits=self.spec.limits,
            submit=self.submit,
            keep=keep,
            withheld=withheld_from(self.grading.suite, task),
            original=self.grading.suite.fingerprint(task),
            label=str(self.spec.key),
        )

    async def submit(self) -> SubmitResult:
        """Grade a copy of the workspace as it is now, and say what the feedback of this episode allows."""
        match self.spec.feedback:
            case Feedback.HIDDEN:
                return SubmitResult(shown=False, message="Submitted. The score is not shown.")
            case Feedback.END:
                return SubmitResult(shown=False, message="Submitted.", ends=True)
        async with self._workspace.copied() as tree:
            verdict = await self._shown_verdict(tree)
        return SubmitResult(shown=True, score=verdict.score, message=_in_counts(verdict))

    async def hand_in(self, destination: Path, ended: AgentResult, agent: str) -> Submission:
        """Copy the workspace into the empty folder *destination*; *agent* is who worked on it.

        Raises `SubmissionError` for a tree beyond all limits.
        """
        seconds = time.monotonic() - self._began
        taken = await in_thread(lambda: self._workspace.take_in(destination))
        return Submission(
            digest=taken.digest.digest,
            files=taken.digest.files,
            bytes=taken.digest.bytes,
            dropped=taken.dropped,
            outcome=ended.outcome,
            provenance=Provenance(source="agent", agent_name=agent, model_name=self.spec.subject.model),
            effort=Effort(
                detail=ended.detail,
                turns=ended.turns,
                usage=ended.usage,
                estimated=ended.estimated,
                cost_usd=ended.cost_usd,
                seconds=round(seconds, 3),
            ),
        )

    async def _shown_verdict(self, tree: Path) -> Verdict:
        """Grade *tree* in sandboxes of the grader's own; nothing of it is recorded."""
        scratch = self._scratch / f"shown-{next(self._submits)}"
        scratch.mkdir()
        try:
            async with self.grading.room():
                return (await self.grading.grade(tree, scratch)).verdict
        except SubmissionError as error:
            return self.grading.zero(Stage.INSTALL, error)[0].verdict
        finally:
            await in_thread(lambda: remove_tree(scratch))


@dataclass(frozen=True)
class Playing:
    """An agent makes the submission. A `SubmissionMaker`."""

    spec: EpisodeSpec
    grading: Grading
    sink: EpisodeSink
    agent: Agent
    model: ChatModel | None = None
    room: Room = nullcontext
    phase = Phase.MAKING

    async def make(self, destination: Path, scratch: Path) -> Submission:
        """Let the agent work, and write what it leaves into *destination*."""
        async with self.room():
            episode = Episode(self.spec, self.grading, scratch)
            await episode.prepare()
            agent = self.agent
            with self.sink.trajectory() as trajectory:
                trajectory.append("began", agent=agent.name, version=agent.version, model=self.spec.subject.model)
                # The agent goes on with the replies on record: a new try pays for none of them twice.
                model = None if self.model is None else for_attempt(self.model, self.spec.index)
                ended = await agent.attempt(episode.assignment(model, trajectory, self.sink.keep_agent_log))
                trajectory.append("ended", outcome=ended.outcome.value, detail=ended.detail)
            return await episode.hand_in(destination, ended, agent.name)


def _in_counts(verdict: Verdict) -> str:
    """Return score and counts; a verdict's reasons may quote hidden tests."""
    if verdict.score is None or verdict.score.value is None:
        return "Submitted. There is no score."
    score = verdict.score
    return f"Submitted. Score {score.value:.4f}: {score.numerator:g} of {score.denominator:g} passed."
