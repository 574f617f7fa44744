"""Opens episodes for sessions and writes what comes of them into the run's folder, before clients hear of it.

Every submission that is graded is a line of `verdicts.jsonl`, so each reward that a client saw is on the disk. An
episode that ended without one has a line, too: nothing handed in, or interrupted.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue

from groundup.domain.conversations import Tool
from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.episodes.attempt import Grading, Phase, Room
from groundup.episodes.backends import Backends
from groundup.episodes.driving import DrivenEpisode, open_episode
from groundup.episodes.records import EpisodeResult
from groundup.runs.fleets import Fleet
from groundup.runs.plan import RunPlan
from groundup.runs.scheduler import WorkStage, machine_memory_mb
from groundup.settings import Settings
from groundup.store.folder import RunWriter
from groundup.store.records import VerdictLine
from groundup.trees.scratch import async_scratch_folder
from groundup.trees.writer import in_thread

Step = dict[str, JsonValue]


@dataclass(frozen=True)
class EpisodeStage:
    """What all episodes of a server have in common."""

    plan: RunPlan
    writer: RunWriter
    backends: Backends
    start: int
    """The number of this process among those that worked on the run."""
    prompt: Callable[[DrivenEpisode], str]
    """Returns the prompt that a model gets at the beginning."""
    tools: Sequence[Tool]
    """What a model is offered."""
    room: Callable[[Task], Room] = lambda task: nullcontext
    """Where gradings wait for their turn."""

    fleet: Fleet | None = None
    """Where submissions are graded; None: here."""
    builder: str = ""
    """What builds environments on the fleet's nodes."""

    def grading(self, key: AttemptKey) -> Grading:
        """Return how submissions of an attempt are graded."""
        plan, task, how = self.plan, self.plan.tasks[key.task], self.plan.configuration
        here = Grading(plan.suite, task, plan.grader, self.backends, how.timeout_s, self.room(task))
        if self.fleet is None:
            return here
        return self.fleet.graded_there(here, plan.episode(key), how.sandbox, self.builder)


def grading_rooms(plan: RunPlan, fleet: Fleet | None, settings: Settings) -> Callable[[Task], Room]:
    """Return where gradings wait for their turn: for a node of *fleet*, or for room on this machine."""
    here = WorkStage(settings.jobs, int(machine_memory_mb() * settings.memory_share))
    entered = fleet.admitted if fleet else here.entered
    return lambda task: lambda: entered(plan.grader.reservation_mb(task))


class Episodes:
    """Opens one episode after the other, each as the next attempt at its task."""

    def __init__(self, stage: EpisodeStage) -> None:
        """Take over the run's folder: what a killed server left open is recorded as interrupted."""
        self._stage = stage
        stage.writer.folder.scratch.mkdir(exist_ok=True)
        self._next: Counter[str] = Counter()
        self._prepared: set[str] = set()
        settled = {line.attempt for line in stage.writer.folder.lines()}
        for key in stage.writer.folder.begun():
            self._next[key.task] = max(self._next[key.task], key.index + 1)
            if key not in settled and key.task in stage.plan.tasks:
                record = EpisodeRecord(stage, key, datetime.now(UTC))
                record.write(record.unrewarded("the server was killed before the episode had ended"))

    @asynccontextmanager
    async def opened(self, task: Task) -> AsyncIterator["OpenedEpisode"]:
        """Open an episode of *task* that can be graded. Raises what its environments raise, which is recorded."""
        stage = self._stage
        key = AttemptKey(task=task.id, index=self._next[task.id])
        self._next[task.id] += 1
        sink = stage.writer.attempt(key)
        record = EpisodeRecord(stage, key, datetime.now(UTC))
        scratch, grading = stage.writer.folder.scratch, stage.grading(key)
        try:
            if task.id not in self._prepared:
                async with async_scratch_folder("prepared") as folder:
                    await grading.prepare(folder / "bench")
                self._prepared.add(task.id)
            async with open_episode(stage.plan.episode(key), grading, scratch, sink) as episode:
                prompt = stage.prompt(episode)
                offered: list[JsonValue] = [tool.model_dump(mode="json") for tool in stage.tools]
                episode.note("message", role="user", content=prompt, tools=offered)
                yield OpenedEpisode(episode, record, prompt)
        except (InfrastructureError, TaskError) as error:
            if not record.tries:
                await record.kept(record.unrewarded(str(error), error))
            raise
        finally:
            if not record.tries:
                await record.kept(record.unrewarded("the episode was not ended by its client"))


@dataclass
class EpisodeRecord:
    """The lines of one attempt."""

    stage: EpisodeStage
    key: AttemptKey
    began_at: datetime
    tries: int = 0

    async def kept(self, result: EpisodeResult) -> None:
        """Record what the episode, or one submission, came to. Waits for the disk, which other sessions do not."""
        await in_thread(lambda: self.write(result))

    def unrewarded(self, why: str, error: InfrastructureError | TaskError | None = None) -> EpisodeResult:
        """Return the result of one that ended without a reward, and not by its client's wish."""
        graded, _ = self.stage.grading(self.key).failed(error or InfrastructureError(why), Phase.MAKING)
        return EpisodeResult(outcome=Outcome.INFRASTRUCTURE, graded=graded)

    def write(self, result: EpisodeResult) -> None:
        """Record *result*; blocks."""
        self.tries += 1
        submission, graded = result.submission, result.graded
        line = VerdictLine(
            attempt=self.key,
            outcome=result.outcome,
            submission=submission.digest if submission else None,
            verdict=graded.verdict if graded else None,
            effort=submission.effort if submission else None,
            try_number=self.tries,
            start=self.stage.start,
            started_at=self.began_at,
            finished_at=datetime.now(UTC),
        )
        self.stage.writer.record(line, graded.tests if graded else (), graded.logs if graded else {})


class OpenedEpisode:
    """An open episode whose submissions are recorded."""

    def __init__(self, episode: DrivenEpisode, record: EpisodeRecord, prompt: str) -> None:
        self.driven = episode
        self.prompt = prompt
        self.key = record.key
        self._record = record

    async def submit(self, *, ends: bool) -> EpisodeResult:
        """Grade what lies in the workspace now; it is on the disk when this returns. *ends*: nothing follows."""
        result = await (self.driven.grade() if ends else self.driven.hand_in())
        await self._record.kept(result)
        return result

    async def close(self, how: str, *, by_client: bool) -> None:
        """Note how it ended."""
        if not self.driven.has_ended:
            self.driven.note("ended", outcome="left" if by_client else "interrupted", detail=how)
        if self._record.tries:
            return
        nothing = EpisodeResult(outcome=Outcome.NOT_ATTEMPTED)
        await self._record.kept(nothing if by_client else self._record.unrewarded(how))


def in_short(verdict: Verdict) -> Step:
    """Return the verdict as a step of the trajectory has it: no reasons, for they may quote hidden tests."""
    score = verdict.score
    counts: Step = {"passed": score.numerator, "total": score.denominator} if score else {}
    return {"status": verdict.status.value, "score": score.value if score else None, **counts}
