"""A player outside groundup plays an attempt step by step: a notebook, a server, a trainer.

    async with open_episode(spec, grading, scratch) as episode:
        seen = await episode.run("ls")
        await episode.write_file("setup.py", "...")
        shown = await episode.submit()
        result = await episode.grade()

The sandbox is the one that agents get. However the block is left, its sandbox is closed and its files are gone.
"""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from groundup.agents.base import AgentResult, SubmitResult, Trajectory
from groundup.agents.tools import run_bash
from groundup.agents.workspace import AgentSandbox, LanguageTools, open_workspace
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import Outcome, Submission
from groundup.domain.tasks import Task
from groundup.episodes.attempt import Grading, attempted
from groundup.episodes.episode import Episode
from groundup.episodes.records import AttemptStore, EpisodeResult, EpisodeSpec, MemorySink
from groundup.sandbox.protocol import WORKSPACE
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread

_OUTPUT_BYTES = 16 * 1024


class Observation(Record):
    """What a command did."""

    output: str
    """Both streams as one, the middle left out when it is long, and how the command ended."""
    exit_code: int | None
    """None: it did not end by itself."""
    seconds: float


class DrivenEpisode:
    """An open attempt that is played from outside, one call at a time."""

    def __init__(
        self, episode: Episode, sandbox: AgentSandbox, trajectory: Trajectory, sink: AttemptStore, scratch: Path
    ) -> None:
        self.spec = episode.spec
        self._episode = episode
        self._sandbox = sandbox
        self._trajectory = trajectory
        self._sink = sink
        self._scratch = scratch
        self._gradings = count(1)
        self._turns = 0
        self._handed_in = False
        self._ended: AgentResult | None = None

    @property
    def task(self) -> Task:
        """What is asked; nothing of its oracle."""
        return self._episode.grading.task

    @property
    def tools(self) -> LanguageTools:
        """What there is for the task's language."""
        return self._sandbox.tools

    @property
    def place(self) -> AgentSandbox:
        """Where commands run, for harnesses with calls of their own: they are no turns, and are not recorded."""
        return self._sandbox

    @property
    def has_ended(self) -> bool:
        """Whether nothing can be done any more but to grade it."""
        return self._ended is not None

    def note(self, kind: str, **fields: JsonValue) -> None:
        """Record a step of the player's own, such as the prompt that a model got."""
        self._record(kind, **fields)

    async def run(self, command: str, timeout_s: float | None = None) -> Observation:
        """Run *command* in a shell in the workspace. It counts as a turn."""
        self._check_open()
        turns = self.spec.limits.turns
        if turns is not None and self._turns >= turns:
            self._ended = AgentResult(outcome=Outcome.LIMIT, detail=f"{turns} turns", turns=turns)
            raise UsageError(f"the {turns} turns of the episode {self.spec.key} are spent; grade it")
        self._turns += 1
        limit_s = timeout_s or self.task.limits.command_s
        seen = await run_bash(self._sandbox, command, limit_s, _OUTPUT_BYTES)
        output, code, seconds = seen
        self._record("command", turn=self._turns, command=command, content=output, exit_code=code, seconds=seconds)
        return Observation(output=output, exit_code=code, seconds=seconds)

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Write a file in the workspace, making its folders."""
        self._check_open()
        data = content.encode() if isinstance(content, str) else content
        await self._sandbox.write_file(str(PurePosixPath(WORKSPACE) / path), data)
        self._record("written", path=path, bytes=len(data))

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file of at most 16 MiB in the workspace. Raises `FileNotFoundError`."""
        self._check_open()
        return await self._sandbox.read_file(str(PurePosixPath(WORKSPACE) / path))

    async def submit(self) -> SubmitResult:
        """Say the score of the workspace as it is now; where the feedback shows none, nothing is graded."""
        self._check_open()
        result = await self._episode.submit()
        self._record("submitted", message=result.message)
        if result.ends:
            self._ended = AgentResult(outcome=Outcome.SUBMITTED, turns=self._turns)
        return result

    async def hand_in(self) -> EpisodeResult:
        """Hand in and grade what lies in the workspace now; the episode goes on. The sink keeps the last one."""
        self._check_open()
        self._handed_in = True
        return await self._settled(AgentResult(outcome=Outcome.SUBMITTED, turns=self._turns), anew=True)

    async def grade(self) -> EpisodeResult:
        """End the episode: hand in what lies in the workspace, and grade that.

        It can be called again where the verdict does not settle the attempt: the same submission is graded then.
        """
        first = self._ended is None
        ended = self._ended = self._ended or AgentResult(outcome=Outcome.SUBMITTED, turns=self._turns)
        await self._sandbox.close()
        if first:
            self._record("ended", outcome=ended.outcome.value, detail=ended.detail)
        return await self._settled(ended, anew=first and self._handed_in)

    async def _settled(self, ended: AgentResult, *, anew: bool) -> EpisodeResult:
        scratch = self._scratch  # of the first grading, too: each folder costs more than what lies in it
        if (number := next(self._gradings)) > 1:
            scratch = self._scratch / f"graded-{number}"
            scratch.mkdir()

        async def hand_in(destination: Path, scratch: Path) -> Submission:
            return await self._episode.hand_in(destination, ended, self.spec.subject.agent)

        return await attempted(self._episode.grading, hand_in, self._sink, scratch, anew=anew)

    def _record(self, kind: str, **fields: JsonValue) -> None:
        self._trajectory.append(kind, **fields)

    def _check_open(self) -> None:
        if self._ended is not None:
            raise UsageError(f"the episode {self.spec.key} has ended; open another")


@asynccontextmanager
async def open_episode(
    spec: EpisodeSpec, grading: Grading, scratch: Path, sink: AttemptStore | None = None
) -> AsyncIterator[DrivenEpisode]:
    """Open the attempt that *spec* describes; `load_grading` returns its *grading*.

    All files lie in a folder below *scratch* that is named by the digest of *spec*; one that a killed process left
    is removed first. So the same attempt can be tried again, but not twice at once. A *sink* outlives the block;
    without one the submission's tree is gone with it. What a sink holds as handed in is not made again.
    """
    folder = scratch / spec.digest.partition(":")[2][:16]
    kept = sink or MemorySink(folder / "submission")
    episode, closing = Episode(spec, grading, folder), ExitStack()

    def begun() -> Trajectory:
        remove_tree(folder)
        folder.mkdir()
        episode.prepare()
        return closing.enter_context(kept.trajectory())

    def closed() -> None:
        with closing:
            remove_tree(folder)

    try:
        image = await grading.image_of_agents()
        trajectory = await in_thread(begun)
        subject = spec.subject
        trajectory.append("began", agent=subject.agent, version="", model=subject.model)
        assignment = replace(episode.agent_context(None, trajectory, kept.keep_agent_log), image=image)
        async with open_workspace(assignment) as sandbox:
            yield DrivenEpisode(episode, sandbox, trajectory, kept, folder)
    finally:
        await in_thread(closed)  # which waits for the disk
