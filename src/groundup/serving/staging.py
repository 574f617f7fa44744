"""Opens episodes for sessions and writes what comes of them into the run's folder, before clients hear of it.

Every submission that is graded is a line of `verdicts.jsonl`, so each reward that a client saw is on the disk. An
episode that ended without one has a line, too: nothing handed in, or interrupted.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue

from groundup.domain.conversations import Tool
from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict, counted
from groundup.episodes.attempt import Phase
from groundup.episodes.driving import DrivenEpisode, open_episode
from groundup.episodes.records import EpisodeResult
from groundup.runs.settling import RunContext
from groundup.trees.scratch import async_scratch_folder
from groundup.trees.writer import in_thread

Step = dict[str, JsonValue]


class Episodes:
    """Opens one episode after the other, each as the next attempt at its task."""

    def __init__(self, run: RunContext, prompt: Callable[[DrivenEpisode], str], tools: Sequence[Tool]) -> None:
        """Take over the run's folder: what a killed server left open is recorded as interrupted.

        *prompt* returns what a model gets at the beginning, *tools* are what it is offered.
        """
        self._run = run
        self._prompt = prompt
        self._offered: list[JsonValue] = [tool.model_dump(mode="json") for tool in tools]
        run.writer.folder.scratch.mkdir(exist_ok=True)
        self._next: Counter[str] = Counter()
        self._prepared: set[str] = set()
        settled = {line.attempt for line in run.writer.folder.lines()}
        for key in run.writer.folder.begun():
            self._next[key.task] = max(self._next[key.task], key.index + 1)
            if key not in settled and key.task in run.plan.tasks:
                record = EpisodeRecord(run, key, datetime.now(UTC))
                record.write(record.unrewarded("the server was killed before the episode had ended"))

    @asynccontextmanager
    async def opened(self, task: Task) -> AsyncIterator["OpenedEpisode"]:
        """Open an episode of *task* that can be graded. Raises what its environments raise, which is recorded."""
        run = self._run
        key = AttemptKey(task=task.id, index=self._next[task.id])
        self._next[task.id] += 1
        sink = run.writer.attempt(key)
        record = EpisodeRecord(run, key, datetime.now(UTC))
        scratch, grading = run.writer.folder.scratch, run.grading(key)
        try:
            if task.id not in self._prepared:
                async with async_scratch_folder("prepared") as folder:
                    await grading.prepare(folder / "bench")
                self._prepared.add(task.id)
            async with open_episode(run.plan.episode(key), grading, scratch, sink) as episode:
                prompt = self._prompt(episode)
                episode.note("message", role="user", content=prompt, tools=self._offered)
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

    run: RunContext
    key: AttemptKey
    began_at: datetime
    tries: int = 0

    async def kept(self, result: EpisodeResult) -> None:
        """Record what the episode, or one submission, came to. Waits for the disk, which other sessions do not."""
        await in_thread(self.write, result)

    def unrewarded(self, why: str, error: InfrastructureError | TaskError | None = None) -> EpisodeResult:
        """Return the result of one that ended without a reward, and not by its client's wish."""
        graded, _ = self.run.grading(self.key).failed(error or InfrastructureError(why), Phase.MAKING)
        return EpisodeResult(outcome=Outcome.INFRASTRUCTURE, graded=graded)

    def write(self, result: EpisodeResult) -> None:
        """Record *result*; blocks."""
        self.tries += 1
        self.run.record(self.key, result, self.tries, self.began_at)


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
    return {"status": verdict.status.value, "score": counted(verdict), **counts}
