"""A suite's tasks as folders that Harbor reads, each with an image for the agent and one for the verifier.

What the agent's image holds is what agents of runs see: no answers. The verifier's image holds the grader, the
hidden tests and the environment; it decides without a network, and tests run there as another user.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import tomlkit
from pydantic import Field, JsonValue

from groundup.agents.workspace import LanguageTools, open_workspace
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import Subject
from groundup.domain.tasks import Task
from groundup.environments.baked import BakedLayers
from groundup.environments.requests import AnySource, PythonEnvironment, PythonRequest
from groundup.episodes.attempt import Grading
from groundup.episodes.episode import Episode
from groundup.episodes.equipment import Equipment
from groundup.episodes.records import EpisodeSpec, MemorySink
from groundup.harnesses.images import Image, ImageLayer, ImageStore, LayerFiles, pack, tagged
from groundup.harnesses.runtime import add_groundup, add_system
from groundup.harnesses.verifier import JOB, ORIGINAL, PRIVATE, SCRIPT, VerifierJob
from groundup.runs.plan import RunPlan
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.suites.base import Suite
from groundup.trees.removal import remove_tree
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
_INSTRUCTION = """{instruction}

---

You work alone in a Linux container, in the folder /workspace. What lies there when you end is tested by hidden
tests.{tools}
"""
_SOLVE = '#!/bin/sh\nset -e\ntar -C /workspace -xzf "$(dirname "$0")/submission.tar.gz"\n'


class HarborOptions(Record):
    """How tasks are written."""

    base: Path | None = Field(default=None, description="an archive of the agents' base image; None: ours")
    registry: str | None = Field(default=None, description="where the images will be pushed, such as HOST/NAME")
    allow: tuple[str, ...] = Field(default=(), description="hosts that agents may reach")
    agent_s: float = Field(default=4 * 3600.0, gt=0)
    verifier_s: float = Field(default=3600.0, gt=0)


@dataclass
class HarborExport:
    """Writes one task after the other into *destination*; images share what layers they can."""

    plan: RunPlan
    tools: Equipment
    options: HarborOptions
    destination: Path
    scratch: Path
    store: ImageStore
    add_system: Callable[[LayerFiles], None] = add_system
    """Adds the programs and libraries of a system to a layer."""
    add_groundup: Callable[[LayerFiles], None] = add_groundup
    """Adds what grades inside an image."""
    _shared: dict[tuple[str, ...], ImageLayer] = field(default_factory=dict)
    _base: Image | None = None

    async def write(self, task: Task) -> Path:
        """Write *task* and return its folder. Raises `UsageError` for one that a container cannot grade."""
        suite = self.plan.suite
        request, source = _needed(suite, task)
        grading = Grading(suite, task, self.plan.grader, self.tools)
        folder = self.destination / task.id
        room = self.scratch / task.id
        room.mkdir()
        try:
            agents, told = await self._agents_image(grading, room)
            graders = await self._graders_image(grading, (request, source), room)
            digests = {
                "agent": await in_thread(lambda: self._written(agents, task, "agent", folder / "environment")),
                "verifier": await in_thread(lambda: self._written(graders, task, "verifier", folder / "tests")),
            }
            references = {role: self._reference(task, role, digest) for role, digest in digests.items()}
            (folder / "tests" / "test.sh").write_text(SCRIPT, encoding="utf-8")
            (folder / "tests" / "test.sh").chmod(0o755)
            instruction = _INSTRUCTION.format(instruction=(task.instruction or "").rstrip(), tools=told.sentence)
            (folder / "instruction.md").write_text(instruction, encoding="utf-8")
            (folder / "task.toml").write_text(tomlkit.dumps(self._document(task, references)), encoding="utf-8")
            if task.id in suite.referenced():
                await self._write_solution(grading, folder / "solution", room)
        finally:
            await in_thread(lambda: remove_tree(room))
        return folder

    # --- images

    async def _agents_image(self, grading: Grading, room: Path) -> tuple[Image, LanguageTools]:
        """Return the image of what an agent sees, and what there is for the task's language."""
        spec = EpisodeSpec(suite=grading.suite.name, task=grading.task.id, subject=Subject(agent="harbor"))
        (room / "agent").mkdir()
        episode = Episode(spec, grading, room / "agent")
        await episode.prepare()
        sink = MemorySink(room / "submission")
        with sink.trajectory() as trajectory:
            assignment = episode.assignment(None, trajectory, sink.keep_agent_log)
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
            files.tree(source, target, hidden)
            self._shared[key] = self.store.layer(files)
        return self._shared[key]

    async def _graders_image(self, grading: Grading, needs: tuple[PythonRequest, AnySource], room: Path) -> Image:
        """Return the image that grades submissions of one task."""
        builder, (request, source) = self.tools.builder, needs
        environment, original = await builder.python(request), await builder.source(source)
        held = BakedLayers().with_environment(request, environment)
        held = held.with_source(source, original, Path(ORIGINAL))
        job = VerifierJob(
            suite=self.plan.configuration.suite, task=grading.task, grader=grading.grader.name, held=held
        )
        return await in_thread(lambda: self._graders_layers(environment, original.path, job, room))

    def _graders_layers(
        self, environment: PythonEnvironment, original: Path, job: VerifierJob, room: Path
    ) -> Image:
        top = LayerFiles()
        top.folder(PRIVATE, 0o700)
        top.text(JOB, job.model_dump_json())
        top.tree(original, ORIGINAL)
        top.text("/tests/test.sh", SCRIPT, 0o755)
        mounted = self._mounted(environment.mounts, top, room)
        layers = [*self._system().layers, self._runtime(), *mounted, self.store.layer(top)]
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

    def _runtime(self) -> ImageLayer:
        if ("runtime",) not in self._shared:
            files = LayerFiles()
            self.add_groundup(files)
            self._shared["runtime",] = self.store.layer(files)
        return self._shared["runtime",]

    def _agents_base(self) -> Image:
        if self._base is None:
            archive = self.options.base
            self._base = self._system() if archive is None else self.store.base(archive)
        return self._base

    def _written(self, image: Image, task: Task, role: str, folder: Path) -> str:
        folder.mkdir(parents=True)
        return self.store.write(image, self._name(task, role), folder)

    # --- files

    def _name(self, task: Task, role: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", task.id.lower()).strip("-")
        return f"{self.options.registry or 'groundup'}/{self.plan.suite.name}-{plain}-{role}"

    def _reference(self, task: Task, role: str, digest: str) -> str:
        """Return how a container names an image: by digest where a registry has it, else by its tag."""
        name = self._name(task, role)
        return f"{name}@{digest}" if self.options.registry else tagged(name, digest)

    def _document(self, task: Task, images: Mapping[str, str]) -> dict[str, JsonValue]:
        limits, hosts = task.limits, list[JsonValue](self.options.allow)
        network: dict[str, JsonValue] = {"network_mode": "no-network"}
        if hosts:
            network = {"network_mode": "allowlist", "allowed_hosts": hosts}
        room: dict[str, JsonValue] = {"cpus": max(1, round(limits.cpus)), "memory_mb": limits.memory_mb}
        alone: dict[str, JsonValue] = {"network_mode": "no-network"}
        return {
            "schema_version": "1.4",
            "artifacts": [WORKSPACE],
            "task": {"name": f"groundup/{self.plan.suite.name}__{task.id}"},
            "metadata": {
                "suite": self.plan.configuration.suite,
                "task": task.id,
                "grader": f"{self.plan.grader.name} {self.plan.grader.version}",
                "data_version": task.data_version,
            },
            "environment": {"docker_image": images["agent"], "workdir": WORKSPACE, **room, **network},
            "agent": {"timeout_sec": self.options.agent_s, **network},
            "verifier": {
                "timeout_sec": self.options.verifier_s,
                "environment_mode": "separate",
                **alone,
                "environment": {"docker_image": images["verifier"], **room, **alone},
            },
        }

    async def _write_solution(self, grading: Grading, folder: Path, room: Path) -> None:
        tree = room / "oracle"
        tree.mkdir()
        await grading.suite.reference(grading.task, "oracle", tree, grading.bench(room / "oracle-bench"))
        folder.mkdir()
        (folder / "solve.sh").write_text(_SOLVE, encoding="utf-8")
        (folder / "solve.sh").chmod(0o755)
        await in_thread(lambda: pack(tree, folder / "submission.tar.gz"))


def _needed(suite: Suite, task: Task) -> tuple[PythonRequest, AnySource]:
    """Return the environment and the original of *task*. Raises `UsageError` where graders need something else."""
    needs = suite.needs(task)
    if needs.environment is None or needs.source is None:
        raise UsageError(
            f"{suite.name}/{task.id} cannot be graded in one container without a network; serve it instead "
            "(docs/serving.md)"
        )
    return needs.environment, needs.source


def _is_within(inner: str, outer: str) -> bool:
    return PurePosixPath(inner).is_relative_to(outer)
