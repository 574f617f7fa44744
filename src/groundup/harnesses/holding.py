"""An episode that is held open for a harness, whose calls come from tasks of its own."""

import asyncio
from collections.abc import Mapping

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.names import unknown
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.episodes.backends import backends
from groundup.episodes.driving import DrivenEpisode, open_episode
from groundup.episodes.loading import load_grading
from groundup.episodes.records import EpisodeSpec
from groundup.settings import Settings, load
from groundup.suites.base import Suite, open_suite
from groundup.trees.scratch import async_scratch_folder


def written_tasks(suite: Suite, names: str | None) -> list[Task]:
    """Return the tasks of *suite* that can be played, or those of *names*, with commas. Raises `UsageError`."""
    gradable = set(suite.gradable())
    playable = {task.id: task for task in suite.tasks() if task.instruction is not None and task.id in gradable}
    if names is None:
        return list(playable.values())
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in playable:
            raise UsageError(unknown("task", name, playable))
    return [playable[name] for name in wanted]


class HeldEpisode:
    """An open attempt; one task of the event loop opens and closes it, as task groups insist."""

    def __init__(self, spec: EpisodeSpec, settings: Settings) -> None:
        self._spec = spec
        self._settings = settings
        self.opened: asyncio.Future[DrivenEpisode] = asyncio.get_running_loop().create_future()
        """Holds the episode once it is open, or why it could not be."""
        self._leaving = asyncio.Event()
        self._life = asyncio.create_task(self._live())

    @property
    def episode(self) -> DrivenEpisode:
        """The open episode."""
        return self.opened.result()

    async def graded(self) -> Verdict:
        """End the episode and return the verdict. Raises `InfrastructureError` where there is none."""
        return (await self.episode.grade()).settled()

    async def close(self) -> None:
        """Close the sandbox and remove all files. Can be called twice."""
        self._leaving.set()
        await asyncio.wait({self._life})

    async def _live(self) -> None:
        try:
            async with (
                async_scratch_folder("held") as scratch,
                backends(self._settings.sandbox, self._settings) as tools,
            ):
                grading = load_grading(self._spec, tools, self._settings)
                await grading.prepare(scratch / "prepared")
                async with open_episode(self._spec, grading, scratch) as episode:
                    self.opened.set_result(episode)
                    await self._leaving.wait()
        except BaseException as error:
            if self.opened.done():
                raise
            self.opened.set_exception(error)


async def opened_episode(spec: EpisodeSpec, settings: Settings | None = None) -> HeldEpisode:
    """Open the attempt that *spec* describes, by the user's settings unless others are given.

    Raises what opening it raises.
    """
    held = HeldEpisode(spec, settings or load())
    await held.opened
    return held


def numbers_of(verdict: Verdict) -> Mapping[str, float]:
    """Return the reward with its counts: `reward`, `passed`, `total`. Raises `InfrastructureError` without one."""
    reward = verdict.reward
    if reward is None:
        raise InfrastructureError("the verdict has no score")
    score = verdict.score
    counts = {"passed": score.numerator, "total": score.denominator} if score else {}
    return {"reward": reward, **counts}


def opened_suite(name: str) -> Suite:
    """Return a suite by its name, with the settings of the user."""
    return open_suite(name, load())
