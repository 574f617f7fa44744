"""One attempt while it is open: a seeded workspace, `submit` as often as wanted, and handing in at the end.

An agent plays it (`Playing`), or a client outside drives it (`driving`). What lies in the workspace at the end is
a stranger's tree like any other. What `submit` answered decides nothing later.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from groundup.agents.base import Agent, AgentContext, AgentResult, SubmitResult, Trajectory
from groundup.agents.history import WORKSPACE_STEP, WorkspaceHistory
from groundup.agents.leak_watch import RESEMBLES_STEP, LeakWatch
from groundup.domain.errors import SubmissionError
from groundup.domain.limits import Effort, Feedback, OwnTests
from groundup.domain.subjects import Provenance, Submission
from groundup.domain.tasks import Task
from groundup.domain.usage import ModelUse
from groundup.domain.verdicts import Stage, Verdict, told_in_counts
from groundup.episodes.attempt import Grading, Room
from groundup.episodes.records import AttemptStore, EpisodeSpec
from groundup.episodes.rounds import FeedbackRounds, RoundPlace
from groundup.models.attempts import AttemptModel
from groundup.models.protocol import ChatModel
from groundup.suites.base import ForAgents, Suite
from groundup.trees.digest import entry_digests, tree_digest
from groundup.trees.walking import remove_tree
from groundup.trees.writer import TakenIn, copy_tree, in_thread, named_dropped


class Workspace:
    """One attempt's workspace below a scratch folder. Its methods block, but for `copied`."""

    def __init__(self, suite: Suite, task: Task, scratch: Path) -> None:
        self.path = scratch / "workspace"
        self._suite = suite
        self._task = task
        self._scratch = scratch
        self._seeded: dict[str, bytes] = {}
        self._copies = count(1)

    def prepare(self) -> None:
        """Write the task's seeds."""
        self.path.mkdir()
        ForAgents.of(self._suite).write_seeds(self._task, self.path)
        _remove_histories(self.path)
        if self._task.deliverable == "edits":
            self._seeded = entry_digests(self.path)

    def keep(self, destination: Path) -> None:
        """Copy all that is there into *destination*, absent or empty. Raises `SubmissionError` beyond limits."""
        copy_tree(self.path, destination)

    def begin_with(self, kept: Path) -> None:
        remove_tree(self.path)
        copy_tree(kept, self.path)

    def seeds(self) -> Path:
        """Return a folder with the seeds as they were, written once."""
        folder = self._scratch / "seeds"
        if not folder.is_dir():
            folder.mkdir()
            ForAgents.of(self._suite).write_seeds(self._task, folder)
        return folder

    def take_in(self, destination: Path) -> TakenIn:
        """Copy what is there now into the empty folder *destination*: of edits, only what is not as it was.

        Raises `SubmissionError` for a tree beyond all limits.
        """
        if not os.access(self.path, os.R_OK | os.X_OK):  # an ordinary user is the guest, who may close it to both
            self.path.chmod(0o755)
        taken = copy_tree(self.path, destination)
        # Of edits only differences are handed in, or every submission would hold the whole repository.
        if self._seeded:
            self._remove_unchanged(destination)
        return taken

    @asynccontextmanager
    async def copied(self) -> AsyncIterator[Path]:
        """Yield a copy of what is there now, later removed."""
        copy = self._scratch / f"submitted-{next(self._copies)}"
        try:
            await in_thread(self.take_in, copy)
            yield copy
        finally:
            await in_thread(remove_tree, copy)

    def _remove_unchanged(self, tree: Path) -> None:
        for name, digest in entry_digests(tree).items():
            if self._seeded.get(name) == digest:
                (tree / name).unlink()
        for folder, _, _ in os.walk(tree, topdown=False):
            if Path(folder) != tree and not any(Path(folder).iterdir()):
                Path(folder).rmdir()


def _remove_histories(tree: Path) -> None:
    """Remove what Git knows of a seeded repository: an original's history has what its seeds leave out."""
    for folder, folders, files in os.walk(tree):
        if ".git" in (*folders, *files):
            remove_tree(Path(folder) / ".git")


