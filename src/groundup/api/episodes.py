"""One attempt, played step by step: by a person in a notebook, or by a program.

    with groundup.open_episode("nl2repobench", "sqlparse") as episode:
        episode.task.instruction
        episode.run("ls -a").output
        episode.write_file("setup.py", "...")
        episode.submit().message
        verdict = episode.grade().graded.verdict

Commands run in the sandbox that agents get. However the block is left, the sandbox is closed.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar, Unpack

from groundup.agents.base import SubmitResult
from groundup.api.flags import EpisodeFlags
from groundup.api.requests import checked, settings_for
from groundup.api.subjects import feedback_of
from groundup.domain.errors import UsageError
from groundup.domain.subjects import Subject
from groundup.domain.tasks import Task
from groundup.episodes import driving
from groundup.episodes.backends import backends
from groundup.episodes.driving import DrivenEpisode, Observation
from groundup.episodes.loading import load_grading
from groundup.episodes.records import EpisodeResult, EpisodeSpec, MemorySink
from groundup.settings import Settings
from groundup.trees.scratch import async_scratch_folder

T = TypeVar("T")


class OpenEpisode:
    """An open attempt, with calls that block. They work inside a running event loop, too."""

    def __init__(self, episode: DrivenEpisode, loop: asyncio.AbstractEventLoop) -> None:
        self._episode = episode
        self._loop = loop

    @property
    def task(self) -> Task:
        """What is asked; nothing of its oracle."""
        return self._episode.task

    def run(self, command: str, timeout_s: float | None = None) -> Observation:
        """Run a shell command in the workspace, for at most *timeout_s* seconds."""
        return self._do(self._episode.run(command, timeout_s))

    def write_file(self, path: str, content: str | bytes) -> None:
        """Write a file in the workspace; *path* is relative to it."""
        self._do(self._episode.write_file(path, content))

    def read_file(self, path: str) -> bytes:
        """Return the content of a file in the workspace. Raises `FileNotFoundError`."""
        return self._do(self._episode.read_file(path))

    def submit(self) -> SubmitResult:
        """Hand in what lies in the workspace now; where the episode tells scores, a copy of it is graded."""
        return self._do(self._episode.submit())

    def grade(self) -> EpisodeResult:
        """End the episode: hand in what lies in the workspace, and grade that."""
        return self._do(self._episode.grade())

    def _do(self, call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()


@asynccontextmanager
async def open_episode_async(
    suite: str, task: str, *, settings: Settings | None = None, **flags: Unpack[EpisodeFlags]
) -> AsyncIterator[DrivenEpisode]:
    """Open an attempt at *task*; its methods are awaited. Else as `open_episode`."""
    given: EpisodeFlags = checked(EpisodeFlags, flags)
    found = settings_for(given, settings)
    spec = EpisodeSpec(
        suite=suite,
        task=task,
        index=given.get("index") or 0,
        subject=Subject(agent=given.get("agent_name") or "somebody", model=given.get("model_name")),
        grader=given.get("grader"),
        feedback=feedback_of(given),
        timeout_s=given.get("timeout"),
    )
    kept = given.get("keep_in")
    if kept is not None and Path(kept).exists():
        raise UsageError(f"{kept} is there already; name a new folder")
    async with async_scratch_folder("episode") as scratch, backends(found.sandbox, found) as tools:
        grading = load_grading(spec, tools, found)
        sink = None if kept is None else MemorySink(Path(kept))
        async with driving.open_episode(spec, grading, scratch, sink) as episode:
            yield episode


@contextmanager
def open_episode(
    suite: str, task: str, *, settings: Settings | None = None, **flags: Unpack[EpisodeFlags]
) -> Iterator[OpenEpisode]:
    """Open an attempt at *task* of *suite*, to be played step by step.

    *flags* are `index`, `grader`, `timeout` (seconds, of the tests), `sandbox`, `hide_scores`, `end_at_submit`,
    `agent_environment`, `agent_base`, `agent_name`, `model_name`, and `keep_in`: a new folder in which the
    submission stays.
    Raises `UsageError` for what does not exist, and `InfrastructureError` when the machine fails.
    """
    opened: Future[tuple[OpenEpisode, Callable[[], object]]] = Future()
    ended: Future[None] = Future()

    async def hold() -> None:  # one task enters and leaves, as task groups insist
        loop, leaving = asyncio.get_running_loop(), asyncio.Event()
        async with open_episode_async(suite, task, settings=settings, **flags) as episode:
            opened.set_result((OpenEpisode(episode, loop), lambda: loop.call_soon_threadsafe(leaving.set)))
            await leaving.wait()

    def work() -> None:
        try:
            asyncio.run(hold())
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            (ended if opened.done() else opened).set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=work, name="groundup-episode", daemon=True).start()
    episode, leave = opened.result()
    try:
        yield episode
    finally:
        leave()
        ended.result()
