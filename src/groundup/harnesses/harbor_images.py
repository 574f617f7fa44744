"""The two images of a task: what its agent sees, without answers, and what grades submissions in a container.

The verifier's holds the grader, the hidden tests and the environment. Images share what layers they can.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from groundup.agents.workspace import LanguageTools, open_workspace
from groundup.domain.errors import UsageError
from groundup.domain.subjects import Subject
from groundup.environments.baked import BakedLayers
from groundup.episodes.attempt import Grading
from groundup.episodes.backends import Backends
from groundup.episodes.episode import Episode
from groundup.episodes.records import EpisodeSpec, MemorySink
from groundup.harnesses.images import Image, ImageLayer, ImageStore, LayerFiles
from groundup.harnesses.runtime import add_groundup, add_installer, add_system
from groundup.harnesses.verifier import DATA, JOB, ORIGINAL, PRIVATE, SCRIPT, VerifierJob
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.trees.writer import in_thread

_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_EMPTY = (
    "proc",
    "sys",
    "dev",
    "run",
    "root",
    "opt",
    "srv",
    "mnt",
    "home/user",
    "var/lib",
    "var/log",
    "usr/local/bin",
)


@dataclass
class TaskImages:
    """Makes the images of one task after the other."""

    suite: str
    """As it is asked for: a name, or where it is defined."""
    tools: Backends
    store: ImageStore
    base_archive: Path | None = None
    """Of the agents' base image, as `docker save` wrote it; None: the system that sandboxes show."""
    add_system: Callable[[LayerFiles], None] = add_system
    """Adds the programs and libraries of a system to a layer."""
    add_groundup: Callable[[LayerFiles], None] = add_groundup
    """Adds what grades inside an image."""
    _shared: dict[tuple[str, ...], ImageLayer] = field(default_factory=dict)
    _base: Image | None = None

    async def of_agent(self, grading: Grading, room: Path) -> tuple[Image, LanguageTools]:
        """Return the image of what an agent sees, and what there is for the task's language."""
        spec = EpisodeSpec(suite=grading.suite.name, task=grading.task.id, subject=Subject(agent="harbor"))
        (room / "agent").mkdir()
        episode = Episode(spec, grading, room / "agent")
        await in_thread(episode.prepare)
        sink = MemorySink(room / "submission")
        with sink.trajectory() as trajectory:
            assignment = episode.agent_context(None, trajectory, sink.keep_agent_log)
            async with open_workspace(assignment) as place:
                shown, told = place.spec, place.tools
                image = await in_thread(lambda: self._image_of(shown, self._agents_base(), room))
        return image, told

    def _image_of(self, spec: SandboxSpec, base: Image, room: Path) -> Image:
        top = LayerFiles()
        top.folder(WORKSPACE)
        top.tree(spec.workspace, WORKSPACE)
        layers = [*base.layers, *self._mounted(spec.mounts, top, room), self.store.layer(top)]
        own = base.environment.get("PATH", "").split(":")
        path = dict.fromkeys(part for part in (*spec.path, *own, *_PATH) if part)
        variables = {**base.environment, "LANG": "C.UTF-8", **spec.environment, "PATH": ":".join(path)}
        return Image(layers, variables, WORKSPACE)

    def _mounted(self, mounts: Iterable[Mount], top: LayerFiles, room: Path) -> list[ImageLayer]:
        """Return layers of the lasting mounts; those that were made in *room* go to *top*."""
        every, layers = list(mounts), []
        for number, mount in enumerate(every):
            hidden = [later.target for later in every[number + 1 :] if _is_within(later.target, mount.target)]
            if mount.source.is_relative_to(room):
                top.tree(mount.source, mount.target, hidden)
            else:
                layers.append(self._layer(mount.source, mount.target, hidden))
        return layers

    def _layer(self, source: Path, target: str, hidden: Collection[str]) -> ImageLayer:
        key = (str(source), target, *hidden)
        if key not in self._shared:
            files = LayerFiles()
            files.tree(source, target, hidden, bytecode=True)
            self._shared[key] = self.store.layer(files)
        return self._shared[key]

    async def of_verifier(self, grading: Grading, room: Path) -> Image:
        """Return the image that grades submissions of one task. Raises `UsageError` where a container cannot."""
        builder, suite, task = self.tools.builder, grading.suite, grading.task
        needs, held, top = suite.needs(task), BakedLayers(), LayerFiles()
        mounts: tuple[Mount, ...] = ()
        top.folder(PRIVATE, 0o700)
        if needs.source is not None:
            original = await builder.source(needs.source)
            held = held.with_source(needs.source, original, Path(ORIGINAL))
            top.tree(original.path, ORIGINAL)
        else:
            data = room / "data" / suite.name / "data"
            data.mkdir(parents=True)
            if not await in_thread(lambda: grading.grader.write_data(task, data)):
                raise UsageError(
                    f"{suite.name}/{task.id} cannot be graded by {grading.grader.name} in one container "
                    "(docs/harnesses.md says why); serve it instead (docs/serving.md)"
                )
            top.tree(room / "data", DATA)
        if needs.environment is not None:
            environment = await builder.python(needs.environment)
            held = held.with_environment(needs.environment, environment)
            mounts = environment.mounts
        name, packages = grading.grader.name, needs.packages
        # The image holds the one data set, without its name.
        job = VerifierJob(suite=self.suite.partition("@")[0], task=task, grader=name, held=held, packages=packages)
        top.text(JOB, job.model_dump_json())
        top.text("/tests/test.sh", SCRIPT, 0o755)
        added = [self.add_groundup, *([add_installer] if packages else [])]
        return await in_thread(lambda: self._graders_layers(added, mounts, top, room))

    def _graders_layers(
        self, added: Iterable[Callable[[LayerFiles], None]], mounts: tuple[Mount, ...], top: LayerFiles, room: Path
    ) -> Image:
        mounted = self._mounted(mounts, top, room)
        layers = [*self._system().layers, *map(self._runtime, added), *mounted, self.store.layer(top)]
        return Image(layers, {"PATH": ":".join(_PATH), "LANG": "C.UTF-8"})

    def _system(self) -> Image:
        """Return the system that sandboxes show."""
        if ("system",) not in self._shared:
            files = LayerFiles()
            for name in _EMPTY:
                files.folder(name)
            for name in ("tmp", "var/tmp"):
                files.folder(name, 0o1777)
            self.add_system(files)
            self._shared["system",] = self.store.layer(files)
        return Image([self._shared["system",]])

    def _runtime(self, add: Callable[[LayerFiles], None]) -> ImageLayer:
        key = ("runtime", add.__name__)
        if key not in self._shared:
            files = LayerFiles()
            add(files)
            self._shared[key] = self.store.layer(files)
        return self._shared[key]

    def _agents_base(self) -> Image:
        if self._base is None:
            archive = self.base_archive
            self._base = self._system() if archive is None else self.store.base(archive)
        return self._base


def _is_within(inner: str, outer: str) -> bool:
    return PurePosixPath(inner).is_relative_to(outer)