class Episode:
    """An open attempt. All its files lie below *scratch*, which the opener removes."""

    def __init__(self, spec: EpisodeSpec, grading: Grading, scratch: Path) -> None:
        self.spec = spec
        self.grading = grading
        self._scratch = scratch
        self._context = grading.backends.context(scratch, grading.timeout_s)
        self._workspace = Workspace(grading.suite, grading.task, self._context.scratch)
        self._submits = count(1)
        self._began = time.monotonic()

    def prepare(self) -> None:
        """Write the task's seeds into the workspace; blocks."""
        self._workspace.prepare()
        self._began = time.monotonic()

    def agent_context(
        self, model: ChatModel | None, trajectory: Trajectory, keep: Callable[[str, bytes], None]
    ) -> AgentContext:
        """Return what an agent may use, but for an image."""
        task, told = self.grading.task, ForAgents.of(self.grading.suite)
        return AgentContext(
            task=task,
            workspace=self._workspace.path,
            provider=self._context.provider,
            builder=self._context.builder,
            scratch=self._context.scratch,
            model=model,
            trajectory=trajectory,
            limits=self.spec.limits,
            submit=self.submit,
            keep=keep,
            withheld=tuple(sorted(ForAgents.of(self.grading.suite).withheld(task))),
            original=told.fingerprint(task),
            environment=told.agent_environment(task),
            base=self.grading.backends.base,
            told_of_grading=told.told_of_grading(task),
            label=str(self.spec.key),
        )

    async def noting_turns(self, trajectory: Trajectory) -> Callable[[int], Awaitable[None]]:
        """Return an `AgentContext.note_turn` that records the workspace; call this before the agent begins."""
        place, noting = self._workspace, asyncio.Lock()  # a program may have several exchanges at once
        history = await in_thread(WorkspaceHistory, place.path, trajectory.recorded(), place.seeds)

        async def note(turn: int) -> None:
            async with noting:
                step = await in_thread(history.after, turn)
                if step is not None:
                    trajectory.append(WORKSPACE_STEP, **step)

        return note

    async def submit(self) -> SubmitResult:
        """Say the score of the workspace as it is now; where the feedback shows none, nothing is graded."""
        match self.spec.feedback:
            case Feedback.HIDDEN:
                return SubmitResult(shown=False, message="Submitted. The score is not shown.")
            case Feedback.END:
                return SubmitResult(shown=False, message="Submitted.", ends=True)
        verdict = await self._graded_now()
        return SubmitResult(shown=True, score=verdict.score, message=f"Submitted. {told_in_counts(verdict)}")

    def place(self, sink: AttemptStore) -> RoundPlace:
        """Return what rounds need of this episode."""
        space = self._workspace

        async def keep(folder: Path) -> None:
            await in_thread(space.keep, folder)

        async def begin_with(tree: Path) -> None:
            await in_thread(space.begin_with, tree)

        return RoundPlace(keep, begin_with, self._graded_now, sink)

    async def hand_in(self, destination: Path, ended: AgentResult, agent: str, **noticed: object) -> Submission:
        """Copy the workspace into the empty folder *destination*; *agent* is who worked on it.

        *noticed* are further fields of the `Effort`. Raises `SubmissionError` for a tree beyond all limits.
        """
        seconds = time.monotonic() - self._began
        taken = await in_thread(self._workspace.take_in, destination)
        tree = await in_thread(tree_digest, destination)
        return Submission(
            **tree._asdict(),
            dropped=named_dropped(taken),
            outcome=ended.outcome,
            provenance=Provenance(source="agent", agent_name=agent, model_name=self.spec.subject.model),
            effort=Effort(
                detail=ended.detail,
                **{name: value for name, value in ended if name in ModelUse.model_fields},
                seconds=round(seconds, 3),
            ).but(**noticed),
        )

    async def own_tests(self, context: AgentContext) -> OwnTests | None:
        """Run the tests that the agent wrote on a copy of the workspace; None where there are none."""
        from groundup.agents.own_tests import run_own_tests

        scratch = self._context.scratch / "own-tests"
        copy = scratch / "workspace"
        await in_thread(self._workspace.keep, copy)
        try:
            return await run_own_tests(replace(context, workspace=copy, scratch=scratch))
        finally:
            await in_thread(remove_tree, scratch)

    async def _graded_now(self) -> Verdict:
        """Grade a copy of the workspace in sandboxes of the grader's own; nothing of it is recorded."""
        scratch = self._scratch / f"shown-{next(self._submits)}"
        scratch.mkdir()
        try:
            async with self._workspace.copied() as tree, self.grading.room():
                return (await self.grading.grade(tree, scratch)).verdict
        except SubmissionError as error:
            return self.grading.zero(Stage.INSTALL, error)[0].verdict
        finally:
            await in_thread(remove_tree, scratch)


@dataclass(frozen=True)
class Playing:
    """An agent makes the submission."""

    spec: EpisodeSpec
    grading: Grading
    sink: AttemptStore
    agent: Agent
    model: ChatModel | None = None
    room: Room = nullcontext
    saying: Callable[[str], None] | None = None
    """Takes the end of what the model says just now; empty: nothing."""

    async def make(self, destination: Path, scratch: Path) -> Submission:
        """Let the agent work, and write what it leaves into *destination*: what `attempted` calls."""
        async with self.room():
            episode = Episode(self.spec, self.grading, scratch)
            await in_thread(episode.prepare)
            agent = self.agent
            with self.sink.trajectory() as kept:
                task = self.grading.task
                original = ForAgents.of(self.grading.suite).fingerprint(task)
                watch = LeakWatch(kept, original, task.instruction or "") if original else None
                trajectory = watch or kept
                trajectory.append("began", agent=agent.name, version=agent.version, model=self.spec.subject.model)
                # The agent goes on with the replies on record: a new try pays for none of them twice.
                asked, index = self.model, self.spec.index
                model = None if asked is None else AttemptModel(asked, index, trajectory.append, self.saying)
                context = replace(
                    episode.agent_context(model, trajectory, self.sink.keep_agent_log),
                    image=await self.grading.image_of_agents(),
                    note_turn=await episode.noting_turns(trajectory),
                )
                rounds = FeedbackRounds(self.spec.rounds, agent, context, episode.place(self.sink))
                ended = await rounds.play()
                if model is not None:
                    ended = ended.but(**dict(model.lost_use.with_use(ended)))
                await context.note_turn(ended.turns)
                resembles = watch.found if watch else ""
                if resembles:
                    trajectory.append(RESEMBLES_STEP, detail=resembles)
                own_tests = await episode.own_tests(context) if self.spec.own_tests else None
                trajectory.append("ended", outcome=ended.outcome.value, detail=ended.detail)
            return await episode.hand_in(
                destination,
                ended,
                agent.name,
                resembles=resembles,
                rounds=tuple(rounds.scores),
                own_tests=own_tests,
            )
